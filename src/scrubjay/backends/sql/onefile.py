"""The file below a database: whether it is still the one of its name, and whether it holds the store that it held.

Numbers of scopes and of rows, of which a process holds many in memory, mean something else in another store. A file
that was removed or replaced is refused: who has it open would see the old one, and who opens it the new one. A store
that was written into the file, as SQLite's own tools restore one, is told by the number that SQLite gives to the schema
of a file: it is another one after each of them. What is held is held for one such number. On PostgreSQL the number is
that of the tables, which a connection asks for once: who puts others in their place cuts all connections off.
"""

import sqlite3
from pathlib import Path
from threading import Lock
from typing import Final

from sqlalchemy import Connection

from scrubjay.elapsed import moment
from scrubjay.errors import StoreUnavailable

LOOK_SECONDS: Final = 0.1
"""How often it is looked whether the file is still there. Who opens it looks every time."""

HISTORY: Final = "scrubjay history"
"""In the `info` of a connection: which store it sees."""


def history_of(connection: Connection) -> int:
    """Which store this transaction sees: what was read where it was another number is of no use here."""
    found: int = connection.info.get(HISTORY, 0)
    return found


class OneFile:
    """The file that was there when a database was first opened, by its name. Any thread may ask."""

    def __init__(self, path: Path, *, name: str) -> None:
        self._path = path.absolute()  # Who goes to another folder meanwhile means the same file.
        self._name = name
        self._lock = Lock()
        self._file: tuple[int, int] | None = None
        self._looked_at = 0.0

    def opened(self) -> None:
        """Note which file it is, or raise StoreUnavailable when it is another one than before."""
        with self._lock:
            if self._file is None:
                self._file, self._looked_at = self._found(), moment()
        self._look("nothing was read or written")

    def check(self, *, outcome: str) -> None:
        """Raise StoreUnavailable once the file is gone. The outcome says what has not been done then."""
        if self._file is not None and moment() - self._looked_at >= LOOK_SECONDS:
            self._look(outcome)

    def begin(self, connection: Connection, driver: sqlite3.Connection, *, outcome: str) -> None:
        """Look at what a transaction sees that has just begun, before anything else is read in it."""
        if moment() - self._looked_at >= LOOK_SECONDS:
            self._look(outcome)
        connection.info[HISTORY] = driver.execute("PRAGMA schema_version").fetchone()[0]

    def _look(self, outcome: str) -> None:
        if self._found() != self._file:
            # Gone on with, SQLite would write to what nobody finds again, and read what nobody else has.
            raise StoreUnavailable(
                f"{self._name} was removed or replaced while it was open: {outcome}. Open the memory again"
            )
        self._looked_at = moment()

    def _found(self) -> tuple[int, int] | None:
        """Which file has the name now; None when none has. Raises StoreUnavailable when that cannot be told."""
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:  # A network that is away, or a folder that may not be looked into any more.
            raise StoreUnavailable(
                f"{self._name} cannot be looked at: {error.strerror}. Nothing was read or written. Check its folder"
            ) from error
        return found.st_dev, found.st_ino
