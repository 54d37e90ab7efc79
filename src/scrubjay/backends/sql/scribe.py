"""The writer of a SQLite file: one thread of this process, with one connection that stays open.

Waiting in a queue is fair and quick, waiting on the file is neither. Those who wait at the same time are written
together, in one transaction, and wait for the disk once. Each is still all or nothing, in a savepoint of its own, and
is told that it was written when it is on disk.
"""

import random
import sqlite3
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.driver import MAY_UNDO, driver_of
from scrubjay.backends.sql.faults import Raced, translated
from scrubjay.backends.sql.waiting import Waiting
from scrubjay.errors import Closed, StoreUnavailable

T = TypeVar("T")

TRIES: Final = 10
"""How often what lost a race is started over."""

GROUP_SECONDS: Final = 0.02
"""How long a transaction takes in others who wait: another process may want to write as well."""


class _Order(Waiting):
    """Something to be written."""

    __slots__ = ("alone", "bare", "durable")

    def __init__(
        self, work: Callable[[Connection], Any], *, durable: bool = True, alone: bool = True, bare: bool = False
    ) -> None:
        super().__init__(work)
        self.bare = bare
        self.durable = durable
        self.alone = alone


class Scribe:
    """Writes what it is handed, in that order."""

    def __init__(self, engine: Engine, *, name: str) -> None:
        self._engine = engine
        self._name = name
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._left_over: list[_Order | None] = []
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_shut = False
        self._connection: Connection | None = None
        self._driver: sqlite3.Connection | None = None
        self._is_durable = True

    async def write(self, work: Callable[[Connection], T], *, durable: bool = True, alone: bool = False) -> T:
        """Run a function in a transaction, which it may share with others unless it is to be `alone`.

        It is on disk on return. What is not `durable` gets there soon, and a crash of the machine may lose it.
        """
        return cast("T", await self._hand_over(_Order(work, durable=durable, alone=alone)))

    async def empty_log(self) -> None:
        """Move the log into the file and empty it. Nobody of this process writes meanwhile."""
        await self._hand_over(_Order(_empty_log, bare=True))

    async def _hand_over(self, order: _Order) -> Any:  # noqa: ANN401 -- what the work returns
        with self._starting:
            if self._is_shut:
                raise Closed
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="scrubjay-write", daemon=True)
                self._thread.start()
            self._orders.put(order)
        return await order.future

    def shut(self) -> None:
        """Write what waits, then let go of the file. Safe to call twice."""
        with self._starting:
            self._is_shut = True
            self._orders.put(None)
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while (order := self._left_over.pop() if self._left_over else self._orders.get()) is not None:
            if not order.future.done():
                for written in self._written(order):
                    written.settle()
        if self._connection is not None:
            self._connection.close()

    def _written(self, first: _Order) -> list[_Order]:
        """Write this one, and those who wait by then, in one transaction. Returns all of them."""
        if first.bare:
            with first, translated(self._name):
                first.work(self._opened()[0])
            return [first]
        self._attempt(first)
        group = [first]
        if first.error is None:
            group += self._joined(first)
            self._commit(group)
        for order in group:
            if isinstance(order.error, Raced):
                self._start_over(order)
        return group

    def _attempt(self, order: _Order) -> None:
        """Begin a transaction with this one; when it fails there is none."""
        with order, translated(self._name):
            connection, driver = self._opened()
            if order.durable != self._is_durable:
                driver.execute(f"PRAGMA synchronous = {'FULL' if order.durable else 'NORMAL'}")
                self._is_durable = order.durable
            driver.execute("BEGIN IMMEDIATE")
            order.answer = order.work(connection)
        if order.error is not None:
            self._roll_back()

    def _joined(self, first: _Order) -> list[_Order]:
        """Those who wait by now, written in the same transaction."""
        joined: list[_Order] = []
        began = time.monotonic()
        while not first.alone and time.monotonic() - began < GROUP_SECONDS:
            try:
                order = self._orders.get_nowait()
            except Empty:
                break
            if order is None or order.alone or order.durable > first.durable:
                self._left_over.append(order)
                break
            if not order.future.done():
                joined.append(order)
                if not self._join(order):
                    break
        return joined

    def _join(self, order: _Order) -> bool:
        """Write it in a savepoint. False when the whole transaction is given up."""
        connection, driver = self._opened()
        with order, translated(self._name):
            driver.execute("SAVEPOINT joined")
            order.answer = order.work(connection)
            driver.execute("RELEASE joined")
        if order.error is not None and driver.in_transaction:
            try:
                driver.execute("ROLLBACK TO joined")
                driver.execute("RELEASE joined")
            except sqlite3.Error:
                # Half of it may be there, so nothing may be.
                self._roll_back()
                return False
        return driver.in_transaction

    def _commit(self, group: list[_Order]) -> None:
        """Make it last. If that fails, it fails for all of them."""
        with group[0], translated(self._name):
            connection, driver = self._opened()
            if not driver.in_transaction:
                # A full disk, for one, makes SQLite give up the whole of it.
                raise StoreUnavailable(f"{self._name} gave up the transaction: nothing was written. Try again")
            if connection.in_transaction():
                connection.commit()
            else:
                driver.execute("COMMIT")
        if (error := group[0].error) is not None:
            for order in group[1:]:
                order.error = order.error or error
            self._roll_back()

    def _start_over(self, order: _Order) -> None:
        """Try again by itself, as long as others are faster."""
        for race in range(1, TRIES):
            # Full jitter, so that writers who met once do not meet again.
            time.sleep(random.uniform(0, min(0.5, 0.005 * 2**race)))  # noqa: S311 -- not for secrecy
            self._attempt(order)
            if order.error is None:
                self._commit([order])
            if not isinstance(order.error, Raced):
                return
        order.error = StoreUnavailable(f"{self._name}: {TRIES} tries lost a race with other writers. Try again")

    def _roll_back(self) -> None:
        """Undo what was begun. A connection that cannot even do that is let go of."""
        if self._connection is None:
            return
        try:
            connection, driver = self._opened()
            connection.rollback()
            driver.rollback()
        except (DBAPIError, sqlite3.Error):
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _opened(self) -> tuple[Connection, sqlite3.Connection]:
        """The connection, and the driver's own: on the busiest paths, statements go straight to that one."""
        if self._connection is None or self._driver is None:
            self._connection = self._engine.connect()
            self._connection.info[MAY_UNDO] = True
            self._driver = driver_of(self._connection)
            self._is_durable = True
        return self._connection, self._driver


def _empty_log(connection: Connection) -> None:
    driver_of(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
