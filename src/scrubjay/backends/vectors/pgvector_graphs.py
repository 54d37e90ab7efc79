"""Builds a graph for each tenant that has outgrown comparing every vector. Nobody waits for it."""

import time
from contextlib import suppress
from threading import Event, Lock, Thread, current_thread
from typing import Any, Final

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors.pgvector_tables import BUILDER, Shape, graph_name, table_of
from scrubjay.logs import logger

log = logger("vectors")

LINKS: Final = 16
"""How many neighbours a vector of the graph has on each layer."""

CARE: Final = 128
"""How many candidates are looked at to find them."""

MEMORY: Final = "256MB"
"""A graph that fits in this while it is built is built several times as fast."""

PAUSE: Final = 60.0
"""Seconds before a graph that could not be built, or that another process builds, is asked for again."""

STOP_SECONDS: Final = 10.0
CANCEL_SECONDS: Final = 2.0
"""How long stopping a graph may take, and how long the server may take to hear of it."""

_LOCK: Final = 0x5C2B_7A13  # one graph at a time, among all processes


class Graphs:
    """HNSW indexes, each over the live vectors of one tenant, built in the background without locking anybody out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._turn = Lock()
        self._stop = Event()
        self._threads: set[Thread] = set()
        self._asked: dict[str, float] = {}
        self._connection: Any = None  # the driver's, while it builds

    def start(self, generation: int, shape: Shape, tenant: str) -> None:
        """Have this graph built, unless that was asked for just now."""
        name = graph_name(generation, tenant)
        with self._lock:
            now = time.monotonic()
            if self._stop.is_set() or now < self._asked.get(name, now):
                return
            # Those that may be asked for again are as good as never asked for: a service may have many tenants.
            self._asked = {asked: until for asked, until in self._asked.items() if until > now}
            self._asked[name] = now + PAUSE
            # A daemon, so that a program that ends without shutting the memory does not wait for a graph.
            thread = Thread(target=self._work, args=(generation, shape, tenant), name="scrubjay-graph", daemon=True)
            self._threads.add(thread)
        thread.start()

    def settle(self) -> None:
        """Wait until all that were asked for are built."""
        for thread in list(self._threads):
            thread.join()

    def shut(self) -> None:
        """Stop what is being built, and wait until it has stopped; but not for ever, since a frozen server does not."""
        self._stop.set()
        deadline = time.monotonic() + STOP_SECONDS
        for thread in list(self._threads):
            while thread.is_alive() and time.monotonic() < deadline:
                _cancel(self._connection)
                thread.join(0.1)

    def _work(self, generation: int, shape: Shape, tenant: str) -> None:
        try:
            with self._turn:
                if not self._stop.is_set():
                    self._build(generation, shape, tenant)
        except DBAPIError as error:
            if not self._stop.is_set():
                log.warning("a graph could not be built", generation=generation, tenant=tenant, error=str(error.orig))
        finally:
            self._threads.discard(current_thread())

    def _build(self, generation: int, shape: Shape, tenant: str) -> None:
        # A connection of its own: the statement takes as long as it takes, and belongs in no transaction.
        engine = create_engine(
            self._database.url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"connect_timeout": 10, "application_name": BUILDER},
        )
        with engine.connect() as connection:
            self._connection = connection.connection.driver_connection
            try:
                if not self._stop.is_set():
                    _build(connection, generation, shape, tenant)
            finally:
                self._connection = None


def _build(connection: Connection, generation: int, shape: Shape, tenant: str) -> None:
    # Held until the connection is closed.
    if not connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": _LOCK}).scalar_one():
        return
    name = graph_name(generation, tenant)
    valid = connection.execute(
        text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"), {"name": name}
    ).scalar()
    if valid:
        return
    if valid is False:
        _run(connection, f"DROP INDEX CONCURRENTLY {name}")  # left by a build that was stopped
    _run(connection, f"SET statement_timeout = 0; SET lock_timeout = 0; SET maintenance_work_mem = '{MEMORY}'")
    started = time.monotonic()
    statement = connection.execute(
        text(
            # The server spells the tenant as a literal, since a predicate takes no parameters.
            "SELECT format('CREATE INDEX CONCURRENTLY %I ON %I USING hnsw (embedding %s) WITH (m = %s, "
            "ef_construction = %s) WHERE live AND tenant = %L', "
            "CAST(:name AS text), CAST(:table AS text), CAST(:operators AS text), CAST(:links AS text), "
            "CAST(:care AS text), CAST(:tenant AS text))"
        ),
        {
            "name": name,
            "table": table_of(generation, shape).name,
            "operators": f"{shape.type}_cosine_ops",
            "links": str(LINKS),
            "care": str(CARE),
            "tenant": tenant,
        },
    ).scalar_one()
    _run(connection, statement)
    seconds = round(time.monotonic() - started, 1)
    log.info("a graph was built", generation=generation, tenant=tenant, seconds=seconds)


def _run(connection: Connection, statement: str) -> None:
    """Run it as it is, whatever signs of percent are in it."""
    connection.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _cancel(connection: Any) -> None:  # noqa: ANN401 -- the driver's connection
    """Stop the statement that runs on it, if any."""
    import psycopg  # noqa: PLC0415 -- an extra; whoever has a connection has it

    if connection is not None:
        with suppress(psycopg.Error):  # it was closed meanwhile
            connection.cancel_safe(timeout=CANCEL_SECONDS)
