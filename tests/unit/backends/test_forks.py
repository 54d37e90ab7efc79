"""A process that is forked beside a memory at work opens one of its own on the same file."""

import asyncio
import os
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import text

from scrubjay.backends.aside import Aside
from scrubjay.backends.sql import columns, forks
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.forks import Forks
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors import embedded, feeds, unloaded
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.backends.vectors.partition import Partition
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter
from scrubjay.testing import NOW, a_scope
from scrubjay.testing.vectors import directions, entries_of

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

MADE = "CREATE TABLE words (word TEXT UNIQUE)"


@pytest.fixture
def url(tmp_path, monkeypatch):
    # Who finds the file locked by itself gives up while the test still listens.
    monkeypatch.setattr("scrubjay.backends.sql.engines.BUSY_MILLISECONDS", 2_000)
    return f"sqlite:///{tmp_path}/forked.db"


@pytest.fixture
def database(url):
    database = Database(url)
    asyncio.run(database.write(lambda connection: connection.execute(text(MADE))))
    asyncio.run(words(database))
    yield database
    asyncio.run(database.shut())


def adding(word):
    return lambda connection: connection.execute(text("INSERT INTO words VALUES (:word)"), {"word": word})


async def words(database):
    return set(await database.read(lambda connection: connection.execute(text("SELECT word FROM words")).scalars()))


class Writing:
    """A transaction of another thread, which stays open for a while."""

    def __init__(self, database, seconds):
        self._database = database
        self._seconds = seconds
        self._begun = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(database.write(self._work)))

    def __enter__(self):
        self._thread.start()
        assert self._begun.wait(60)

    def __exit__(self, *_):
        self._thread.join()

    def _work(self, connection):
        adding("slow")(connection)
        self._begun.set()
        time.sleep(self._seconds)


def forked(work):
    """Run this in a process that is forked now; return how it ended."""
    child = os.fork()
    if child:
        return lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        code = asyncio.run(asyncio.wait_for(work(), 20))
    finally:
        os._exit(code)


def test_who_was_forked_in_the_middle_of_a_write_can_write_too(url, database):
    async def work():
        own = Database(url)
        await own.write(adding("own"))
        found = await words(own)
        await own.shut()
        return 0 if found == {"slow", "own"} else 2

    with Writing(database, seconds=0.2):
        ended = forked(work)
    assert ended() == 0
    asyncio.run(database.write(adding("later")))
    assert asyncio.run(words(database)) == {"slow", "own", "later"}


