"""Records, generations and texts in one object, since a search by words reads the records."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Unpack
from uuid import UUID

from scrubjay.backends.memory.access import MemoryAnswers
from scrubjay.backends.memory.bm25 import faults_of, scores, terms_in
from scrubjay.backends.memory.generations import MemoryGenerations
from scrubjay.backends.memory.purges import MemoryPurges
from scrubjay.backends.memory.rows import Before, MemoryRows
from scrubjay.backends.memory.versions import check_unchanged, overlaps, slots_of, thread_of
from scrubjay.errors import IdTaken
from scrubjay.model import Filter, Memory, Order, Remembered, Scope
from scrubjay.ports import (
    SILENT,
    UNSURE,
    WORDS_ONLY,
    Counts,
    Decide,
    Decision,
    Forgotten,
    Keeping,
    Kept,
    Known,
    Marked,
    Match,
    Sight,
)
from scrubjay.ports.records import (
    changed_meanwhile,
    check_source,
    contradiction,
    contradictions,
    id_taken,
    kept_as,
    read_with,
    rival,
)


class MemoryStore(MemoryRows, MemoryGenerations, MemoryPurges):
    """The Records, Generations and Texts ports on dicts. For one event loop: no method gives way in its middle."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = MemoryAnswers()
        """The `Answers` port: what is purged here goes from there, too."""

    # Records

    async def write(self, drafts: Sequence[Memory], decide: Decide, *, sight: Sight | None = None) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, all drafts or none."""
        self.check_sight(sight)
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
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        seen: Memory | None = None,
        unless_changed: Sequence[Memory] = (),
    ) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed; return them as they now are, as asked."""
        believed = [memory for memory in self._held(scope, ids) if memory.superseded_at is None]
        believed = kept_as(believed, unless_changed)
        if seen is not None:
            check_unchanged(next((memory for memory in believed if memory.id == seen.id), None), seen)
        return self._closed(believed, at, because)

    async def forget(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        with_it: str,
        elsewhere: str,
        seen: Memory | None = None,
    ) -> Forgotten:
        """Close these as `close` does, and what was made from them, for the reason `with_it`."""
        held = self._held(scope, ids)
        for memory in held:
            if memory.superseded_by is not None:
                raise changed_meanwhile(memory.id)
        closed = await self.close(scope, ids, at=at, because=because, seen=seen)
        tenant, done = Scope(tenant=scope.tenant), dict[UUID, Memory]()
        derived = await self.derived(scope, [memory.id for memory in held]) if closed else []
        for made, why in zip(read_with(self._named(derived), closed), (with_it, elsewhere), strict=True):
            closing = await self.close(tenant, [memory.id for memory in made], at=at, because=why)
            done |= {memory.id: memory for memory in closing}
        return Forgotten(closed, [done[one] for one in derived if one in done])

    async def adjust(
        self, scope: Scope, id: UUID, *, seen: Memory | None = None, **changes: Unpack[Kept]
    ) -> Memory | None:
        """Change how one memory is kept, not what it says; None when the scope does not hold it. Clears its mark."""
        for memory in self._held(scope, [id]):
            if seen is not None:
                check_unchanged(memory, seen)
            return self._put(replace(memory, **changes, generation=None))
        return None

    async def boost(self, scope: Scope, id: UUID, by: float) -> tuple[Memory, float] | None:
        """Add to the importance of one memory, kept within 0 to 1; return it, and the importance it had before."""
        for memory in self._held(scope, [id]):
            importance = min(1.0, max(0.0, memory.importance + by))
            return self._put(replace(memory, importance=importance, generation=None)), memory.importance
        return None

    async def touch(self, uses: Mapping[Scope, Sequence[UUID]], *, at: datetime) -> None:
        """Count one more use of each that a reader in its scope sees, as often as it is named."""
        for scope, ids in uses.items():
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

    async def purge(self, scope: Scope, ids: Sequence[UUID], *, versions: bool = False) -> list[Memory]:
        """Delete the rows that the scope holds, what was made from them, and every trace of it in this store."""
        named = self._held(scope, ids)
        found = dict.fromkeys(memory.id for memory in named)
        for memory in named if versions else ():
            linked = await self.versions(memory.scope, id=memory.id)
            found |= dict.fromkeys(one.id for one in linked if one.scope == memory.scope)
            found |= dict.fromkeys(
                one.id
                for one in self._memories.values()
                if memory.key is not None and (one.scope, one.key) == (memory.scope, memory.key)
            )
        gone = self._named([*found, *await self.derived(scope, list(found))])
        ids_gone = {memory.id for memory in gone}
        for one in ids_gone:
            self._delete(one)
        for memory in list(self._memories.values()):
            if memory.superseded_by in ids_gone:
                self._put(replace(memory, superseded_by=None))
        self._note_purge({memory.scope: self._positions.get(memory.scope, {}).values() for memory in gone})
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

    async def refill(self, engine: str, *, at: datetime, doubt: bool = True) -> int:
        """Let the marks speak of this engine, and doubt every one, or none; return how many memories were marked."""
        self._keeping = Keeping(engine=engine, seen=at, filling=True)
        marked = [memory for memory in self._memories.values() if doubt and memory.generation is not None]
        for memory in marked:
            self._put(replace(memory, generation=UNSURE))
        return len(marked)

    async def check(self) -> list[str]:
        """Look the store over, thoroughly; return one sentence per fault found."""
        return [*faults_of(self._terms, self._memories), *overlaps(self._memories.values())]

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

    # Deciding

    def _known(self, draft: Memory) -> Known:
        same_id = self._memories.get(draft.id)
        same_key = self._named(self._believed.get((draft.scope, draft.key), ())) if draft.key is not None else []
        is_apart = draft.key is None or draft.valid_to is None
        same_words = self._named(self._believed.get((draft.scope, draft.fingerprint), ())) if is_apart else []
        return Known(
            same_id=same_id if same_id is not None and same_id.scope.tenant == draft.scope.tenant else None,
            closed_at=self._closed_since(draft),
            same_key=tuple(sorted(same_key, key=lambda memory: memory.valid_from)),
            same_words=min(
                (memory for memory in same_words if memory.valid_to == draft.valid_to),
                key=lambda memory: memory.valid_from,
                default=None,
            ),
        )

    def _apply(self, decision: Decision, before: Before) -> Decision:
        for kept in decision.keeps:
            before.append((kept.id, self._memories[kept.id]))
            self._put(self._memories[kept.id].kept_until(kept.expires_at))
        for closed in decision.closes:
            stored = self._memories.get(closed.id)
            check_unchanged(stored, closed)
            before.append((closed.id, stored))
            self._put(closed)
        new = {opened.id: opened for opened in decision.opens}
        for made, source in decision.sources():
            check_source(made, source, new.get(source) or self._memories.get(source))
        for opened in decision.opens:
            self._open(self._placed(opened), before)
        return decision

    def _remembered(self, decision: Decision) -> Remembered:
        memory = self._memories[decision.memory.id]
        return Remembered(memory=memory, outcome=decision.outcome, replaced=decision.replaced)

    def _placed(self, memory: Memory) -> Memory:
        if memory.scope.session is None or memory.position is not None:
            return memory
        return replace(memory, position=max(self._positions.get(memory.scope, {}).values(), default=-1) + 1)

    def _open(self, memory: Memory, before: Before) -> None:
        if memory.id in self._memories:
            raise IdTaken(f"id {memory.id} names another memory already: use `update` to change it, or another id")
        if memory.superseded_at is None and memory.valid_to is None:
            for other in self._named(one for slot in slots_of(memory) for one in self._believed.get(slot, ())):
                if other.valid_to is None:
                    raise contradiction(other, memory)
        # A caller may change its dict later; what is stored may not change with it.
        self._put(replace(memory, data=json.loads(json.dumps(memory.data))))
        before.append((memory.id, None))
