"""The engines below a database: a SQLite file or a PostgreSQL server, set up as all that is promised needs them."""

import math
import random
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, InvalidatePoolError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.mark import Mark
from scrubjay.backends.sql.onefile import HISTORY, OneFile
from scrubjay.backends.sql.server_clock import ServerClock
from scrubjay.elapsed import moment
from scrubjay.errors import Misconfigured, StoreUnavailable

BUSY_MILLISECONDS: Final = 30_000
"""How long a SQLite writer waits for another process to finish before it gives up."""

LOG_PAGES: Final = 4_000
"""Pages that SQLite's log holds, about, before they are moved into the file, which waits for the disk twice more.

One memory changes 17. As long as it has so few, whoever looks a page up finds it in the log at the first try.
"""

STATEMENT_SECONDS: Final = 30
"""How long PostgreSQL may take for one statement; a server that does not even say so is given up after twice that."""

LOCK_SECONDS: Final = 10
CONNECT_SECONDS: Final = 5
"""How long connecting may take; `connect_timeout` in the URL says otherwise. A call that takes longer is watched."""

SILENT_SECONDS: Final = 15
"""How long a network may swallow everything before a connection counts as broken."""

REST_SECONDS: Final = 1.0
"""After how long a connection that nobody used is asked whether it still works."""

_RESTS_SINCE: Final = "rests since"

IDLE_SECONDS: Final = 60
"""How long a transaction may do nothing: a process that was stopped in the middle of one must not block the others."""


def parsed(url: str) -> URL:
    """The URL of a database that we can use, with the driver named. Raises Misconfigured for any other."""
    try:
        given = make_url(url)
        name = given.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        raise Misconfigured(f"records is {url!r}: use sqlite:///FILE or postgresql://USER@HOST/DATABASE") from error
    if name == "postgresql" or given.drivername == "postgres":
        return given.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise Misconfigured(f"records is a {name} URL: use sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    if not given.database or given.database == ":memory:":
        raise Misconfigured("records is a SQLite database in memory: name a file, such as sqlite:////tmp/scrubjay.db")
    return given.set(drivername="sqlite+pysqlite")


def sqlite_engine(url: URL, file: OneFile, mark: Mark | None = None, *, synchronous: str) -> Engine:
    """The engine of a file, which is made with its folder; `synchronous` says whether a commit waits for the disk."""
    path = Path(str(url.database))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"the folder {path.parent} cannot be made: {error.strerror}. Set SCRUBJAY_HOME to one that you may write to"
        ) from error
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY_MILLISECONDS / 1000})

    @event.listens_for(engine, "do_connect")
    def keep_private(*_: object) -> None:
        file.check(outcome="nothing was read or written")  # Or an empty one would be made in its place.
        make_private(path)
        file.opened()

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:  # noqa: ANN401 -- the driver's connection
        connection.isolation_level = None  # We say BEGIN ourselves, so that a writer takes its lock at the start.
        if mark is not None:
            mark.check(connection)  # Before anything is written, were it only the header of an empty file.
        cursor = connection.cursor()
        _write_ahead(cursor)
        # Who has read once keeps those out who would put another file in its place; who had to wait may find one there.
        cursor.execute("PRAGMA schema_version").fetchall()
        file.opened()
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA secure_delete = ON")  # What is purged is overwritten, not only unlinked.
        cursor.execute("PRAGMA temp_store = MEMORY")
        cursor.execute("PRAGMA cache_size = -32000")
        cursor.execute("PRAGMA mmap_size = 268435456")
        cursor.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]  # SQLite's, which is open
            return  # The scribe has begun it already.
        immediate = connection.get_execution_options().get("scrubjay_immediate")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")
        file.begin(connection, driver_of(connection), outcome=f"nothing was {'written' if immediate else 'read'}")

    return engine


def make_private(path: Path) -> None:
    """Make the file, if there is none, so that only its owner can read it; SQLite does the same for those beside it."""
    # Whatever is wrong with the place, SQLite meets it next and says it.
    with suppress(OSError):
        path.touch(mode=0o600, exist_ok=False)


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


def connect_seconds(url: URL) -> int:
    """How long connecting to this server may take."""
    given = str(url.query.get("connect_timeout", CONNECT_SECONDS))
    if not given.isdecimal() or not 1 <= int(given) <= 600:
        raise Misconfigured(f"connect_timeout of records is {given!r}: use whole seconds from 1 to 600")
    return int(given)


def postgresql_engine(url: URL, statement_seconds: float, clock: ServerClock) -> Engine:
    """The engine of a server, whose sessions keep our limits of time. The clock is set by it now and then."""
    options = {
        "statement_timeout": round(statement_seconds * 1000),
        "lock_timeout": LOCK_SECONDS * 1000,
        "idle_in_transaction_session_timeout": IDLE_SECONDS * 1000,
        # Tenants differ by orders of magnitude: a plan that was good for one is not kept for the next.
        "plan_cache_mode": "force_custom_plan",
        # Compiling a statement takes longer than running any of ours, and so does starting workers for it.
        "jit": "off",
        "max_parallel_workers_per_gather": "0",
    }
    ours = " ".join(f"-c {name}={value}" for name, value in options.items())
    given = url.query.get("options", "")
    try:
        engine = create_engine(
            url.difference_update_query(["options"]),
            pool_size=8,
            max_overflow=0,
            pool_timeout=30,
            connect_args={
                "connect_timeout": connect_seconds(url),
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
    _ask_the_rested(engine, clock)
    _know_the_store(engine)
    return engine


def _ask_the_rested(engine: Engine, clock: ServerClock) -> None:
    """Let a connection that nobody used for a while show first that it still works, and a new one take its place.

    It is asked for the time, which is asked for once a minute anyway.

    One that was in use just now is not asked, which would be one more round trip for every transaction: should it have
    broken meanwhile, the transaction is started over.
    """

    @event.listens_for(engine, "checkin")
    def let_go(_: object, record: ConnectionPoolEntry) -> None:
        record.info[_RESTS_SINCE] = moment()

    @event.listens_for(engine, "checkout")
    def taken(connection: DBAPIConnection, record: ConnectionPoolEntry, _: object) -> None:
        if clock.is_old or moment() - record.info.get(_RESTS_SINCE, math.inf) > REST_SECONDS:
            try:
                clock.ask(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise InvalidatePoolError from error


def _know_the_store(engine: Engine) -> None:
    """Let a connection say which store it sees: other tables are another one. Who puts them there cuts all off."""

    @event.listens_for(engine, "checkout")
    def taken(connection: DBAPIConnection, record: ConnectionPoolEntry, _: object) -> None:
        if not record.info.get(HISTORY):
            try:
                cursor = connection.cursor()
                cursor.execute("SELECT coalesce(to_regclass('scopes')::oid::bigint, 0)")
                [[record.info[HISTORY]]] = cursor.fetchall()
                cursor.close()
                connection.rollback()
            except engine.dialect.loaded_dbapi.Error as error:
                raise InvalidatePoolError from error
