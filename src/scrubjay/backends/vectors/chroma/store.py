"""The Vectors port on Chroma: a collection for each tenant in each generation.

A tenant so neither sees another nor waits for one. Which collection a memory is in is known by its whereabouts.
"""

import asyncio
import importlib
import importlib.util
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import numpy as np

from scrubjay.backends.vectors.chroma.connection import FIELDS, GRAPH, VECTORS, Connection, NotThere
from scrubjay.backends.vectors.chroma.place import PREFIX, Folder, place_of
from scrubjay.backends.vectors.chroma.records import (
    Records,
    Where,
    admitted,
    condition,
    entries_of,
    later_parts,
    memory_of,
    of_memories,
    records_of,
)
from scrubjay.backends.vectors.chroma.search import nearest
from scrubjay.backends.vectors.chroma.whereabouts import Whereabouts, unless_gone
from scrubjay.backends.vectors.refusals import another_size
from scrubjay.errors import Closed, InvalidInput, Misconfigured, StoreUnavailable
from scrubjay.model import Filter, Finding
from scrubjay.ports import Entry, Match
from scrubjay.ports.indexes import in_order

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

IDS_PER_REQUEST: Final = 1_000
AMONG_PER_SEARCH: Final = 5_000
TRIES: Final = 5
"""How often a write starts over because its collection was dropped under it."""


