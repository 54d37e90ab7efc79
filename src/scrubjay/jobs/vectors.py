"""The verbs of whoever looks after the vector engine: see what it holds, fill it from the mirror, fill the mirror."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.jobs.probing import InProcess, look
from scrubjay.model import Generation
from scrubjay.model.vectors import Coverage, Rebuilt, VectorsStatus
from scrubjay.ports import Entry, Listed, PortableVectors, Vectors
from scrubjay.ports.mirror import Mirrored

PAGE: Final = 500
"""Memories that are looked at, or carried over, in one go."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done and how many there are in all."""


class VectorUpkeep:
    """The vector engine and its mirror, for whoever looks after them. Numbers are over all tenants."""

    def __init__(self, core: Core) -> None:
        self._parts = core.parts
        self._stores = core.parts.stores

    async def status(self) -> VectorsStatus:
        """Say what the engine and its mirror hold of each generation, and what to do about it, if anything."""
        probe = self._parts.probes.get("vectors", InProcess())
        keeping = await self._stores.generations.keeping()
        health = await look("vectors", probe, name=keeping.engine or "vectors")
        return VectorsStatus(
            engine=keeping.engine,
            health=health,
            is_mirrored=isinstance(self._stores.vectors, Mirrored),
            is_filling=keeping.filling,
            waiting=await self._parts.index.backlog(),
            generations=tuple([await self._coverage(one) for one in await self._stores.generations.generations()]),
        )

    async def _coverage(self, generation: Generation) -> Coverage:
        number, vectors = generation.number, self._stores.vectors
        try:
            held: int | None = await vectors.count(number)
        except StoreUnavailable:
            held = None
        marked = unmirrored = 0
        async for page in self._marked(number):
            marked += len(page)
            if isinstance(vectors, Mirrored):
                unmirrored += len(await vectors.mirror.missing(number, page))
        mirrored = await vectors.mirror.count(number) if isinstance(vectors, Mirrored) else None
        return Coverage(generation=generation, marked=marked, engine=held, mirror=mirrored, unmirrored=unmirrored)

    async def rebuild(self, progress: Progress = lambda _done, _total: None) -> Rebuilt:
        """Empty the engine and fill it from the mirror. Only what the mirror lacks is embedded again.

        The mirror answers meanwhile. Stopped half-way, it is finished by the next draining, or by doing it again.
        Raises Misconfigured without a mirror, and Conflict while another process works with another engine.
        """
        vectors, index, generations = self._mirrored(), self._parts.index, self._stores.generations
        await index.hold()
        known = await generations.generations()
        drained = await index.building() or next((one for one in known if one.state == "active"), None)
        if drained is None:
            return Rebuilt(generations=(), memories=0, embedded=0)
        others = [one.number for one in known if one.number != drained.number]
        lacking = [
            len(await vectors.mirror.missing(drained.number, page)) async for page in self._marked(drained.number)
        ]
        # Doubted first: from here on the mirror answers, and draining knows what to do should this be stopped.
        await self._doubt()
        for one in known:
            await vectors.engine.drop(one.number)
        waiting = await self._stores.records.backlog(drained.number)
        carried = await self._carried(vectors, others, lambda done, total: progress(done, total + waiting))
        indexed = await index.drain(lambda done, total: progress(carried + done, carried + total))
        if await self._lacks(vectors.engine, drained.number):
            # Somebody else was draining: what they had stored went with the rest, and they marked it after that.
            await self._doubt()
            indexed = await index.drain(lambda done, total: progress(carried + done, carried + total))
        return Rebuilt(
            generations=tuple(one.number for one in known),
            memories=carried + indexed,
            embedded=min(sum(lacking), indexed),
        )

    async def _doubt(self) -> None:
        """Let the mirror answer until every memory has been looked for in the engine."""
        generations = self._stores.generations
        await generations.refill((await generations.keeping()).engine, at=self._parts.clock())
        self._parts.index.look_again()

    async def _lacks(self, engine: Vectors, generation: int) -> bool:
        """Whether a memory that is marked has no vectors there."""
        async for page in self._marked(generation):
            if await engine.missing(generation, page):
                return True
        return False

    async def _carried(self, vectors: Mirrored, numbers: Sequence[int], progress: Progress) -> int:
        """Give the engine these generations as the mirror has them: those that answer again only after a rollback."""
        done, total = 0, sum([await vectors.mirror.count(number) for number in numbers])
        for number in numbers:
            async for page in _pages(vectors.mirror, number):
                await self._give(vectors.engine, number, await vectors.mirror.entries(number, page))
                done += len(page)
                progress(done, max(done, total))
        return done

    async def mirror(self, progress: Progress = lambda _done, _total: None) -> int:
        """Copy into the mirror what the engine has and it lacks; return of how many memories. Nothing is embedded.

        For an engine that was in use before it had a mirror. Safe to stop and to repeat. Raises Misconfigured without
        a mirror.
        """
        vectors = self._mirrored()
        engine, copied, done = vectors.engine, 0, 0
        if not isinstance(engine, Listed) or not isinstance(engine, PortableVectors):
            raise Misconfigured("this vector engine does not give back what it holds: run `scrubjay reindex --rebuild`")
        numbers = [one.number for one in await self._stores.generations.generations()]
        total = sum([await vectors.engine.count(number) for number in numbers])
        for number in numbers:
            async for page in _pages(engine, number):
                lacking = await vectors.mirror.missing(number, page)
                copied += await self._give(vectors.mirror, number, await engine.entries(number, lacking))
                done += len(page)
                progress(done, max(done, total))
        return copied

    async def _give(self, target: Vectors, generation: int, entries: Sequence[Entry]) -> int:
        """Store these there, and take back those whose record is gone; return how many stayed."""
        if not entries:
            return 0
        await target.upsert(generation, entries)
        # Asked afterwards: what is purged while it is carried must not stay.
        if gone := await self._stores.records.missing([one.id for one in entries]):
            await target.remove(gone)
        return len(entries) - len(gone)

    async def _marked(self, generation: int) -> AsyncIterator[list[UUID]]:
        after = None
        while page := await self._stores.records.marked(generation, limit=PAGE, after=after):
            yield page
            after = page[-1]

    def _mirrored(self) -> Mirrored:
        if not isinstance(self._stores.vectors, Mirrored):
            raise Misconfigured(
                "the vectors have no mirror. With SCRUBJAY_VECTORS=embedded they are in the record store itself, and "
                "`scrubjay reindex --rebuild` makes them again; for another engine, set SCRUBJAY_MIRROR=on"
            )
        return self._stores.vectors


async def _pages(vectors: Listed, generation: int) -> AsyncIterator[list[UUID]]:
    after = None
    while page := await vectors.ids(generation, limit=PAGE, after=after):
        yield page
        after = page[-1]
