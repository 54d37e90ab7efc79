"""The readers of a SQLite file: reads at the same time, each on one snapshot, with connections that stay open."""

import asyncio
import threading

import pytest
from sqlalchemy import Connection, make_url

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.engines import sqlite_engine
from scrubjay.backends.sql.onefile import OneFile
from scrubjay.backends.sql.readers import THREADS, Readers
from scrubjay.errors import Closed, StoreUnavailable


@pytest.fixture
def readers(tmp_path):
    file = OneFile(tmp_path / "readers.db", name="sqlite:///readers.db")
    engine = sqlite_engine(make_url(f"sqlite+pysqlite:///{tmp_path}/readers.db"), file, synchronous="FULL")
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE words (word TEXT)")
        connection.commit()
    readers = Readers(engine, file, name="sqlite:///readers.db")
    yield readers
    readers.shut()
    engine.dispose()


def words(connection: Connection) -> list[str]:
    return [word for [word] in driver_of(connection).execute("SELECT word FROM words")]


def identity(connection: Connection) -> int:
    return id(driver_of(connection))


async def test_one_after_the_other_they_use_one_connection(readers):
    assert len({await readers.read(identity) for _ in range(20)}) == 1


async def test_after_a_rush_the_connection_that_was_used_last_comes_first(readers):
    meet = threading.Barrier(THREADS)

    def meeting(connection: Connection) -> int:
        meet.wait(10)
        return identity(connection)

    at_once = await asyncio.gather(*(readers.read(meeting) for _ in range(THREADS)))
    assert len(set(at_once)) == THREADS
    assert len({await readers.read(identity) for _ in range(20)}) == 1


async def test_more_than_there_are_threads_are_all_answered(readers):
    asked = [readers.read(lambda _, place=place: place) for place in range(10 * THREADS)]
    assert await asyncio.gather(*asked) == list(range(10 * THREADS))


async def test_what_is_raised_reaches_whoever_asked_and_nobody_else(readers):
    def failing(_: Connection) -> None:
        raise KeyError("mine")

    before = await readers.read(identity)
    with pytest.raises(KeyError, match="mine"):
        await readers.read(failing)
    assert await readers.read(identity) == before


async def test_a_connection_that_failed_is_not_used_again(readers):
    used: list[object] = []

    def broken(connection: Connection) -> None:
        used.append(driver_of(connection))  # Held on to, so that no other can have its place in memory.
        driver_of(connection).execute("SELECT * FROM nowhere")

    with pytest.raises(StoreUnavailable):
        await readers.read(broken)
    assert await readers.read(driver_of) is not used[0]
    assert await readers.read(words) == []


async def test_who_was_cancelled_is_not_read_for(readers):
    held, done = threading.Event(), []
    busy = [asyncio.ensure_future(readers.read(lambda _: held.wait(10))) for _ in range(THREADS)]
    waiting = asyncio.ensure_future(readers.read(lambda _: done.append("read")))
    await asyncio.sleep(0)
    waiting.cancel()
    held.set()
    await asyncio.gather(*busy)
    await readers.read(identity)
    assert done == []
    assert waiting.cancelled()


async def test_no_snapshot_outlives_its_read(readers):
    await readers.read(words)
    assert not await readers.read(lambda connection: connection.in_transaction())
    [connection] = readers._idle
    assert not driver_of(connection).in_transaction


async def test_shutting_lets_what_was_asked_come_to_its_end(readers):
    asked = [asyncio.ensure_future(readers.read(lambda _, place=place: place)) for place in range(20)]
    await asyncio.sleep(0)
    await asyncio.to_thread(readers.shut)
    assert await asyncio.gather(*asked) == list(range(20))
    with pytest.raises(Closed):
        await readers.read(identity)


def test_who_waits_on_a_loop_that_was_closed_stops_nobody(readers):
    held = threading.Event()

    async def left() -> None:
        asyncio.ensure_future(readers.read(lambda _: held.wait(10)))  # noqa: RUF006 -- nobody waits for it
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(left())
    loop.close()
    held.set()
    assert asyncio.run(readers.read(words)) == []
