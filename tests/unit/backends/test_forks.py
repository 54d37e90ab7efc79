"""A process that is forked beside a memory at work opens one of its own on the same file."""

import asyncio
import os
import threading
import time

import pytest
from sqlalchemy import text

from scrubjay.backends.sql.database import Database
from scrubjay.errors import StoreUnavailable

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