def test_what_takes_too_long_to_wait_for_is_said_to_whoever_opens_a_file_then(url, database, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.forks.PATIENCE", 0.01)

    async def work():
        try:
            Database(url)
        except StoreUnavailable as error:
            return 0 if "forked while a memory was at work" in str(error) else 2
        return 3

    with Writing(database, seconds=0.5):
        ended = forked(work)
        assert ended() == 0
    assert asyncio.run(words(database)) == {"slow"}


def test_what_is_being_copied_meanwhile_is_said_too(url, database, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.forks.PATIENCE", 0.01)
    asyncio.run(database.write(lambda connection: connection.execute(text("CREATE TABLE counters (value INTEGER)"))))

    async def work():
        try:
            Database(url)
        except StoreUnavailable:
            return 0
        return 3

    with database.frozen():
        assert forked(work)() == 0


def test_loading_gives_way_to_a_fork_and_begins_again(url, monkeypatch):
    monkeypatch.setattr(embedded, "NARROW", 10)
    monkeypatch.setattr(feeds, "CHUNK", 10)
    database = Database(url)
    asyncio.run(database.write(metadata.create_all))
    begun, absorb, chunks = threading.Event(), Matrix.absorb, []

    def slowly(self, chunk, *, since):
        chunks.append(len(chunk))
        begun.set()
        time.sleep(0.02)
        absorb(self, chunk, since=since)

    async def work():
        own = Database(url)
        counted = await EmbeddedVectors(own).count(1)
        await own.shut()
        return 0 if counted == 500 else 2

    async def searched():
        place = Filter(scope=a_scope())
        await engine.search(1, directions(1)[0], place, now=NOW, limit=5)
        return len(engine._partitions[1, place.scope.tenant].matrix)

    engine = EmbeddedVectors(database)
    asyncio.run(engine.upsert(1, entries_of(directions(500))))
    monkeypatch.setattr(Matrix, "absorb", slowly)
    with ThreadPoolExecutor(1) as threads:
        search = threads.submit(asyncio.run, searched())
        assert begun.wait(60)
        monkeypatch.setattr(forks, "PATIENCE", 60)
        ended = forked(work)
        assert ended() == 0
        assert search.result(60) == 500
    assert sum(chunks) > 500
    asyncio.run(engine.shut())
    asyncio.run(database.shut())


def test_who_is_forked_while_another_thread_makes_columns_has_its_own(url, database, monkeypatch):
    making, go_on = threading.Event(), threading.Event()

    class Slow(columns.Columns):
        def __init__(self, database):
            making.set()
            assert go_on.wait(60)
            super().__init__(database)

    async def work():
        own = Database(url)
        # On a thread of its own: should it wait for ever, the test still hears of it.
        thread = threading.Thread(target=columns.columns_of, args=(own,), daemon=True)
        thread.start()
        thread.join(5)
        return int(thread.is_alive())

    with ThreadPoolExecutor(1) as threads:
        with monkeypatch.context() as patch:
            patch.setattr(columns, "Columns", Slow)
            made = threads.submit(columns.columns_of, database)
            assert making.wait(60)
        ended = forked(work)
        go_on.set()
        assert ended() == 0
        assert made.result(60) is columns.columns_of(database)


def test_who_gives_way_to_a_fork_reads_nothing_any_more(url, tmp_path, monkeypatch):
    monkeypatch.setattr(feeds, "CHUNK", 10)
    database = Database(url)
    asyncio.run(database.write(metadata.create_all))
    asyncio.run(EmbeddedVectors(database).upsert(1, entries_of(directions(50))))
    leave, are_read = Forks.__exit__, []

    def watched(self, kind, error, trace):
        if kind is unloaded._GaveWay:
            with closing(sqlite3.connect(tmp_path / "forked.db", timeout=0)) as other:
                other.execute("CREATE TABLE IF NOT EXISTS anything (at TEXT)")
                # Says whether somebody reads what was there before.
                are_read.append(other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        leave(self, kind, error, trace)

    monkeypatch.setattr(Forks, "__exit__", watched)
    monkeypatch.setattr(Forks, "is_wanted", True)
    partition = Partition(1, a_scope().tenant)
    unloaded.Loader(database, Aside(), lambda _: None).start(partition, 2).result(60)
    assert (are_read, len(partition.matrix)) == ([0] * unloaded.GIVES_WAY, 50)
    asyncio.run(database.shut())


def test_a_fork_waits_for_loading_that_has_given_way_often_enough(url, monkeypatch):
    ways = []
    monkeypatch.setattr(unloaded, "GIVES_WAY", 2)
    monkeypatch.setattr(unloaded, "loaded", lambda *given: ways.append(given[-1]) or (given[-1]() and Matrix(2)))
    database = Database(url)
    asyncio.run(database.write(metadata.create_all))
    loader = unloaded.Loader(database, Aside(), lambda _: None)
    monkeypatch.setattr(Forks, "is_wanted", True)
    loader.start(Partition(1, "default"), 2).result(60)
    assert len(ways) == 3
    asyncio.run(database.shut())


def test_what_was_shut_before_the_fork_is_in_nobodys_way(url, database):
    asyncio.run(database.shut())

    async def work():
        own = Database(url)
        await own.write(adding("own"))
        await own.shut()
        return 0

    assert forked(work)() == 0


def test_who_never_opens_a_memory_is_forked_at_once(database):
    assert forked(lambda: asyncio.sleep(0, 0))() == 0
    asyncio.run(database.write(adding("on")))
    assert asyncio.run(words(database)) == {"on"}
