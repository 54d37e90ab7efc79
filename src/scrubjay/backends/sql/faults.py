"""What a driver raises, in our words."""

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrubjay.errors import StoreDamaged, StoreUnavailable

_RACES: Final = frozenset({"23505", "40001", "40P01"})  # unique violation, serialization failure, deadlock

_DAMAGED: Final = ("XX001", "XX002", "42P01", "42703", "42704")
"""PostgreSQL: a damaged table or index; a table, a column or a text search configuration that is gone."""

_DAMAGED_SQLITE: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_OF_THE_SCHEMA: Final = "SQLITE_ERROR"
"""What SQLite calls a statement that the tables are not made for, or an index of words that lacks one of its parts."""

_OF_THE_DISK: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY")
LEAST_FREE: Final = 65_536
"""Bytes of a disk that is as good as full: SQLite takes half of that for what readers share."""

_UNREADABLE: Final = "Could not decode to UTF-8"

_REMEDIES: Final = {
    "sqlite": "Check that it is there and writable",
    "postgresql": "Check that the server runs and that SCRUBJAY_RECORDS is right",
    "57014": "Ask for less at once, or try again when the server is less busy",  # statement timeout
    "55P03": "Another session holds it; try again",  # lock timeout
    "SQLITE_BUSY": "Another process has been writing to it for long; try again",
    "SQLITE_FULL": "Make room on its disk, then try again",
}


class Raced(Exception):
    """Another writer was faster; the transaction has to start over."""


class translated:  # noqa: N801 -- reads as what it does, and a function that yields takes five times as long
    """In the block, the driver's errors are turned into ours. `name` is the database's."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ours: Exception | None = None
        if isinstance(error, DBAPIError):
            is_outage = isinstance(error, OperationalError) or error.connection_invalidated
            ours = _ours(self._name, error.orig, is_outage=is_outage, is_clash=isinstance(error, IntegrityError))
        elif isinstance(error, sqlite3.DatabaseError):
            # From those who speak with SQLite directly.
            is_outage, is_clash = isinstance(error, sqlite3.OperationalError), isinstance(error, sqlite3.IntegrityError)
            ours = _ours(self._name, error, is_outage=is_outage, is_clash=is_clash)
        elif isinstance(error, PoolTimeout):
            ours = StoreUnavailable(f"{self._name}: all connections are in use. Try again when it is less busy")
        if ours is not None:
            raise ours from error


def _ours(name: str, error: BaseException | None, *, is_outage: bool, is_clash: bool) -> Exception | None:
    """What a driver's error means; None when it means a mistake of ours."""
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    if code in _RACES or (is_clash and "UNIQUE" in str(error)):
        return Raced()
    message = str(error).strip().partition("\n")[0]
    if isinstance(error, sqlite3.DatabaseError):
        is_damaged = str(code).startswith(_DAMAGED_SQLITE) or code == _OF_THE_SCHEMA or _UNREADABLE in message
        message = message.partition(" with text")[0]  # What follows is what somebody told.
    else:
        is_damaged = code in _DAMAGED
    if is_damaged:
        return StoreDamaged(f"{name} is damaged: {message}. Run `scrubjay doctor`. Restore a backup if it says so")
    if is_outage:
        remedy = _REMEDIES.get(code or "") or _REMEDIES[name.partition(":")[0]]
        if str(code).startswith(_OF_THE_DISK) and _is_full(name):
            message, remedy = f"its disk is full ({message})", _REMEDIES["SQLITE_FULL"]
        return StoreUnavailable(f"{name} cannot be used: {message}. {remedy}")
    return None


def _is_full(name: str) -> bool:
    """Whether the disk of a SQLite file has no room: SQLite says of it that a file cannot be opened, or written."""
    with suppress(OSError):
        total, _, free = shutil.disk_usage(Path(name.partition(":///")[2]).absolute().parent)
        return total > 0 and free < LEAST_FREE
    return False
