"""Search by meaning with pgvector, in the PostgreSQL database that holds the records."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Table,
    Text,
    Uuid,
    cast,
    delete,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver_postgresql import listed
from scrubjay.backends.sql.places import interned
from scrubjay.backends.vectors import pgvector_tables as tables
from scrubjay.backends.vectors.pgvector_graphs import Graphs
from scrubjay.backends.vectors.pgvector_search import Search
from scrubjay.backends.vectors.pgvector_tables import Found
from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.model import Filter
from scrubjay.ports import Entry, Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

K = TypeVar("K")
T = TypeVar("T")

EXACT_UP_TO: Final = 10_000
"""So many vectors are compared one by one. A search that admits more asks its tenant's graph."""

BREADTH: Final = 200
"""How many candidates a graph keeps in view: more find more, and take longer."""

_KNOWN_SECONDS: Final = 60.0
"""How long it is remembered what there is, and which filters are wide. What is no longer so makes an answer slower."""

_MOST_KNOWN: Final = 10_000


class PgVectors:
    """The Vectors port on pgvector: a table for each generation, and a graph for each tenant that needs one.

    Search is exact as long as the filter admits at most `exact_up_to` vectors. The first search that admits more has a
    graph built in the background, over that tenant's live vectors and nobody else's; until it is there, and whenever it
    finds too few, the answer is exact. `breadth` is how thoroughly a graph is searched.
    """

    def __init__(self, database: Database, *, exact_up_to: int = EXACT_UP_TO, breadth: int = BREADTH) -> None:
        if database.dialect != "postgresql":
            raise Misconfigured(
                f"SCRUBJAY_VECTORS is pgvector, which keeps vectors beside the records, and SCRUBJAY_RECORDS is "
                f"{database.name}: set it to postgresql://USER@HOST/DATABASE, or SCRUBJAY_VECTORS to embedded"
            )
        self._database = database
        self._exact_up_to = exact_up_to
        self._breadth = breadth
        self._graphs = Graphs(database)
        self._there: dict[tuple[int, str], tuple[Found, float]] = {}
        self._wide: dict[tuple[object, ...], tuple[bool, float]] = {}

    async def prepare(self) -> None:
        """Install pgvector in the database if it is not there. Raises StoreUnavailable, with what to do."""
        await self._write(tables.extended)

    async def settle(self) -> None:
        """Wait until no graph is being built."""
        await asyncio.to_thread(self._graphs.settle)

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""
        by_id = {entry.id: entry for entry in entries}
        filled = [entry for entry in by_id.values() if len(entry.spans) or len(entry.vectors)]
        if not filled:
            return await self._delete(generation, list(by_id))
        dimensions = tables.check_entries(filled)

        def work(connection: Connection) -> None:
            there = self._found(connection, generation, dimensions=dimensions)
            there = there or tables.created(connection, generation, dimensions)
            tables.check_generation(connection, generation, there)
            there.check_dimensions(dimensions)
            table = tables.table_of(generation, there.shape)
            numbers = interned(connection, {entry.scope for entry in filled})
            connection.execute(delete(table).where(_named(table, by_id)))
            tables.insert(connection, table, there.shape, filled, numbers)

        return await self._write(work)

    async def _delete(self, generation: int, ids: Sequence[UUID]) -> None:
        def work(connection: Connection) -> None:
            there = tables.found(connection, generation)
            if there is not None:
                table = tables.table_of(generation, there.shape)
                connection.execute(delete(table).where(_named(table, ids)))

        if ids:
            await self._write(work)

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""

        def work(connection: Connection) -> None:
            for table in tables.stored(connection):
                connection.execute(update(table).where(_named(table, ids), table.c.live).values(live=False))

        if ids:
            await self._write(work)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""

        def work(connection: Connection) -> None:
            for table in tables.stored(connection):
                connection.execute(delete(table).where(_named(table, ids)))

        if ids:
            await self._write(work)

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
        asked, tenant = _unit(vector), filter.scope.tenant

        def work(connection: Connection) -> list[Match]:
            there = self._found(connection, generation, tenant, dimensions=len(asked))
            if there is None:
                tables.check_never_made(connection, generation)
                return []
            search = Search(connection, generation, there, asked)
            if among is not None:
                return search.among(among, filter, limit)
            if there.has_graph and asked.any() and self._is_wide(search, generation, filter):
                matches = search.proposed(filter, now, limit, breadth=self._breadth)
                if matches is not None:
                    return matches
            matches, compared = search.compared(filter, now, limit)
            if compared > self._exact_up_to:
                self._outgrown(generation, there, filter)
            return matches

        return await self._database.glance(self._with_tables(work))

    def _found(self, connection: Connection, generation: int, tenant: str = "", *, dimensions: int) -> Found | None:
        """What there is for this generation and tenant, asked for once in a while, and when it does not fit."""
        there, until = self._there.get((generation, tenant), (None, 0.0))
        if there is None or there.shape.dimensions != dimensions or time.monotonic() > until:
            there = tables.found(connection, generation, tenant)
            if there is not None:
                _remember(self._there, (generation, tenant), (there, time.monotonic() + _KNOWN_SECONDS))
        return there

    def _is_wide(self, search: Search, generation: int, filter: Filter) -> bool:
        """Whether the filter admits so many that the graph is quicker."""
        if not filter.kinds and filter.scope.is_whole:
            return True  # The whole tenant: it would have no graph if it were small.
        key = (generation, filter.scope, filter.scope.bound, filter.reach, filter.kinds)
        wide, until = self._wide.get(key, (False, 0.0))
        if time.monotonic() > until:
            wide = search.count(filter, self._exact_up_to + 1) > self._exact_up_to
            _remember(self._wide, key, (wide, time.monotonic() + _KNOWN_SECONDS))
        return wide

    def _outgrown(self, generation: int, there: Found, filter: Filter) -> None:
        """Have a graph built, or ask the one there is from now on: too many were compared."""
        self._wide.pop((generation, filter.scope, filter.scope.bound, filter.reach, filter.kinds), None)
        if not there.has_graph and there.shape.indexable:
            self._graphs.start(generation, there.shape, filter.scope.tenant)
            self._there.pop((generation, filter.scope.tenant), None)  # It may be there the next time.

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""

        def work(connection: Connection) -> int:
            there = tables.found(connection, generation)
            if there is None:
                return 0
            table = tables.table_of(generation, there.shape)
            return connection.execute(select(func.count()).where(table.c.part == 0)).scalar_one()

        return await self._read(work)

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        wanted = list(dict.fromkeys(ids))

        def work(connection: Connection) -> list[UUID]:
            there = tables.found(connection, generation)
            if there is None:
                return wanted
            table = tables.table_of(generation, there.shape)
            known = set(connection.execute(select(table.c.memory_id).where(_named(table, wanted))).scalars())
            return [one for one in wanted if one not in known]

        return await self._read(work) if wanted else []

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""

        def work(connection: Connection) -> int:
            known: set[UUID] = set()
            for table in tables.stored(connection):
                known.update(connection.execute(select(table.c.memory_id).where(_named(table, ids))).scalars())
            return len(known)

        return await self._read(work) if ids else 0

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out.

        Half floats come back as they are stored: what was rounded on its way in is not rounded again.
        """

        def work(connection: Connection) -> list[Entry]:
            there = tables.found(connection, generation)
            if there is None:
                return []
            table = tables.table_of(generation, there.shape)
            stored = tables.entries_of(connection, table, there.shape, _named(table, ids))
            return [stored[one] for one in dict.fromkeys(ids) if one in stored]

        return await self._read(work) if ids else []

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, in the order of their ids, from behind one."""

        def work(connection: Connection) -> list[UUID]:
            there = tables.found(connection, generation)
            if there is None:
                return []
            c = tables.table_of(generation, there.shape).c
            behind = [c.memory_id > after] if after is not None else []
            named = select(c.memory_id).where(c.part == 0, *behind).order_by(c.memory_id).limit(limit)
            return list(connection.execute(named).scalars())

        return await self._read(work)

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        await self._write(lambda connection: tables.dropped(connection, generation))

    async def shut(self) -> None:
        """Stop building graphs. The database is its owner's to close. Safe to call twice."""
        await asyncio.to_thread(self._graphs.shut)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await self._database.read(self._with_tables(work))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await self._database.note(self._with_tables(work))

    def _with_tables(self, work: Callable[[Connection], T]) -> Callable[[Connection], T]:
        """The same work, started over when another process drops a generation meanwhile."""

        def checked(connection: Connection) -> T:
            with tables.present():
                try:
                    return work(connection)
                except DBAPIError:
                    self._there.clear()  # What is remembered may be what was dropped.
                    raise

        return checked


def _unit(vector: "Matrix") -> NDArray[np.float64]:
    """The question, of length 1."""
    asked = np.asarray(vector, dtype=np.float64).reshape(-1)
    length = math.sqrt(asked @ asked)
    if not math.isfinite(length):
        raise InvalidInput("the vector to search for has a number that is not finite")
    return asked / (length or 1.0)


def _named(table: Table, ids: Iterable[UUID]) -> ColumnElement[bool]:
    # As rows: the server may then choose how to find them, and never compares every row with every id.
    return table.c.memory_id.in_(select(func.unnest(_listed(ids))))


def _listed(ids: Iterable[UUID]) -> ColumnElement[Sequence[UUID]]:
    # As one text: a filter may name 50,000, and as many parameters take longer to bind than to find.
    return cast(literal(listed(ids), Text), ARRAY(Uuid))


def _remember(known: dict[K, T], key: K, value: T) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = value
