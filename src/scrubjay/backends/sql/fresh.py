"""An empty database to fill, in the place of what is there. What is there is refused, or kept aside under another name.

On SQLite a new file is filled beside the old one and takes its place when it is complete, so a failure changes nothing.
On a server the old tables move to a schema of their own before the new ones are made.
"""

import asyncio
import os
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, text

from scrubjay.backends.sql.carry import SqlPortable, worth_keeping
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.engines import make_private
from scrubjay.backends.sql.faults import translated
from scrubjay.backends.sql.mark import SUFFIX
from scrubjay.backends.sql.migrate import migrate, version
from scrubjay.backends.sql.schema import HEAD, TEXT_CONFIGURATION, metadata
from scrubjay.backends.sql.schema import texts as texts_table
from scrubjay.errors import Conflict, StoreDamaged, StoreUnavailable

_VECTORS: Final = re.compile(r"vectors_g\d+")
"""The tables in which pgvector keeps a generation."""

_CUT_OFF: Final = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND application_name = 'scrubjay' AND usename = current_user AND pid <> pg_backend_pid()"
)

_DAMAGED: Final = "a damaged store"

_PLAINLY: Final[dict[str, Any]] = {"timeout": 5, "isolation_level": None}
"""How SQLite is asked to open a file that nobody else uses."""

_BESIDE: Final = ("-wal", "-shm", ".signs", SUFFIX)
"""What lies beside a SQLite file and belongs to it."""


@dataclass(kw_only=True)
class Fresh:
    """A database to fill."""

    name: str
    """Of the store that it is, or will be."""
    database: Database
    aside: str | None = None
    """Where the one before is kept; None when there was nothing worth keeping. A file is known when all is done."""


@asynccontextmanager
async def fresh(url: str, source: str, *, force: bool) -> AsyncIterator[Fresh]:
    """An empty database of this version's schema, or one that is being filled from the source already.

    Raises Conflict when the store holds anything else, unless `force` says to keep that aside.
    """
    database = Database(url)
    try:
        filling = _fresh_file(database, force=force) if database.path else _fresh_tables(database, source, force=force)
        async with filling as found:
            yield found
    finally:
        await database.shut()


@asynccontextmanager
async def _fresh_file(database: Database, *, force: bool) -> AsyncIterator[Fresh]:
    path = Path(str(database.url.database))
    kept = await _worth_keeping(database, path)
    if kept is not None and not force:
        raise _taken(database, kept)
    await database.shut()
    _take_offline(path)  # Before the work, to hear of others who use it; and once more in the end.
    filling = path.with_name(f"{path.name}.restoring")
    _remove(filling)
    found = Fresh(name=database.name, database=Database(f"sqlite:///{filling}"))
    try:
        await migrate(found.database)
        yield found
        await found.database.shut()
        _take_offline(filling)
        found.aside = _take_the_place(filling, path, database, force=force)
    finally:
        await found.database.shut()
        _remove(filling)


async def _worth_keeping(database: Database, path: Path) -> str | None:
    """What there is to lose, in words; None when there is nothing."""
    try:
        return await database.read(_held) if await asyncio.to_thread(path.exists) else None
    except StoreDamaged:
        return _DAMAGED


def _held(connection: Connection) -> str | None:
    return worth_keeping(connection) if version(connection) is not None else None


def _taken(database: Database, kept: str) -> Conflict:
    return Conflict(
        f"{database.name} holds {kept} already: restore into an empty store, or use --force, which keeps this one aside"
    )


def _take_the_place(filled: Path, path: Path, database: Database, *, force: bool) -> str | None:
    """Put the new file where the old one is; return where the old one went. At every moment one of them is there.

    Filling took a while: what the old one holds counts now, and nobody adds to it any more.
    """
    make_private(path)  # Nobody can be kept out of a file that is not there.
    with _alone(path, database.name) as kept:
        if kept is not None and not force:
            raise _taken(database, kept)
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = path.with_name(f"{path.name}.backup-{stamp}")
        if kept is not None:
            for suffix in _BESIDE:
                beside = path.with_name(f"{path.name}{suffix}")
                if beside.exists():
                    beside.rename(f"{aside}{suffix}")
            aside.hardlink_to(path)
        else:
            _remove(path, *_BESIDE)
        filled.replace(path)
        with suppress(FileNotFoundError):
            filled.with_name(f"{filled.name}{SUFFIX}").replace(path.with_name(f"{path.name}{SUFFIX}"))
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return str(aside) if kept is not None else None


