"""PostgreSQL in trouble in the middle of an answer, and what was told a moment ago among what is remembered."""

import asyncio
from contextlib import asynccontextmanager

import psycopg
import pytest

from patience import LONG
from scrubjay.backends.sql import database as databases
from scrubjay.backends.sql import texts_postgresql
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, Scope
from scrubjay.testing.values import NOW, a_memory, a_scope, told
from scrubjay.testing.vectors import HERE, an_entry, directions, entries_of, ids_of

EVERYBODY = Filter(scope=Scope())


@pytest.fixture
def database(postgres):
    return postgres


@pytest.fixture
async def other(database):
    """Somebody else in the same database."""
    url = database.url.set(drivername="postgresql").render_as_string()
    async with await psycopg.AsyncConnection.connect(url) as connection:
        yield connection


@pytest.fixture
async def engine(database):
    engine = PgVectors(database, exact_up_to=30)
    yield engine
    await engine.shut()


async def waiting(other, many):
    """The sessions of ours that wait for a lock, as soon as there are so many."""
    ours = "application_name = 'scrubjay' AND datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(LONG):
        while True:
            await other.execute("SELECT pg_stat_clear_snapshot()")  # Within a transaction it would never change.
            found = await (await other.execute(f"SELECT pid FROM pg_stat_activity WHERE {ours}")).fetchall()
            if len(found) >= many:
                return [pid for (pid,) in found]
            await asyncio.sleep(0.01)


@asynccontextmanager
async def held_up(other, table, asked, what):
    """While these questions wait for the table, do something to the sessions that ask; then let the table go."""
    await other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    answers = [asyncio.ensure_future(ask) for ask in asked]
    for pid in await waiting(other, len(answers)):
        await other.execute(f"SELECT {what}(%s)", [pid])
    await other.rollback()
    yield answers


async def test_a_search_whose_connection_ends_in_the_middle_starts_over(database, engine, other):
    [stored] = await told(SqlRecords(database), a_memory("One"))
    entries = entries_of(directions(5))
    await engine.upsert(1, entries)
    words = [SqlTexts(database).match(["one"], EVERYBODY, now=NOW, limit=3) for _ in range(3)]
    async with held_up(other, "texts", words, "pg_terminate_backend") as answers:
        assert [ids_of(await answer) for answer in answers] == [[stored.id]] * 3
    near = [engine.search(1, entries[2].vectors[0], HERE, now=NOW, limit=1) for _ in range(3)]
    async with held_up(other, "vectors_g1", near, "pg_terminate_backend") as answers:
        assert [ids_of(await answer) for answer in answers] == [[entries[2].id]] * 3


async def test_a_search_that_the_server_stops_says_so_and_the_next_is_answered(database, engine, other):
    [stored] = await told(SqlRecords(database), a_memory("One"))
    entries = entries_of(directions(5))
    await engine.upsert(1, entries)

    def by_words():
        return SqlTexts(database).match(["one"], EVERYBODY, now=NOW, limit=3)

    def by_meaning():
        return engine.search(1, entries[0].vectors[0], HERE, now=NOW, limit=1)

    for table, ask, found in (("texts", by_words, stored.id), ("vectors_g1", by_meaning, entries[0].id)):
        async with held_up(other, table, [ask()], "pg_cancel_backend") as [answer]:
            with pytest.raises(StoreUnavailable):
                await answer
        for _ in range(9):  # On every connection that there is, and often enough to be prepared there.
            assert ids_of(await ask()) == [found]


async def test_more_questions_at_once_than_connections_are_all_answered(database, engine):
    [stored] = await told(SqlRecords(database), a_memory("One"))
    entries = entries_of(directions(5))
    await engine.upsert(1, entries)
    texts = SqlTexts(database)
    words = [texts.match(["one"], EVERYBODY, now=NOW, limit=3) for _ in range(40)]
    near = [engine.search(1, entries[0].vectors[0], HERE, now=NOW, limit=1) for _ in range(40)]
    found = [ids_of(answer) for answer in await asyncio.gather(*words, *near)]
    assert found == [[stored.id]] * 40 + [[entries[0].id]] * 40


async def test_what_a_new_user_tells_is_found_at_once_where_very_much_is(database, engine, monkeypatch):
    monkeypatch.setattr(texts_postgresql, "RANKED", 10)
    records, texts = SqlRecords(database), SqlTexts(database)
    await told(records, *(a_memory(f"Heron {place}", scope=a_scope("bob")) for place in range(30)))
    await told(records, *(a_memory(f"Rare stork {place}", scope=a_scope("bob")) for place in range(4)))
    await engine.upsert(1, entries_of(directions(60), scope=a_scope("bob")))
    asked = directions(1, seed=5)[0]
    await texts.match(["stork", "bittern"], EVERYBODY, now=NOW, limit=3)
    await engine.search(1, asked, EVERYBODY, now=NOW, limit=3)
    await engine.settle()
    await engine.search(1, asked, EVERYBODY, now=NOW, limit=3)
    [new] = await told(records, a_memory("A bittern", scope=a_scope("carol", session="s-new")))
    await told(records, *(a_memory(f"Later {place}", scope=a_scope("bob")) for place in range(20)))
    near = an_entry(asked, scope=a_scope("carol", session="s-new"))
    await engine.upsert(1, [near])
    for here in (EVERYBODY, Filter(scope=a_scope("carol", session="s-new"))):
        assert ids_of(await texts.match(["stork", "bittern"], here, now=NOW, limit=3))[0] == new.id
        assert ids_of(await engine.search(1, asked, here, now=NOW, limit=3))[0] == near.id


async def test_two_who_count_uses_of_the_same_memories_do_not_block_each_other(database, other, monkeypatch):
    monkeypatch.setattr(databases, "TRIES", 1)  # A race that is lost is an error.
    records = SqlRecords(database)
    first, second = await told(records, a_memory("One"), a_memory("Two"))
    await other.execute("SELECT FROM memories WHERE id = %s FOR UPDATE", [first.id])
    counting = []
    # One named twice is counted apart from one named once: the first of the two gets hold of its row, the other waits.
    for ids in ([first.id, second.id, second.id], [first.id, first.id, second.id]):
        counting.append(asyncio.ensure_future(records.touch({a_scope(): ids}, at=NOW)))
        await waiting(other, len(counting))
    await other.rollback()
    await asyncio.gather(*counting)
    assert [one.uses for one in await records.get(a_scope(), [first.id, second.id])] == [3, 3]
