"""The Vectors port on Qdrant: a collection for each generation, found by an alias that can be switched.

The alias `{prefix}-g{generation}` stands for one of the collections `{prefix}-g{generation}-{build}`. Searches use the
alias. What is written or removed goes to every build of a generation, so that one in the making misses nothing.
"""

import asyncio
import contextlib
import importlib.util
import re
from collections.abc import AsyncIterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import numpy as np

from scrubjay.backends.vectors.qdrant.inspection import inspected
from scrubjay.backends.vectors.qdrant.place import Place
from scrubjay.backends.vectors.refusals import another_size
from scrubjay.errors import Closed, Conflict, InvalidInput, Misconfigured, StoreUnavailable
from scrubjay.model import Filter, Finding
from scrubjay.ports import Entry, Match
from scrubjay.ports.indexes import in_order

if TYPE_CHECKING:
    from scrubjay.backends.vectors.qdrant.server import Server
    from scrubjay.ports import Matrix

T = TypeVar("T")

IDS_PER_REQUEST: Final = 1_000
AMONG_PER_SEARCH: Final = 5_000
SPARE: Final = 2
"""How many times as many parts as memories are asked for at first. Most memories have one part."""

TRIES: Final = 5
"""How often a write starts over because its collection was replaced under it."""


class QdrantVectors:
    """Search by meaning in Qdrant, by gRPC where it is to be had. Nothing is connected before the first call.

    The URL is `qdrant://HOST:PORT`, or `qdrants://` for TLS, with the options `prefix`, `grpc_port`, `shards`,
    `replicas`, `quantization=int8` and `timeout` (seconds) after a `?`. An API key is given by itself or as the URL's
    password. Collections are made when something is first written.
    """

    def __init__(self, url: str, *, prefix: str = "scrubjay", key: str = "") -> None:
        self._place = Place.of(url, prefix=prefix, key=key)
        if importlib.util.find_spec("qdrant_client") is None:
            raise Misconfigured(f"{self._place.name} needs its driver: pip install 'scrubjay[qdrant]'")
        self._pattern = re.compile(rf"{re.escape(self._place.prefix)}-g(\d+)-(\d+)")
        self._connecting: asyncio.Task[None] | None = None
        self._server: Server | None = None
        self._complete: set[str] = set()
        """Collections that are known to have their indexes and their alias."""
        self._written: dict[int, list[str]] = {}
        """The builds of each generation that were written to last."""
        self._shut = False

    @property
    def name(self) -> str:
        """The address, for people: no key, no options."""
        return self._place.name

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""
        latest = _latest(entries)
        if not latest:
            return
        dimensions = _checked(latest)
        server = await self._reach()
        try:
            for batch in _batches(latest, IDS_PER_REQUEST):
                await self._write(server, generation, batch, dimensions)
        except InvalidInput as error:
            await self._check_size(generation, dimensions, error)
            raise

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""
        if not ids:
            return
        server = await self._reach()
        for name in await self._builds(server):
            for batch in _batches(ids, IDS_PER_REQUEST):
                await server.retire(name, batch)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""
        if not ids:
            return
        server = await self._reach()
        for name in await self._builds(server):
            for batch in _batches(ids, IDS_PER_REQUEST):
                await server.remove(name, batch)

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
        if not np.isfinite(vector).all():
            raise InvalidInput("the vector to search for has a number that is not finite")
        server = await self._reach()
        alias = self._alias(generation)
        ask = partial(_nearest, server, alias, vector, filter, now=now, limit=limit)
        try:
            if among is None:
                return in_order(await ask())
            batches = _batches(list(dict.fromkeys(among)), AMONG_PER_SEARCH)
            found = [match for batch in batches for match in await ask(among=batch)]
        except InvalidInput as error:
            await self._check_size(generation, len(vector), error)
            raise
        return in_order(found)[:limit]

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""
        server = await self._reach()
        return await server.count(self._alias(generation))

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        if not ids:
            return []
        server = await self._reach()
        known: set[UUID] = set()
        for batch in _batches(ids, IDS_PER_REQUEST):
            known |= await server.known(self._alias(generation), batch)
        return [one for one in ids if one not in known]

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation, one in the making included."""
        if not ids:
            return 0
        server = await self._reach()
        found: set[UUID] = set()
        for name in await self._builds(server):
            for batch in _batches(ids, IDS_PER_REQUEST):
                found |= await server.traced(name, batch)
        return len(found)

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out."""
        if not ids:
            return []
        server = await self._reach()
        found: dict[UUID, Entry] = {}
        for batch in _batches(ids, IDS_PER_REQUEST):
            found |= {entry.id: entry for entry in await server.entries(self._alias(generation), batch)}
        return [found[one] for one in ids if one in found]

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, in the order of their points, from behind one."""
        server = await self._reach()
        return await server.memories(self._alias(generation), limit=limit, after=after)

    async def sizes(self, generation: int) -> dict[str, int]:
        """Return how many dimensions the vectors of each collection of this generation have, by its name."""
        server = await self._reach()
        sizes = {name: await server.size(name) for name in await self._builds(server, generation)}
        return {name: size for name, size in sizes.items() if size is not None}

    async def _check_size(self, generation: int, dimensions: int, refused: InvalidInput) -> None:
        """Raise StoreDamaged when it was refused because a collection is for vectors of another size."""
        for name, size in (await self.sizes(generation)).items():
            if size != dimensions:
                raise another_size(self.name, name, size, dimensions) from refused

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        server = await self._reach()
        for name in await self._builds(server, generation):
            await server.delete(name)
            self._complete.discard(name)
        # The next build has the same name, and whoever finds it half made has to finish it.
        self._written.pop(generation, None)

    async def rebuild(self, generation: int, entries: AsyncIterable[Sequence[Entry]]) -> int:
        """Build a generation anew from these entries, beside the one that answers; then switch, and drop the old one.

        The new one has the shards, replicas and quantization of this URL. Searches notice nothing before the switch.
        What others write or remove meanwhile is done in both, but an entry that was read before and comes after counts
        as new: the caller looks again at what changed while it read. Returns how many memories the new one has. Raises
        Conflict when another rebuild of the same generation took over; one that was left unfinished is thrown away.
        """
        server = await self._reach()
        old = await self._builds(server, generation)
        alias = self._alias(generation)
        answering = (await server.aliases()).get(alias)
        for name in old:
            if name != answering:
                await server.delete(name)
        new = self._build(generation, self._number(old[-1]) + 1 if old else 1)
        try:
            await self._fill(server, new, entries)
        except BaseException:
            with contextlib.suppress(StoreUnavailable):
                await server.delete(new)
            raise
        if not await server.point(alias, new):
            raise self._overtaken(new)
        if answering is not None:
            await server.delete(answering)
        return await server.count(new)

    async def _fill(self, server: "Server", new: str, entries: AsyncIterable[Sequence[Entry]]) -> None:
        made = False
        async for batch in entries:
            latest = _latest(batch)
            if latest and not made:
                await server.create(new, dimensions=_checked(latest))
                await server.index(new)
                made = True
            for some in _batches(latest, IDS_PER_REQUEST):
                if not await server.store(new, some):
                    raise self._overtaken(new)
        if not made:
            raise InvalidInput(f"{new} cannot be built from no entries: drop the generation instead")

    def _overtaken(self, new: str) -> Conflict:
        return Conflict(f"{self.name}: another rebuild took over from {new}. Let that one finish")

    async def ping(self) -> None:
        """Return as soon as it answers. Raises StoreUnavailable when it does not."""
        server = await self._reach()
        await server.ping()

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Look over the server and its collections. With `fix`, payload indexes that are missing are made."""
        server = await self._reach()
        return await inspected(server, await self._builds(server), fix=fix)

    async def load(self) -> None:
        """Import the driver, which takes about a second the first time. Asks no server."""
        if self._server is None:
            await asyncio.to_thread(_driver)

    async def shut(self) -> None:
        """Let go of the connections. Safe to call twice."""
        self._shut = True
        if self._connecting is not None:
            self._connecting.cancel()
        server, self._server = self._server, None
        if server is not None:
            await server.close()

    async def _reach(self) -> "Server":
        """The connection. Those who ask while it is being made wait together, and fail together."""
        while self._server is None:
            if self._shut:
                raise Closed
            if self._connecting is None or self._connecting.done():
                self._connecting = asyncio.create_task(self._connect())
            await asyncio.shield(self._connecting)
        return self._server

    async def _connect(self) -> None:
        # The driver takes about a second to import; on a thread, others need not wait for it.
        server = await asyncio.to_thread(_driver)
        self._server = await server.reach(self._place)

    async def _write(self, server: "Server", generation: int, entries: Sequence[Entry], dimensions: int) -> None:
        if known := self._written.get(generation):
            # Which builds there are is asked beside the write instead of before it. One that was begun before the
            # answer is seen either way, and gets what is written here below. So does one without an alias: somebody
            # dropped what was known by its name, and has not finished the next.
            found, aliases, stored = await asyncio.gather(
                self._builds(server, generation), server.aliases(), self._stored(server, known, entries)
            )
            if stored and found == known and self._alias(generation) in aliases:
                return
        for _ in range(TRIES):
            names = await self._ready(server, generation, dimensions)
            if await self._stored(server, names, entries):
                self._written[generation] = names
                return
        raise StoreUnavailable(f"{self.name}: generation {generation} was replaced {TRIES} times meanwhile. Try again")

    async def _stored(self, server: "Server", names: Sequence[str], entries: Sequence[Entry]) -> bool:
        stored = all([await server.store(name, entries) for name in names])
        if not stored:
            # One was dropped, perhaps by another process: what is made in its place is another one.
            self._complete.difference_update(names)
        return stored

    async def _ready(self, server: "Server", generation: int, dimensions: int) -> list[str]:
        """The builds of a generation, the first one made if there is none."""
        names = await self._builds(server, generation)
        if names and self._complete.issuperset(names) and self._alias(generation) in await server.aliases():
            return names
        if not names:
            names = [self._build(generation, 1)]
            await server.create(names[0], dimensions=dimensions)
        for name in names:
            await server.index(name)
        # The alias comes last: until then the generation is empty for everybody, and never half made.
        if self._alias(generation) not in await server.aliases():
            await server.point(self._alias(generation), names[0])
        self._complete.update(names)
        return names

    async def _builds(self, server: "Server", generation: int | None = None) -> list[str]:
        """The collections of one generation or of all, oldest first."""
        found = [
            name
            for name in await server.names()
            if (parts := self._pattern.fullmatch(name)) and generation in (None, int(parts[1]))
        ]
        return sorted(found, key=self._number)

    def _number(self, name: str) -> int:
        return int(name.rpartition("-")[2])

    def _alias(self, generation: int) -> str:
        return f"{self._place.prefix}-g{generation}"

    def _build(self, generation: int, number: int) -> str:
        return f"{self._alias(generation)}-{number}"


