"""Look pgvector over: its version, and whether the tables of the generations have their indexes."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, inspect, text
from sqlalchemy.schema import CreateIndex

from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors import pgvector_tables as tables
from scrubjay.model import Finding

_VERSION: Final = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
_AVAILABLE: Final = text("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'")
_OTHER_SIZE: Final = text(
    "SELECT g.number, c.relname, a.atttypmod, g.dimensions FROM generations g "
    "JOIN pg_class c ON c.oid = to_regclass('vectors_g' || g.number) "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'embedding' WHERE a.atttypmod <> g.dimensions"
)
_BROKEN: Final = text(
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
    "WHERE NOT i.indisvalid AND c.relname ~ '^vectors_g[0-9]+_near_' AND pg_table_is_visible(c.oid) "
    # One that is being built is not valid either.
    "AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = c.oid)"
)


class PgInspection:
    """The `Inspected` port for pgvector."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Look over the extension and the indexes. With `fix`, an index that is missing is made."""
        found = await self._database.read(lambda connection: list(_extension(connection)))
        missing = await self._database.read(_missing)
        if fix and missing:
            await self._database.rework(lambda connection: _make(connection, missing))
        for name, statement in missing.items():
            said = f"the index {name} is missing: searches of a part of a tenant read all of it"
            remedy = "" if fix else f"run `scrubjay doctor --fix`, or {statement}"
            found.append(Finding(about="pgvector", said=said, remedy=remedy, fixed="it was made" if fix else ""))
        return found


def _extension(connection: Connection) -> Iterator[Finding]:
    version = connection.execute(_VERSION).scalar()
    if version is None:
        available = connection.execute(_AVAILABLE).scalar()
        said = "the extension vector is not in this database"
        if available is None:
            remedy = "install pgvector on the server, see docs/howto/use-pgvector.md"
            yield Finding(about="pgvector", said=said, remedy=remedy)
        else:
            yield Finding(about="pgvector", said=f"{said} yet; {available} is made with the first vector")
        return
    for number, name, there, wanted in connection.execute(_OTHER_SIZE):
        said = f"the table {name} is for {there} dimensions, and the model of generation {number} makes {wanted}"
        yield Finding(about="pgvector", said=said, remedy="run `scrubjay reindex --rebuild`")
    number = tuple(int(part) for part in version.split(".")[:2])
    remedy = ""
    if number < tables.ITERATIVE_SINCE:
        least = ".".join(map(str, tables.ITERATIVE_SINCE))
        remedy = f"{least} or newer keeps filtered searches quick: install it, then ALTER EXTENSION vector UPDATE"
    yield Finding(about="pgvector", said=version, remedy=remedy)
    for name in connection.execute(_BROKEN).scalars():
        said = f"the graph {name} was left half built"
        yield Finding(about="pgvector", said=said, remedy=f"DROP INDEX {name}; the next search has it built again")


def _missing(connection: Connection) -> dict[str, str]:
    there = inspect(connection)
    wanted = {
        str(index.name): " ".join(str(CreateIndex(index).compile(dialect=connection.dialect)).split())
        for table in tables.stored(connection)
        for index in table.indexes
    }
    named = {str(one["name"]) for table in tables.stored(connection) for one in there.get_indexes(table.name)}
    return {name: statement for name, statement in wanted.items() if name not in named}


def _make(connection: Connection, missing: dict[str, str]) -> None:
    for statement in missing.values():
        connection.execute(text(statement))
