"""What a database derives from its records: words, vectors, what says that they changed, and indexes.

A write whose derived part is damaged is made again without it, so that it never fails for that. `reindex` makes all of
it again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import Connection, Table, inspect, text

from scrubjay.backends.sql.driver import RECORDS_ONLY, driver_of
from scrubjay.elapsed import moment
from scrubjay.errors import StoreDamaged
from scrubjay.logs import logger

if TYPE_CHECKING:
    from scrubjay.backends.sql.database import Database

T = TypeVar("T")

TOLD_SECONDS: Final = 60.0
"""How often it is logged that words and vectors are left out."""

log = logger("store")
_told_at = float("-inf")


def has_records_only(connection: Connection) -> bool:
    """Whether this transaction leaves out words and vectors."""
    return RECORDS_ONLY in connection.info


@contextmanager
def records_only(connection: Connection) -> Iterator[None]:
    """In the block, transactions of this connection write records and nothing that is derived from them."""
    global _told_at  # noqa: PLW0603 -- one line a minute, whoever writes
    connection.info[RECORDS_ONLY] = True
    try:
        yield
    finally:
        connection.info.pop(RECORDS_ONLY, None)
    if moment() - _told_at > TOLD_SECONDS:
        _told_at = moment()
        log.warning("stored without its words and vectors", remedy="run `scrubjay reindex --rebuild`")


def check_derived(connection: Connection) -> None:
    """Refuse to purge while words or vectors are damaged: they would go on saying what was purged."""
    if has_records_only(connection):
        raise StoreDamaged(
            "words or vectors are damaged, and would keep what is purged: nothing was purged. "
            "Run `scrubjay reindex --rebuild`, then purge again"
        )


async def remake(database: "Database", work: Callable[[Connection, bool], T]) -> T:
    """Run a function that makes tables anew, and is told whether to unlink them: at first it is not to."""
    try:
        return await database.rework(lambda connection: work(connection, False))  # noqa: FBT003 -- a first try
    except StoreDamaged:
        if database.dialect != "sqlite":
            raise
    done = await database.rework(lambda connection: work(connection, True))  # noqa: FBT003 -- and a second
    await database.vacuum()
    return done


def make_again(connection: Connection, *tables: Table, unlinking: bool = False) -> None:
    """Make these tables anew, empty, with their indexes, whatever is in their place."""
    drop(connection, [table.name for table in tables], unlinking=unlinking)
    for table in tables:
        table.create(connection)


def drop(connection: Connection, names: Sequence[str], *, unlinking: bool = False) -> None:
    """Drop these tables, which may not be there.

    SQLite cannot drop a table whose pages are damaged, for it reads all of them. `unlinking` strikes it out of the
    schema instead, so that its pages belong to nothing until a VACUUM. It goes first in a transaction: SQLite refuses
    it after anything has failed there.
    """
    if connection.dialect.name == "postgresql":
        for name in names:
            connection.execute(text(f"DROP TABLE IF EXISTS {name} CASCADE"))
        return
    file = driver_of(connection)
    if not unlinking:
        for name in names:
            file.execute(f"DROP TABLE IF EXISTS {name}")
        return
    file.execute("PRAGMA writable_schema = ON")
    file.executemany("DELETE FROM sqlite_master WHERE tbl_name = ?", [(name,) for name in names])
    file.execute("PRAGMA writable_schema = RESET")


def columns_of(connection: Connection, name: str) -> set[str]:
    """The columns of this table; none when there is no such table."""
    there = inspect(connection)
    return {str(one["name"]) for one in there.get_columns(name)} if there.has_table(name) else set()
