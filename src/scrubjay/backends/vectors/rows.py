"""Vectors as rows of the record database: how they are written, and how a process hears what changed.

Every transaction that changes vectors takes the next number of the counter `vector_change` and stamps its rows with
it. A process that holds everything up to some number asks for the rows with a larger one, and is up to date.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    func,
    or_,
    select,
    update,
)

from scrubjay.backends.sql import bulk, derived
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.onefile import history_of
from scrubjay.backends.sql.places import interned, scope_from
from scrubjay.backends.sql.schema import COUNTERS, counters, generations, memories, scopes, vectors
from scrubjay.backends.sql.types import microseconds
from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model import SCOPE_NAMES, Memory, Scope
from scrubjay.ports import Entry
from scrubjay.ports.indexes import BEGINNING, stretch_of

Spans: TypeAlias = tuple[tuple[int, int], ...]

BATCH: Final = 500
"""How many ids one statement names: SQLite takes 999 parameters or more, and plans stay short."""

FEWEST_TOMBSTONES: Final = 1_000

# On the path of every search, so it is plain text: one row, two look-ups by primary key.
_STATE: Final = (
    "SELECT (SELECT value FROM counters WHERE name = 'vector_change'), "
    "(SELECT value FROM counters WHERE name = 'vector_epoch')"
)
_STATE_POSTGRESQL: Final = f"{_STATE}, 'scopes'::regclass::oid::bigint"
_ADVANCE: Final = "UPDATE counters SET value = value + 1 WHERE name = ? RETURNING value"
_BETWEEN: Final = "SELECT 1 FROM vectors WHERE memory_id BETWEEN ? AND ? LIMIT 1"
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


class State(NamedTuple):
    """How far the vectors of a store have come."""

    change: int
    """The number of the newest change."""
    epoch: int
    """What was read in another one has to be read again."""
    history: int
    """The same of another store, which has been put in the place of the one before."""


def state(connection: Connection) -> State:
    """How far the store has come that this transaction sees."""
    if connection.dialect.name == "sqlite":
        change, epoch = driver_of(connection).execute(_STATE).fetchone()
        if change is None or epoch is None:
            raise StoreDamaged("the counters of vectors are gone: run `scrubjay reindex --rebuild`")
        return State(change, epoch, history_of(connection))
    return State(*connection.exec_driver_sql(_STATE_POSTGRESQL).one())


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
    advanced = _advanced(connection, name)
    if advanced is None:
        raise StoreDamaged(f"the counter {name} is gone: run `scrubjay reindex --rebuild`")
    return advanced


def _advanced(connection: Connection, name: str) -> int | None:
    if connection.dialect.name == "sqlite":
        found = driver_of(connection).execute(_ADVANCE, (name,)).fetchone()
        return int(found[0]) if found else None
    statement = update(counters).where(counters.c.name == name).values(value=counters.c.value + 1)
    return connection.execute(statement.returning(counters.c.value)).scalar()


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


def put_new(
    connection: Connection,
    generation: int,
    told: Sequence[tuple[Memory, Spans, int]],
    whole: NDArray[np.float32],
    numbers: Mapping[Scope, int],
) -> None:
    """The same on SQLite for memories that were stored just now, given the numbers of their scopes.

    Each comes with how it is cut, and with which row of the whole its vectors begin.
    """
    file = driver_of(connection)
    ids = [bytearray(memory.id.bytes) for memory, _, _ in told]
    # Of an id that was used before, something may be left; a new one is nearly always new, and so is what lies by it.
    if file.execute(_BETWEEN, (min(ids), max(ids))).fetchone():
        entries = [Entry.of(memory, spans, whole[first : first + len(spans)]) for memory, spans, first in told]
        put(connection, generation, entries)
        return
    change = next_change(connection)
    halves = _half(whole)
    width = halves.shape[1] * 2
    blob = halves.tobytes()
    rows: list[tuple[Any, ...]] = []
    for known, (memory, spans, first) in zip(ids, told, strict=True):
        live, since, until = stretch_of(memory)
        begins = 0 if since is BEGINNING else microseconds(since)
        ends = None if until is None else microseconds(until)
        place, kind, at = numbers[memory.scope], memory.kind, first * width
        for part, (start, stop) in enumerate(spans):
            vector = bytearray(blob[at : at + width])
            rows.append((generation, known, part, start, stop, place, kind, int(live), begins, ends, change, vector))
            at += width
    if rows:
        bulk.insert(file, "vectors", _COLUMNS, rows)


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
    return _half(whole)


def _half(whole: NDArray[np.float32]) -> NDArray[np.float16]:
    """The same numbers with half the bits."""
    halves = whole.astype(_HALF)
    # One sum tells of nearly all that every number is finite, and stays so as a half float.
    if not np.vdot(whole, whole) < _LARGEST and not np.isfinite(halves).all():
        raise InvalidInput("a vector has a number that is not finite: the embedding model is broken")
    return halves


def _lengths(connection: Connection, generation: int, entries: Mapping[UUID, Entry]) -> dict[UUID, int]:
    """How many parts are stored of those that are there. Starts a new epoch when one of them changes its tenant."""
    lengths: dict[UUID, int] = {}
    moved = False
    for ids in batches(list(entries)):
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
    for some in batches(ids):
        connection.execute(
            update(vectors).where(vectors.c.memory_id.in_(some), vectors.c.live).values(live=False, change=change)
        )


def bury(connection: Connection, ids: Sequence[UUID]) -> set[str]:
    """Turn the rows of these memories into tombstones, in every generation; return the tenants that lost any."""
    change = next_change(connection)
    tenants: set[str] = set()
    for some in batches(ids):
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
    new = insert_into(connection, counters).values(name=_TOMBSTONES, value=more)
    counted = new.on_conflict_do_update(
        index_elements=[counters.c.name], set_={"value": counters.c.value + more}
    ).returning(counters.c.value)
    tombstones = connection.execute(counted).scalar_one()
    crossed = tombstones // FEWEST_TOMBSTONES > (tombstones - more) // FEWEST_TOMBSTONES
    if crossed and tombstones * 4 > connection.execute(select(func.count()).select_from(vectors)).scalar_one():
        sweep(connection, vectors.c.vector.is_(None))


def sweep(connection: Connection, which: ColumnElement[bool]) -> None:
    """Delete rows for good, tombstones among them, and start a new epoch: nobody could hear of these any more."""
    connection.execute(delete(vectors).where(or_(which, vectors.c.vector.is_(None))))
    connection.execute(update(counters).where(counters.c.name == _TOMBSTONES).values(value=0))
    _advance(connection, "vector_epoch")


def make_again(connection: Connection, unlinking: bool) -> None:  # noqa: FBT001 -- of one shape with others
    """Make the table anew, empty, whatever is in its place: every memory is indexed again."""
    derived.make_again(connection, vectors, unlinking=unlinking)
    for name in COUNTERS:
        if _advanced(connection, name) is None:
            connection.execute(counters.insert().values(name=name, value=1))
    connection.execute(update(memories).where(memories.c.generation > 0).values(generation=None))


def count(connection: Connection, generation: int) -> int:
    """Count the memories of a generation: those that have a first part."""
    here = and_(vectors.c.generation == generation, vectors.c.part == 0, vectors.c.vector.is_not(None))
    return connection.execute(select(func.count()).select_from(vectors).where(here)).scalar_one()


def ids(connection: Connection, generation: int, *, limit: int, after: UUID | None) -> list[UUID]:
    """The memories of a generation in the order of their ids, from behind one."""
    # In an expression, so that SQLite walks along the ids: by generation it would sort all of them for every page.
    here = and_(vectors.c.generation + 0 == generation, vectors.c.part == 0, vectors.c.vector.is_not(None))
    behind = [vectors.c.memory_id > after] if after is not None else []
    page = select(vectors.c.memory_id).where(here, *behind).order_by(vectors.c.memory_id).limit(limit)
    return list(connection.execute(page).scalars())


def traces(connection: Connection, ids: Sequence[UUID]) -> int:
    """Count those of the ids that have any vector."""
    found = 0
    for some in batches(list(dict.fromkeys(ids))):
        here = and_(vectors.c.memory_id.in_(some), vectors.c.vector.is_not(None))
        found += connection.execute(select(func.count(vectors.c.memory_id.distinct())).where(here)).scalar_one()
    return found


def missing(connection: Connection, generation: int, ids: Sequence[UUID]) -> list[UUID]:
    """Those of the ids that lack a whole vector in this generation, each once, in their order."""
    wanted = list(dict.fromkeys(ids))
    here = and_(vectors.c.generation == generation, vectors.c.vector.is_not(None))
    size = select(2 * generations.c.dimensions).where(generations.c.number == generation).scalar_subquery()
    # A part that is lost or of another size is made again with all of them.
    shortest, longest = (way(func.length(vectors.c.vector)) for way in (func.min, func.max))
    is_whole = and_(
        func.count() == func.max(vectors.c.part) + 1,
        shortest == longest,
        longest == func.coalesce(func.nullif(size, 0), longest),
    )
    found: set[UUID] = set()
    for some in batches(wanted):
        named = select(vectors.c.memory_id).where(here, vectors.c.memory_id.in_(some)).group_by(vectors.c.memory_id)
        found.update(connection.execute(named.having(is_whole)).scalars())
    return [one for one in wanted if one not in found]


def entries(connection: Connection, generation: int, ids: Sequence[UUID]) -> list[Entry]:
    """The entries of these memories as they were put, in the order asked."""
    columns = vectors.c
    parts: dict[UUID, list[Any]] = {}
    for some in batches(ids):
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


def batches(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The same, as many at a time as one statement names."""
    for at in range(0, len(ids), BATCH):
        yield ids[at : at + BATCH]