class ChromaVectors:
    """Search by meaning in Chroma. Nothing is connected or opened before the first call.

    The URL is `chroma://HOST:PORT`, or `chromas://` for TLS, with the options `prefix`, `tenant`, `database` and
    `timeout` (seconds) after a `?`; a key is given by itself or as the URL's password. Or it is
    `chroma:/path/to/folder`, or `chroma:` for the folder `beside`: then Chroma works in this process. Collections are
    made when something is first written.
    """

    def __init__(self, url: str, *, prefix: str = PREFIX, key: str = "", beside: Path | None = None) -> None:
        self._place = place_of(url, prefix=prefix, key=key, beside=beside)
        in_process = isinstance(self._place, Folder)
        package, extra = ("chromadb", "chroma") if in_process else ("httpx", "chroma-client")
        if importlib.util.find_spec(package) is None:
            raise Misconfigured(f"{self._place.name} needs {package}: pip install 'scrubjay[{extra}]'")
        self._driver = f"scrubjay.backends.vectors.chroma.{'process' if in_process else 'server'}"
        """The module that connects, imported when it is first needed."""
        self._where = Whereabouts(self._place.prefix)
        self._connecting: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._shut = False
        self._listing: tuple[int, list[UUID]] = (0, [])
        """A generation whose ids are being read a page at a time, with all of them."""

    @property
    def name(self) -> str:
        """The address or the folder, for people: no key, no options."""
        return self._place.name

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""
        latest = list({entry.id: entry for entry in entries}.values())
        if not latest:
            return
        _check(latest)
        connection = await self._reach()
        for batch in _batches(latest, IDS_PER_REQUEST):
            await self._where.note(connection, generation, batch)
            by_tenant: dict[str, list[Entry]] = defaultdict(list)
            for entry in batch:
                by_tenant[entry.scope.tenant].append(entry)
            for tenant, theirs in by_tenant.items():
                try:
                    await self._write(connection, generation, tenant, theirs)
                except InvalidInput as error:
                    await self._check_size(connection, generation, tenant, theirs[0].vectors.shape[1], error)
                    raise
            # Whoever removed one of these meanwhile has removed its whereabouts too, and would not find it again.
            await self._where.note(connection, generation, batch)

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""
        for batch in _batches(_once(ids), IDS_PER_REQUEST):
            connection = await self._reach()
            for name, theirs in (await self._where.homes(connection, batch)).items():
                found = await _those(connection, name, of_memories(theirs))
                retired = Records(ids=found.ids, fields=[{"live": False}] * len(found))
                await unless_gone(connection.update(name, retired))

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""
        for batch in _batches(_once(ids), IDS_PER_REQUEST):
            connection = await self._reach()
            homes = await self._where.homes(connection, batch)
            for name, theirs in homes.items():
                await unless_gone(connection.remove(name, where=of_memories(theirs)))
            if homes:
                await self._where.forget(connection, batch)

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
        connection = await self._reach()
        name = self._where.collection(generation, filter.scope.tenant)
        admits = admitted(filter, now=now if among is None else None)
        try:
            if among is None:
                where = condition(filter)
                return in_order(await nearest(connection, name, vector, admits, limit=limit, broad=True, where=where))
            found = [
                match
                for batch in _batches(_once(among), AMONG_PER_SEARCH)
                for match in await nearest(
                    connection, name, vector, admits, limit=limit, broad=False, where=of_memories(batch)
                )
            ]
        except NotThere:
            return []
        except InvalidInput as error:
            await self._check_size(connection, generation, filter.scope.tenant, len(vector), error)
            raise
        return in_order(found)[:limit]

    async def sizes(self, generation: int) -> dict[str, int]:
        """Return how many dimensions the vectors of each collection of this generation have, by its name."""
        connection = await self._reach()
        names = await self._where.collections(connection, generation)
        sizes = {name: await unless_gone(connection.size(name)) for name in names}
        return {name: size for name, size in sizes.items() if size is not None}

    async def _check_size(
        self, connection: Connection, generation: int, tenant: str, dimensions: int, refused: InvalidInput
    ) -> None:
        """Raise StoreDamaged when it was refused because the collection is for vectors of another size."""
        name = self._where.collection(generation, tenant)
        size = await unless_gone(connection.size(name))
        if size not in (None, dimensions):
            raise another_size(self.name, name, size, dimensions) from refused

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""
        connection = await self._reach()
        total = 0
        for name in await self._where.collections(connection, generation):
            # There is no counting by a condition. But most memories have one part, so the others are soon listed.
            records = await unless_gone(connection.count(name)) or 0
            total += records - len(await _those(connection, name, later_parts()))
        return total

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        known: set[UUID] = set()
        for batch in _batches(_once(ids), IDS_PER_REQUEST):
            connection = await self._reach()
            for tenant, theirs in (await self._where.tenants(connection, batch, generation)).items():
                name = self._where.collection(generation, tenant)
                known.update(map(memory_of, (await _those(connection, name, of_memories(theirs))).ids))
        return [one for one in ids if one not in known]

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""
        traced: set[UUID] = set()
        for batch in _batches(_once(ids), IDS_PER_REQUEST):
            connection = await self._reach()
            for name, theirs in (await self._where.homes(connection, batch)).items():
                traced.update(map(memory_of, (await _those(connection, name, of_memories(theirs))).ids))
        return len(traced)

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out."""
        found: dict[UUID, Entry] = {}
        for batch in _batches(_once(ids), IDS_PER_REQUEST):
            connection = await self._reach()
            for tenant, theirs in (await self._where.tenants(connection, batch, generation)).items():
                name = self._where.collection(generation, tenant)
                stored = await _those(connection, name, of_memories(theirs), FIELDS, VECTORS)
                found |= {entry.id: entry for entry in entries_of(stored, tenant)}
        return [found[one] for one in _once(ids) if one in found]

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, in the order of their ids, from behind one."""
        listed, every = self._listing
        # Chroma cannot begin behind an id. So all are listed for the first page, and kept until the last.
        if after is None or listed != generation or not every:
            every = await self._every(generation)
        start = 0 if after is None else bisect_right(every, after)
        page = every[start : start + limit]
        self._listing = (generation, every if len(page) == limit else [])
        return page

    async def _every(self, generation: int) -> list[UUID]:
        """All memories of a generation, in the order of their ids."""
        connection = await self._reach()
        every: list[UUID] = []
        for name in await self._where.collections(connection, generation):
            found = await unless_gone(connection.get(name)) or Records(ids=[])
            every += map(memory_of, found.ids)
        return sorted(set(every))

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        connection = await self._reach()
        for name in await self._where.collections(connection, generation):
            await connection.delete(name)

    async def ping(self) -> None:
        """Return as soon as it answers. Raises StoreUnavailable when it does not."""
        connection = await self._reach()
        await connection.version()

    async def inspect(self, *, fix: bool = False) -> list[Finding]:  # noqa: ARG002 -- there is nothing to put right
        """Say what it is, and how many collections of this prefix it has."""
        connection = await self._reach()
        version = await connection.version()
        ours = [name for name in await connection.names() if name.startswith(f"{self._place.prefix}-")]
        return [Finding(about="Chroma", said=f"{version} with {len(ours)} collections under {self._place.prefix}-")]

    async def load(self) -> None:
        """Import the driver, which takes a second or two the first time. Asks no server."""
        if self._connection is None:
            await asyncio.to_thread(importlib.import_module, self._driver)

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""
        self._shut = True
        if self._connecting is not None:
            self._connecting.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _reach(self) -> Connection:
        """The connection. Those who ask while it is being made wait together, and fail together."""
        while self._connection is None:
            if self._shut:
                raise Closed
            if self._connecting is None or self._connecting.done():
                self._connecting = asyncio.create_task(self._connect())
            await asyncio.shield(self._connecting)
        return self._connection

    async def _connect(self) -> None:
        # The driver takes a while to import; on a thread, others need not wait for it.
        driver = await asyncio.to_thread(importlib.import_module, self._driver)
        self._connection = await driver.reach(self._place)

    async def _write(self, connection: Connection, generation: int, tenant: str, entries: Sequence[Entry]) -> None:
        """Store these of one tenant, in a collection made if need be: what is new, then the end of what was before.

        In between, a search may see a part too many, never too few.
        """
        name = self._where.collection(generation, tenant)
        records = records_of(entries)
        for _ in range(TRIES):
            try:
                found = await connection.get(name, where=of_memories([entry.id for entry in entries]))
                stored = set(found.ids)
                known = [place for place, record in enumerate(records.ids) if record in stored]
                new = [place for place, record in enumerate(records.ids) if record not in stored]
                await connection.upsert(name, records.only(new))
                await connection.update(name, records.only(known))
                if gone := stored.difference(records.ids):
                    await connection.remove(name, ids=sorted(gone))
            except NotThere:
                await connection.create(name, graph=GRAPH, about={"tenant": tenant})
            else:
                return
        raise StoreUnavailable(f"{self.name}: {name} was dropped {TRIES} times meanwhile. Try again")


async def _those(connection: Connection, name: str, where: Where, *include: str) -> Records:
    """The records that fulfil the condition; none where the collection is not there."""
    return await unless_gone(connection.get(name, where=where, include=include)) or Records(ids=[])


def _check(entries: Sequence[Entry]) -> None:
    """Raise InvalidInput where Chroma would refuse, or would store what is broken."""
    if any(len(entry.spans) != len(entry.vectors) for entry in entries):
        raise InvalidInput("an entry has more or fewer vectors than spans: give one vector for each part")
    sizes = sorted({int(entry.vectors.shape[1]) for entry in entries})
    if len(sizes) > 1:
        raise InvalidInput(f"vectors of {' and '.join(map(str, sizes))} dimensions: a generation has one size")
    if not all(np.isfinite(entry.vectors).all() for entry in entries):
        raise InvalidInput("a vector has a number that is not finite: the embedding model is broken")


def _once(ids: Sequence[UUID]) -> list[UUID]:
    """Each id once: Chroma refuses to be asked for one twice."""
    return list(dict.fromkeys(ids))


def _batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
