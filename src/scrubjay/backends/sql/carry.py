"""A whole database, carried: read as it was at one moment, or filled with what comes from elsewhere."""

import asyncio
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection, delete, exists, func, insert, select, text, update

from scrubjay.backends.sql import writing
from scrubjay.backends.sql.database import Database, translated
from scrubjay.backends.sql.generations import generation_of
from scrubjay.backends.sql.migrate import refuse_newer, version
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import HEAD, counters, generations, memories, metadata, scopes, vectors
from scrubjay.errors import Conflict, SchemaOutdated, StoreUnavailable
from scrubjay.model import Generation, Memory
from scrubjay.ports import Outline

T = TypeVar("T")

_MARK: Final = "carried:"
"""Begins the name of the counter that says how far a store is filled; a digest of the source follows."""


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
        copy = await asyncio.to_thread(_copy, path, made)
        found = Database(f"sqlite:///{copy}")
        try:
            yield found
        finally:
            await found.shut()


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
            connection = await asyncio.to_thread(held.enter_context, self._database.frozen())
            yield SqlStill(connection, self._database.name)

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun."""

        def work(connection: Connection) -> int | None:
            place = connection.execute(select(counters.c.value).where(counters.c.name == _mark(source))).scalar()
            if place is None and not _is_empty(connection):
                stored = connection.execute(select(func.count()).select_from(memories)).scalar_one()
                raise Conflict(
                    f"{self._database.name} holds {stored:,} memories and is not being filled from {source}: "
                    "name an empty store"
                )
            return place

        return await self._database.read(work)

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source, and give it exactly the outline's generations."""

        def work(connection: Connection) -> None:
            mine = counters.c.name == _mark(source)
            connection.execute(delete(counters).where(counters.c.name.startswith(_MARK), ~mine))
            if connection.execute(select(counters.c.value).where(mine)).scalar() is None:
                connection.execute(insert(counters).values(name=_mark(source), value=0))
            connection.execute(delete(generations))
            if outline.generations:
                connection.execute(insert(generations), [_row(one) for one in outline.generations])
            _count_on_from(connection, outline.last_number)

        await self._database.write(work)

    async def fill(self, source: str, memories_: Sequence[Memory], *, place: int) -> None:
        """Store exactly these rows and note that the source is here up to this place, both or none."""

        def work(connection: Connection) -> None:
            writing.load(connection, self._reader, memories_)
            moved = update(counters).where(counters.c.name == _mark(source)).values(value=place)
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
        self._reader = Reader()

    async def outline(self) -> Outline:
        """Return what is in it."""
        return await self._read(_outline)

    async def rows(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[tuple[int, list[Memory]]]:
        """Stream every row of every tenant in the order of storing, each batch with the place where it ends."""
        place = after

        def work(connection: Connection) -> tuple[int, list[Memory]]:
            column = memories.c.seq
            page = select(column).where(column > place).order_by(column).limit(batch).subquery()
            end = connection.execute(select(func.max(page.c.seq))).scalar()
            if end is None:
                return place, []
            return end, self._reader.fetch(connection, rows().where(column > place, column <= end).order_by(column))

        while (read := await self._read(work))[1]:
            place = read[0]
            yield read

    async def _read(self, work: Callable[[Connection], T]) -> T:
        def read() -> T:
            with translated(self._name):
                return work(self._connection)

        return await asyncio.to_thread(read)


def _mark(source: str) -> str:
    return f"{_MARK}{sha256(source.encode()).hexdigest()[:24]}"


def _is_empty(connection: Connection) -> bool:
    """Whether there is no memory and no vector. Opening a store gives it a generation, so that does not count."""
    stored = select(exists(select(memories.c.seq)) | exists(select(vectors.c.row).where(vectors.c.vector.is_not(None))))
    return not connection.execute(stored).scalar_one()


def _outline(connection: Connection) -> Outline:
    counted = select(scopes.c.tenant, func.count()).join(memories, memories.c.scope_id == scopes.c.id)
    tenants = {tenant: count for tenant, count in connection.execute(counted.group_by(scopes.c.tenant))}  # noqa: C416 -- rows are not pairs to a type checker
    known = connection.execute(select(generations).order_by(generations.c.number))
    if connection.dialect.name == "postgresql":
        last = text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM generations_number_seq")
    else:
        last = text("SELECT seq FROM sqlite_sequence WHERE name = 'generations'")
    return Outline(
        # Sorted here, since two databases may not agree on the alphabet.
        tenants=dict(sorted(tenants.items())),
        generations=tuple(generation_of(row) for row in known),
        last_number=connection.execute(last).scalar() or 0,
    )


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


def _count_on_from(connection: Connection, last: int) -> None:
    """Let the next generation have a larger number than this."""
    if connection.dialect.name == "postgresql":
        statement = text("SELECT setval('generations_number_seq', :last, :used)")
        connection.execute(statement, {"last": max(last, 1), "used": last > 0})
        return
    connection.execute(text("DELETE FROM sqlite_sequence WHERE name = 'generations'"))
    connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES ('generations', :last)"), {"last": last})
