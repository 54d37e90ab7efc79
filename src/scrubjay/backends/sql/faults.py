"""What a driver raises, in our words."""

import sqlite3
from types import TracebackType
from typing import Final

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrubjay.errors import StoreDamaged, StoreUnavailable

_RACES: Final = frozenset({"23505", "40001", "40P01"})  # unique violation, serialization failure, deadlock

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
    if isinstance(error, sqlite3.DatabaseError) and ("malformed" in message or "not a database" in message):
        return StoreDamaged(f"{name} is damaged: {message}. Restore a backup of it")
    if is_outage:
        remedy = _REMEDIES.get(code or "") or _REMEDIES[name.partition(":")[0]]
        return StoreUnavailable(f"{name} cannot be used: {message}. {remedy}")
    return None
