"""A whole database, carried: read as it was at one moment, or filled with what comes from elsewhere."""

import asyncio
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, Select, Table, delete, func, insert, inspect, select, text, update

from scrubjay.backends.sql import access, checksums, data_keys, elsewhere, schema_access, schema_encryption, writing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.faults import translated
from scrubjay.backends.sql.generations import generation_of
from scrubjay.backends.sql.migrate import refuse_newer, version
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import (
    HEAD,
    blobs,
    counters,
    generations,
    memories,
    metadata,
    scopes,
    vectors,
    work_troubles,
    working_sessions,
)
from scrubjay.backends.sql.wholes import session_places, store_blobs, store_sessions, whole_blobs, whole_sessions
from scrubjay.errors import Conflict, SchemaOutdated, StoreUnavailable
from scrubjay.model import Generation, Scope
from scrubjay.ports import Outline, Piece

T = TypeVar("T")
P = ParamSpec("P")

_MARK: Final = "carried:"
"""Begins the name of the counter that says how far a store is filled; a digest of the source follows."""

_KIND: Final = 2**60
"""Places of one kind: rows, blobs, sessions and the log count each for themselves, and behind those before them."""


def identity_of(database: Database) -> str:
    """What tells this store from others, however its URL was written."""
    return f"sqlite:///{database.path.resolve()}" if database.path is not None else database.name


async def check_readable(database: Database) -> None:
    """Refuse a store that is not there or has another schema, and change nothing: not even an empty file is made."""
    if database.path is not None and not database.path.exists():
        raise StoreUnavailable(f"{database.name} is not there. Check the URL")
    found = await database.read(version)
    if found is None:
        raise StoreUnavailable(f"{database.name} is no store of Scrubjay. Check the URL")
    if found != HEAD:
        refuse_newer(database, found)
        raise SchemaOutdated(
            f"{database.name} has schema {found}, older than {HEAD}. Run `scrubjay migrate` on it first"
        )


@asynccontextmanager
async def copied(database: Database) -> AsyncIterator[Database]:
    """The same database, for a long look at it that hinders nobody: of a SQLite file a copy, thrown away after.

    A purge waits for those who read the file, so that nothing deleted lingers in its log. The copy is one moment.
    """
    path = database.path
    if path is None:
        yield database
        return
    with ExitStack() as made:
        copy = await _whole(_copy, path, made)
        found = Database(f"sqlite:///{copy}")
        try:
            yield found
        finally:
            await found.shut()


