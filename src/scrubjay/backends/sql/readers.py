"""The readers of a SQLite file: a few threads of this process, and connections that stay open.

To take a connection from a pool and to give it back costs as much as a small read does, so nobody does either.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.faults import translated
from scrubjay.backends.sql.forks import FORKS
from scrubjay.backends.sql.onefile import OneFile
from scrubjay.backends.sql.waiting import Waiting
from scrubjay.errors import Closed

T = TypeVar("T")

THREADS: Final = 6
"""Reads that are made at the same time: two more than one tenant of a service has turns, so that others find one."""


class Readers:
    """Runs functions that only read, each on one snapshot of the file."""

    def __init__(self, engine: Engine, file: OneFile, *, name: str) -> None:
        self._engine = engine
        self._file = file
        self._name = name
        self._asked: SimpleQueue[Waiting | None] = SimpleQueue()
        self._unanswered = 0
        self._threads: list[threading.Thread] = []
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._is_shut = False

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run it on another thread, and wait for it."""
        asked = Waiting(work)
        with self._lock:
            if self._is_shut:
                raise Closed
            self._unanswered += 1
            if len(self._threads) < min(self._unanswered, THREADS):
                thread = threading.Thread(target=self._serve, name="scrubjay-read", daemon=True)
                thread.start()
                self._threads.append(thread)
            self._asked.put(asked)
        return cast("T", await asked.future)

    def _serve(self) -> None:
        while (asked := self._asked.get()) is not None:
            if not asked.future.done():  # Otherwise whoever asked has been cancelled.
                with FORKS, asked:
                    asked.answer = self._read(asked.work)
            with self._lock:
                self._unanswered -= 1
            asked.settle()
            del asked  # Or the answer would stay for as long as nobody asks again.

    def _read(self, work: Callable[[Connection], T]) -> T:
        with translated(self._name):
            connection = self._taken()
            try:
                return self._on_one_snapshot(connection, work)
            except (DBAPIError, sqlite3.Error):
                # It may be the connection that is broken, or the file may have been replaced below it.
                connection.invalidate()
                raise
            finally:
                if connection.invalidated:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _taken(self) -> Connection:
        """The connection that was used last, whose pages and statements are at hand, or a new one."""
        with suppress(IndexError):  # Without a look before: another thread may take the last one in between.
            return self._idle.pop()
        return self._engine.connect()

    def _on_one_snapshot(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        driver = driver_of(connection)
        driver.execute("BEGIN")
        try:
            self._file.begin(connection, driver, outcome="nothing was read")
            return work(connection)
        finally:
            if connection.in_transaction():
                connection.rollback()
            if driver.in_transaction:  # Nobody went through SQLAlchemy, so that it knew of nothing to end.
                driver.execute("ROLLBACK")

    def shut(self) -> None:
        """Let what was asked for come to its end, then close every connection. Safe to call twice."""
        with self._lock:
            self._is_shut = True
            for _ in self._threads:
                self._asked.put(None)
        for thread in self._threads:
            thread.join()
        while self._idle:
            self._idle.pop().close()

    def let_go(self) -> None:
        """Close every connection, in a new process that inherited them."""
        while self._idle:
            connection = self._idle.pop()
            connection.invalidate()
            connection.close()
