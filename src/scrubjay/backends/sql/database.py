"""One SQL database. Each transaction is one plain function, run on a worker thread."""

import asyncio
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.sql.derived import records_only
from scrubjay.backends.sql.engines import STATEMENT_SECONDS, connect_seconds, parsed, postgresql_engine, sqlite_engine
from scrubjay.backends.sql.faults import Raced, translated
from scrubjay.backends.sql.forks import FORKS
from scrubjay.backends.sql.mark import Mark
from scrubjay.backends.sql.onefile import OneFile
from scrubjay.backends.sql.readers import Readers
from scrubjay.backends.sql.scribe import TRIES, Scribe
from scrubjay.backends.sql.server_clock import ServerClock
from scrubjay.backends.sql.waiting import Later, finished
from scrubjay.backends.sql.watch import NoAnswer, Watch
from scrubjay.elapsed import moment
from scrubjay.errors import Closed, StoreDamaged, StoreUnavailable, Unavailable
from scrubjay.model import StoreHealth
from scrubjay.ports import stage

Item = TypeVar("Item")
T = TypeVar("T")

RESTART_SECONDS: Final = 1.0
"""How long a transaction whose connection broke before its commit is started over: a restarted server is soon back."""

PAUSE: Final = 0.25
MOST_PAUSE: Final = 10.0
"""The first and the longest time for which a server that is down is not asked."""

PING_SECONDS: Final = 1.0
TRIAL_SECONDS: Final = 5.0  # How often a write is tried, at most, by those who ask whether it can be written.
_TRIAL: Final = """\
INSERT INTO counters (name, value) VALUES ('trials', 1) ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"""

_OUTAGES: Final = ("08", "53300", "57P")  # connection trouble, too many of them, shutting down or starting


