"""Vectors as rows of the record database: how they are written, and how a process hears what changed.

Every transaction that changes vectors takes the next number of the counter `vector_change` and stamps its rows with
it. A process that holds everything up to some number asks for the rows with a larger one, and is up to date.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    and_,
    cast,
    delete,
    exists,
    extract,
    func,
    literal,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.places import admitted, interned, place_condition, scope_from
from scrubjay.backends.sql.schema import counters, scopes, vectors
from scrubjay.backends.sql.types import microseconds
from scrubjay.errors import InvalidInput
from scrubjay.model import PLACE_NAMES, SCOPE_NAMES, Filter, Scope
from scrubjay.ports import Entry

BATCH: Final = 500
"""How many ids one statement names: SQLite takes 999 parameters or more, and plans stay short."""

CHUNK: Final = 2_048
"""How many rows are read at a time: enough to be quick, and few enough to be worked on in the processor's cache."""

FEWEST_TOMBSTONES: Final = 1_000

# On the path of every search, so it is plain text: one row, two look-ups by primary key.
_STATE: Final = (
    "SELECT (SELECT value FROM counters WHERE name = 'vector_change'), "
    "(SELECT value FROM counters WHERE name = 'vector_epoch')"
)
_CHANGE: Final = "UPDATE counters SET value = value + 1 WHERE name = 'vector_change' RETURNING value"
_TOMBSTONES: Final = "vector_tombstones"
_HALF: Final = np.dtype("<f2")
_LARGEST: Final = 60_000.0**2
_COLUMNS: Final = [column.name for column in vectors.columns if not column.primary_key]
_IDENTITY: Final = ("memory_id", "generation", "part")
_PUT: Final = (
    f"INSERT INTO vectors ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT ({', '.join(_IDENTITY)}) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in _IDENTITY)
)


def state(connection: Connection) -> tuple[int, int]:
    """The number of the newest change, and the epoch: what was read in another epoch has to be read again."""
    if connection.dialect.name == "sqlite":
        change, epoch = driver_of(connection).execute(_STATE).fetchone()
    else:
        change, epoch = connection.exec_driver_sql(_STATE).one()
    return change, epoch


def buried(connection: Connection) -> int:
    """How many tombstones were set since the last sweep."""
    return connection.execute(select(counters.c.value).where(counters.c.name == _TOMBSTONES)).scalar() or 0


def next_change(connection: Connection) -> int:
    """Take the next change number. Comes first in a transaction.

    On PostgreSQL the row stays locked until the transaction ends, so writers of vectors go one after the other and
    numbers become visible in their order: whoever has read number 7 has not missed a 6 that commits later. SQLite has
    one writer at a time anyway.
    """
    return _advance(connection, "vector_change")


def _advance(connection: Connection, name: str) -> int:
    statement = update(counters).where(counters.c.name == name).values(value=counters.c.value + 1)
    return int(connection.execute(statement.returning(counters.c.value)).scalar_one())


def put(connection: Connection, generation: int, entries: Iterable[Entry]) -> None:
    """Write these entries; what was stored under their ids in this generation is replaced whole."""
    change = next_change(connection)
    by_id = {entry.id: entry for entry in entries}
    stored = _lengths(connection, generation, by_id)
    numbers = interned(connection, {entry.scope for entry in by_id.values()})
    _write(connection, generation, change, list(by_id.values()), numbers)
    for memory, length in stored.items():
        kept = len(by_id[memory].spans)
        if kept < length:
            here = and_(vectors.c.generation == generation, vectors.c.memory_id == memory)
            _bury(connection, change, and_(here, vectors.c.part >= kept, vectors.c.vector.is_not(None)))


