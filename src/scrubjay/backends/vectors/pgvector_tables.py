"""Tables for pgvector: one for each embedding generation, with the vectors and what a search filters by."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from functools import cache
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    Uuid,
    func,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import UserDefinedType

from scrubjay.backends.sql.driver_postgresql import copied
from scrubjay.backends.sql.faults import Raced
from scrubjay.backends.sql.places import scope_from
from scrubjay.backends.sql.schema import scopes
from scrubjay.errors import InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.model import SCOPE_NAMES, Scope
from scrubjay.ports import Entry

HALFVEC_SINCE: Final = (0, 7)
ITERATIVE_SINCE: Final = (0, 8)

INLINE_BYTES: Final = 6_500
"""A vector up to this size is kept in its row, where a comparison finds it; a row has to fit a page of 8 kB."""

BUILDER: Final = "scrubjay-graph"
"""The name that connections which build graphs go by on the server."""

_LOCK: Final = 0x5C2B_7A12  # beside the lock of the migrations: any number that no other program is likely to use
_LARGEST_GRAPH: Final = {"halfvec": 4_000, "vector": 2_000}
_DIMENSIONS: Final = text("SELECT dimensions FROM generations WHERE number = :number")
_MARKED: Final = text("SELECT 1 FROM memories WHERE generation = :number LIMIT 1")
_HEAD: Final = 4  # bytes before the numbers of a vector on the wire: how many there are, and two that mean nothing
_CHANGED: Final = ("42P01", "42P07")  # a table that is gone, and one that is there already
_NOT_ALLOWED: Final = "42501"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the vectors of a generation are stored."""

    type: str
    """`halfvec` or `vector`."""
    dimensions: int

    @property
    def indexable(self) -> bool:
        """Whether pgvector can build a graph over them."""
        return self.dimensions <= _LARGEST_GRAPH[self.type]

    @property
    def numbers(self) -> str:
        """What the numbers are on the wire."""
        return ">f2" if self.type == "halfvec" else ">f4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the server has for a generation and a tenant."""

    shape: Shape
    iterates: bool
    """Whether a graph can be asked for more until a filter is satisfied."""
    has_graph: bool

    def check_dimensions(self, dimensions: int) -> None:
        """Refuse a vector of another size."""
        if dimensions != self.shape.dimensions:
            raise InvalidInput(
                f"vectors of {dimensions} and of {self.shape.dimensions} dimensions cannot be compared: use the model "
                "that made this generation"
            )


class Embedding(UserDefinedType[str]):
    """pgvector's own types, as text: `[0.1,0.2]`."""

    cache_ok = True

    def __init__(self, type: str, dimensions: int) -> None:
        self.type = type
        self.dimensions = dimensions

    def get_col_spec(self, **_: object) -> str:
        """The type as the server spells it."""
        return f"{self.type}({self.dimensions})"


@cache
def table_of(generation: int, shape: Shape) -> Table:
    """The table of a generation. Cached, so that SQLAlchemy knows its statements again."""
    name = named(generation)
    live = text("live")
    return Table(
        name,
        MetaData(),
        Column("memory_id", Uuid, primary_key=True),
        Column("part", Integer, primary_key=True),
        Column("start", Integer, nullable=False),
        Column("stop", Integer, nullable=False),
        # Beside the number of the scope, since it is what graphs and their predicates go by.
        Column("tenant", Text(collation="C"), nullable=False),
        Column("scope_id", BigInteger, nullable=False),
        Column("kind", Text(collation="C"), nullable=False),
        Column("live", Boolean, nullable=False),
        Column("since", DateTime(timezone=True), nullable=False),
        Column("until", DateTime(timezone=True)),
        Column("embedding", Embedding(shape.type, shape.dimensions), nullable=False),
        # What is not live is only found by its id, so no other index has to know of it.
        Index(f"ix_{name}_scope", "tenant", "scope_id", postgresql_where=live),
        Index(f"ix_{name}_kind", "tenant", "kind", postgresql_where=live),
    )


def graph_name(generation: int, tenant: str) -> str:
    """The name of a tenant's graph, whatever the characters of the tenant's."""
    return f"{named(generation)}_near_{hashlib.blake2b(tenant.encode(), digest_size=10).hexdigest()}"


def named(generation: int) -> str:
    """The name of a generation's table."""
    return f"vectors_g{int(generation)}"


