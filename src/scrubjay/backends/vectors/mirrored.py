"""A vector engine and its mirror: every change goes to both, every question to the engine."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter
from scrubjay.ports import Entry, Listed, Match, PortableVectors, Sized, Vectors
from scrubjay.ports.mirror import Mirror

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class MirroredVectors:
    """The same engine. What is stored in it is kept beside the records too.

    Both are written at the same time, and neither is spared by a failure of the other: while the engine is down the
    mirror has what is new, and a memory whose mark stays empty for that reason is later given to the engine from there.
    What is deleted goes from the engine first: a failure leaves it in the mirror, and the caller knows that it has to
    try again.
    """

    ids: Callable[..., Awaitable[list[UUID]]]
    sizes: Callable[[int], Awaitable[dict[str, int]]]

    def __init__(self, engine: Vectors, mirror: Mirror) -> None:
        self._engine = engine
        self._mirror = mirror
        if isinstance(engine, Listed):
            self.ids = engine.ids
        if isinstance(engine, Sized):
            self.sizes = engine.sizes

    @property
    def engine(self) -> Vectors:
        """The engine by itself."""
        return self._engine

    @property
    def mirror(self) -> Mirror:
        """The mirror by itself."""
        return self._mirror

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation of both; an entry whose id is there replaces it whole."""
        await self._change_both(lambda one: one.upsert(generation, entries))

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation of both that these are not live any more. Unknown ids are ignored."""
        await self._change_both(lambda one: one.retire(ids))

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation of both, for good. Unknown ids are ignored."""
        await self._engine.remove(ids)
        await self._mirror.remove(ids)

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
        """Return the nearest memories, best first, as the engine finds them."""
        return await self._engine.search(generation, vector, filter, now=now, limit=limit, among=among)

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation of the engine."""
        return await self._engine.count(generation)

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation of the engine, in the order asked."""
        return await self._engine.missing(generation, ids)

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector, in the one of the two that has more: 0 when neither has any."""
        return max(await self._engine.traces(ids), await self._mirror.traces(ids))

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these, in the order asked: as the engine has them, and from the mirror what it lacks.

        While the engine is down, all of them come from the mirror. Raises StoreUnavailable when that was never filled.
        """
        found: dict[UUID, Entry] = {}
        try:
            if isinstance(self._engine, PortableVectors):
                found = {entry.id: entry for entry in await self._engine.entries(generation, ids)}
        except StoreUnavailable:
            if not await self._mirror.count(generation):
                raise
        if lacking := [one for one in dict.fromkeys(ids) if one not in found]:
            found |= {entry.id: entry for entry in await self._mirror.entries(generation, lacking)}
        return [found[one] for one in dict.fromkeys(ids) if one in found]

    async def drop(self, generation: int) -> None:
        """Delete a whole generation from both."""
        await self._engine.drop(generation)
        await self._mirror.drop(generation)

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""
        await self._engine.shut()
        await self._mirror.shut()

    async def _change_both(self, change: Callable[[Vectors], Awaitable[None]]) -> None:
        """Change both at once, and wait until both are. Raises what one of them did; of two, what the mirror did."""

        async def changed(one: Vectors) -> None:
            await change(one)

        for ended in await asyncio.gather(changed(self._mirror), changed(self._engine), return_exceptions=True):
            if ended is not None:
                raise ended