def put_new(connection: Connection, generation: int, entries: Sequence[Entry], numbers: Mapping[Scope, int]) -> None:
    """The same on SQLite for memories that were stored just now, given the numbers of their scopes."""
    driver = driver_of(connection)
    ids = [entry.id.bytes for entry in entries]
    # Of an id that was used before, something may be left; a new one is nearly always new.
    if any(driver.execute(_any_of(len(some)), (generation, *some)).fetchone() for some in _batches(ids)):
        put(connection, generation, entries)
    else:
        [change] = driver.execute(_CHANGE).fetchone()
        _write(connection, generation, change, entries, numbers)


@lru_cache(maxsize=16)
def _any_of(many: int) -> str:
    return f"SELECT 1 FROM vectors WHERE generation = ? AND memory_id IN ({', '.join('?' * many)}) LIMIT 1"


def _write(
    connection: Connection, generation: int, change: int, entries: Sequence[Entry], numbers: Mapping[Scope, int]
) -> None:
    filled = [entry for entry in entries if entry.spans]
    if not filled:
        return
    # Plain text and tuples: at ten thousand rows a second and more, the expression language would be half the cost.
    rows = _rows(connection.dialect.name, generation, change, filled, numbers)
    if connection.dialect.name == "sqlite":
        driver_of(connection).executemany(_PUT, rows)
    else:
        connection.exec_driver_sql(_PUT.replace("?", "%s"), rows)


def _rows(
    dialect: str, generation: int, change: int, entries: Sequence[Entry], numbers: Mapping[Scope, int]
) -> list[tuple[Any, ...]]:
    halves = _halves(entries)
    width = halves.shape[1] * 2
    blob = halves.tobytes()
    plain = dialect == "sqlite"
    rows: list[tuple[Any, ...]] = []
    for entry in entries:
        memory = entry.id.bytes if plain else entry.id
        since = microseconds(entry.since) if plain else entry.since
        until = microseconds(entry.until) if plain and entry.until else entry.until
        shared = (numbers[entry.scope], entry.kind, entry.live, since, until, change)
        for part, (start, stop) in enumerate(entry.spans):
            at = len(rows) * width
            rows.append((generation, memory, part, start, stop, *shared, blob[at : at + width]))
    return rows


def _halves(entries: Sequence[Entry]) -> NDArray[np.float16]:
    """All vectors below each other, little-endian."""
    if any(len(entry.spans) != len(entry.vectors) for entry in entries):
        raise InvalidInput("an entry has more or fewer vectors than spans: give one vector for each part")
    widths = {entry.vectors.shape[1] for entry in entries}
    if len(widths) > 1:
        raise InvalidInput(f"vectors of {' and '.join(map(str, sorted(widths)))} dimensions: a generation has one size")
    whole = np.concatenate([entry.vectors for entry in entries]) if len(entries) > 1 else entries[0].vectors
    halves = whole.astype(_HALF)
    # One sum tells of nearly all that every number is finite, and stays so as a half float.
    if not np.vdot(whole, whole) < _LARGEST and not np.isfinite(halves).all():
        raise InvalidInput("a vector has a number that is not finite: the embedding model is broken")
    return halves


def _lengths(connection: Connection, generation: int, entries: Mapping[UUID, Entry]) -> dict[UUID, int]:
    """How many parts are stored of those that are there. Starts a new epoch when one of them changes its tenant."""
    lengths: dict[UUID, int] = {}
    moved = False
    for ids in _batches(list(entries)):
        statement = (
            select(vectors.c.memory_id, func.max(vectors.c.part) + 1, func.max(scopes.c.tenant))
            .join(scopes, scopes.c.id == vectors.c.scope_id)
            .where(vectors.c.memory_id.in_(ids), vectors.c.generation == generation)
            .group_by(vectors.c.memory_id)
        )
        for memory, length, tenant in connection.execute(statement):
            lengths[memory] = length
            moved = moved or tenant != entries[memory].scope.tenant
    if moved:
        # Those who hold the tenant it leaves follow that tenant's changes only, and would keep it.
        _advance(connection, "vector_epoch")
    return lengths


