"""Bring a database to the schema of this version: on open, under a lock, with a backup copy first."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from scrubjay.backends.sql import schema_access as _schema_access  # noqa: F401 -- its tables belong to the metadata
from scrubjay.backends.sql import schema_elsewhere as _schema_elsewhere  # noqa: F401 -- the same
from scrubjay.backends.sql import schema_encryption as _schema_encryption  # noqa: F401 -- the same
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.engines import make_private
from scrubjay.backends.sql.schema import HEAD, LANGUAGE, TEXT_CONFIGURATION, metadata
from scrubjay.errors import Misconfigured, SchemaTooNew, StoreUnavailable

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_VERSION_TABLE: Final = (
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
"""As Alembic makes it, so that a new database and a migrated one are the same."""

_COUNTED: Final = "SELECT name FROM sqlite_master WHERE name IN ('sqlite_stat1', 'sqlite_stat3', 'sqlite_stat4')"
_LANGUAGE: Final = text("SELECT dictinitoption FROM pg_ts_dict WHERE dictname = :name AND pg_ts_dict_is_visible(oid)")
_LANGUAGES: Final = text("SELECT left(dictname, -5) FROM pg_ts_dict WHERE right(dictname, 5) = '_stem' ORDER BY 1")
_LOCK: Final = 0x5C2B_7A11  # any number that no other program on the same server is likely to use


async def migrate(database: Database, *, language: str = LANGUAGE) -> str | None:
    """Bring the database up to date; return the version it had, or None when it was new. Safe to run twice at once.

    On PostgreSQL, words are stemmed as this language does it, those that are stored already too. SQLite knows English.
    A file is freed of statistics that somebody's ANALYZE has left.
    """
    before, statistics = await database.read(lambda connection: (version(connection), _statistics(connection)))
    if before != HEAD:
        if before is not None:
            refuse_newer(database, before)
            backup(database, before)
        await database.rework(_upgraded(database))
    if statistics and database.path is not None:
        await asyncio.to_thread(_forget_statistics, database.path, statistics)
    # Without a stemmer, words cannot be looked for: `reindex` makes it again.
    if database.dialect == "postgresql" and await database.read(language_of) not in ("", language):
        await database.rework(_speaking(language))
    return before


def version(connection: Connection) -> str | None:
    """The version of the schema that is there, or None when there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _statistics(connection: Connection) -> list[str]:
    """The tables with what SQLite has counted, which it plans by from then on, however the file grows.

    Without them it takes the indexes that our statements are written for. With them, what was counted when there was
    one scope makes it read all memories for each of a thousand.
    """
    if connection.dialect.name != "sqlite":
        return []
    return [name for (name,) in driver_of(connection).execute(_COUNTED)]


def _forget_statistics(path: Path, tables: Sequence[str]) -> None:
    """Drop these by a connection of its own: one that drops them goes on planning by them, and all others do not."""
    # A file that somebody is writing to for long, or that may not be written to, is as slow as it was, and works.
    with suppress(sqlite3.OperationalError), closing(sqlite3.connect(path, timeout=1)) as file, file:
        for name in tables:
            file.execute(f"DROP TABLE IF EXISTS {name}")


def _upgraded(database: Database) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = version(connection)  # Again: another process may have been here while we waited for the lock.
        if found == HEAD:
            return
        if found is None:
            metadata.create_all(connection, checkfirst=False)
            connection.execute(text(_VERSION_TABLE))
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
            return
        refuse_newer(database, found)
        upgrade(connection, HEAD)

    return work


def language_of(connection: Connection) -> str:
    """The language whose stemmer PostgreSQL uses for search by words; empty when there is none."""
    options = connection.execute(_LANGUAGE, {"name": TEXT_CONFIGURATION}).scalar()
    return str(options or "").partition("'")[2].partition("'")[0]


def _speaking(language: str) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if language_of(connection) == language:
            return
        languages = connection.execute(_LANGUAGES).scalars().all()
        if language not in languages:
            raise Misconfigured(f"language is {language!r}: this PostgreSQL has {', '.join(languages)}")
        connection.execute(text(f"ALTER TEXT SEARCH DICTIONARY {TEXT_CONFIGURATION} (LANGUAGE = {language})"))
        connection.execute(text("UPDATE texts SET body = body"))  # Whereupon its words are derived anew.

    return work


def upgrade(connection: Connection, target: str) -> None:
    """Run the migrations up to the target inside the caller's transaction."""
    from alembic import command  # noqa: PLC0415 -- a third of a second, and a database that is up to date needs none of it
    from alembic.config import Config  # noqa: PLC0415 -- the same

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    if not connection.in_transaction():
        # One that was begun below SQLAlchemy is unknown to Alembic, which would commit after each migration.
        connection.begin()
    command.upgrade(config, target)


def refuse_newer(database: Database, found: str) -> None:
    """Raise SchemaTooNew for a version that this one does not know."""
    if not (MIGRATIONS / "versions" / f"{found}.py").exists():
        raise SchemaTooNew(
            f"{database.name} has schema {found}, written by a newer version than this one ({HEAD}). "
            "Upgrade Scrubjay; nothing was changed"
        )


def backup(database: Database, found: str) -> Path | None:
    """Copy a SQLite file beside itself, consistently while others use it. Servers have backups of their own."""
    path = database.path
    if path is None:
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    copy = path.with_name(f"{path.name}.backup-{found}-{stamp}")
    make_private(copy)
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise StoreUnavailable(
            f"no backup could be made at {copy} before migrating: {error}. Nothing was changed"
        ) from error
    return copy
