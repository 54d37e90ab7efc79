"""Search by meaning, exact: every vector that the filter admits is compared."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from scrubjay.model import Filter
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.ports import Entry, Match
from scrubjay.ports.indexes import in_order

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class MemoryVectors:
    """The Vectors port on dicts: generation → id → entry."""

    def __init__(self) -> None:
        self._generations: dict[int, dict[UUID, Entry]] = {}

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""
        stored = self._generations.setdefault(generation, {})
        stored.update((entry.id, replace(entry, vectors=entry.vectors.copy())) for entry in entries)

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""
        for stored in self._generations.values():
            for one in stored.keys() & set(ids):
                stored[one] = replace(stored[one], live=False)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""
        for stored in self._generations.values():
            for one in ids:
                stored.pop(one, None)

    async def search(
        self,
        generation: int,
        vector: "Matrix",
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        among: Sequence[UUID] | None = None,
    ) -> list[Match]:
        """Return the nearest memories, best first, each once, with its best part."""
        chosen = None if among is None else set(among)
        matches = [
            _best_part(entry, vector)
            for entry in self._generations.get(generation, {}).values()
            if filter.admits(entry.scope)
            and (not filter.kinds or entry.kind in filter.kinds)
            and (_holds(entry, now) if chosen is None else entry.id in chosen)
        ]
        return in_order(matches)[:limit]

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""
        return len(self._generations.get(generation, {}))

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        stored = self._generations.get(generation, {})
        return [one for one in ids if one not in stored]

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""
        return sum(any(one in stored for stored in self._generations.values()) for one in set(ids))

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out."""
        stored = self._generations.get(generation, {})
        return [replace(stored[one], vectors=stored[one].vectors.copy()) for one in ids if one in stored]

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, in the order of their ids, from behind one."""
        named = sorted(self._generations.get(generation, {}))
        return [one for one in named if after is None or one > after][:limit]

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        self._generations.pop(generation, None)

    async def shut(self) -> None:
        """There is nothing to let go of."""


def _holds(entry: Entry, now: datetime) -> bool:
    return entry.live and entry.since <= now and (entry.until is None or now < entry.until)


def _best_part(entry: Entry, vector: "Matrix") -> Match:
    similarities = entry.vectors @ vector
    best = int(np.argmax(similarities))
    start, stop = entry.spans[best]
    outside = entry.scope.session is None
    alone = outside and entry.kind != MESSAGE_KIND
    return Match(entry.id, float(similarities[best]), start, stop, alone=alone, outside=outside)