@contextmanager
def _alone(path: Path, name: str) -> Iterator[str | None]:
    """Keep everybody else out of the file; what it holds, in words, or None for nothing.

    Meanwhile this process must not open and close it in any other way: that gives up its locks.
    """
    engine = create_engine(URL.create("sqlite", database=str(path)), poolclass=NullPool, connect_args=_PLAINLY)
    with ExitStack() as stack:
        try:
            with translated(name):
                connection = stack.enter_context(engine.connect())
                _lock(connection)
                kept = _held(connection)
        except StoreDamaged:
            kept = _DAMAGED
        except StoreUnavailable as error:
            raise _in_use(path) from error
        yield kept


def _lock(connection: Connection) -> None:
    # With a log, readers could not be kept out. With a journal in memory, none lies beside the file that comes next.
    for mode in "DELETE", "MEMORY":
        connection.exec_driver_sql(f"PRAGMA journal_mode = {mode}")
    connection.exec_driver_sql("BEGIN EXCLUSIVE")
    if connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal":
        raise StoreUnavailable  # Somebody came between the two.


def _take_offline(path: Path) -> None:
    """Bring everything into the file itself, which SQLite does only for somebody who has it alone."""
    if not path.exists():
        return
    try:
        with closing(sqlite3.connect(path, **_PLAINLY)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    except sqlite3.OperationalError as error:
        raise _in_use(path) from error
    except sqlite3.DatabaseError:
        return  # It is damaged, and is kept as it is.
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _in_use(path: Path) -> Conflict:
    return Conflict(f"{path} is in use: stop what has it open, then restore again. Nothing was changed")


def _remove(path: Path, *suffixes: str) -> None:
    for suffix in suffixes or ("", *_BESIDE):
        beside = path.with_name(f"{path.name}{suffix}")
        if beside.is_dir():
            for file in beside.iterdir():
                file.unlink()
            beside.rmdir()
        else:
            beside.unlink(missing_ok=True)


@asynccontextmanager
async def _fresh_tables(database: Database, source: str, *, force: bool) -> AsyncIterator[Fresh]:
    kept = await database.read(_held)
    if kept is not None and not await _is_being_filled(database, source):
        if not force:
            raise _taken(database, kept)
        found = Fresh(name=database.name, database=database, aside=await database.rework(_set_aside))
    else:
        found = Fresh(name=database.name, database=database)
    await migrate(database)
    yield found


async def _is_being_filled(database: Database, source: str) -> bool:
    try:
        return await database.read(version) == HEAD and await SqlPortable(database).begun(source) is not None
    except Conflict:
        return False


def _set_aside(connection: Connection) -> str:
    """Move our tables, and what they are made with, to a schema of their own."""
    stamp = datetime.now(UTC).strftime("%Y%m%dt%H%M%Sz")
    aside = f"scrubjay_backup_{stamp}"
    connection.execute(text(f"CREATE SCHEMA {aside}"))
    there = set(inspect(connection).get_table_names())
    # Those of pgvector too: their rows name scopes by numbers that mean something else in the new tables.
    vectors = sorted(name for name in there if _VECTORS.fullmatch(name))
    for table in (*metadata.tables, texts_table.name, "alembic_version", *vectors):
        if table in there:
            connection.execute(text(f"ALTER TABLE {table} SET SCHEMA {aside}"))
    for what in "CONFIGURATION", "DICTIONARY":
        connection.execute(text(f"ALTER TEXT SEARCH {what} {TEXT_CONFIGURATION} SET SCHEMA {aside}"))
    # Who holds numbers of scopes in memory must hear that they mean something else by now, and who is cut off does.
    connection.execute(_CUT_OFF)
    return f"schema {aside}"
