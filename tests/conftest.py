"""Real servers for the tests that ask for them. None starts before the first test that does; all stop at the end."""

import asyncio
import atexit
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from multiprocessing.connection import Client, Listener
from pathlib import Path
from urllib.parse import urlsplit

import hypothesis
import psutil
import psycopg
import pytest
import structlog
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants
from psycopg import sql

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.path.append(str(Path(__file__).resolve().parent))
import fetch
from fetch import ServerError
from lengths import is_left_out
from scrubjay.backends.sql import migrate as migrating
from scrubjay.backends.sql.database import Database
from scrubjay.usual_variables import USUAL
from server import new_folder
from services import Services
from times import note_times
from warm import warm_programs

TABLES = """
    SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    -- What others refer to comes last, and of that what refers to nothing itself.
    ORDER BY EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND confrelid = pg_class.oid),
        NOT EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = pg_class.oid)
"""
COUNTED = "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences"
VECTORS = re.compile("vectors_g[0-9]+")
"""The tables that pgvector makes for each generation."""
KEPT_TABLES = ("alembic_version", "counters")
FEW = 1_000_000
"""Bytes of a table whose rows are deleted. TRUNCATE makes the files of all tables anew: 25 times as long for few."""

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that have to be free in memory, so that temporary files may be kept there. A whole run takes a quarter."""

for name in USUAL.values():
    os.environ.pop(name, None)  # They are of the machine, and no test is about this machine's servers.

PROPERTIES = os.environ.get("SCRUBJAY_TEST_PROPERTIES", "same")
"""How properties are tried: on the `same` examples in every run, or on `other` ones, and on more of them."""

# How long an example takes says more about the machine than about the code.
untimed = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow], "print_blob": True}
hypothesis.settings.register_profile("same", derandomize=True, **untimed)
hypothesis.settings.register_profile("other", max_examples=1_000, **untimed)
hypothesis.settings.load_profile(PROPERTIES)
if PROPERTIES == "same":
    # Else examples are made of the constants in all modules that are imported by then: others in each worker.
    HypothesisProvider._local_constants = Constants()


def keep_temporary_files_in_memory() -> None:
    """A database waits for the disk at every commit, for files that no test needs afterwards. TMPDIR turns this off."""
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    disk = os.statvfs(MEMORY)
    free = min(disk.f_bavail * disk.f_frsize, psutil.virtual_memory().available)
    # Servers may be copied to their temporary folder and run there.
    if free >= ROOM and not disk.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


keep_temporary_files_in_memory()


class Desk:
    """Hands out the URLs of servers to this process and to the workers of a parallel run, who share the servers.

    They belong to the process that started the tests, so a worker that ends early takes none with it. One thread does
    everything: two workers never start the same server, and the servers, which end with the thread that started them,
    live as long as it does.
    """

    def __init__(self) -> None:
        self._folder = new_folder("desk")
        self.address = f"{self._folder}/socket"
        self._listener = Listener(self.address, family="AF_UNIX")
        threading.Thread(target=self._serve, name="desk", daemon=True).start()

    def close(self) -> None:
        ask(self.address, "")
        self._listener.close()
        shutil.rmtree(self._folder)

    def _serve(self) -> None:
        with Services() as services:
            while True:
                with self._listener.accept() as visitor:
                    name = visitor.recv()
                    if not name:
                        services.stop()
                        visitor.send((True, ""))
                        return
                    try:
                        visitor.send((True, services.url(name)))
                    except (ServerError, OSError, subprocess.SubprocessError) as error:
                        visitor.send((False, str(error)))


def ask(address: str, name: str) -> str:
    """Ask the desk for the URL of a server, which is started first if need be. No name: stop them all."""
    with Client(address, family="AF_UNIX") as desk:
        desk.send(name)
        answered, text = desk.recv()
    if not answered:
        pytest.fail(f"this test needs a real {name}, and there is none: {text}", pytrace=False)
    return text


def pytest_addoption(parser):
    parser.addoption(
        "--times", action="store_true", help="print where the time of the run went: by folder and by fixture"
    )


migrate = migrating.migrate


async def migrate_from_template(database: Database, **options: str) -> str | None:
    """Migrate as Scrubjay does, but let a new SQLite file begin as a copy of one that was migrated before."""
    path = database.path
    if path is None or path.exists():
        return await migrate(database, **options)
    template = sqlite_template()
    if not template.exists():
        # Threads that come here at once each make one, and the last one stays.
        made = template.with_name(uuid.uuid4().hex)
        await migrated(f"sqlite:///{made}")
        made.rename(template)
    # What exists by now was made by another thread. What cannot be made is Scrubjay's to report.
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=path.parent) as copy:
        shutil.copyfile(template, copy.name)
        os.link(copy.name, path)
    await migrate(database, **options)
    return None


@cache
def sqlite_template() -> Path:
    """Where this process keeps a SQLite file that has the tables of this version and no row."""
    folder = tempfile.TemporaryDirectory(prefix="scrubjay-template-")
    atexit.register(folder.cleanup)
    return Path(folder.name) / "scrubjay.db"


# Before any module imports it by name.
migrating.migrate = migrate_from_template

desk_key = pytest.StashKey[Desk]()


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes five seconds or more, so it is begun before the others")
    config.addinivalue_line("markers", "long: runs in `make test-long` only; a short form of it runs in `make test`")
    config.addinivalue_line("markers", "memory_suite: runs on the reference, in `make test-long` on every store")
    note_times(config)
    # In the background of a shell the tests ignore Ctrl-C; the programs that they start must not inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):
        config.stash[desk_key] = Desk()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected here lasts to the end, so the search for garbage leaves it out, and is made less often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 20)
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """The slowest are begun first: begun last, each would keep one worker busy while the others have nothing to do."""
    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item)]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["desk"] = node.config.stash[desk_key].address


def pytest_unconfigure(config):
    if desk_key in config.stash:
        config.stash[desk_key].close()


@pytest.fixture(autouse=True)
def _unconfigured_log() -> Iterator[None]:
    """A command that ran in this process wrote its log to a stream that is gone after the test."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def server_url(request) -> Callable[[str], str]:
    """The URL of a real server by name: postgres, redis, qdrant or chroma."""
    config = request.config
    address = config.workerinput["desk"] if hasattr(config, "workerinput") else config.stash[desk_key].address
    return lambda name: ask(address, name)


