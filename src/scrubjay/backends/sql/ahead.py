"""SQLite's log, in which what was deleted lingers until the log is emptied.

It cannot be emptied while anybody reads what is in it, and who waits for that keeps every writer of every process
waiting. So nobody waits for long: what cannot be done now is due, and is tried again.
"""

import sqlite3
from typing import Final

from scrubjay.backends.sql.engines import BUSY_MILLISECONDS
from scrubjay.elapsed import moment
from scrubjay.logs import logger

PATIENCE_MILLISECONDS: Final = 100
"""How long one who empties the log waits for others, who cannot write meanwhile."""

AGAIN_SECONDS: Final = 1.0
"""After how long it is tried again. Then nobody waits at all."""

log = logger("sqlite")


class WriteAhead:
    """The log of one file, used by one thread."""

    def __init__(self, *, name: str) -> None:
        self._name = name
        self._again_at: float | None = None

    @property
    def due(self) -> float | None:
        """In how many seconds it is to be emptied, 0 for now; None when it need not be."""
        return max(0.0, self._again_at - moment()) if self._again_at is not None else None

    def empty(self, driver: sqlite3.Connection, *, milliseconds: int) -> None:
        """Move the log into the file and empty it; if others read for longer than this, that stays to be done."""
        driver.execute(f"PRAGMA busy_timeout = {milliseconds}")
        try:
            is_busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            driver.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        if not is_busy:
            if self._again_at is not None:
                log.info("log emptied", store=self._name)
            self._again_at = None
            return
        if self._again_at is None:
            log.warning(
                "what was purged is still in the log",
                store=self._name,
                remedy="it goes as soon as nobody reads the file: end a program that has been reading it for long",
            )
        self.put_off()

    def put_off(self) -> None:
        """Let it be done later."""
        self._again_at = moment() + AGAIN_SECONDS
