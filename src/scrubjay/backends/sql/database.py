"""One SQL database. Each transaction is one plain function, run on a worker thread."""

import asyncio
import functools
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.sql.watch import NoAnswer, Watch
from scrubjay.errors import Closed, Misconfigured, StoreDamaged, StoreUnavailable, Unavailable
from scrubjay.model import StoreHealth
from scrubjay.ports import stage

T = TypeVar("T")

BUSY_MILLISECONDS: Final = 30_000
"""How long a SQLite writer waits for another process to finish before it gives up."""

TRIES: Final = 10
"""How often a transaction that lost a race is started over."""

STATEMENT_SECONDS: Final = 30
"""How long PostgreSQL may take for one statement; a server that does not even say so is given up after twice that."""

LOCK_SECONDS: Final = 10
CONNECT_SECONDS: Final = 5
"""How long connecting may take; `connect_timeout` in the URL says otherwise. A call that takes longer is watched."""

SILENT_SECONDS: Final = 15
"""How long a network may swallow everything before a connection counts as broken."""

RESTART_SECONDS: Final = 1.0
"""How long a transaction whose connection broke before its commit is started over: a restarted server is soon back."""

PAUSE: Final = 0.25
MOST_PAUSE: Final = 10.0
"""The first and the longest time for which a server that is down is not asked."""

PING_SECONDS: Final = 1.0

IDLE_SECONDS: Final = 60
"""How long a transaction may do nothing: a process that was stopped in the middle of one must not block the others."""

_RACES: Final = frozenset({"23505", "40001", "40P01"})  # unique violation, serialization failure, deadlock

_OUTAGES: Final = ("08", "53300", "57P")  # connection trouble, too many of them, shutting down or starting

_REMEDIES: Final = {
    "sqlite": "Check that it is there and writable",
    "postgresql": "Check that the server runs and that SCRUBJAY_RECORDS is right",
    "57014": "Ask for less at once, or try again when the server is less busy",  # statement timeout
    "55P03": "Another session holds it; try again",  # lock timeout
}


class Raced(Exception):
    """Another writer was faster; the transaction has to start over."""


