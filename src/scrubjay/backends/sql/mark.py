"""The mark beside a SQLite file: how many commits it holds at least.

A file that was emptied or put back as it was before is a sound one to SQLite, and so is one whose log lost what was in
it. But every commit is counted in the file, and after each that is on the disk its number is written beside it. A file
with a smaller number has lost what was acknowledged. A mark that is missing or damaged says nothing.

The mark itself is not forced to the disk: whatever happens, it says less than there is, and never more.
"""

import os
import sqlite3
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from scrubjay.errors import StoreDamaged

SUFFIX: Final = ".mark"
_COUNT: Final = "UPDATE counters SET value = value + 1 WHERE name = 'commits' RETURNING value"
_COUNTED: Final = "SELECT value FROM counters WHERE name = 'commits'"
_LENGTH: Final = 30


class Mark:
    """The mark of one file, which any thread may check and one may write."""

    def __init__(self, path: Path, *, name: str) -> None:
        self._path = path.absolute().with_name(f"{path.name}{SUFFIX}")
        self._name = name
        self._file: int | None = None
        self._is_checked = False

    def read(self) -> int:
        """How many commits the file holds at least."""
        with suppress(OSError):
            return _number(self._path.read_bytes())
        return 0

    def check(self, driver: sqlite3.Connection) -> None:
        """Raise StoreDamaged when the file holds fewer commits than its mark says."""
        marked = 0 if self._is_checked else self.read()  # First: what is committed meanwhile is no fault.
        if not marked:
            self._is_checked = True
            return
        held = 0
        try:
            held = (driver.execute(_COUNTED).fetchone() or (0,))[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_ERROR":  # It cannot be read now, which says nothing of what it holds.
                raise
            # An empty file has no such table.
        if held < marked:
            raise StoreDamaged(
                f"{self._name} holds {held:,} commits, and {self._path.name} says {marked:,} were acknowledged: it "
                "was emptied, cut short, or put back as it was before. Restore a backup, or run `scrubjay doctor "
                "--accept` to go on with what is there"
            )
        # Once: a file that is put back while it is open is one that somebody means.
        self._is_checked = True

    def count(self, driver: sqlite3.Connection) -> int | None:
        """Count one more commit in the transaction that is open; None where that is impossible."""
        try:
            [number] = driver.execute(_COUNT).fetchone() or (None,)
        except sqlite3.DatabaseError:  # A file of an older version, or a damaged table: it has no mark.
            return None
        return int(number) if number is not None else None

    def write(self, number: int) -> None:
        """Note that this commit is on the disk."""
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            os.pwrite(self._file, _spelled(number), 0)
        except OSError:  # A full disk, for one. The mark then says less than there is.
            self.shut()

    def shut(self) -> None:
        """Let go of the mark."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
        self._file = None


def accept(path: Path) -> None:
    """Let the mark of this file say nothing, until the next commit: what is there is taken for all that was."""
    with suppress(FileNotFoundError):
        os.truncate(path.with_name(f"{path.name}{SUFFIX}"), 0)  # In place, for others have it open.


def _spelled(number: int) -> bytes:
    said = b"%020d" % number
    return b"%s %08x\n" % (said, zlib.crc32(said))


def _number(content: bytes) -> int:
    """What a mark says; 0 for one that is damaged."""
    said = content[:20]
    return int(said) if len(content) == _LENGTH and said.isdigit() and content == _spelled(int(said)) else 0