@contextmanager
def database_on(server: str, template: str) -> Iterator[str]:
    """A new database that is a copy of the template, dropped after."""
    name = f"scrubjay_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        # Copying files is the quicker strategy where nothing is synced to disk.
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    try:
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def blank_postgres(server_url) -> Callable[[], AbstractContextManager[str]]:
    """The same as `fresh_postgres`, without any table in it."""
    return lambda: database_on(server_url("postgres"), "template0")


@pytest.fixture(scope="session")
def migrated_postgres(blank_postgres) -> Iterator[str]:
    """The name of a database that has the tables of this version and no row. Copying it is quicker than making them."""
    with blank_postgres() as url, ThreadPoolExecutor(1) as elsewhere:
        # On a thread of its own: a test that asks for it may have an event loop running here.
        elsewhere.submit(asyncio.run, migrated(url)).result()
        yield urlsplit(url).path.removeprefix("/")


async def migrated(url: str) -> None:
    database = Database(url)
    try:
        await migrate(database)
    finally:
        await database.shut()


@pytest.fixture(scope="session")
def fresh_postgres(server_url, migrated_postgres) -> Callable[[], AbstractContextManager[str]]:
    """For fixtures of any scope: `with fresh_postgres() as url:` makes an empty store and drops it after."""
    return lambda: database_on(server_url("postgres"), migrated_postgres)


@pytest.fixture(scope="session")
def emptied_postgres(fresh_postgres) -> Iterator[Callable[[], str]]:
    """Empties a store that is made once and gives its URL: to make one takes longer than most tests."""
    with ExitStack() as made:
        kept = cache(lambda: made.enter_context(fresh_postgres()))

        def emptied() -> str:
            with psycopg.connect(kept()) as connection:
                tables = dict(connection.execute(TABLES).fetchall())
                for name in filter(VECTORS.fullmatch, tables):
                    connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
                left = {one: size for one, size in tables.items() if not (VECTORS.fullmatch(one) or one in KEPT_TABLES)}
                if max(left.values()) > FEW:
                    named = sql.SQL(", ").join(map(sql.Identifier, left))
                    connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(named))
                else:
                    for name in filter(left.get, left):
                        connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
                    connection.execute(COUNTED)
                connection.execute("DELETE FROM counters WHERE name LIKE '%:%'")
                connection.execute("UPDATE counters SET value = 0")
            return kept()

        yield emptied


@pytest.fixture(scope="session")
def postgres_url(fresh_postgres) -> Iterator[str]:
    """A database that the tests of this process share; another worker of a parallel run has another one."""
    with fresh_postgres() as url:
        yield url


@pytest.fixture
def postgres_database(fresh_postgres) -> Iterator[Callable[[], str]]:
    """Makes empty stores, one for each call, and drops them after the test."""
    with ExitStack() as databases:
        yield lambda: databases.enter_context(fresh_postgres())


@pytest.fixture
def blank_postgres_database(blank_postgres) -> Iterator[Callable[[], str]]:
    """Makes databases without any table, one for each call, and drops them after the test."""
    with ExitStack() as databases:
        yield lambda: databases.enter_context(blank_postgres())


@pytest.fixture(scope="session")
def redis_url(server_url, worker_number) -> str:
    """A Redis database that only this process uses."""
    return urlsplit(server_url("redis"))._replace(path=f"/{worker_number}").geturl()


@pytest.fixture(scope="session")
def qdrant_url(server_url) -> str:
    """A Qdrant that all workers share: name collections with `uuid.uuid4()`, and delete them."""
    return server_url("qdrant")


@pytest.fixture(scope="session")
def chroma_url(server_url) -> str:
    """A Chroma that all workers share: begin the names of collections with `uuid.uuid4()`, and delete them."""
    return server_url("chroma")


@pytest.fixture(scope="session")
def chroma_packages() -> None:
    """Makes `import chromadb` possible, for Chroma in this process: it is no part of the development install."""
    found = str(fetch.chroma_packages())
    if found not in sys.path:
        # Behind all others: what the development install has comes from there.
        sys.path.append(found)


@pytest.fixture(scope="session")
def warm() -> Iterator[Path]:
    """A folder for the front of PATH: `scrubjay` and `python` there are real processes that have imported already."""
    # A socket has a short name.
    folder = new_folder("warm")
    with warm_programs(folder):
        yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def worker_number(request) -> int:
    """0 for a run in one process; workers of a parallel run count from 1."""
    worker = getattr(request.config, "workerinput", {}).get("workerid", "gw-1")
    return int(worker.removeprefix("gw")) + 1
