"""The rows of vectors as a process reads them to search: in chunks, all of a scope or the few that can answer."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    and_,
    cast,
    exists,
    extract,
    func,
    literal,
    select,
    type_coerce,
)

from scrubjay.backends.sql.places import admitted, place_condition
from scrubjay.backends.sql.schema import scopes, vectors
from scrubjay.backends.vectors.rows import batches
from scrubjay.model import PLACE_NAMES, Filter

CHUNK: Final = 2_048
"""How many rows are read at a time: enough to be quick, and few enough to be worked on in the processor's cache."""

Chunks: TypeAlias = Generator[Sequence[Any], None, None]
"""Rows in chunks. Whoever leaves before the end closes it: until then, the database reads on."""


def crowd(connection: Connection, generation: int, filter: Filter, *, most: int | None = None) -> int:
    """Count the rows that the filter's scope admits, tombstones among them, but no further than `most`."""
    here = and_(vectors.c.generation == generation, vectors.c.scope_id.in_(admitted(filter)))
    return _counted(connection, here, most)


def all_of(connection: Connection, generation: int, filter: Filter) -> Chunks:
    """The rows whose scope the filter admits, in chunks, without tombstones."""
    here = and_(vectors.c.generation == generation, vectors.c.scope_id.in_(admitted(filter)))
    return _chunks(connection, _selected(connection).where(here, vectors.c.vector.is_not(None)))


def these_of(connection: Connection, generation: int, filter: Filter, ids: Sequence[UUID]) -> Iterator[Sequence[Any]]:
    """The rows of these memories whose scope the filter admits, in chunks, without tombstones."""
    for some in batches(ids):
        here = and_(vectors.c.memory_id.in_(some), vectors.c.generation == generation)
        yield from _chunks(connection, _selected(connection).where(here, _is_inside(filter)))


def numbered(connection: Connection, filter: Filter, numbers: Sequence[int], *, until: int) -> Iterator[Sequence[Any]]:
    """The rows with these numbers that have not changed after `until`, if the filter admits their scope, in chunks."""
    for some in batches(numbers):
        here = and_(vectors.c.row.in_(some), vectors.c.change <= until)
        yield from _chunks(connection, _selected(connection).where(here, _is_inside(filter)))


def _is_inside(filter: Filter) -> ColumnElement[bool]:
    # Asked row by row: as a list of scopes it would tempt SQLite to walk all rows of those scopes instead.
    inside = exists().where(scopes.c.id == vectors.c.scope_id, place_condition(filter))
    return and_(inside, vectors.c.vector.is_not(None))


def changed(connection: Connection, generation: int, *, after: int, most: int) -> int:
    """Count the rows of all tenants that changed after that number, but no further than `most`."""
    here = and_(vectors.c.generation == generation, vectors.c.change > after)
    return _counted(connection, here, most)


def changes(connection: Connection, generation: int, tenant: str, *, after: int) -> Iterator[Sequence[Any]]:
    """The rows of a tenant that changed after that number, oldest change first, in chunks, tombstones among them."""
    inside = exists().where(scopes.c.id == vectors.c.scope_id, scopes.c.tenant == tenant)
    statement = _selected(connection).where(vectors.c.generation == generation, vectors.c.change > after, inside)
    return _chunks(connection, statement.order_by(vectors.c.change, vectors.c.row))


def _counted(connection: Connection, here: ColumnElement[bool], most: int | None) -> int:
    limited = select(literal(1)).select_from(vectors).where(here).limit(most).subquery()
    return connection.execute(select(func.count()).select_from(limited)).scalar_one()


def names_of(connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The scopes with these numbers: user, project, agent, session and workflow, empty where left open."""
    columns = [scopes.c[name] for name in PLACE_NAMES]
    for some in batches(numbers):
        for number, *names in connection.execute(select(scopes.c.id, *columns).where(scopes.c.id.in_(some))):
            yield number, tuple(names)


def _selected(connection: Connection) -> Select[Any]:
    """The columns in the order of `matrix.Row`, as plain bytes and numbers on both dialects."""
    c = vectors.c
    memory: ColumnElement[bytes] = type_coerce(c.memory_id, LargeBinary)
    since: ColumnElement[int] = type_coerce(c.since, BigInteger)
    until: ColumnElement[int] = type_coerce(c.until, BigInteger)
    if connection.dialect.name == "postgresql":
        memory = func.uuid_send(c.memory_id, type_=LargeBinary)
        since = cast(extract("epoch", c.since) * 1_000_000, BigInteger)
        until = cast(extract("epoch", c.until) * 1_000_000, BigInteger)
    return select(c.row, c.change, memory, c.start, c.stop, c.scope_id, c.kind, c.live, since, until, c.vector)


def _chunks(connection: Connection, statement: Select[Any]) -> Chunks:
    with connection.execute(statement.execution_options(yield_per=CHUNK)) as found:
        yield from found.partitions()