async def _whole(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do this on a thread, to its end also when we are cancelled meanwhile: whoever holds what it opens can let go."""
    doing = asyncio.ensure_future(asyncio.to_thread(work, *given, **named))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        while not doing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([doing])
        doing.exception()  # Nobody else will ask for it.
        raise


def _copy(path: Path, made: ExitStack) -> Path:
    try:
        folder = made.enter_context(tempfile.TemporaryDirectory(prefix=".scrubjay-", dir=path.parent))
        copy = Path(folder) / path.name
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(f"{path} cannot be copied: {error}. It takes as much room again beside it") from error
    return copy


class SqlPortable:
    """The `Portable` port. How far a store is filled is a counter in it, moved on with the rows themselves."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = Reader()

    @asynccontextmanager
    async def still(self) -> AsyncIterator["SqlStill"]:
        """Hold the database still for reading, as it is now."""
        with ExitStack() as held:
            connection = await _whole(held.enter_context, self._database.frozen())
            still = SqlStill(connection, self._database.name)
            try:
                yield still
            finally:
                await asyncio.to_thread(still.rest)

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun."""

        def work(connection: Connection) -> int | None:
            place = connection.execute(select(counters.c.value).where(counters.c.name == _mark(source))).scalar()
            if place is None and (held := worth_keeping(connection)):
                raise Conflict(
                    f"{self._database.name} holds {held} and is not being filled from {source}: name an empty store"
                )
            return place

        return await self._database.read(work)

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source; give it exactly the outline's generations and keys."""

        def work(connection: Connection) -> None:
            mine = counters.c.name == _mark(source)
            connection.execute(delete(counters).where(counters.c.name.startswith(_MARK), ~mine))
            if connection.execute(select(counters.c.value).where(mine)).scalar() is None:
                connection.execute(insert(counters).values(name=_mark(source), value=0))
            connection.execute(delete(generations))
            if outline.generations:
                connection.execute(insert(generations), [_row(one) for one in outline.generations])
            connection.execute(delete(schema_encryption.data_keys))
            data_keys.add(connection, outline.keys)
            access.put_keys(connection, outline.api_keys)
            elsewhere.put_notes(connection, outline.elsewhere)
            _count_on_from(connection, generations, outline.last_number)

        await self._database.write(work)

    async def fill(self, source: str, piece: Piece) -> None:
        """Store exactly this and note that the source is here up to its place, both or none."""

        def work(connection: Connection) -> None:
            writing.load(connection, self._reader, piece.memories, as_is=True)
            store_blobs(connection, piece.blobs)
            store_sessions(connection, piece.sessions)
            if piece.audit:
                access.put_entries(connection, piece.audit)
                _count_on_from(connection, schema_access.audit_log, piece.audit[-1].number)
            moved = update(counters).where(counters.c.name == _mark(source)).values(value=piece.place)
            if connection.execute(moved).rowcount != 1:
                raise Conflict(f"{self._database.name} is not being filled from {source} any more: begin again")

        await self._database.write(work)

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here."""

        def work(connection: Connection) -> None:
            connection.execute(delete(counters).where(counters.c.name == _mark(source)))
            if connection.dialect.name == "postgresql":
                # What was filled at once is not known to the planner yet, and the first searches would be slow.
                connection.execute(text(f"ANALYZE {', '.join(metadata.tables)}, texts"))

        await self._database.rework(work)


class SqlStill:
    """The `Still` port, on one connection that sees one moment."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._lock = Lock()
        self._reader = Reader()
        self._places: list[tuple[Scope, int, int]] | None = None

    async def outline(self) -> Outline:
        """Return what is in it."""
        return await self._read(_outline)

    async def pieces(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[Piece]:
        """Stream everything of every tenant: rows in the order of storing, blobs, sessions by scope, the log."""
        begun, number = divmod(after, _KIND)
        kinds = (self._memories, self._blobs, self._sessions, self._audit)
        for kind, read in enumerate(kinds[begun:], start=begun):
            while piece := await self._read(partial(read, after=number, batch=batch)):
                number = piece.place
                yield replace(piece, place=kind * _KIND + number)
            number = 0

    def _memories(self, connection: Connection, *, after: int, batch: int) -> Piece:
        column = memories.c.seq
        page = select(column).where(column > after).order_by(column).limit(batch).subquery()
        end = connection.execute(select(func.max(page.c.seq))).scalar()
        if end is None:
            return Piece(place=after)
        some = rows().where(column > after, column <= end).order_by(column)
        found = checksums.check(connection, self._reader, some)
        return Piece(place=end, memories=found)

    def _blobs(self, connection: Connection, *, after: int, batch: int) -> Piece:
        found = whole_blobs(connection, after=after, batch=batch)
        return Piece(place=found[-1][0] if found else after, blobs=[blob for _, blob in found])

    def _sessions(self, connection: Connection, *, after: int, batch: int) -> Piece:
        if self._places is None:
            self._places = session_places(connection)
        found = whole_sessions(connection, self._places[after:], batch=batch)
        return Piece(place=after + len(found), sessions=found)

    def _audit(self, connection: Connection, *, after: int, batch: int) -> Piece:
        found = access.entries_after(connection, after, batch=batch)
        return Piece(place=found[-1].number if found else after, audit=found)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        def read() -> T:
            with self._lock, translated(self._name):
                return work(self._connection)

        return await asyncio.to_thread(read)

    def rest(self) -> None:
        """Wait until nothing is read: whoever waited for it may be cancelled, and the connection is closed next."""
        with self._lock:
            return


def _mark(source: str) -> str:
    return f"{_MARK}{sha256(source.encode()).hexdigest()[:24]}"


_WORTH: Final = (
    (memories, "seq", "memory", "memories"),
    (blobs, "number", "file", "files"),
    (working_sessions, "scope_id", "session", "sessions"),
    (work_troubles, "body", "message that could not be stored", "messages that could not be stored"),
    (vectors, "vector", "vector", "vectors"),
    (schema_access.api_keys, "id", "API key", "API keys"),
    (schema_access.audit_log, "number", "entry of the audit log", "entries of the audit log"),
)
"""What a store may hold, and how to say so. A generation does not count: opening a store gives it one."""


def worth_keeping(connection: Connection) -> str | None:
    """What the store holds first of all, in words; None for nothing."""
    there = set(inspect(connection).get_table_names())
    # A store that is older than this version may lack some tables.
    for table, name, one, many in (worth for worth in _WORTH if worth[0].name in there):
        if count := connection.execute(select(func.count(table.c[name]))).scalar_one():
            return f"{count:,} {one if count == 1 else many}"
    return None


def _outline(connection: Connection) -> Outline:
    in_memories = select(scopes.c.tenant, func.count()).join(memories, memories.c.scope_id == scopes.c.id)
    in_blobs = select(blobs.c.tenant, func.count())
    in_sessions = Counter(scope.tenant for scope, _, _ in session_places(connection))
    logged = schema_access.audit_log.c
    known = connection.execute(select(generations).order_by(generations.c.number))
    return Outline(
        tenants=_counted(connection, in_memories.group_by(scopes.c.tenant)),
        blobs=_counted(connection, in_blobs.group_by(blobs.c.tenant)),
        sessions=dict(sorted(in_sessions.items())),
        generations=tuple(generation_of(row) for row in known),
        last_number=_last(connection, generations),
        audit=_counted(connection, select(logged.tenant, func.count()).group_by(logged.tenant)),
        api_keys=access.all_keys(connection),
        keys=data_keys.all_keys(connection),
        elsewhere=elsewhere.all_notes(connection),
    )


def _counted(connection: Connection, statement: Select[Any]) -> dict[str, int]:
    # Sorted here, since two databases may not agree on the alphabet.
    return dict(sorted((row[0], row[1]) for row in connection.execute(statement)))


def _row(generation: Generation) -> dict[str, object]:
    return {
        "number": generation.number,
        "provider": generation.identity.provider,
        "model": generation.identity.model,
        "version": generation.identity.version,
        "dimensions": generation.identity.dimensions,
        "state": generation.state,
        "created_at": generation.created_at,
        "switched_at": generation.switched_at,
    }


def _last(connection: Connection, table: Table) -> int:
    """The highest number that a row of the table ever had."""
    if connection.dialect.name == "postgresql":
        statement = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {table.name}_number_seq"
        return int(connection.execute(text(statement)).scalar_one())
    last = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    return connection.execute(last, {"name": table.name}).scalar() or 0


def _count_on_from(connection: Connection, table: Table, last: int) -> None:
    """Let the next row of the table have a larger number than this."""
    if connection.dialect.name == "postgresql":
        statement = text(f"SELECT setval('{table.name}_number_seq', :last, :used)")
        connection.execute(statement, {"last": max(last, 1), "used": last > 0})
        return
    named = {"name": table.name, "last": last}
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), named)
    connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)"), named)