def found(connection: Connection, generation: int, tenant: str = "") -> Found | None:
    """What there is for this generation and tenant; None when nothing was ever stored."""
    row = connection.execute(
        text(
            "SELECT t.typname, a.atttypmod, (SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
            "EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(:graph) AND indisvalid) "
            "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid "
            "WHERE a.attrelid = to_regclass(:table) AND a.attname = 'embedding'"
        ),
        {"table": named(generation), "graph": graph_name(generation, tenant)},
    ).one_or_none()
    if row is None:
        return None
    name, dimensions, version, has_graph = row
    return Found(
        shape=Shape(type=name, dimensions=dimensions),
        iterates=_parsed(version) >= ITERATIVE_SINCE,
        has_graph=has_graph,
    )


def check_generation(connection: Connection, generation: int, there: Found) -> None:
    """Raise StoreDamaged when the table of a generation holds vectors of another size than its model makes."""
    dimensions = connection.execute(_DIMENSIONS, {"number": generation}).scalar()
    if dimensions not in (None, 0, there.shape.dimensions):
        raise StoreDamaged(
            f"the table {named(generation)} is for vectors of {there.shape.dimensions} dimensions, and its model makes "
            f"{dimensions}: run `scrubjay reindex --rebuild`"
        )


def check_never_made(connection: Connection, generation: int) -> None:
    """Raise StoreDamaged when a generation has no table, and memories are marked as being in it."""
    if connection.execute(_MARKED, {"number": generation}).first() is not None:
        raise StoreDamaged(f"the table {named(generation)} is gone: run `scrubjay reindex --rebuild`")


def stored(connection: Connection) -> list[Table]:
    """The tables of all generations."""
    numbers = connection.execute(
        text(
            "SELECT substr(relname, 10)::integer FROM pg_class "
            "WHERE relname ~ '^vectors_g[0-9]{1,9}$' AND relkind = 'r' AND pg_table_is_visible(oid) ORDER BY 1"
        )
    ).scalars()
    # Nothing that is asked of all generations looks at the vectors themselves.
    return [table_of(number, Shape(type="vector", dimensions=1)) for number in numbers]


