"""Records, generations and texts in one object, since a search by words reads the records."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from scrubjay.backends.memory.access import MemoryAnswers
from scrubjay.backends.memory.bm25 import scores, terms_in
from scrubjay.backends.memory.generations import MemoryGenerations
from scrubjay.backends.memory.versions import Slot, check_unchanged, overlaps, slots_of, thread_of
from scrubjay.errors import IdTaken
from scrubjay.model import Filter, Memory, Order, Remembered, Scope
from scrubjay.ports import SILENT, UNSURE, WORDS_ONLY, Counts, Decide, Decision, Keeping, Known, Marked, Match
from scrubjay.ports.records import contradiction, contradictions, id_taken, rival

_Before: TypeAlias = list[tuple[UUID, Memory | None]]
"""What each changed row was before, in the order of the changes: None where there was none."""


class MemoryStore(MemoryGenerations):
    """The Records, Generations and Texts ports on dicts. For one event loop: no method gives way in its middle.

    The memories are one dict, whose order is the order of storing: a changed memory keeps its place.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answers = MemoryAnswers()
        """The `Answers` port: what is purged here goes from there, too."""
        self._memories: dict[UUID, Memory] = {}
        # These are derived from the memories and only save looking at all of them.
        self._believed: dict[Slot, dict[UUID, None]] = {}
        self._positions: dict[Scope, dict[UUID, int]] = {}
        self._terms: dict[UUID, Counter[str]] = {}

    # Records

    async def write(self, drafts: Sequence[Memory], decide: Decide) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, all drafts or none."""
        with self._all_or_none() as before:
            decisions = [self._apply(decide(draft, self._known(draft)), before) for draft in drafts]
        # Only now: a draft may have been replaced by a later one of the same call.
        return [self._remembered(decision) for decision in decisions]

    async def load(self, memories: Sequence[Memory], *, as_is: bool = False) -> int:
        """Store exactly these rows, all or none, and say how many were new. What they say is closed is closed first.

        With `as_is`, they are all that a store holds, and may have stretches of a key that overlap.
        """
        pairs: list[tuple[Memory, Memory]] = []
        with self._all_or_none() as before:
            for memory in memories:
                stored = self._memories.get(memory.id)
                if stored is not None and stored.scope.tenant != memory.scope.tenant:
                    raise id_taken(memory.id)
                if stored is not None and (closed := stored.closed_as(memory)) is not None:
                    before.append((memory.id, stored))
                    self._put(closed)
            for memory in memories:
                if memory.id in self._memories:
                    continue
                known = self._known(memory)
                taken = None if as_is else rival(memory, known.same_key, known.same_words)
                if taken is None:
                    self._open(memory, before)
                else:
                    pairs.append((taken, memory))
            if pairs:
                raise contradictions(pairs)
            return sum(1 for _, stored in before if stored is None)

    async def bearing(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return what is believed that bears on these: in their scopes, under their keys or with their words."""
        found = [one for each in map(self._known, memories) for one in (*each.same_key, each.same_words)]
        return list(dict.fromkeys(one for one in found if one is not None))

    async def get(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return those that a reader in the scope sees, in any state, each once, in the order asked."""
        return [memory for memory in self._named(dict.fromkeys(ids)) if scope.sees(memory.scope)]

    async def find(
        self, filter: Filter, *, now: datetime, limit: int, order: Order = "newest", after: UUID | None = None
    ) -> list[Memory]:
        """Return matching memories in the order they were stored, newest or oldest first, after the one named."""
        stored = list(self._memories.values())
        if order == "newest":
            stored.reverse()
        if after is not None:
            places = [place for place, memory in enumerate(stored) if memory.id == after]
            stored = stored[places[0] + 1 :] if places else []
        return [memory for memory in stored if filter.matches(memory, now)][:limit]

    async def scan(self, filter: Filter, *, now: datetime, batch: int = 500) -> AsyncIterator[list[Memory]]:
        """Stream every matching memory, oldest first, a batch at a time. What is purged meanwhile is left out."""
        seen: set[UUID] = set()
        # Again, for what was stored meanwhile.
        while ids := [one.id for one in self._memories.values() if one.id not in seen and filter.matches(one, now)]:
            seen.update(ids)
            for start in range(0, len(ids), batch):
                if found := [one for one in self._named(ids[start : start + batch]) if filter.matches(one, now)]:
                    yield found

    async def among(self, filter: Filter, *, now: datetime, limit: int) -> list[UUID] | None:
        """Return the ids of all matching memories, newest first, or None when there are more than the limit."""
        ids = [memory.id for memory in self._memories.values() if filter.matches(memory, now)]
        return ids[::-1] if len(ids) <= limit else None

    async def one_of_each(
        self, filter: Filter, *, now: datetime, length: int, limit: int | None = None
    ) -> list[Memory] | None:
        """Return one matching memory for each beginning that their keys have."""
        matching = [memory for memory in self._memories.values() if memory.key and filter.matches(memory, now)]
        found = {memory.key[:length]: memory for memory in matching if memory.key}
        apart = {(memory.scope, memory.key[:length]) for memory in matching if memory.key}
        if limit is not None and len(apart) > limit:
            return None
        return [found[beginning] for beginning in sorted(found)]

    async def count(self, filter: Filter, *, now: datetime) -> Counts:
        """Count what lies in the scope; `current` and `kinds` count what matches, `versions` every row of the scope."""
        inside = [memory for memory in self._memories.values() if filter.admits(memory.scope)]
        matching = [memory for memory in inside if filter.matches(memory, now)]
        return Counts(
            current=len(matching),
            versions=len(inside),
            scopes=len({memory.scope for memory in inside}),
            kinds=dict(Counter(memory.kind for memory in matching)),
        )

    async def versions(self, scope: Scope, *, id: UUID | None = None, key: str | None = None) -> list[Memory]:
        """Return the versions that a reader in the scope sees, oldest first."""
        seen = [memory for memory in self._memories.values() if scope.sees(memory.scope)]
        if key is not None:
            return [memory for memory in seen if memory.key == key]
        return thread_of(id, seen) if id is not None else []

    async def neighbours(self, scope: Scope, memory: Memory, *, before: int, after: int) -> list[Memory]:
        """Return the believed memories just before and after it in its own session, in order, without itself."""
        place = memory.position
        if place is None or memory.scope.session is None or not scope.sees(memory.scope):
            return []
        session = sorted((position, one) for one, position in self._positions.get(memory.scope, {}).items())
        believed = [(position, one) for position, one in session if self._memories[one].superseded_at is None]
        earlier = [one for position, one in believed if position < place]
        later = [one for position, one in believed if position > place]
        return self._named(earlier[max(0, len(earlier) - before) :] + later[:after])

    async def following(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return the believed memories that stand at the next position after these in their sessions, each once."""
        places = {(one.scope, one.position + 1) for one in self._named(ids) if one.position is not None}
        return [
            memory
            for memory in self._memories.values()
            if (memory.scope, memory.position) in places and memory.superseded_at is None and scope.sees(memory.scope)
        ]

    async def close(
        self, scope: Scope, ids: Sequence[UUID], *, at: datetime, because: str, seen: Memory | None = None
    ) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed; return them as they now are, as asked."""
        believed = [memory for memory in self._held(scope, ids) if memory.superseded_at is None]
        if seen is not None:
            check_unchanged(next((memory for memory in believed if memory.id == seen.id), None), seen)
        return [self._put(memory.closed(at, because=because)) for memory in believed]

    async def adjust(
        self,
        scope: Scope,
        id: UUID,
        *,
        importance: float | None = None,
        expires_at: datetime | None = None,
        seen: Memory | None = None,
    ) -> Memory | None:
        """Change how one memory is kept, not what it says; None when the scope does not hold it. Clears its mark."""
        for memory in self._held(scope, [id]):
            if seen is not None:
                check_unchanged(memory, seen)
            return self._put(
                replace(
                    memory,
                    importance=memory.importance if importance is None else importance,
                    expires_at=memory.expires_at if expires_at is None else expires_at,
                    generation=None,
                )
            )
        return None

    async def boost(self, scope: Scope, id: UUID, by: float) -> tuple[Memory, float] | None:
        """Add to the importance of one memory, kept within 0 to 1; return it, and the importance it had before."""
        for memory in self._held(scope, [id]):
            importance = min(1.0, max(0.0, memory.importance + by))
            return self._put(replace(memory, importance=importance, generation=None)), memory.importance
        return None

    async def touch(self, scope: Scope, ids: Sequence[UUID], *, at: datetime) -> None:
        """Count one more use of each that a reader in the scope sees, as often as it is named."""
        times = Counter(ids)
        for memory in await self.get(scope, list(times)):
            self._put(replace(memory, uses=memory.uses + times[memory.id], used_at=at))

    async def derived(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Return what was made from these, directly or through others, in the scope's tenant; `ids` are left out."""
        tenants = [memory for memory in self._memories.values() if memory.scope.tenant == scope.tenant]
        found = set(ids)
        while more := [one.id for one in tenants if one.id not in found and not found.isdisjoint(one.derived_from)]:
            found.update(more)
        return [memory.id for memory in tenants if memory.id in found.difference(ids)]

    async def purge(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Delete the rows that the scope holds, and every trace of them in this store, for good; return their ids."""
        gone = [memory.id for memory in self._held(scope, ids)]
        for one in gone:
            self._delete(one)
        for memory in list(self._memories.values()):
            left = tuple(source for source in memory.derived_from if source not in gone)
            if memory.superseded_by in gone or left != memory.derived_from:
                by = None if memory.superseded_by in gone else memory.superseded_by
                self._put(replace(memory, superseded_by=by, derived_from=left))
        if gone:
            self.answers.purged(scope.tenant)
        return gone

    async def pending(self, generation: int, *, limit: int) -> list[Memory]:
        """Return memories of every tenant, oldest first, that are not marked as indexed with this generation."""
        indexed = (generation, WORDS_ONLY, SILENT)
        return [memory for memory in self._memories.values() if memory.generation not in indexed][:limit]

    async def backlog(self, generation: int) -> int:
        """Count what `pending` would return without a limit."""
        return sum(memory.generation not in (generation, WORDS_ONLY, SILENT) for memory in self._memories.values())

    async def mark(self, ids: Sequence[UUID], generation: int | None, *, live: Collection[UUID] = ()) -> Marked:
        """Note that these are indexed with this generation, or with none. Say which are not stored, or are closed."""
        closed = [one.id for one in self._named(dict.fromkeys(ids)) if one.superseded_at is not None]
        for one in self._named(ids):
            self._put(replace(one, generation=None if one.superseded_at and one.id in live else generation))
        return Marked(await self.missing(ids), closed)

    async def unmark(self, generation: int) -> int:
        """Clear the mark of every memory that is indexed with this generation; return how many those were."""
        marked = [memory.id for memory in self._memories.values() if memory.generation == generation]
        await self.mark(marked, None)
        return len(marked)

    async def marked(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that are marked with this generation, oldest first, from behind one."""
        order = list(self._memories)
        behind = order.index(after) + 1 if after in self._memories else 0
        return [one for one in order[behind:] if self._memories[one].generation == generation][:limit]

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that no tenant has stored, each once, in the order asked."""
        return [one for one in dict.fromkeys(ids) if one not in self._memories]

    async def refill(self, engine: str, *, at: datetime) -> int:
        """Let the marks speak of this engine, and doubt every one; return how many memories were marked."""
        self._keeping = Keeping(engine=engine, seen=at, filling=True)
        marked = [memory for memory in self._memories.values() if memory.generation is not None]
        for memory in marked:
            self._put(replace(memory, generation=UNSURE))
        return len(marked)

    async def check(self) -> list[str]:
        """Look the store over, thoroughly; return one sentence per fault found."""
        missing = [one for one, memory in self._memories.items() if self._terms.get(one) != terms_in(memory)]
        extra = self._terms.keys() - self._memories.keys()
        faults = [f"memory {one} is not in the text index as it is stored" for one in missing]
        faults += [f"the text index holds {one}, which is not stored" for one in sorted(extra)]
        return faults + overlaps(self._memories.values())

    async def shut(self) -> None:
        """There is nothing to let go of."""

    # Texts

    async def match(
        self,
        terms: Sequence[str],
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        guess: bool = True,  # noqa: ARG002 -- it never guesses
    ) -> list[Match]:
        """Return the memories with any of the terms that the filter admits. Rare terms, and more of them, count more.

        How rare a term is, is counted among the admitted ones only: other people's memories change nothing.
        """
        admitted = {
            memory.id: self._terms[memory.id] for memory in self._memories.values() if filter.matches(memory, now)
        }
        best = sorted(scores(terms, admitted).items(), key=lambda found: -found[1])
        return [Match(id=one, score=score) for one, score in best[:limit]]

    async def rebuild(self) -> int:
        """Build the index again from the records; return how many memories are in it."""
        self._terms = {memory.id: terms_in(memory) for memory in self._memories.values()}
        return len(self._terms)

    # The dicts

    def _named(self, ids: Iterable[UUID]) -> list[Memory]:
        return [self._memories[one] for one in ids if one in self._memories]

    def _held(self, scope: Scope, ids: Iterable[UUID]) -> list[Memory]:
        return [memory for memory in self._named(dict.fromkeys(ids)) if scope.holds(memory.scope)]

    def _known(self, draft: Memory) -> Known:
        same_id = self._memories.get(draft.id)
        same_key = self._named(self._believed.get((draft.scope, draft.key), ())) if draft.key is not None else []
        is_apart = draft.key is None or draft.valid_to is None
        same_words = self._named(self._believed.get((draft.scope, draft.fingerprint), ())) if is_apart else []
        return Known(
            same_id=same_id if same_id is not None and same_id.scope.tenant == draft.scope.tenant else None,
            same_key=tuple(sorted(same_key, key=lambda memory: memory.valid_from)),
            same_words=min(
                (memory for memory in same_words if memory.valid_to == draft.valid_to),
                key=lambda memory: memory.valid_from,
                default=None,
            ),
        )

    def _apply(self, decision: Decision, before: _Before) -> Decision:
        for kept in decision.keeps:
            before.append((kept.id, self._memories[kept.id]))
            self._put(replace(self._memories[kept.id], expires_at=kept.expires_at, generation=None))
        for closed in decision.closes:
            stored = self._memories.get(closed.id)
            check_unchanged(stored, closed)
            before.append((closed.id, stored))
            self._put(closed)
        for opened in decision.opens:
            self._open(self._placed(opened), before)
        return decision

    def _remembered(self, decision: Decision) -> Remembered:
        return Remembered(
            memory=self._memories[decision.memory.id],
            outcome=decision.outcome,
            replaced=next((one.id for one in decision.closes if one.superseded_by == decision.memory.id), None),
        )

    def _placed(self, memory: Memory) -> Memory:
        if memory.scope.session is None or memory.position is not None:
            return memory
        return replace(memory, position=max(self._positions.get(memory.scope, {}).values(), default=-1) + 1)

    def _open(self, memory: Memory, before: _Before) -> None:
        if memory.id in self._memories:
            raise IdTaken(f"id {memory.id} names another memory already: use `update` to change it, or another id")
        if memory.superseded_at is None and memory.valid_to is None:
            for other in self._named(one for slot in slots_of(memory) for one in self._believed.get(slot, ())):
                if other.valid_to is None:
                    raise contradiction(other, memory)
        # A caller may change its dict later; what is stored may not change with it.
        self._put(replace(memory, data=json.loads(json.dumps(memory.data))))
        before.append((memory.id, None))

    @contextmanager
    def _all_or_none(self) -> Iterator[_Before]:
        before: _Before = []
        try:
            yield before
        except BaseException:
            # Whatever went wrong, also inside `decide`, nothing of this call may stay.
            for one, memory in reversed(before):
                if memory is None:
                    self._delete(one)
                else:
                    self._put(memory)
            raise

    def _put(self, memory: Memory) -> Memory:
        old = self._memories.get(memory.id)
        if old is not None:
            self._forget(old)
        if old is None or (old.key, old.content) != (memory.key, memory.content):
            self._terms[memory.id] = terms_in(memory)
        self._memories[memory.id] = memory
        if memory.position is not None:
            self._positions.setdefault(memory.scope, {})[memory.id] = memory.position
        if memory.superseded_at is None:
            for slot in slots_of(memory):
                self._believed.setdefault(slot, {})[memory.id] = None
        return memory

    def _delete(self, id: UUID) -> None:
        self._forget(self._memories.pop(id))
        del self._terms[id]

    def _forget(self, memory: Memory) -> None:
        self._positions.get(memory.scope, {}).pop(memory.id, None)
        for slot in slots_of(memory):
            self._believed.get(slot, {}).pop(memory.id, None)
