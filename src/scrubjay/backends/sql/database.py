"""One SQL database. Each transaction is one plain function, run on a worker thread."""

import asyncio
import functools
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, OperationalError

from scrubjay.errors import Closed, Misconfigured, StoreDamaged, StoreUnavailable

T = TypeVar("T")

BUSY_MILLISECONDS: Final = 30_000
"""How long a SQLite writer waits for another process to finish before it gives up."""

TRIES: Final = 10
"""How often a transaction that lost a race is started over."""

_RACES: Final = frozenset({"23505", "40001", "40P01"})  # unique violation, serialization failure, deadlock


class Raced(Exception):
    """Another writer was faster; the transaction has to start over."""


class Database:
    """SQLite or PostgreSQL behind three verbs: `read`, `write` (durable on return) and `note` (a crash may lose it)."""

    def __init__(self, url: str) -> None:
        self.url = _parsed(url)
        self.dialect = self.url.get_backend_name()
        if self.dialect == "sqlite":
            self._engine = _sqlite_engine(self.url, synchronous="FULL")
            self._noting = _sqlite_engine(self.url, synchronous="NORMAL")
            # One writer at a time per process: waiting in a queue is fair and quick, waiting on the file is neither.
            self._writers = ThreadPoolExecutor(1, "scrubjay-write")
            self._readers = ThreadPoolExecutor(4, "scrubjay-read")
        else:
            self._engine = self._noting = _postgresql_engine(self.url)
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

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a function that only reads, on one snapshot."""
        return await self._run(self._readers, self._engine, work, immediate=False)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run a function in one transaction, durable on return. It runs again when another writer was faster."""
        return await self._run(self._writers, self._engine, work, immediate=True)

    async def note(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what can be derived again: on SQLite it does not wait for the disk."""
        return await self._run(self._writers, self._noting, work, immediate=True)

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
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for executor in {self._writers, self._readers}:
            executor.shutdown()
        for engine in {self._engine, self._noting}:
            engine.dispose()

    async def _run(
        self, executor: ThreadPoolExecutor, engine: Engine, work: Callable[[Connection], T], *, immediate: bool
    ) -> T:
        if self._shut:
            raise Closed
        transaction = functools.partial(self.transact, engine, work, immediate=immediate)
        return await asyncio.get_running_loop().run_in_executor(executor, transaction)

    def transact(self, engine: Engine | None, work: Callable[[Connection], T], *, immediate: bool) -> T:
        """Run one transaction on this thread; used directly only before the event loop has a say."""
        for attempt in range(TRIES):
            try:
                with translated(self.name), (engine or self._engine).connect() as connection:
                    connection.execution_options(scrubjay_immediate=immediate)
                    with connection.begin():
                        return work(connection)
            except Raced:
                # Full jitter, so that writers who met once do not meet again.
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**attempt)))  # noqa: S311 -- not for secrecy
        raise StoreUnavailable(f"{self.name}: {TRIES} tries lost a race with other writers. Try again")


@contextmanager
def translated(name: str) -> Iterator[None]:
    """Turn the driver's errors into ours."""
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
            raise StoreUnavailable(f"{name} cannot be used: {message}. Check that it is there and writable") from error
        raise


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
        cursor.execute("PRAGMA journal_mode = WAL")
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


def _postgresql_engine(url: URL) -> Engine:
    try:
        return create_engine(
            url,
            pool_size=8,
            max_overflow=0,
            pool_pre_ping=True,
            pool_timeout=30,
            connect_args={"connect_timeout": 10, "application_name": "scrubjay"},
        )
    except ModuleNotFoundError as error:
        raise Misconfigured("PostgreSQL needs its driver: pip install 'scrubjay[postgres]'") from error