def extended(connection: Connection) -> tuple[int, ...]:
    """The version of pgvector in this database, installed first if need be. Belongs in a write transaction."""
    asked = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    version = connection.execute(asked).scalar()
    if version is None:
        # Two who install it at once would trip over each other, also with IF NOT EXISTS.
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if not connection.execute(text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")).scalar():
            raise StoreUnavailable(
                "this PostgreSQL has no pgvector. Install it on the server (for example the Debian package "
                "postgresql-17-pgvector, or the image pgvector/pgvector), or set SCRUBJAY_VECTORS to another engine"
            )
        with _allowed("CREATE EXTENSION vector"):
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
        version = connection.execute(asked).scalar_one()
    return _parsed(version)


def created(connection: Connection, generation: int, dimensions: int) -> Found:
    """The table of a generation, made if it is not there. Any number of processes may do so at once."""
    there = found(connection, generation)
    if there is not None:
        return there
    version = extended(connection)
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    there = found(connection, generation)  # Again: another process may have been here while we waited for the lock.
    if there is not None:
        return there
    shape = shape_of(version, dimensions)
    table = table_of(generation, shape)
    with _allowed(f"GRANT CREATE ON SCHEMA public TO {connection.engine.url.username or 'USER'}"):
        connection.execute(CreateTable(table))
    if dimensions * np.dtype(shape.numbers).itemsize <= INLINE_BYTES:
        connection.execute(text(f"ALTER TABLE {table.name} ALTER COLUMN embedding SET STORAGE PLAIN"))
    for index in table.indexes:
        connection.execute(CreateIndex(index))
    return Found(shape=shape, iterates=version >= ITERATIVE_SINCE, has_graph=False)


def shape_of(version: tuple[int, ...], dimensions: int) -> Shape:
    """How this version of pgvector best keeps vectors of this size."""
    half = version >= HALFVEC_SINCE and dimensions <= _LARGEST_GRAPH["halfvec"]
    return Shape(type="halfvec" if half else "vector", dimensions=dimensions)


def dropped(connection: Connection, generation: int) -> None:
    """Delete the table of a generation, and its graphs with it. One that is being built by any process is given up."""
    # Waiting for it would take minutes, in which everybody else would have to wait for us.
    connection.execute(
        text(
            "SELECT pg_cancel_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE "
            "relation = to_regclass(:table) AND application_name = :builder AND usename = current_user"
        ),
        {"table": named(generation), "builder": BUILDER},
    )
    connection.execute(text(f"DROP TABLE IF EXISTS {named(generation)}"))


def insert(
    connection: Connection, table: Table, shape: Shape, entries: Sequence[Entry], numbers: Mapping[Scope, int]
) -> None:
    """Add the rows of these entries, none of which may be there."""
    # COPY names no types on its way: bytes in the format of pgvector are a vector when they arrive.
    types = "uuid int4 int4 int4 text int8 text bool timestamptz timestamptz bytea".split()  # noqa: SIM905 -- reads better
    columns = dict(zip(table.columns.keys(), types, strict=True))
    copied(connection, table.name, columns, _rows(shape, entries, numbers))


def _rows(shape: Shape, entries: Iterable[Entry], numbers: Mapping[Scope, int]) -> Iterator[tuple[Any, ...]]:
    head = shape.dimensions.to_bytes(2, "big") + b"\0\0"
    for entry in entries:
        vectors = entry.vectors.astype(shape.numbers)
        shared = (entry.scope.tenant, numbers[entry.scope], entry.kind, entry.live, entry.since, entry.until)
        for part, ((start, stop), vector) in enumerate(zip(entry.spans, vectors, strict=True)):
            yield (entry.id, part, start, stop, *shared, head + vector.tobytes())


def entries_of(connection: Connection, table: Table, shape: Shape, which: ColumnElement[bool]) -> dict[UUID, Entry]:
    """The entries of these memories as they are stored, by id."""
    # As bytes: a number that is spelled out takes four times as long to read.
    sent = getattr(func, f"{shape.type}_send")(table.c.embedding, type_=LargeBinary)
    plain = [column for column in table.c if column is not table.c.embedding]
    parts: dict[UUID, list[Any]] = defaultdict(list)
    statement = (
        select(*plain, sent.label("numbers"), *(scopes.c[name].label(f"scope_{name}") for name in SCOPE_NAMES))
        .join(scopes, scopes.c.id == table.c.scope_id)
        .where(which)
        .order_by(table.c.memory_id, table.c.part)
    )
    for row in connection.execute(statement):
        parts[row.memory_id].append(row)
    return {memory: _entry(some, shape) for memory, some in parts.items()}


def _entry(parts: Sequence[Any], shape: Shape) -> Entry:
    first = parts[0]
    numbers = np.frombuffer(b"".join(bytes(part.numbers)[_HEAD:] for part in parts), dtype=shape.numbers)
    return Entry(
        id=first.memory_id,
        scope=scope_from([getattr(first, f"scope_{name}") for name in SCOPE_NAMES]),
        kind=first.kind,
        live=first.live,
        since=first.since.astimezone(UTC),
        until=first.until.astimezone(UTC) if first.until is not None else None,
        spans=tuple((part.start, part.stop) for part in parts),
        vectors=numbers.reshape(len(parts), -1).astype(np.float32),
    )


def check_entries(entries: Iterable[Entry]) -> int:
    """The size of all the vectors, which is one. Raises InvalidInput for what cannot be stored."""
    sizes: set[int] = set()
    for entry in entries:
        if len(entry.spans) != len(entry.vectors):
            raise InvalidInput("an entry has more or fewer vectors than spans: give one vector for each part")
        if not np.isfinite(entry.vectors).all():
            raise InvalidInput("a vector has a number that is not finite: the embedding model is broken")
        sizes.add(entry.vectors.shape[1])
    if len(sizes) > 1:
        raise InvalidInput(f"vectors of {' and '.join(map(str, sorted(sizes)))} dimensions: a generation has one size")
    return sizes.pop()


def spelled(vector: NDArray[Any], shape: Shape) -> str:
    """A question as pgvector reads it, rounded as what it is compared with."""
    rounded = vector.astype(np.float16 if shape.type == "halfvec" else np.float32)
    return f"[{','.join(map(str, rounded.tolist()))}]"


@contextmanager
def present() -> Iterator[None]:
    """Start the transaction over when a table that was looked for was dropped, or made, by another process since."""
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) in _CHANGED:
            raise Raced from error
        raise


@contextmanager
def _allowed(remedy: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) == _NOT_ALLOWED:
            message = str(error.orig).strip().splitlines()[0]
            raise StoreUnavailable(
                f"pgvector cannot be set up: {message}. Let the owner of the database run `{remedy}`"
            ) from error
        raise


def _parsed(version: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in (version or "0").split(".")[:2] if number.isdigit())