def retire(connection: Connection, ids: Sequence[UUID]) -> None:
    """Take these out of default searches, in every generation."""
    change = next_change(connection)
    for some in _batches(ids):
        connection.execute(
            update(vectors).where(vectors.c.memory_id.in_(some), vectors.c.live).values(live=False, change=change)
        )


def bury(connection: Connection, ids: Sequence[UUID]) -> set[str]:
    """Turn the rows of these memories into tombstones, in every generation; return the tenants that lost any."""
    change = next_change(connection)
    tenants: set[str] = set()
    for some in _batches(ids):
        here = and_(vectors.c.memory_id.in_(some), vectors.c.vector.is_not(None))
        owners = select(scopes.c.tenant).join(vectors, vectors.c.scope_id == scopes.c.id).where(here).distinct()
        tenants |= set(connection.execute(owners).scalars())
        _bury(connection, change, here)
    return tenants


def _bury(connection: Connection, change: int, which: ColumnElement[bool]) -> None:
    found = connection.execute(update(vectors).where(which).values(vector=None, live=False, change=change)).rowcount
    if found:
        _count_tombstones(connection, found)


def _count_tombstones(connection: Connection, more: int) -> None:
    """Keep count, since counting rows takes long, and sweep when there are many for the rows there are."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(counters).values(name=_TOMBSTONES, value=more)
    statement = statement.on_conflict_do_update(
        index_elements=[counters.c.name], set_={"value": counters.c.value + more}
    ).returning(counters.c.value)
    tombstones = connection.execute(statement).scalar_one()
    crossed = tombstones // FEWEST_TOMBSTONES > (tombstones - more) // FEWEST_TOMBSTONES
    if crossed and tombstones * 4 > connection.execute(select(func.count()).select_from(vectors)).scalar_one():
        sweep(connection, vectors.c.vector.is_(None))


def sweep(connection: Connection, which: ColumnElement[bool]) -> None:
    """Delete rows for good, tombstones among them, and start a new epoch: nobody could hear of these any more."""
    connection.execute(delete(vectors).where(or_(which, vectors.c.vector.is_(None))))
    connection.execute(update(counters).where(counters.c.name == _TOMBSTONES).values(value=0))
    _advance(connection, "vector_epoch")


def count(connection: Connection, generation: int) -> int:
    """Count the memories of a generation: those that have a first part."""
    here = and_(vectors.c.generation == generation, vectors.c.part == 0, vectors.c.vector.is_not(None))
    return connection.execute(select(func.count()).select_from(vectors).where(here)).scalar_one()


def ids(connection: Connection, generation: int, *, limit: int, after: UUID | None) -> list[UUID]:
    """The memories of a generation in the order of their ids, from behind one."""
    here = and_(vectors.c.generation == generation, vectors.c.part == 0, vectors.c.vector.is_not(None))
    behind = [vectors.c.memory_id > after] if after is not None else []
    page = select(vectors.c.memory_id).where(here, *behind).order_by(vectors.c.memory_id).limit(limit)
    return list(connection.execute(page).scalars())


def traces(connection: Connection, ids: Sequence[UUID]) -> int:
    """Count those of the ids that have any vector."""
    found = 0
    for some in _batches(list(dict.fromkeys(ids))):
        here = and_(vectors.c.memory_id.in_(some), vectors.c.vector.is_not(None))
        found += connection.execute(select(func.count(vectors.c.memory_id.distinct())).where(here)).scalar_one()
    return found


def missing(connection: Connection, generation: int, ids: Sequence[UUID]) -> list[UUID]:
    """Those of the ids that have no vector in this generation, each once, in their order."""
    wanted = list(dict.fromkeys(ids))
    here = and_(vectors.c.generation == generation, vectors.c.vector.is_not(None))
    found = {
        one
        for some in _batches(wanted)
        for one in connection.execute(select(vectors.c.memory_id).where(here, vectors.c.memory_id.in_(some))).scalars()
    }
    return [one for one in wanted if one not in found]


def entries(connection: Connection, generation: int, ids: Sequence[UUID]) -> list[Entry]:
    """The entries of these memories as they were put, in the order asked."""
    columns = vectors.c
    parts: dict[UUID, list[Any]] = {}
    for some in _batches(ids):
        statement = (
            select(vectors, *(scopes.c[name].label(f"scope_{name}") for name in SCOPE_NAMES))
            .join(scopes, scopes.c.id == columns.scope_id)
            .where(columns.memory_id.in_(some), columns.generation == generation, columns.vector.is_not(None))
            .order_by(columns.memory_id, columns.part)
        )
        for row in connection.execute(statement):
            parts.setdefault(row.memory_id, []).append(row)
    return [_entry(parts[one]) for one in dict.fromkeys(ids) if one in parts]


def _entry(parts: Sequence[Any]) -> Entry:
    first = parts[0]
    halves = np.frombuffer(b"".join(bytes(part.vector) for part in parts), dtype="<f2")
    return Entry(
        id=first.memory_id,
        scope=scope_from([getattr(first, f"scope_{name}") for name in SCOPE_NAMES]),
        kind=first.kind,
        live=first.live,
        since=first.since,
        until=first.until,
        spans=tuple((part.start, part.stop) for part in parts),
        vectors=halves.reshape(len(parts), -1).astype(np.float32),
    )


def crowd(connection: Connection, generation: int, filter: Filter, *, most: int | None = None) -> int:
    """Count the rows that the filter's scope admits, tombstones among them, but no further than `most`."""
    here = and_(vectors.c.generation == generation, vectors.c.scope_id.in_(admitted(filter)))
    limited = select(literal(1)).select_from(vectors).where(here).limit(most).subquery()
    return connection.execute(select(func.count()).select_from(limited)).scalar_one()


