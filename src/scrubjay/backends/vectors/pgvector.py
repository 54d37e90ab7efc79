"""Search by meaning with pgvector, in the PostgreSQL database that holds the records."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Float,
    Row,
    Table,
    Text,
    Uuid,
    any_,
    cast,
    delete,
    func,
    literal,
    or_,
    select,
    text,
    true,
    update,
)

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.places import admitted, interned
from scrubjay.backends.vectors import pgvector_tables as tables
from scrubjay.backends.vectors.pgvector_graphs import Graphs
from scrubjay.backends.vectors.pgvector_tables import Found
from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.model import Filter
from scrubjay.ports import Entry, Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

EXACT_UP_TO: Final = 10_000
"""So many vectors are compared one by one. A search that admits more asks its tenant's graph."""

BREADTH: Final = 200
"""How many candidates a graph keeps in view: more find more, and take longer."""

_WIDEST: Final = 1_000
"""What pgvector allows for the breadth."""

_MORE: Final = 8
"""How many parts are asked for beyond the limit at first, since a memory may come with several."""

_KNOWN_SECONDS: Final = 60.0
"""How long a filter counts as wide without counting again. One that no longer is takes longer to answer, no more."""

_MOST_KNOWN: Final = 10_000

_Ranked: TypeAlias = Sequence[Row[Any]]


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
        self._wide: dict[tuple[object, ...], float] = {}

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
            there = tables.created(connection, generation, dimensions)
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
        asked = _unit(vector)
        tenant = filter.scope.tenant

        def work(connection: Connection) -> list[Match]:
            there = tables.found(connection, generation, tenant)
            if there is None:
                return []
            # Without statistics, the server would read a whole table for a few rows of it, and start workers, which
            # takes longer than what they are for. And a plan that is made for any tenant cannot use the graph of one.
            _set(
                connection,
                enable_seqscan="off",
                max_parallel_workers_per_gather="0",
                plan_cache_mode="force_custom_plan",
            )
            there.check_dimensions(len(asked))
            table = tables.table_of(generation, there.shape)
            question = cast(tables.spelled(asked, there.shape), table.c.embedding.type)
            distance = table.c.embedding.op("<=>", return_type=Float())(question)
            if among is not None:
                # As an array, which is one walk along the index of ids: there is no other that the server could use.
                these = table.c.memory_id == any_(_listed(among))
                return _compared(connection, table, distance, [*_place(table, filter), these], limit)[0]
            wanted = [table.c.live, table.c.since <= now, or_(table.c.until.is_(None), table.c.until > now)]
            if there.has_graph and asked.any() and self._is_wide(connection, generation, table, filter):
                near = [*wanted, *_place(table, filter, row_by_row=True)]
                matches = self._proposed(connection, there, table, distance, near, limit)
                if matches is not None:
                    return matches
            matches, compared = _compared(connection, table, distance, [*wanted, *_place(table, filter)], limit)
            if compared > self._exact_up_to and not there.has_graph and there.shape.indexable:
                self._graphs.start(generation, there.shape, tenant)
            return matches

        return await self._read(work)

    def _is_wide(self, connection: Connection, generation: int, table: Table, filter: Filter) -> bool:
        """Whether the filter admits so many that the graph is quicker."""
        if not filter.kinds and not any(filter.scope.names()):
            return True  # The whole tenant: it would have no graph if it were small.
        key = (generation, filter.scope, filter.reach, filter.kinds)
        if time.monotonic() < self._wide.get(key, 0.0):
            return True
        some = select(literal(1)).where(table.c.live, *_place(table, filter)).limit(self._exact_up_to + 1).subquery()
        if connection.execute(select(func.count()).select_from(some)).scalar_one() <= self._exact_up_to:
            return False
        if len(self._wide) >= _MOST_KNOWN:
            self._wide.clear()
        self._wide[key] = time.monotonic() + _KNOWN_SECONDS
        return True

    def _proposed(
        self,
        connection: Connection,
        there: Found,
        table: Table,
        distance: ColumnElement[float],
        wanted: Iterable[ColumnElement[bool]],
        limit: int,
    ) -> list[Match] | None:
        """What the graph finds; None when it finds too few."""
        settings = {
            # Without sorting, the graph is the only way to the order.
            "enable_sort": "off",
            "hnsw.ef_search": str(min(_WIDEST, max(self._breadth, 2 * limit))),
        }
        if there.iterates:
            settings["hnsw.iterative_scan"] = "strict_order"
        _set(connection, **settings)
        c = table.c
        found = (c.memory_id, c.start, c.stop, distance.label("distance"), tables.alone(c.scope_id))
        nearest = select(*found).where(*wanted).order_by(distance)
        matches = _enough(lambda most: connection.execute(nearest.limit(most)).all(), limit)
        if len(matches) >= limit:
            return matches
        _set(connection, enable_sort="on")
        return None

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
        return await self._database.read(_with_tables(work))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        return await self._database.note(_with_tables(work))


