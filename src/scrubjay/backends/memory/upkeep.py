"""Looking after the records as a whole, on dicts."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from scrubjay.backends.memory.store import MemoryStore
from scrubjay.model import Memory, Scope
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.work import Step, is_spared
from scrubjay.ports.purges import Sight
from scrubjay.ports.upkeep import Stirred, Weight


class MemoryUpkeep:
    """The `Upkeep` port over the dicts of a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._marks = store.work_marks
        self._decayed: dict[str, datetime] = {}

    def marks(self, step: Step) -> dict[Scope, int]:
        """Up to where the step has dealt with each place."""
        return {scope: place for (one, scope), place in self._marks.items() if one == step}

    async def tenants(self) -> list[str]:
        """Return the names of all that have stored something, sorted."""
        return sorted({memory.scope.tenant for memory in self._all(None)})

    async def sessions(self, step: Step, *, within: Scope | None, limit: int) -> list[Stirred]:
        """Return sessions whose highest position is above the mark of this step."""
        ends: dict[Scope, int] = {}
        for memory in self._all(within):
            if memory.scope.session is not None and memory.position is not None:
                ends[memory.scope] = max(memory.position, ends.get(memory.scope, -1))
        found = [Stirred(scope=one, last=last, mark=self._marks.get((step, one), -1)) for one, last in ends.items()]
        return [one for one in found if one.last > one.mark][:limit]

    async def places(self, step: Step, kind: str, *, within: Scope | None) -> list[Stirred]:
        """Return places with believed memories of this kind that have changed since they were marked."""
        held: dict[Scope, list[tuple[int, Memory]]] = defaultdict(list)
        order = {memory.id: place for place, memory in enumerate(self._all(None))}
        for memory in self._all(within):
            if memory.kind == kind:
                held[replace(memory.scope, session=None, workflow=None)].append((order[memory.id], memory))
        found: list[Stirred] = []
        for place, rows in held.items():
            closed = sum(memory.superseded_at is not None for _, memory in rows)
            last, mark = max(number for number, _ in rows) + closed, self._marks.get((step, place), -1)
            if closed < len(rows) and last != mark:
                found.append(Stirred(scope=place, last=last, mark=mark))
        return sorted(found, key=lambda one: repr(one.scope))

    async def mark(self, step: Step, scope: Scope, place: int, *, sight: Sight | None = None) -> None:
        """Note that this step has dealt with the place up to here."""
        self._store.check_sight(sight)
        self._marks[step, scope] = place

    async def episodes(self, scope: Scope, *, start: int, stop: int) -> list[Memory]:
        """Return what happened in exactly this session, believed, from one position up to before another, in order."""
        found = [
            (memory.position, memory)
            for memory in self._believed(scope)
            if memory.scope == scope and memory.is_event and memory.position is not None
        ]
        return [memory for place, memory in sorted(found, key=lambda one: one[0]) if start <= place < stop]

    async def expired(self, *, within: Scope | None, now: datetime, limit: int) -> list[Memory]:
        """Return believed memories whose time is over, those first whose time was over first."""
        over = [
            (memory.expires_at, memory)
            for memory in self._believed(within)
            if memory.expires_at is not None and memory.expires_at <= now
        ]
        return [memory for _, memory in sorted(over, key=lambda one: one[0])][:limit]

    async def decay(self, tenant: str, *, period: timedelta, factor: float, now: datetime, limit: int) -> int | None:  # noqa: ARG002 -- all rows at once
        """Multiply the importance of what was not used for one period."""
        if tenant not in self._decayed or self._decayed[tenant] > now:
            self._decayed[tenant] = now
            return 0
        since = self._decayed[tenant]
        if since + period > now:
            return None
        unused = [
            memory
            for memory in self._believed(Scope(tenant=tenant))
            if not is_spared(memory) and (memory.used_at or memory.created_at) <= since
        ]
        for memory in unused:
            self._put(replace(memory, importance=memory.importance * factor))
        self._decayed[tenant] = since + period
        return len(unused)

    async def aged(self, *, within: Scope | None, before: datetime, limit: int) -> list[Memory]:
        """Return believed episodes that happened before then and are distilled, in the order of storing."""
        return [
            memory
            for memory in self._believed(within)
            if memory.is_event
            and max(memory.valid_from, memory.used_at or memory.valid_from) < before
            and memory.position is not None
            and memory.position <= self._marks.get(("distill", memory.scope), -1)
        ][:limit]

    async def hollow(self, memories: Sequence[Memory], *, at: datetime, because: str, says: str) -> list[Memory]:
        """Close these and take out what they say."""
        stored = {memory.id: memory for memory in self._all(None)}
        same = [memory for memory in memories if memory.id in stored and _as_it_was(stored[memory.id], memory)]
        closed = [stored[memory.id].closed(at, because=because) for memory in same]
        return [self._put(replace(memory, content=says, data={})) for memory in closed]

    async def fill(self, memories: Sequence[Memory]) -> list[Memory]:
        """Put back what hollow ones said, and believe them again."""
        hollow = {memory.id: memory for memory in self._all(None) if _is_hollow(memory)}
        return [
            self._put(replace(memory, importance=hollow[memory.id].importance, generation=None))
            for memory in memories
            if memory.id in hollow and memory.scope == hollow[memory.id].scope
        ]

    async def idle(self, *, within: Scope | None, before: datetime, below: float, limit: int) -> list[Memory]:
        """Return believed memories that were neither told nor used since then and whose importance is below."""
        return [
            memory
            for memory in self._believed(within)
            if not is_spared(memory) and memory.importance < below and (memory.used_at or memory.created_at) < before
        ][:limit]

    async def weights(self, *, within: Scope | None) -> list[Weight]:
        """Weigh every place that holds something believed."""
        places: dict[Scope, list[int]] = defaultdict(list)
        for memory in self._believed(within):
            places[replace(memory.scope, session=None, workflow=None)].append(len(memory.content.encode()))
        weighed = [Weight(scope=place, memories=len(sizes), bytes=sum(sizes)) for place, sizes in places.items()]
        return sorted(weighed, key=lambda one: repr(one.scope))

    async def hollowed(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are hollow, in the order asked."""
        hollow = {memory.id for memory in self._all(None) if _is_hollow(memory)}
        return [one for one in dict.fromkeys(ids) if one in hollow]

    def _all(self, within: Scope | None) -> Iterator[Memory]:
        stored = list(self._store._memories.values())  # noqa: SLF001 -- the other half of one store
        return (memory for memory in stored if within is None or within.holds(memory.scope))

    def _believed(self, within: Scope | None) -> Iterator[Memory]:
        return (memory for memory in self._all(within) if memory.superseded_at is None)

    def _put(self, memory: Memory) -> Memory:
        return self._store._put(memory)  # noqa: SLF001 -- as above


def _is_hollow(memory: Memory) -> bool:
    return memory.superseded_at is not None and (memory.closed_because or "").startswith(ARCHIVED)


def _as_it_was(stored: Memory, given: Memory) -> bool:
    """Whether nothing but how it is used and indexed has changed."""
    aside: dict[str, Any] = {"uses": 0, "used_at": None, "importance": 0.0, "generation": None}
    return replace(stored, **aside) == replace(given, **aside)