class Database:
    """SQLite or PostgreSQL behind three verbs: `read`, `write` (durable on return) and `note` (a crash may lose it).

    Each raises StoreUnavailable within a bounded time when the database cannot answer. A PostgreSQL that is down or
    frozen is left alone for a short while, in which everybody is told so at once, and is used again when it is back.
    """

    def __init__(self, url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> None:
        self.url = parsed(url)
        self.dialect = self.url.get_backend_name()
        self.name = self.url.set(drivername=self.dialect).render_as_string(hide_password=True)
        """The URL without its password, for people."""
        self._patience: float | None = None
        self._watch: Watch | None = None
        self._breaker: Breaker | None = None
        self._clock: ServerClock | None = None
        if self.dialect == "sqlite":
            FORKS.open(self)
            file = OneFile(Path(str(self.url.database)), name=self.name)
            mark = Mark(Path(str(self.url.database)), name=self.name)
            self._engine = sqlite_engine(self.url, file, mark, synchronous="FULL")
            self._reading = self._glancing = self._engine
            self._scribe: Scribe | None = Scribe(self._engine, file, mark, name=self.name)
            self._readers: Readers | None = Readers(self._engine, file, name=self.name)
            self._threads = ThreadPoolExecutor(1, "scrubjay-sql")
            self._at_work: AbstractContextManager[None] = FORKS
        else:
            self._clock = ServerClock()
            self._engine = postgresql_engine(self.url, statement_seconds, self._clock)
            # The same connections, but a transaction sees nothing that was committed after its first look.
            self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ")
            self._glancing = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            self._patience = 2 * statement_seconds
            self._watch = Watch(self._engine, seconds=connect_seconds(self.url), name=self.name)
            # One failure is enough: it has been tried again already, or has taken long.
            self._breaker = Breaker(self.name, failures=1, pause=PAUSE, most_pause=MOST_PAUSE, is_outage=_is_outage)
            self._scribe = self._readers = None
            self._at_work = nullcontext()
            self._threads = ThreadPoolExecutor(8, "scrubjay-sql")
        self._shut = False
        self._at_close: list[Callable[[], None]] = []
        self._process = os.getpid()
        self._held = threading.local()
        self._trial: asyncio.Future[None] | None = None
        self._tried_at = float("-inf")
        self._refusal: BaseException | None = None

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database; None for one in memory or on a server."""
        return Path(str(self.url.database)) if self.dialect == "sqlite" else None

    def time(self, host: Callable[[], datetime]) -> datetime:
        """What time it is for all who share this database: a server's time, if the clock of the host says another."""
        return host() if self._clock is None else self._clock.corrected(host())

    def bytes_on_disk(self) -> int | None:
        """The size of a SQLite database with its log; None for one on a server."""
        if self.path is None:
            return None
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @property
    def health(self) -> StoreHealth:
        """What is known of it, without asking it. A file is up as long as nobody says otherwise."""
        return self._breaker.health if self._breaker is not None else StoreHealth(name=self.name, state="up")

    async def ping(self) -> None:
        """Return as soon as it answers. Raises StoreUnavailable when it does not, or cannot be written, within seconds.

        A write is tried now and then. One that only has to wait for others is no fault.
        """
        ask = functools.partial(Connection.exec_driver_sql, statement="SELECT 1")
        await self._run(self._reading, ask, immediate=False, doubt=PING_SECONDS)
        if self._trial is None and moment() - self._tried_at >= TRIAL_SECONDS:
            self._tried_at = moment()
            self._trial = asyncio.ensure_future(self.note(_tried))
        if (trial := self._trial) is not None and (await asyncio.wait([trial], timeout=PING_SECONDS))[0]:
            self._trial = None
            self._refusal = None if trial.cancelled() else trial.exception()
        if self._refusal is not None:
            raise StoreUnavailable(str(self._refusal)) from self._refusal

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a function that only reads, on one snapshot; when it raises Later, once more when it may."""
        held: Connection | None = getattr(self._held, "connection", None)
        if held is not None:
            with translated(self.name):
                return work(held)
        while True:
            try:
                return await self._read(work)
            except Later as later:
                await asyncio.wrap_future(later.event)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        if self._readers is None:
            return await self._run(self._reading, work, immediate=False)
        self._check_open()
        with stage("store", store="records", operation="read"):
            return await self._readers.read(work)

    async def glance(self, work: Callable[[Connection], T]) -> T:
        """Like `read`, for one statement, or for several that need not see the same: on a server it is no transaction.

        To begin and to end one are two round trips, and a recall makes few others.
        """
        if self._readers is None:
            return await self._run(self._glancing, work, immediate=False)
        return await self.read(work)

    async def together(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine that awaits nothing but reads of this database: all on one thread, and on one snapshot.

        To wait for a thread takes longer than most reads do, so whoever has several to make goes there once.
        """
        context = copy_context()

        def whole(connection: Connection) -> T:
            before = getattr(self._held, "connection", None)
            self._held.connection = connection
            try:
                return context.run(finished, work())
            finally:
                self._held.connection = before

        return await self.read(whole)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, durable on return. It runs again when another writer was faster."""
        return await self._wrote(work)

    async def write_item(self, whole: Callable[[Connection, Sequence[Item]], Sequence[T]], item: Item) -> T:
        """Like `write`, with a function of several items, which answers each as if it had come by itself.

        On a file, those who wait at the same time are done as one. What is raised is about the caller's own item,
        unless the database cannot answer.
        """
        if self._scribe is None:
            return await self._wrote(lambda connection: whole(connection, [item])[0])
        self._check_open()
        with stage("store", store="records", operation="write"):
            return await self._scribe.write_item(whole, item)

    async def rework(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what goes through the whole database: it may take as long as it takes."""

        def unhurried(connection: Connection) -> T:
            if self.dialect == "postgresql":
                for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                    connection.exec_driver_sql(f"SET LOCAL {limit} = 0")
            return work(connection)

        return await self._wrote(unhurried, alone=True)

    async def note(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what can be derived again: it does not wait for the disk.

        It gets there before any later write does, so what is durable never rests on a note that was lost.
        """
        return await self._wrote(work, durable=False)

    async def _wrote(self, work: Callable[[Connection], T], *, durable: bool = True, alone: bool = False) -> T:
        if self._scribe is None:
            return await self._run(self._engine, work if durable else _unsynced(work), immediate=True, patient=alone)
        self._check_open()
        with stage("store", store="records", operation="write"):
            return await self._scribe.write(work, durable=durable, alone=alone)

    @contextmanager
    def frozen(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now until it is let go of, whatever others write meanwhile."""
        with self._at_work, translated(self.name), self._engine.connect() as connection:
            if self.dialect == "postgresql":
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin():
                if self.dialect == "postgresql":
                    # Whoever carries a whole store is slow by nature.
                    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                    connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
                # What a transaction sees is settled by its first look.
                connection.exec_driver_sql("SELECT value FROM counters")
                yield connection

    async def checkpoint(self) -> None:
        """Move SQLite's log into its file and empty it, so that nothing deleted lingers there.

        While others read what is in it, that is put off: nobody waits for long.
        """
        if self._scribe is not None:
            await self._scribe.empty_log()

    async def vacuum(self) -> None:
        """Write a SQLite file anew, without the pages that nothing names any more."""
        if self._scribe is not None:
            await self._scribe.vacuum()

    def at_close(self, stop: Callable[[], None]) -> None:
        """Call this before the connections are closed: it lets go of what was taken, and waits until it has."""
        self._at_close.append(stop)

    async def shut(self) -> None:
        """Finish what runs, then close every connection. Safe to call twice."""
        if self._shut or self._is_elsewhere:
            return
        self._shut = True
        closing = asyncio.ensure_future(asyncio.to_thread(self._close))
        if self._watch is not None:
            # Threads that wait on a frozen server are freed once it is found to be.
            with suppress(StoreUnavailable):
                await self._watch.over(asyncio.shield(closing))
        await closing

    def let_go(self) -> None:
        """Close the connections to a file, in a new process that inherited them: here nobody can use them."""
        if self._scribe is not None and self._readers is not None:
            self._scribe.let_go()
            self._readers.let_go()
            self._engine.dispose()

    def _check_open(self) -> None:
        if self._shut:
            raise Closed
        if self._is_elsewhere:
            raise Closed("this memory was opened before the process forked: open another one here, in the new process")

    @property
    def _is_elsewhere(self) -> bool:
        # A fork takes no threads along: whoever waited for one would wait for ever. What is open is not its to close.
        return os.getpid() != self._process

    def _close(self) -> None:
        for stop in self._at_close:
            stop()
        if self._scribe is not None:
            self._scribe.shut()
        if self._readers is not None:
            self._readers.shut()
        self._threads.shutdown()
        self._engine.dispose()

    async def _run(
        self,
        engine: Engine,
        work: Callable[[Connection], T],
        *,
        immediate: bool,
        patient: bool = False,
        doubt: float | None = None,
    ) -> T:
        self._check_open()

        async def call() -> T:
            given_up = threading.Event()
            transaction = functools.partial(
                self.transact, engine, work, immediate=immediate, given_up=given_up, alone=patient
            )
            answer = asyncio.get_running_loop().run_in_executor(self._threads, transaction)
            if self._watch is None:
                return await answer
            try:
                return await self._watch.over(answer, patience=None if patient else self._patience, seconds=doubt)
            finally:
                given_up.set()

        with stage("store", store="records", operation="write" if immediate else "read"):
            return await (call() if self._breaker is None else self._breaker.call(call))

    def transact(
        self,
        engine: Engine | None,
        work: Callable[[Connection], T],
        *,
        immediate: bool,
        given_up: threading.Event | None = None,
        alone: bool = False,
    ) -> T:
        """Run one transaction on this thread; used directly only before the event loop has a say.

        Once it was given up by whoever waited for it, it is not committed any more.
        """
        began, races, is_damaged = time.monotonic(), 0, False
        while races < TRIES:
            committing = False
            try:
                with self._at_work, translated(self.name), (engine or self._engine).connect() as connection:
                    connection.execution_options(scrubjay_immediate=immediate)
                    with records_only(connection) if is_damaged else nullcontext(), connection.begin():
                        answer = work(connection)
                        self._check_wanted(given_up)
                        committing = immediate
                    return answer
            except Raced:
                # Full jitter, so that writers who met once do not meet again.
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**races)))  # noqa: S311 -- not for secrecy
                races += 1
            except StoreUnavailable as error:
                if isinstance(error, StoreDamaged) and immediate and not (is_damaged or alone):
                    is_damaged = True  # If it is words or vectors, the records are stored without them.
                    continue
                if not self._is_broken(error):
                    raise
                if committing:
                    raise StoreUnavailable(f"{error}. What was being written may or may not be stored") from error
                if time.monotonic() - began > RESTART_SECONDS:
                    raise
                time.sleep(random.uniform(0.05, 0.3))  # noqa: S311 -- not for secrecy
        raise StoreUnavailable(f"{self.name}: {TRIES} tries lost a race with other writers. Try again")

    def _check_wanted(self, given_up: threading.Event | None) -> None:
        if given_up is not None and given_up.is_set():
            raise StoreUnavailable(f"{self.name} answered too late: nothing was written. Try again")

    def _is_broken(self, error: StoreUnavailable) -> bool:
        """Whether the connection to a server broke, or there was none: a new one may do."""
        return self._breaker is not None and _is_outage(error)


def _tried(connection: Connection) -> None:
    """Write something, which takes as much room as any small write does."""
    with suppress(StoreDamaged), translated("trial"):  # Memories are written without this table.
        connection.exec_driver_sql(_TRIAL)


def _unsynced(work: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """The same on PostgreSQL, in a transaction that is committed before it is on the disk."""

    def noted(connection: Connection) -> T:
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
        return work(connection)

    return noted


def _is_outage(error: Unavailable) -> bool:
    """Whether the server is not there, rather than busy, too slow for one statement or of another version."""
    cause = error.__cause__
    if isinstance(cause, StoreUnavailable):
        return _is_outage(cause)
    if isinstance(cause, DBAPIError):
        return (getattr(cause.orig, "sqlstate", None) or "08").startswith(_OUTAGES)
    return isinstance(cause, NoAnswer)
