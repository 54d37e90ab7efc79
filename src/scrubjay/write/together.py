"""Store vectors where they lie apart from the records: writers who come while one is at it are taken along by the next.

A write to an engine on a server, to its mirror and to the marks takes much the same time for one memory as for fifty.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from scrubjay.errors import InvalidInput, Unavailable
from scrubjay.ports import Entry, Records, Stores, Vectors

MANY: Final = 64
"""Whoever brings more goes alone: others would have to wait for all of it."""


@dataclass
class _Group:
    """What several writers brought while another write was under way."""

    entries: list[Entry] = field(default_factory=list)
    is_stored: bool = False
    is_apart: bool = False
    """Whether something in it cannot be stored, so that each has to find out about its own."""
    failed: Unavailable | None = None

    @property
    def is_over(self) -> bool:
        return self.is_stored or self.is_apart or self.failed is not None


class Together:
    """One write at a time, for everybody who waited for it."""

    def __init__(self, stores: Stores) -> None:
        self._vectors: Vectors = stores.vectors
        self._records: Records = stores.records
        self._groups: dict[int, _Group] = {}
        """The one that can still be joined, by generation."""
        self._writing = asyncio.Lock()

    async def store(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store these vectors, then mark their memories with the generation. Raises what the stores raise."""
        if not 0 < len(entries) <= MANY:
            await self._store(generation, entries)
            return
        group = self._groups.setdefault(generation, _Group())
        group.entries += entries
        async with self._writing:
            # The first one here does it for all. Should it be cancelled, the next one does it again.
            if not group.is_over:
                if self._groups.get(generation) is group:
                    del self._groups[generation]
                await self._store_group(generation, group)
        if group.is_apart:
            await self._store(generation, entries)
        if group.failed is not None:
            raise type(group.failed)(str(group.failed)) from group.failed

    async def _store_group(self, generation: int, group: _Group) -> None:
        try:
            await self._store(generation, group.entries)
        except InvalidInput:
            group.is_apart = True
        except Unavailable as error:
            group.failed = error
        else:
            group.is_stored = True

    async def _store(self, generation: int, entries: Sequence[Entry]) -> None:
        await self._vectors.upsert(generation, entries)
        await self.mark(generation, {entry.id: entry.live for entry in entries})

    async def mark(self, generation: int, live: Mapping[UUID, bool]) -> None:
        """Mark these as indexed: each with whether it was believed when that was begun."""
        believed = {one for one, is_live in live.items() if is_live}
        marked = await self._records.mark(list(live), generation, live=believed)
        # What was purged while it was being embedded must not come back as a vector.
        if marked.missing:
            await self._vectors.remove(marked.missing)
        # Whoever closed one meanwhile retired it before it had vectors, and these would count as live for good. It has
        # no mark until they do not, so that `drain` finds it if the engine fails here, or this process is killed.
        if late := [one for one in marked.closed if one in believed]:
            await self._vectors.retire(late)
            await self._records.mark(late, generation)
