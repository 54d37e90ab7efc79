"""The writer of a SQLite file: those who wait share a transaction, and each is all or nothing."""

import asyncio
import threading

import pytest
from sqlalchemy import text

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.faults import Raced
from scrubjay.errors import Closed, Conflict, StoreUnavailable


@pytest.fixture
async def database(tmp_path, monkeypatch):
    # Whoever waits is taken in, also on a machine that stands still for a moment.
    monkeypatch.setattr("scrubjay.backends.sql.scribe.GROUP_SECONDS", 60)
    database = Database(f"sqlite:///{tmp_path}/scribe.db")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT UNIQUE)")))
    yield database
    await database.shut()


def adding(word, *, then=None):
    def work(connection):
        connection.execute(text("INSERT INTO words VALUES (:word)"), {"word": word})
        if then is not None:
            raise then
        return word

    return work


async def stored(database):
    return set(await database.read(lambda connection: connection.execute(text("SELECT word FROM words")).scalars()))


class Gate:
    """Holds the writer up until others wait behind it, and counts the transactions from then on."""

    def __init__(self):
        self.is_open = threading.Event()
        self.begun = 0

    def work(self, connection):
        assert self.is_open.wait(60)
        connection.connection.driver_connection.set_trace_callback(self._count)

    def _count(self, statement):
        self.begun += statement.startswith("COMMIT")


async def behind(gate, database, *works):
    """What comes of these, all of them handed over while the writer is held up."""
    first = asyncio.create_task(database.write(gate.work))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(work) for work in works]
    await asyncio.sleep(0)
    gate.is_open.set()
    return (await asyncio.gather(first, *waiting, return_exceptions=True))[1:]


async def test_those_who_wait_share_one_transaction(database):
    gate = Gate()
    done = await behind(gate, database, *(database.write(adding(f"w{place}")) for place in range(20)))
    assert done == [f"w{place}" for place in range(20)]
    assert gate.begun == 1
    assert len(await stored(database)) == 20


async def test_one_that_fails_takes_nobody_with_it(database):
    refused = Conflict("not this one")
    done = await behind(
        Gate(),
        database,
        database.write(adding("before")),
        database.write(adding("wrong", then=refused)),
        database.write(adding("after")),
    )
    assert done == ["before", refused, "after"]
    assert await stored(database) == {"before", "after"}


async def test_one_that_fails_alone_leaves_nothing(database):
    with pytest.raises(Conflict):
        await database.write(adding("wrong", then=Conflict("no")))
    assert await stored(database) == set()
    assert await database.write(adding("next")) == "next"


async def test_who_lost_a_race_is_started_over(database):
    tries = []

    def work(connection):
        tries.append(None)
        if len(tries) < 3:
            raise Raced
        return adding("late")(connection)

    done = await behind(Gate(), database, database.write(adding("early")), database.write(work))
    assert done == ["early", "late"]
    assert await stored(database) == {"early", "late"}


async def test_who_always_loses_is_told_so(database, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.scribe.TRIES", 2)
    await database.write(adding("taken"))
    with pytest.raises(StoreUnavailable, match="lost a race"):
        await database.write(adding("taken"))


async def test_when_sqlite_gives_the_transaction_up_nobody_is_told_that_it_was_written(database):
    def gives_up(connection):
        connection.connection.driver_connection.execute("ROLLBACK")
        raise StoreUnavailable("the disk is full")

    works = [database.write(adding("lost")), database.write(gives_up), database.write(adding("next"))]
    lost, full, following = await behind(Gate(), database, *works)
    assert isinstance(lost, StoreUnavailable)
    assert str(full) == "the disk is full"
    assert following == "next"
    assert await stored(database) == {"next"}


async def test_what_is_noted_does_not_wait_for_the_disk_and_what_is_written_does(database):
    def synchronous(connection):
        return connection.connection.driver_connection.execute("PRAGMA synchronous").fetchone()[0]

    assert await database.note(synchronous) == 1
    assert await database.write(synchronous) == 2
    # Beside one who waits for the disk, a note costs nothing; one who waits never joins those who do not.
    gate = Gate()
    noted, written, reworked = await behind(
        gate, database, database.note(synchronous), database.write(synchronous), database.rework(synchronous)
    )
    assert (noted, written, reworked) == (2, 2, 2)
    assert gate.begun == 2


async def test_the_log_is_emptied_between_two_transactions(database, tmp_path):
    await behind(Gate(), database, database.write(adding("before")), database.checkpoint(), database.write(adding("w")))
    assert await stored(database) == {"before", "w"}
    await database.checkpoint()
    assert (tmp_path / "scribe.db-wal").stat().st_size == 0


async def test_what_nobody_waits_for_any_more_is_not_written(database):
    gate = Gate()
    first = asyncio.create_task(database.write(gate.work))
    await asyncio.sleep(0)
    left = asyncio.create_task(database.write(adding("left")))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.sleep(0)
    gate.is_open.set()
    await first
    assert await stored(database) == set()


async def test_shutting_writes_what_waits(tmp_path, database):
    waiting = [asyncio.create_task(database.write(adding(f"w{place}"))) for place in range(5)]
    await asyncio.sleep(0)
    await database.shut()
    assert len(await asyncio.gather(*waiting)) == 5
    with pytest.raises(Closed):
        await database.write(adding("late"))
    again = Database(f"sqlite:///{tmp_path}/scribe.db")
    assert len(await stored(again)) == 5
    await again.shut()
