"""The readers of a SQLite file: a few threads of this process, each with a connection that stays open.

To take a connection from a pool and to give it back costs as much as a small read does, so nobody does either.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.faults import translated

T = TypeVar("T")

THREADS: Final = 4
"""Reads that are made at the same time. More would wait for the interpreter."""


class Readers:
    """Runs functions that only read, each on one snapshot of the file."""

    def __init__(self, engine: Engine, *, name: str) -> None:
        self._engine = engine
        self._name = name
        self._threads = ThreadPoolExecutor(THREADS, "scrubjay-read")
        self._own = threading.local()
        self._open: set[Connection] = set()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run it on a thread of its own, and wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    def _read(self, work: Callable[[Connection], T]) -> T:
        with translated(self._name):
            connection = self._connection()
            try:
                return self._on_one_snapshot(connection, work)
            except (DBAPIError, sqlite3.Error):
                # It may be the connection that is broken, or the file may have been replaced below it.
                self._let_go(connection)
                raise

    def _on_one_snapshot(self, connection: Connection, work: Callable[[Connection], T]) -> T:
        driver = driver_of(connection)
        driver.execute("BEGIN")
        try:
            return work(connection)
        finally:
            if connection.in_transaction():
                connection.rollback()
            if driver.in_transaction:  # Nobody went through SQLAlchemy, so that it knew of nothing to end.
                driver.execute("ROLLBACK")

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            self._own.connection = connection = self._engine.connect()
            self._open.add(connection)
        return connection

    def _let_go(self, connection: Connection) -> None:
        self._own.connection = None
        self._open.discard(connection)
        connection.invalidate()
        connection.close()

    def shut(self) -> None:
        """Let what runs come to its end, then close every connection."""
        self._threads.shutdown()
        for connection in self._open:
            connection.close()
        self._open.clear()
