"""The write path, from what was told to what is stored and indexed."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.errors import EmbedderUnavailable, InvalidInput, ScrubjayError
from scrubjay.model import Memory, Remembered, Scope, Trust, new_ids
from scrubjay.model.access import Bounds
from scrubjay.model.kinds import KEPT_BY
from scrubjay.off_loop import off_loop, weight
from scrubjay.ports import Ahead, Clock, Decide, Decision, Events, Known, Redactor, Sight, Stores, stage
from scrubjay.ports.records import NOTHING, check_source
from scrubjay.write.announce import stored
from scrubjay.write.audit import Noted
from scrubjay.write.garbage import garbage_later
from scrubjay.write.index import Index
from scrubjay.write.prepare import Telling, prepare, telling_of
from scrubjay.write.reconcile import correct, kept_longer, reconcile, told_after, told_last

BATCH: Final = 1_000
"""Memories written in one transaction: others can write in between, and the model gets enough to sort by length."""

Made: TypeAlias = Ahead | EmbedderUnavailable | None
"""What the index needs of drafts, why it could not be made, or None where it is made after they are stored."""

Batch: TypeAlias = tuple[Sequence[Memory], Awaitable[Made]]


class Writer:
    """Writes memories: redact → prepare → embed → reconcile → store → index, and then says so."""

    def __init__(
        self, *, stores: Stores, index: Index, redactor: Redactor | None, events: Events, clock: Clock
    ) -> None:
        self._records = stores.records
        self._joint = stores.joint
        self._index = index
        self._redactor = redactor
        self._events = events
        self._clock = clock
        self._bounds = Bounds()
        self._is_bound = False
        self._noted: Noted | None = None
        self._sight: Sight | None = None

    def inside(self, bounds: Bounds, noted: Noted | None = None) -> "Writer":
        """The same writer, which writes nothing outside these bounds, and has noted what vanishes by what it writes."""
        other = copy(self)
        other._bounds, other._is_bound, other._noted = bounds, bool(bounds), noted  # noqa: SLF001 -- our own class
        return other

    def since(self, sight: Sight) -> "Writer":
        """The same writer, for what is made of what was read there: raises Purged when some of it may be gone."""
        other = copy(self)
        other._sight = sight  # noqa: SLF001 -- our own class
        return other

    async def remember(
        self,
        items: Sequence[str | Telling],
        scope: Scope,
        *,
        progress: Callable[[int], None] | None = None,
        own: str | None = None,
    ) -> list[Remembered]:
        """Store what was told. Everything is checked before the first of it is written.

        `own` is the kind of the verb that asks, if it is one that only verbs write.
        """
        drafts = await self.drafts(items, scope, own=own)
        if len(drafts) == 1:  # The commonest call, which needs nothing of what batches need.
            done = await self._write(drafts, reconcile, self._made(drafts))
            if progress is not None:
                progress(1)
            return done
        done = []
        async with aclosing(self._in_batches(drafts)) as batches:
            async for batch, making in batches:
                done += await self._write(batch, reconcile, making)
                if progress is not None:
                    progress(len(done))
        return done

    async def _in_batches(self, drafts: Sequence[Memory]) -> AsyncGenerator[Batch, None]:
        """Each batch, and what makes its vectors. While one is being stored, those of the next are made."""
        if len(drafts) <= BATCH:
            if drafts:
                yield drafts, self._made(drafts)
            return
        batches = [drafts[start : start + BATCH] for start in range(0, len(drafts), BATCH)]
        following = asyncio.create_task(self._made(batches[0]))
        try:
            for place, batch in enumerate(batches, 1):
                making = following
                await asyncio.wait([making])
                if place < len(batches):
                    following = asyncio.create_task(self._made(batches[place]))
                yield batch, making
        finally:
            following.cancel()

    async def _made(self, drafts: Sequence[Memory]) -> Made:
        """What the index needs of these before they are stored, or why the model could not make it."""
        try:
            return await self._index.ahead(drafts)
        except EmbedderUnavailable as error:
            return error

    async def drafts(self, items: Sequence[str | Telling], scope: Scope, *, own: str | None = None) -> list[Memory]:
        """What was told as memories, redacted and checked, and not yet written."""
        return await self._trusted(await off_loop(weight(items), self._all_prepared, items, scope, own=own))

    def _all_prepared(self, items: Sequence[str | Telling], scope: Scope, *, own: str | None) -> list[Memory]:
        many, ids = len(items) > 1, new_ids(len(items))
        with garbage_later(len(items)):
            return [
                self._prepared(place if many else None, item, scope, new, own=own)
                for place, (item, new) in enumerate(zip(items, ids, strict=True))
            ]

    async def write(self, drafts: Sequence[Memory], decide: Decide) -> list[Remembered]:
        """Store these in one transaction, index what changed, and announce it."""
        for draft in drafts:
            self._bounds.check(draft.scope)
        return await self._write(drafts, decide, self._made(drafts))

    async def _write(self, drafts: Sequence[Memory], decide: Decide, making: Awaitable[Made]) -> list[Remembered]:
        with stage("remember", tenant=drafts[0].scope.tenant if drafts else None) as remembering:
            done = await self._written(drafts, decide, await making)
            if remembering.is_watched:
                remembering.note(
                    ids=[str(one.memory.id) for one in done],
                    kinds=[one.memory.kind for one in done],
                    outcomes=[one.outcome for one in done],
                )
            return done

    async def _written(self, drafts: Sequence[Memory], decide: Decide, made: Made) -> list[Remembered]:
        unusual: dict[UUID, Decision] = {}
        refused = made if isinstance(made, EmbedderUnavailable) else None
        ahead = made if isinstance(made, Ahead) else None
        indexed = ahead.marks if ahead is not None else None

        def noting(draft: Memory, known: Known) -> Decision:
            draft = draft if known is NOTHING else told_last(draft, known)
            decision = decide(draft, known)
            if indexed is not None and draft.id in indexed and decision.stores_only(draft):
                if unusual:
                    unusual.pop(draft.id, None)
                return decision
            decision = kept_longer(decision, draft)
            # By draft, since the store may ask again after it lost a race, and then the last answer counts.
            unusual[draft.id] = decision
            if ahead is not None and any(_reads_otherwise(memory, draft) for memory in decision.opens):
                ahead.leave_out(draft.id)
            return decision

        with self._index.writing():
            with garbage_later(len(drafts)):
                done = await self._stored(drafts, noting, ahead)
            if unusual:
                await self._follow(unusual.values(), indexed or {}, refused)
                await self._renew(unusual.values(), done)
                await self._note_vanished(unusual.values())
        await self._events.publish(stored(done, self._clock()))
        return done

    async def _note_vanished(self, decided: Collection[Decision]) -> None:
        """Have it noted what was closed and is not replaced by something that goes on."""
        if self._noted is None:
            return
        opened = {memory.id: memory for decision in decided for memory in decision.opens}
        places: defaultdict[Scope, list[UUID]] = defaultdict(list)
        for memory in (memory for decision in decided for memory in decision.closes):
            heir = opened.get(memory.superseded_by) if memory.superseded_by is not None else None
            if heir is None or _ends_sooner(heir, memory):
                places[memory.scope].append(memory.id)
        for scope, ids in places.items():
            await self._noted(scope, ids, at=self._clock(), how="closed by what was written")

    async def _renew(self, decided: Collection[Decision], done: Sequence[Remembered]) -> None:
        """Let the index know what is kept longer, unless it was closed after that."""
        kept = {memory.id for decision in decided for memory in decision.keeps}
        if kept:
            stands = {one.memory.id: one.memory for one in done if one.memory.superseded_at is None}
            await self._index.renew([memory for memory in stands.values() if memory.id in kept])

    async def _follow(
        self, decided: Collection[Decision], indexed: Mapping[UUID, int], refused: EmbedderUnavailable | None
    ) -> None:
        """Index what was opened and is not indexed yet, and retire what was closed."""
        opened = {memory.id: memory for decision in decided for memory in decision.opens}
        closed = {memory.id: memory for decision in decided for memory in decision.closes}
        with stage("index"):
            left = [closed.get(memory.id, memory) for memory in opened.values() if memory.id not in indexed]
            await self._index.add(left, refused=refused)
            await self._index.retire([memory for memory in closed.values() if memory.id not in opened])

    async def _stored(self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead | None) -> list[Remembered]:
        if self._joint is None or ahead is None:
            return await self._records.write(drafts, decide, sight=self._sight)
        return await self._joint.write(drafts, decide, ahead, sight=self._sight)

    async def correct(self, old: Memory, changes: Telling) -> Remembered:
        """Open a new version of a memory in place of the old one."""
        told: Telling = {
            "content": old.content,
            "kind": old.kind,
            "key": old.key,
            "data": old.data,
            "importance": old.importance,
            "trust": old.trust,
            "source": old.source,
            "author": old.author,
            "derived_from": old.derived_from,
            "valid_from": old.valid_from,
            "valid_to": old.valid_to,
            "expires_at": old.expires_at,
            "encrypt": old.encrypted,
            **changes,
        }
        prepared = await off_loop(weight(told), self._prepared, None, told, old.scope)
        draft = replace(
            told_after(old.created_at, prepared),
            valid_from=prepared.valid_from,
            valid_to=prepared.valid_to,
            position=old.position,
            uses=old.uses,
            used_at=old.used_at,
        )
        return (await self.write([draft], partial(correct, old=old)))[0]

    def _prepared(
        self, place: int | None, item: str | Telling, scope: Scope, new: UUID | None = None, *, own: str | None = None
    ) -> Memory:
        try:
            draft = prepare(telling_of(item), scope, now=self._clock(), redactor=self._redactor, new=new)
            if draft.kind in KEPT_BY and draft.kind != own:
                raise InvalidInput(f"kind is {draft.kind!r}, which only {KEPT_BY[draft.kind]} keeps: use another one")
            if self._is_bound:
                self._bounds.check(draft.scope)
        except ScrubjayError as error:
            if place is None:
                raise
            raise type(error)(f"item {place}: {error}") from error
        return draft

    async def _trusted(self, drafts: list[Memory]) -> list[Memory]:
        """What is derived is trusted no more than its weakest source; each has to be there, and not forgotten.

        One that the caller's bounds do not let it see is answered as one that is not stored.
        """
        derived = [draft.derived_from for draft in drafts if draft.derived_from]
        if not derived:
            return drafts
        wanted = list(dict.fromkeys(source for sources in derived for source in sources))
        tenant = Scope(tenant=drafts[0].scope.tenant)
        stored = await self._records.get(tenant, wanted)
        known = {memory.id: memory for memory in stored if self._bounds.sees(memory.scope)}
        for draft in drafts:
            for source in draft.derived_from:
                # Before a model reads it. That they are still there is asked again when it is stored.
                check_source(draft, source, known.get(source))
        return [
            replace(draft, trust=Trust.least([draft.trust, *(known[source].trust for source in draft.derived_from)]))
            for draft in drafts
        ]


def _reads_otherwise(memory: Memory, draft: Memory) -> bool:
    """Whether it is the draft, but with another text for the model to read."""
    return (
        memory is not draft
        and memory.id == draft.id
        and (memory.content, memory.kind, memory.author) != (draft.content, draft.kind, draft.author)
    )


def _ends_sooner(heir: Memory, memory: Memory) -> bool:
    """Whether what takes the place of a memory goes away before that would have."""
    expires = heir.expires_at is not None and (memory.expires_at is None or heir.expires_at < memory.expires_at)
    return expires or heir.valid_to is not None
