"""A file on which somebody ran ANALYZE is as quick as any other: by the steps that SQLite takes, not by a clock."""

import sqlite3
from contextlib import closing

import numpy as np

from scrubjay.backends.sql import writing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.rows import Reader
from scrubjay.backends.vectors import rows as vector_rows
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.model import Scope
from scrubjay.testing.values import a_memory, all_rows
from scrubjay.testing.vectors import an_entry

COUNTED = "SELECT name FROM sqlite_master WHERE name LIKE 'sqlite_stat%'"
EACH = 10


async def steps(database, work):
    """How many steps SQLite takes for it, in tens."""

    def counted(connection):
        taken = 0

        def step():
            nonlocal taken
            taken += 1

        driver_of(connection).set_progress_handler(step, EACH)
        try:
            work(connection)
        finally:
            driver_of(connection).set_progress_handler(None, EACH)
        return taken

    return await database.write(counted)


def some(name, *, key=None):
    return [a_memory(f"{name} {n}", scope=Scope(user=f"u-{n % 7}"), key=key and f"{key}-{n}") for n in range(200)]


def analyze(database):
    with closing(sqlite3.connect(database.path)) as file, file:
        file.execute("ANALYZE")
        assert file.execute(COUNTED).fetchall()


async def test_many_are_stored_in_as_many_steps_after_analyze(sqlite):
    reader, records = Reader(), SqlRecords(sqlite)
    for n in range(20):
        await records.load(some(f"Before {n}", key=f"k-{n}"))
    before = await steps(sqlite, lambda connection: writing.load(connection, reader, some("One", key="a")))
    analyze(sqlite)
    after = await steps(sqlite, lambda connection: writing.load(connection, reader, some("Two", key="b")))
    assert after < 1.2 * before


async def test_statistics_are_gone_when_it_is_opened_next(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await migrate(database)
    await SqlRecords(database).load([a_memory(f"Before {n}") for n in range(300)])
    analyze(database)  # When there is one scope, and SQLite learns that to look for scopes is not worth it.
    await database.shut()
    database = Database(str(database.url))
    await migrate(database)
    with closing(sqlite3.connect(database.path)) as file:
        assert file.execute(COUNTED).fetchall() == []
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    records, reader = SqlRecords(database), Reader()
    for n in range(3):
        await records.load([a_memory(f"After {n} {place}", scope=Scope(user=f"u-{place}")) for place in range(300)])
    assert len(await all_rows(records, Scope())) == 1_200
    # To find the places of 200 memories takes 200 looks at an index, and not at 300 scopes each.
    more = [a_memory(f"More {place}", scope=Scope(user=f"u-{place}")) for place in range(200)]
    assert await steps(database, lambda connection: writing.load(connection, reader, more)) * EACH < 200 * 300
    await database.shut()


async def test_a_file_that_others_write_to_for_long_is_opened_with_its_statistics(sqlite):
    analyze(sqlite)
    again = Database(str(sqlite.url))
    with closing(sqlite3.connect(sqlite.path, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        await migrate(again)
        file.execute("ROLLBACK")
    assert await SqlRecords(again).load([a_memory("Works")]) == 1
    await again.shut()


async def test_the_ids_of_vectors_are_listed_without_sorting_all_of_them_for_each_page(sqlite):
    entries = [an_entry(np.array([1.0, n], dtype=np.float32)) for n in range(2_000)]
    await EmbeddedVectors(sqlite).upsert(1, entries)
    ids = sorted(entry.id for entry in entries)

    def page(connection):
        assert vector_rows.ids(connection, 1, limit=50, after=ids[999]) == ids[1_000:1_050]

    assert await steps(sqlite, page) * EACH < 50 * 50