class Database:
    """SQLite or PostgreSQL behind three verbs: `read`, `write` (durable on return) and `note` (a crash may lose it).

    Each raises StoreUnavailable within a bounded time when the database cannot answer. A PostgreSQL that is down or
    frozen is left alone for a short while, in which everybody is told so at once, and is used again when it is back.
    """

    def __init__(self, url: str, *, statement_seconds: float = STATEMENT_SECONDS) -> None:
        self.url = _parsed(url)
        self._patience: float | None = None
        self._watch: Watch | None = None
        self._breaker: Breaker | None = None
        self.dialect = self.url.get_backend_name()
        if self.dialect == "sqlite":
            self._engine = _sqlite_engine(self.url, synchronous="FULL")
            self._noting = _sqlite_engine(self.url, synchronous="NORMAL")
            self._reading = self._engine
            # One writer at a time per process: waiting in a queue is fair and quick, waiting on the file is neither.
            self._writers = ThreadPoolExecutor(1, "scrubjay-write")
            self._readers = ThreadPoolExecutor(4, "scrubjay-read")
        else:
            self._engine = self._noting = _postgresql_engine(self.url, statement_seconds)
            # The same connections, but a transaction sees nothing that was committed after its first look.
            self._reading = self._engine.execution_options(isolation_level="REPEATABLE READ")
            self._patience = 2 * statement_seconds
            self._watch = Watch(self._engine, seconds=_connect_seconds(self.url), name=self.name)
            # One failure is enough: it has been tried again already, or has taken long.
            self._breaker = Breaker(self.name, failures=1, pause=PAUSE, most_pause=MOST_PAUSE, is_outage=_is_outage)
            self._writers = self._readers = ThreadPoolExecutor(8, "scrubjay-sql")
        self._shut = False

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database; None for one in memory or on a server."""
        return Path(str(self.url.database)) if self.dialect == "sqlite" else None

    def bytes_on_disk(self) -> int | None:
        """The size of a SQLite database with its log; None for one on a server."""
        if self.path is None:
            return None
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @property
    def name(self) -> str:
        """The URL without its password, for people."""
        return self.url.set(drivername=self.dialect).render_as_string(hide_password=True)

    @property
    def health(self) -> StoreHealth:
        """What is known of it, without asking it. A file is up as long as nobody says otherwise."""
        return self._breaker.health if self._breaker is not None else StoreHealth(name=self.name, state="up")

    async def ping(self) -> None:
        """Return as soon as it answers. Raises StoreUnavailable when it does not, within seconds."""
        ask = functools.partial(Connection.exec_driver_sql, statement="SELECT 1")
        await self._run(self._readers, self._reading, ask, immediate=False, doubt=PING_SECONDS)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a function that only reads, on one snapshot."""
        return await self._run(self._readers, self._reading, work, immediate=False)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, durable on return. It runs again when another writer was faster."""
        return await self._run(self._writers, self._engine, work, immediate=True)

    async def rework(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what goes through the whole database: it may take as long as it takes."""

        def unhurried(connection: Connection) -> T:
            if self.dialect == "postgresql":
                for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                    connection.exec_driver_sql(f"SET LOCAL {limit} = 0")
            return work(connection)

        return await self._run(self._writers, self._engine, unhurried, immediate=True, patient=True)

    async def note(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what can be derived again: on SQLite it does not wait for the disk."""
        return await self._run(self._writers, self._noting, work, immediate=True)

    @contextmanager
    def frozen(self) -> Iterator[Connection]:
        """A connection that sees the database as it is now until it is let go of, whatever others write meanwhile."""
        with translated(self.name), self._engine.connect() as connection:
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
        """Move SQLite's log into its file and empty it, so that nothing deleted lingers there."""
        await asyncio.get_running_loop().run_in_executor(self._writers, self._empty_log)

    def _empty_log(self) -> None:
        with translated(self.name), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def shut(self) -> None:
        """Finish what runs, then close every connection. Safe to call twice."""
        if self._shut:
            return
        self._shut = True
        closing = asyncio.ensure_future(asyncio.to_thread(self._close))
        if self._watch is not None:
            # Threads that wait on a frozen server are freed once it is found to be.
            with suppress(StoreUnavailable):
                await self._watch.over(asyncio.shield(closing))
        await closing

    def _close(self) -> None:
        for executor in {self._writers, self._readers}:
            executor.shutdown()
        for engine in {self._engine, self._noting}:
            engine.dispose()

    async def _run(
        self,
        executor: ThreadPoolExecutor,
        engine: Engine,
        work: Callable[[Connection], T],
        *,
        immediate: bool,
        patient: bool = False,
        doubt: float | None = None,
    ) -> T:
        if self._shut:
            raise Closed

        async def call() -> T:
            given_up = threading.Event()
            transaction = functools.partial(self.transact, engine, work, immediate=immediate, given_up=given_up)
            answer = asyncio.get_running_loop().run_in_executor(executor, transaction)
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
    ) -> T:
        """Run one transaction on this thread; used directly only before the event loop has a say.

        Once it was given up by whoever waited for it, it is not committed any more.
        """
        began, races = time.monotonic(), 0
        while races < TRIES:
            committing = False
            try:
                with translated(self.name), (engine or self._engine).connect() as connection:
                    connection.execution_options(scrubjay_immediate=immediate)
                    with connection.begin():
                        answer = work(connection)
                        self._check_wanted(given_up)
                        committing = immediate
                    return answer
            except Raced:
                # Full jitter, so that writers who met once do not meet again.
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**races)))  # noqa: S311 -- not for secrecy
                races += 1
            except StoreUnavailable as error:
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


