"""The writer of a SQLite file: one thread of this process, with one connection that stays open.

Waiting in a queue is fair and quick, waiting on the file is neither. Those who wait at the same time are written
together, in one transaction, and wait for the disk once. Each is still all or nothing, in a savepoint of its own, and
is told that it was written when it is on disk. Those who bring the same sort of work are done as one, which takes a
fraction of the time; if anything in it is refused, each is done alone.
"""

import random
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.ahead import PATIENCE_MILLISECONDS, WriteAhead
from scrubjay.backends.sql.derived import records_only
from scrubjay.backends.sql.driver import MAY_UNDO, driver_of
from scrubjay.backends.sql.faults import Raced, translated
from scrubjay.backends.sql.forks import FORKS
from scrubjay.backends.sql.mark import Mark
from scrubjay.backends.sql.onefile import OneFile
from scrubjay.backends.sql.orders import Company, Order
from scrubjay.backends.sql.waiting import settle
from scrubjay.errors import Closed, StoreDamaged, StoreUnavailable

Item = TypeVar("Item")
T = TypeVar("T")

TRIES: Final = 10
"""How often what lost a race is started over."""

GROUP_SECONDS: Final = 0.02
"""How long a transaction takes in others who wait: another process may want to write as well."""

MOST: Final = 256
"""How many are done as one, at most."""


