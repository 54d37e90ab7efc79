"""Bring a database to the schema of this version: on open, under a lock, with a backup copy first."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import HEAD, metadata
from scrubjay.errors import SchemaTooNew, StoreUnavailable

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_LOCK: Final = 0x5C2B_7A11  # any number that no other program on the same server is likely to use


async def migrate(database: Database) -> str | None:
    """Bring the database up to date; return the version it had, or None when it was new. Safe to run twice at once."""
    before = await database.read(version)
    if before == HEAD:
        return before
    if before is not None:
        _refuse_newer(database, before)
        backup(database, before)
    await database.write(_upgraded(database))
    return before


def version(connection: Connection) -> str | None:
    """The version of the schema that is there, or None when there is none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgraded(database: Database) -> Callable[[Connection], None]:
    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = version(connection)  # Again: another process may have been here while we waited for the lock.
        if found == HEAD:
            return
        if found is None:
            metadata.create_all(connection, checkfirst=False)
            connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
            return
        _refuse_newer(database, found)
        upgrade(connection, HEAD)

    return work


def upgrade(connection: Connection, target: str) -> None:
    """Run the migrations up to the target inside the caller's transaction."""
    from alembic import command  # noqa: PLC0415 -- a third of a second, and a database that is up to date needs none of it
    from alembic.config import Config  # noqa: PLC0415 -- the same

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def _refuse_newer(database: Database, found: str) -> None:
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
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise StoreUnavailable(
            f"no backup could be made at {copy} before migrating: {error}. Nothing was changed"
        ) from error
    return copy