def _with_tables(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """The same work, started over when another process drops a generation meanwhile."""

    def checked(connection: Connection) -> T:
        with tables.present():
            return work(connection)

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
    spelled = f"{{{','.join(one.hex for one in ids)}}}"
    return cast(literal(spelled, Text), ARRAY(Uuid))


def _place(table: Table, filter: Filter, *, row_by_row: bool = False) -> list[ColumnElement[bool]]:
    """Scope and kinds. `row_by_row` is for a walk along a graph, which would lose its order in a join."""
    conditions: list[ColumnElement[bool]] = [table.c.tenant == filter.scope.tenant]
    if any(filter.scope.names()):
        inside = table.c.scope_id.in_(admitted(filter))
        conditions.append(inside.is_(true()) if row_by_row else inside)
    if filter.kinds:
        conditions.append(table.c.kind.in_(filter.kinds))
    return conditions


def _compared(
    connection: Connection,
    table: Table,
    distance: ColumnElement[float],
    wanted: Iterable[ColumnElement[bool]],
    limit: int,
) -> tuple[list[Match], int]:
    """The nearest of all that is wanted, exactly, and how many vectors were compared."""
    c = table.c
    # Nothing is like a vector of zeros, whose cosine is no number. Materialized, so that no graph has a say.
    cosine = func.coalesce(func.nullif(distance, text("'NaN'::float8")), 1.0)
    every = select(c.memory_id, c.start, c.stop, c.scope_id, cosine.label("distance")).where(*wanted).cte("every")
    every = every.prefix_with("MATERIALIZED", dialect="postgresql")
    compared = select(func.count()).select_from(every).scalar_subquery().label("compared")
    nearest = select(every, compared, tables.alone(every.c.scope_id)).order_by(every.c.distance, every.c.memory_id)
    counted = 0

    def ask(most: int) -> _Ranked:
        nonlocal counted
        rows = connection.execute(nearest.limit(most)).all()
        counted = rows[0].compared if rows else 0
        return rows

    return _enough(ask, limit), counted


def _enough(ask: Callable[[int], _Ranked], limit: int) -> list[Match]:
    """The best part of each of the nearest memories; asks for more parts while they belong to too few memories."""
    most = limit + _MORE
    while True:
        rows = ask(most)
        best: dict[UUID, Match] = {}
        for row in rows:
            if row.memory_id not in best:
                score = round(1.0 - row.distance, 7)
                best[row.memory_id] = Match(row.memory_id, score, row.start, row.stop, alone=row.alone)
        if len(best) >= limit or len(rows) < most:
            return sorted(best.values(), key=lambda match: (-match.score, match.id))[:limit]
        most *= 4


def _set(connection: Connection, **settings: str) -> None:
    """Settings of the server, for the rest of this transaction."""
    calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
    connection.exec_driver_sql(f"SELECT {calls}")