def _driver() -> "type[Server]":
    from scrubjay.backends.vectors.qdrant.server import Server  # noqa: PLC0415 -- on first use

    return Server


async def _nearest(
    server: "Server",
    alias: str,
    vector: "Matrix",
    filter: Filter,
    *,
    now: datetime,
    limit: int,
    among: Sequence[UUID] | None = None,
) -> list[Match]:
    """The nearest memories, each with its best part: parts are fetched until they are of enough memories."""
    parts = limit * SPARE
    while True:
        many, found = await server.nearest(alias, vector, filter, now=now, limit=parts, among=among)
        best: dict[UUID, Match] = {}
        for match in found:
            best.setdefault(match.id, match)
            if len(best) == limit:
                return list(best.values())
        if many < parts:
            return list(best.values())
        parts *= 4


def _latest(entries: Sequence[Entry]) -> list[Entry]:
    """Each memory once, as it was named last."""
    return list({entry.id: entry for entry in entries}.values())


def _checked(entries: Sequence[Entry]) -> int:
    """The dimensions of these entries. Raises InvalidInput where Qdrant would refuse, or would store what is broken."""
    if any(len(entry.spans) != len(entry.vectors) for entry in entries):
        raise InvalidInput("an entry has more or fewer vectors than spans: give one vector for each part")
    sizes = sorted({int(entry.vectors.shape[1]) for entry in entries})
    if len(sizes) > 1:
        raise InvalidInput(f"vectors of {' and '.join(map(str, sizes))} dimensions: a generation has one size")
    if not all(np.isfinite(entry.vectors).all() for entry in entries):
        raise InvalidInput("a vector has a number that is not finite: the embedding model is broken")
    return sizes[0]


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
