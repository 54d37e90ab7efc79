"""The writer of a SQLite file: those who wait share a transaction, and each is all or nothing."""

import asyncio
import os
import sqlite3
import threading
from contextlib import closing

import pytest
from sqlalchemy import text

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.faults import Raced
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.errors import Closed, Conflict, StoreDamaged, StoreUnavailable
from scrubjay.model import Scope
from scrubjay.testing.events import eventually
from scrubjay.testing.working import a_message, said


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


async def test_messages_that_are_said_at_the_same_time_share_one_transaction(tmp_path, database):
    other = Database(f"sqlite:///{tmp_path}/sessions.db")
    await migrate(other)
    working, scopes = SqlWorking(other), [Scope(session=f"s-{number % 3}") for number in range(20)]
    gate = Gate()
    done = await behind(gate, other, *(said(working, a_message(), scope=scope) for scope in scopes))
    assert [message.position for [message] in done] == [number // 3 for number in range(20)]
    assert gate.begun == 1
    await other.shut()


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


@pytest.fixture
def reader(tmp_path, database):
    """Another program, in the middle of reading what is in the log by now."""
    with closing(sqlite3.connect(tmp_path / "scribe.db", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM words").fetchall()
        yield connection


async def test_while_somebody_reads_the_log_is_left_to_be_emptied_and_writers_go_on(
    database, reader, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("scrubjay.backends.sql.ahead.AGAIN_SECONDS", 0.01)
    log = tmp_path / "scribe.db-wal"
    async with asyncio.timeout(20):  # To wait for the reader would take 30 seconds, for everybody.
        await database.checkpoint()
        await database.checkpoint()
        await database.write(adding("meanwhile"))
    assert log.stat().st_size > 0
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "what was purged is still in the log" in said
    reader.execute("COMMIT")
    await eventually(lambda: log.stat().st_size == 0)
    assert await stored(database) == {"meanwhile"}


async def test_a_log_that_is_to_be_emptied_keeps_no_writer_from_waiting_for_others(database, reader, tmp_path):
    await database.checkpoint()
    with closing(sqlite3.connect(tmp_path / "scribe.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(database.write(adding("behind")))
        await asyncio.wait([writing], timeout=0.3)  # Longer than one waits who empties the log.
        other.execute("COMMIT")
    assert await writing == "behind"


async def test_a_log_that_is_to_be_emptied_is_emptied_by_who_closes(database, reader, tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.ahead.AGAIN_SECONDS", 3600)
    await database.checkpoint()
    reader.execute("COMMIT")  # It has the file open still, so that SQLite itself leaves the log.
    await database.write(adding("w"))
    await database.shut()
    assert (tmp_path / "scribe.db-wal").stat().st_size == 0


async def test_a_log_that_cannot_be_emptied_keeps_nobody_from_writing(database, reader, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.ahead.AGAIN_SECONDS", 0.01)
    await database.checkpoint()
    tried = threading.Event()

    def fails(*_, **__):
        tried.set()
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr("scrubjay.backends.sql.ahead.WriteAhead.empty", fails)
        assert await asyncio.to_thread(tried.wait, 60)
        assert await database.write(adding("w")) == "w"


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


def adding_all(refused=(), calls=None):
    """Adds several words at once, but for those that are refused."""

    def whole(connection, words):
        if calls is not None:
            calls.append(list(words))
        for word in words:
            adding(word, then=refused.get(word) if refused else None)(connection)
        return [word.upper() for word in words]

    return whole


async def test_those_of_one_sort_are_done_as_one(database):
    gate, calls = Gate(), []
    whole = adding_all(calls=calls)
    done = await behind(
        gate,
        database,
        *(database.write_item(whole, word) for word in "abc"),
        database.write(adding("between")),
        *(database.write_item(whole, word) for word in "de"),
        database.write_item(adding_all(calls=calls), "f"),
    )
    assert done == ["A", "B", "C", "between", "D", "E", "F"]
    assert calls == [["a", "b", "c"], ["d", "e"], ["f"]]
    assert gate.begun == 1
    assert await stored(database) == {*"abcdef", "between"}


async def test_no_more_are_done_as_one_than_others_can_wait_for(database, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.scribe.MOST", 2)
    calls = []
    whole = adding_all(calls=calls)
    assert await behind(Gate(), database, *(database.write_item(whole, word) for word in "abc")) == ["A", "B", "C"]
    assert calls == [["a", "b"], ["c"]]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("error", [Conflict("not this one"), StoreDamaged("it does not open")], ids=repr)
async def test_who_is_refused_among_those_done_as_one_is_the_one_it_is_about(database, is_first, error):
    refused, calls = {"b": error}, []
    whole = adding_all(refused, calls)
    # The first of a transaction is begun with, and the others join it.
    first = [] if is_first else [database.write(adding("first"))]
    works = [*first, *(database.write_item(whole, word) for word in "abc"), database.write(adding("last"))]
    held = threading.Event()
    holding = asyncio.create_task(database.rework(lambda _: held.wait(60)))  # Alone, so that nobody joins it.
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(work) for work in works]
    await asyncio.sleep(0)
    held.set()
    done = await asyncio.gather(holding, *waiting, return_exceptions=True)
    assert done[-4:] == ["A", refused["b"], "C", "last"]
    # What is damaged is tried once more without words and vectors, for it may be these.
    again = [["b"]] if isinstance(error, StoreDamaged) else []
    assert sorted(calls) == sorted([["a", "b", "c"], ["a"], ["b"], *again, ["c"]])
    assert await stored(database) == {"a", "c", "last", *(["first"] if first else [])}


async def test_a_store_that_cannot_answer_is_not_asked_again_for_each(database):
    calls = []

    def whole(connection, words):
        calls.append(list(words))
        raise StoreUnavailable("the disk is full")

    done = await behind(Gate(), database, *(database.write_item(whole, word) for word in "abc"))
    assert [str(error) for error in done] == ["the disk is full"] * 3
    assert calls == [["a", "b", "c"]]


async def test_who_lost_a_race_among_those_done_as_one_is_started_over_alone(database):
    calls = []

    def whole(connection, words):
        calls.append(list(words))
        if "b" in words and len(calls) < 4:
            raise Raced
        return adding_all()(connection, words)

    assert await behind(Gate(), database, *(database.write_item(whole, word) for word in "abc")) == ["A", "B", "C"]
    assert calls == [["a", "b", "c"], ["a"], ["b"], ["c"], ["b"]]
    assert await stored(database) == {*"abc"}


async def test_who_has_gone_is_left_out_of_those_done_as_one(database):
    gate, calls = Gate(), []
    first = asyncio.create_task(database.write(gate.work))
    await asyncio.sleep(0)
    whole = adding_all(calls=calls)
    a, b, c = [asyncio.create_task(database.write_item(whole, word)) for word in "abc"]
    await asyncio.sleep(0)
    b.cancel()
    await asyncio.sleep(0)
    gate.is_open.set()
    assert await asyncio.gather(first, a, c) == [None, "A", "C"]
    assert calls == [["a", "c"]]


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


async def test_nothing_is_written_to_a_file_that_is_not_there_any_more(tmp_path, database, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.onefile.LOOK_SECONDS", 0)
    await database.write(adding("kept"))
    for file in tmp_path.glob("scribe.db*"):
        file.rename(tmp_path / f"old-{file.name}")

    with pytest.raises(StoreUnavailable, match="removed or replaced while it was open: nothing was written"):
        await database.write(adding("lost"))
    (tmp_path / "scribe.db").touch()
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        await database.write(adding("lost"))

    for file in tmp_path.glob("old-scribe.db*"):
        file.rename(tmp_path / file.name.removeprefix("old-"))
    await database.write(adding("again"))
    assert await stored(database) == {"kept", "again"}


async def test_a_file_that_cannot_be_looked_at_is_unavailable_until_it_can(tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.onefile.LOOK_SECONDS", 0)
    home, away = tmp_path / "home", tmp_path / "away"
    database = Database(f"sqlite:///{home}/scribe.db")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT UNIQUE)")))
    home.rename(away)
    home.touch()
    with pytest.raises(StoreUnavailable, match="removed or replaced while it was open: nothing was written"):
        await database.write(adding("lost"))
    home.unlink()
    home.symlink_to(home)
    for ask in (database.write(adding("lost")), stored(database)):
        with pytest.raises(StoreUnavailable, match=r"scribe.db cannot be looked at: .*Check its folder"):
            await ask
    home.unlink()
    away.rename(home)
    await database.write(adding("again"))
    assert await stored(database) == {"again"}
    await database.shut()


async def test_a_file_named_from_here_is_still_there_for_who_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.onefile.LOOK_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    database = Database("sqlite:///scribe.db")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT UNIQUE)")))
    monkeypatch.chdir("/")
    await database.write(adding("here"))
    assert await stored(database) == {"here"}
    await database.shut()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_the_new_process_is_told_to_open_its_own(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scribe.db")
    asyncio.run(database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT UNIQUE)"))))
    child = os.fork()
    if not child:
        told = 1
        try:
            asyncio.run(asyncio.wait_for(database.write(adding("twice")), 20))
        except Closed as error:
            told = 0 if "opened before the process forked" in str(error) else 2
        finally:
            os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    asyncio.run(database.write(adding("once")))
    assert asyncio.run(stored(database)) == {"once"}
    asyncio.run(database.shut())