class Scribe:
    """Writes what it is handed, in that order."""

    def __init__(self, engine: Engine, file: OneFile, mark: Mark, *, name: str) -> None:
        self._engine = engine
        self._mark = mark
        self._changes = 0
        self._file = file
        self._name = name
        self._orders: SimpleQueue[Order | None] = SimpleQueue()
        self._left_over: deque[Order | None] = deque()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_shut = False
        self._connection: Connection | None = None
        self._driver: sqlite3.Connection | None = None
        self._is_durable = True
        self._log = WriteAhead(name=name)

    async def write(self, work: Callable[[Connection], T], *, durable: bool = True, alone: bool = False) -> T:
        """Run a function in a transaction, which it may share with others unless it is to be `alone`.

        It is on disk on return. What is not `durable` gets there soon, and a crash of the machine may lose it.
        """
        return cast("T", await self._hand_over(Order(work, durable=durable, alone=alone)))

    async def write_item(self, whole: Callable[[Connection, Sequence[Item]], Sequence[T]], item: Item) -> T:
        """Run a function on this item, and on those of others who wait with the same function, in one transaction.

        If that raises, it is run on each item alone: who is refused is the one whose item it is about.
        """
        return cast("T", await self._hand_over(Order.of_item(whole, item)))

    async def empty_log(self) -> None:
        """Move the log into the file and empty it: now, or as soon as nobody reads what is in it."""
        await self._hand_over(Order(self._empty_log, bare=True))

    async def vacuum(self) -> None:
        """Write the file anew, without the pages that nothing names any more."""
        await self._hand_over(Order(lambda connection: driver_of(connection).execute("VACUUM"), bare=True))

    async def _hand_over(self, order: Order) -> Any:  # noqa: ANN401 -- what the work returns
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

    def let_go(self) -> None:
        """Close the connection, in a new process that inherited it."""
        if self._connection is not None and not self._connection.closed:
            self._connection.invalidate()
            self._connection.close()

    def _serve(self) -> None:
        while (order := self._awaited()) is not None:
            if order.is_wanted:
                with FORKS:
                    settle([waited for written in self._written(order) for waited in written.told()])
        if self._log.due is not None:
            self._empty_log_again(milliseconds=PATIENCE_MILLISECONDS)
        if self._connection is not None:
            self._connection.close()
        self._mark.shut()

    def _awaited(self) -> Order | None:
        """Who waits next, or comes next. Meanwhile the log is emptied, when that is due."""
        while (seconds := self._log.due) is not None:
            if seconds == 0:
                self._empty_log_again(milliseconds=0)
            elif self._left_over:
                break
            else:
                with suppress(Empty):
                    return self._orders.get(timeout=seconds)
        return self._left_over.popleft() if self._left_over else self._orders.get()

    def _empty_log_again(self, *, milliseconds: int) -> None:
        try:
            with FORKS, translated(self._name):
                self._file.check(outcome="its log was not emptied")
                self._log.empty(self._opened()[1], milliseconds=milliseconds)
        except (StoreDamaged, StoreUnavailable):
            self._log.put_off()  # Whoever writes meets it too, and is told.

    def _empty_log(self, connection: Connection) -> None:
        self._log.empty(driver_of(connection), milliseconds=PATIENCE_MILLISECONDS)

    def _written(self, first: Order) -> list[Order | Company]:
        """Write this one, and those who wait by then, in one transaction. Returns all of them."""
        if first.bare:
            with first, translated(self._name):
                first.work(self._opened()[0])
            return [first]
        begun = self._gathered(first)
        self._attempt(begun)
        if isinstance(begun, Company) and begun.is_refused:
            self._left_over.extendleft(reversed(begun.divided()[1:]))
            begun = first
            self._attempt(begun)
        group: list[Order | Company] = [begun]
        if begun.error is None:
            group += self._joined(begun)
            self._commit(group)
        for order in group:
            if isinstance(order.error, Raced):
                self._start_over(order)
            elif isinstance(order.error, StoreDamaged) and not order.alone:
                self._write_records_only(order)
        return group

    def _gathered(self, first: Order) -> Order | Company:
        """This one, done as one with those of its sort who wait right behind it."""
        if first.whole is None:
            return first
        orders = [first]
        while len(orders) < MOST and (order := self._next()) is not None:
            if order.whole != first.whole:
                self._left_over.appendleft(order)
                break
            if order.is_wanted:
                orders.append(order)
        return Company(first.whole, orders) if len(orders) > 1 else first

    def _next(self) -> Order | None:
        """Who waits next; None when nobody does, or when there will be no more."""
        if not self._left_over and self._orders.empty():
            return None
        # Nobody else takes any, so that it is still there.
        order = self._left_over.popleft() if self._left_over else self._orders.get()
        if order is None:
            self._left_over.append(None)
        return order

    def _attempt(self, order: Order | Company) -> None:
        """Begin a transaction with this one; when it fails there is none."""
        with order, translated(self._name):
            connection, driver = self._opened()
            if order.durable != self._is_durable:
                driver.execute(f"PRAGMA synchronous = {'FULL' if order.durable else 'NORMAL'}")
                self._is_durable = order.durable
            self._changes = driver.total_changes
            driver.execute("BEGIN IMMEDIATE")
            self._file.begin(connection, driver, outcome="nothing was written")
            order.answer = order.work(connection)
        if order.error is not None:
            self._roll_back()

    def _joined(self, first: Order | Company) -> list[Order | Company]:
        """Those who wait by now, written in the same transaction."""
        joined: list[Order | Company] = []
        began = time.monotonic()
        while not first.alone and time.monotonic() - began < GROUP_SECONDS and (order := self._next()) is not None:
            if order.alone or order.durable > first.durable:
                self._left_over.appendleft(order)
                break
            if not order.is_wanted:
                continue
            joining = self._gathered(order)
            is_begun = self._join(joining)
            if isinstance(joining, Company) and joining.is_refused:
                self._left_over.extendleft(reversed(joining.divided()))
            else:
                joined.append(joining)
            if not is_begun:
                break
        return joined

    def _join(self, order: Order | Company) -> bool:
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

    def _commit(self, group: Sequence[Order | Company]) -> None:
        """Make it last. If that fails, it fails for all of them."""
        with group[0], translated(self._name):
            connection, driver = self._opened()
            # What a crash may lose is not counted, nor what changed nothing and need not wait for the disk.
            is_counted = group[0].durable and driver.total_changes > self._changes
            number = self._mark.count(driver) if is_counted else None
            if not driver.in_transaction:
                # A full disk, for one, makes SQLite give up the whole of it.
                raise StoreUnavailable(f"{self._name} gave up the transaction: nothing was written. Try again")
            if connection.in_transaction():
                connection.commit()
            else:
                driver.execute("COMMIT")
            if number is not None:
                self._mark.write(number)
        if (error := group[0].error) is not None:
            for order in group[1:]:
                order.error = order.error or error
            self._roll_back()

    def _start_over(self, order: Order | Company) -> None:
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

    def _write_records_only(self, order: Order | Company) -> None:
        """Try again by itself without words and vectors: if it is these that are damaged, the records are stored."""
        with order, translated(self._name), records_only(self._opened()[0]):
            self._attempt(order)
            if order.error is None:
                self._commit([order])
            if order.error is not None:
                raise order.error

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
