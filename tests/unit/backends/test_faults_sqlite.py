"""When a file cannot be written to, nothing of it is written, the error says what to do, and it goes on after that."""

import asyncio
import sqlite3

import pytest
from sqlalchemy import text

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.errors import StoreUnavailable


@pytest.fixture
async def database(tmp_path, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.sql.engines.BUSY_MILLISECONDS", 50)
    database = Database(f"sqlite:///{tmp_path}/troubled.db")
    await database.write(lambda connection: connection.execute(text("CREATE TABLE words (word TEXT)")))
    yield database
    await database.shut()


def adding(word):
    return lambda connection: connection.execute(text("INSERT INTO words VALUES (:word)"), {"word": word})


async def words(database):
    return set(await database.read(lambda connection: connection.execute(text("SELECT word FROM words")).scalars()))


async def at_once(database, *words):
    return await asyncio.gather(*(database.write(adding(word)) for word in words), return_exceptions=True)


async def test_who_finds_the_file_locked_for_long_is_told_to_try_again(database, tmp_path):
    other = sqlite3.connect(tmp_path / "troubled.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ended = await at_once(database, "one", "two", "three")
    assert {type(one) for one in ended} == {StoreUnavailable}
    assert "Another process has been writing to it for long; try again" in str(ended[0])
    assert await words(database) == set()
    other.execute("ROLLBACK")
    other.close()
    await database.write(adding("four"))
    assert await words(database) == {"four"}


async def test_who_finds_the_disk_full_is_told_to_make_room(database):
    def sized(pages):
        return lambda connection: driver_of(connection).execute(f"PRAGMA max_page_count = {pages}").fetchall()

    await database.write(adding("before"))
    await database.write(sized(8))
    ended = await at_once(database, "x" * 100_000, "y" * 100_000, "small")
    refused = [one for one in ended if isinstance(one, StoreUnavailable)]
    assert len(refused) >= 2
    assert all("Make room on its disk" in str(one) or "nothing was written" in str(one) for one in refused)
    assert await words(database) == {"before"} | ({"small"} if len(refused) == 2 else set())
    await database.write(sized(10_000))
    await database.write(adding("y" * 100_000))
    assert "y" * 100_000 in await words(database)