def all_of(connection: Connection, generation: int, filter: Filter) -> Iterator[Sequence[Any]]:
    """The rows whose scope the filter admits, in chunks, without tombstones."""
    here = and_(vectors.c.generation == generation, vectors.c.scope_id.in_(admitted(filter)))
    return _chunks(connection, _selected(connection).where(here, vectors.c.vector.is_not(None)))


def these_of(connection: Connection, generation: int, filter: Filter, ids: Sequence[UUID]) -> Iterator[Sequence[Any]]:
    """The rows of these memories whose scope the filter admits, in chunks, without tombstones."""
    for some in _batches(ids):
        here = and_(vectors.c.memory_id.in_(some), vectors.c.generation == generation)
        # Asked row by row: as a list of scopes it would tempt SQLite to walk all rows of those scopes instead.
        inside = exists().where(scopes.c.id == vectors.c.scope_id, place_condition(filter))
        yield from _chunks(connection, _selected(connection).where(here, inside, vectors.c.vector.is_not(None)))


def changes(connection: Connection, generation: int, tenant: str, *, after: int) -> Iterator[Sequence[Any]]:
    """The rows of a tenant that changed after that number, oldest change first, in chunks, tombstones among them."""
    inside = exists().where(scopes.c.id == vectors.c.scope_id, scopes.c.tenant == tenant)
    statement = _selected(connection).where(vectors.c.generation == generation, vectors.c.change > after, inside)
    return _chunks(connection, statement.order_by(vectors.c.change, vectors.c.row))


def names_of(connection: Connection, numbers: Sequence[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The scopes with these numbers: user, project, agent, session and workflow, empty where left open."""
    columns = [scopes.c[name] for name in PLACE_NAMES]
    for some in _batches(numbers):
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


def _chunks(connection: Connection, statement: Select[Any]) -> Iterator[Sequence[Any]]:
    yield from connection.execute(statement.execution_options(yield_per=CHUNK)).partitions()


def _batches(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for at in range(0, len(ids), BATCH):
        yield ids[at : at + BATCH]