def _is_outage(error: Unavailable) -> bool:
    """Whether the server is not there, rather than busy, too slow for one statement or of another version."""
    cause = error.__cause__
    if isinstance(cause, StoreUnavailable):
        return _is_outage(cause)
    if isinstance(cause, DBAPIError):
        return (getattr(cause.orig, "sqlstate", None) or "08").startswith(_OUTAGES)
    return isinstance(cause, NoAnswer)


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn the driver's errors into ours. `name` is the database's."""
    try:
        yield
    except DBAPIError as error:
        code = getattr(error.orig, "sqlstate", None)
        if code in _RACES or (isinstance(error, IntegrityError) and "UNIQUE" in str(error.orig)):
            raise Raced from error
        message = str(error.orig).strip().splitlines()[0]
        if isinstance(error.orig, sqlite3.DatabaseError) and ("malformed" in message or "not a database" in message):
            raise StoreDamaged(f"{name} is damaged: {message}. Restore a backup of it") from error
        if isinstance(error, OperationalError) or error.connection_invalidated:
            remedy = _REMEDIES.get(code or "") or _REMEDIES[name.partition(":")[0]]
            raise StoreUnavailable(f"{name} cannot be used: {message}. {remedy}") from error
        raise
    except PoolTimeout as error:
        raise StoreUnavailable(f"{name}: all connections are in use. Try again when it is less busy") from error


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise Misconfigured(f"records is {url!r}: use sqlite:///FILE or postgresql://USER@HOST/DATABASE") from error
    if name == "postgresql" or parsed.drivername == "postgres":
        return parsed.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise Misconfigured(f"records is a {name} URL: use sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    if not parsed.database or parsed.database == ":memory:":
        raise Misconfigured("records is a SQLite database in memory: name a file, such as sqlite:////tmp/scrubjay.db")
    return parsed.set(drivername="sqlite+pysqlite")


def _sqlite_engine(url: URL, *, synchronous: str) -> Engine:
    path = Path(str(url.database))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"the folder {path.parent} cannot be made: {error.strerror}. Set SCRUBJAY_HOME"
        ) from error
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_MILLISECONDS / 1000})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:  # noqa: ANN401 -- the driver's connection
        connection.isolation_level = None  # We say BEGIN ourselves, so that a writer takes its lock at the start.
        cursor = connection.cursor()
        _write_ahead(cursor)
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")  # What is purged is overwritten, not only unlinked.
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA cache_size = -32000")
        cursor.execute("PRAGMA mmap_size = 268435456")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("scrubjay_immediate")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _write_ahead(cursor: Any) -> None:  # noqa: ANN401 -- the driver's cursor
    """Use a write-ahead log. The one who changes a new file to it needs it alone, and SQLite does not wait for that."""
    until = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(random.uniform(0.005, 0.05))  # noqa: S311 -- jitter, no secret
        else:
            return


def _connect_seconds(url: URL) -> int:
    given = str(url.query.get("connect_timeout", CONNECT_SECONDS))
    if not given.isdecimal() or not 1 <= int(given) <= 600:
        raise Misconfigured(f"connect_timeout of records is {given!r}: use whole seconds from 1 to 600")
    return int(given)


def _postgresql_engine(url: URL, statement_seconds: float) -> Engine:
    options = {
        "statement_timeout": round(statement_seconds * 1000),
        "lock_timeout": LOCK_SECONDS * 1000,
        "idle_in_transaction_session_timeout": IDLE_SECONDS * 1000,
        # Tenants differ by orders of magnitude: a plan that was good for one is not kept for the next.
        "plan_cache_mode": "force_custom_plan",
        # Compiling a statement takes longer than running any of ours.
        "jit": "off",
    }
    ours = " ".join(f"-c {name}={value}" for name, value in options.items())
    given = url.query.get("options", "")
    try:
        return create_engine(
            url.difference_update_query(["options"]),
            pool_size=8,
            max_overflow=0,
            pool_pre_ping=True,
            pool_timeout=30,
            connect_args={
                "connect_timeout": _connect_seconds(url),
                "tcp_user_timeout": SILENT_SECONDS * 1000,
                "keepalives_idle": SILENT_SECONDS,
                "keepalives_interval": 5,
                "keepalives_count": 3,
                "application_name": "scrubjay",
                # Of two that are the same the last one counts: what the URL says.
                "options": f"{ours} {given if isinstance(given, str) else ' '.join(given)}".strip(),
            },
        )
    except ModuleNotFoundError as error:
        raise Misconfigured("PostgreSQL needs its driver: pip install 'scrubjay[postgres]'") from error
