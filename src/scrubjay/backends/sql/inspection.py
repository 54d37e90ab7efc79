"""Look a database over: its version, its settings, and whether every index of the schema is there."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, Index, inspect, text
from sqlalchemy.schema import CreateIndex

from scrubjay.backends.sql import checksums
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import (
    memories_postgresql_data,
    memories_postgresql_kind,
    metadata,
    texts_postgresql_index,
)
from scrubjay.model import Finding

LEAST_POSTGRESQL: Final = 14
LEAST_SQLITE: Final = (3, 35, 0)
"""The first that returns what it has written."""

CONNECTIONS: Final = 8
"""How many one process may hold at a time."""

_VERSIONS: Final = text("SELECT current_setting('server_version_num')::integer, current_setting('server_version')")
_SETTINGS: Final = text(
    "SELECT name, setting FROM pg_settings WHERE name IN "
    "('autovacuum', 'fsync', 'full_page_writes', 'max_connections', 'server_encoding', 'synchronous_commit')"
)
_ONLY_POSTGRESQL: Final = (texts_postgresql_index, memories_postgresql_kind, memories_postgresql_data)


class SqlInspection:
    """The `Inspected` port for the record store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Look over the version, the settings and the indexes. With `fix`, an index that is missing is made."""
        found = await self._database.read(_server if self._database.dialect == "postgresql" else _library)
        missing = await self._database.read(missing_indexes)
        if fix and missing:
            await self._database.rework(lambda connection: _make(connection, missing))
        if unknown := await self._database.read(checksums.unknown):
            said = f"{unknown:,} memories of an older version have no checksum; `scrubjay doctor --fix` makes them"
            if fix:
                await self._database.rework(checksums.make)
            found.append(Finding(about="checksums", said=said, fixed="they have one now" if fix else ""))
        return [*found, *(_missing(name, statement, fixed=fix) for name, statement in missing.items())]


def _library(connection: Connection) -> list[Finding]:
    journal = connection.execute(text("PRAGMA journal_mode")).scalar_one()
    least = ".".join(map(str, LEAST_SQLITE))
    old = sqlite3.sqlite_version_info < LEAST_SQLITE
    found = [
        Finding(
            about="SQLite",
            said=sqlite3.sqlite_version,
            remedy=f"use a Python that comes with SQLite {least} or newer" if old else "",
        )
    ]
    if journal != "wal":
        remedy = "keep the file on a local disk: a network file system cannot share its log"
        found.append(Finding(about="SQLite", said=f"the journal is {journal}, not wal", remedy=remedy))
    return found


def _server(connection: Connection) -> list[Finding]:
    number, version = connection.execute(_VERSIONS).one()
    old = number < LEAST_POSTGRESQL * 10_000
    remedy = f"use PostgreSQL {LEAST_POSTGRESQL} or newer" if old else ""
    settings = {row.name: row.setting for row in connection.execute(_SETTINGS)}
    return [Finding(about="PostgreSQL", said=version, remedy=remedy), *_settings(settings)]


def _settings(found: dict[str, str]) -> Iterator[Finding]:
    # Whoever turned one of these off has said that losing data is allowed; it is worth saying, and no fault.
    risks = {
        "fsync": "a crash of the machine may damage the database",
        "full_page_writes": "a crash of the machine may damage the database",
        "synchronous_commit": "a crash may lose what was acknowledged last",
    }
    for name, risk in risks.items():
        if found.get(name) == "off":
            yield Finding(about="PostgreSQL", said=f"{name} is off: {risk}")
    if found.get("autovacuum") == "off":
        remedy = "turn it on: what is replaced or deleted is never cleared away without it"
        yield Finding(about="PostgreSQL", said="autovacuum is off", remedy=remedy)
    if found.get("server_encoding") != "UTF8":
        said = f"the encoding is {found.get('server_encoding')}"
        yield Finding(about="PostgreSQL", said=said, remedy="move to a database that was made with ENCODING 'UTF8'")
    if int(found["max_connections"]) < 2 * CONNECTIONS:
        said = f"max_connections is {found['max_connections']}, and each process may hold {CONNECTIONS}"
        yield Finding(about="PostgreSQL", said=said, remedy="raise it, or put a pooler in session mode before it")


def missing_indexes(connection: Connection) -> dict[str, str]:
    """The indexes of the schema that the database lacks, with what makes each of them."""
    there = inspect(connection)
    named = {
        str(one["name"])
        for table in there.get_table_names()
        for one in [*there.get_indexes(table), *there.get_unique_constraints(table)]
    }
    wanted = {str(one.name): _spelled(connection, one) for table in metadata.tables.values() for one in table.indexes}
    if connection.dialect.name == "postgresql":
        wanted |= {statement.split()[2]: statement for statement in _ONLY_POSTGRESQL}
    return {name: statement for name, statement in wanted.items() if name not in named}


def _spelled(connection: Connection, index: Index) -> str:
    return str(CreateIndex(index).compile(dialect=connection.dialect))


def _make(connection: Connection, missing: dict[str, str]) -> None:
    for statement in missing.values():
        connection.execute(text(statement))


def _missing(name: str, statement: str, *, fixed: bool) -> Finding:
    said = f"the index {name} is missing: what needs it takes long, or what it forbids is allowed"
    if fixed:
        return Finding(about="indexes", said=said, fixed="it was made")
    return Finding(about="indexes", said=said, remedy=f"run `scrubjay doctor --fix`, or {' '.join(statement.split())}")
