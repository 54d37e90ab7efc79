"""What a search on PostgreSQL asks in plain text, it asks as the expressions and `Filter` do, and what it remembers."""

import asyncio
from datetime import timedelta

import numpy as np
import psycopg
import pytest

from scrubjay.backends.sql import texts_postgresql
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.model import AsOf, Filter, Scope
from scrubjay.testing.values import DAY, NOW, a_memory, a_scope, told
from scrubjay.testing.vectors import HERE, an_entry, directions, entries_of, ids_of

MANY = 40


@pytest.fixture
def database(postgres):
    return postgres


def all_sorts():
    """Memories of two users and of both, of all kinds, times and values, with one word in common."""
    return [
        a_memory(
            f"Heron number {place}",
            scope=[a_scope("anna"), a_scope("bob"), Scope(), a_scope("anna", session="s-1")][place % 4],
            kind=["note", "rule", "task"][place % 3],
            key=f"bird.{place}" if place % 5 == 0 else None,
            importance=place / MANY,
            data=[{}, {"wings": place}, {"wings": str(place), "at": {"sea": place % 2 == 0}}][place % 3],
            created_at=NOW - place * DAY,
            valid_to=NOW - DAY if place % 7 == 1 and place > 1 else NOW + DAY if place % 7 == 2 else None,
            expires_at=NOW + DAY if place % 11 == 3 else None,
        )
        for place in range(MANY)
    ]


FILTERS = [
    Filter(scope=Scope()),
    Filter(scope=Scope(), reach="holds"),
    Filter(scope=a_scope("anna")),
    Filter(scope=a_scope("anna"), reach="holds"),
    Filter(scope=a_scope("anna", session="s-1"), kinds=("note", "task")),
    Filter(scope=Scope(tenant="another")),
    Filter(scope=Scope(), key="bird.5"),
    Filter(scope=Scope(), key_prefix="bird.1"),
    Filter(scope=Scope(), data={"wings": 4}),
    Filter(scope=Scope(), data={"wings": ["5", 7]}),
    Filter(scope=Scope(), data={"wings": {"gte": 10, "lt": 20.5}}),
    Filter(scope=Scope(), data={"wings": {"gt": "3"}, "at.sea": True}),
    Filter(scope=Scope(), data={"wings": {"exists": False}}),
    Filter(scope=Scope(), data={"wings": {"ne": 4}}),
    Filter(scope=Scope(), least_importance=0.5),
    Filter(scope=Scope(), since=NOW - 20 * DAY, until=NOW - 5 * DAY),
    Filter(scope=a_scope("bob"), history=True),
    Filter(scope=Scope(), as_of=AsOf(known_at=NOW - 10 * DAY, valid_at=NOW - 12 * DAY)),
]


@pytest.mark.parametrize("named", [200, 0], ids=["scopes named", "too many scopes to name"])
async def test_every_filter_admits_what_it_says(database, monkeypatch, named):
    monkeypatch.setattr("scrubjay.backends.sql.driver_postgresql.PLACES_NAMED", named)
    records, texts, said = SqlRecords(database), SqlTexts(database), all_sorts()
    await records.load(said)
    for asked in FILTERS:
        found = await texts.match(["heron"], asked, now=NOW, limit=MANY)
        assert {match.id for match in found} == {memory.id for memory in said if asked.matches(memory, NOW)}, asked


@pytest.mark.parametrize("most", [0, 10**9], ids=["admitted first", "ranked first"])
async def test_a_wide_search_finds_what_the_filter_admits_whichever_is_asked_first(database, monkeypatch, most):
    monkeypatch.setattr(texts_postgresql, "RANKED", 8)
    monkeypatch.setattr(texts_postgresql, "_MOST", most)
    texts, said = SqlTexts(database), all_sorts()
    await SqlRecords(database).load(said)
    rare = [said[place] for place in (4, 20, 25)]
    for asked in FILTERS:
        wanted = {memory.id for memory in rare if asked.matches(memory, NOW)}
        found = await texts.match(["4", "20", "25"], asked, now=NOW, limit=max(1, len(wanted)), guess=False)
        assert {match.id for match in found} == wanted, asked


async def test_what_is_read_is_what_was_stored(database):
    records = SqlRecords(database)
    said = [
        a_memory("Whole", key="k", data={"deep": [1e22, None, "ü"]}, author="Anna", source="mail", reason="asked"),
        *all_sorts(),
    ]
    made = a_memory("Made", derived_from=tuple(memory.id for memory in said[:3]), redacted=("email",))
    await records.load([*said, made])
    assert await records.get(a_scope("anna"), [said[1].id, made.id, said[0].id, made.id]) == [said[1], made, said[0]]


async def test_one_common_word_is_answered_by_the_newest_that_the_filter_admits(database, monkeypatch):
    monkeypatch.setattr(texts_postgresql, "RANKED", 10)
    monkeypatch.setattr(texts_postgresql, "_MOST", 10**9)
    records, texts, asked = SqlRecords(database), SqlTexts(database), Filter(scope=a_scope())
    said = await told(records, *(a_memory(f"Common bird {place}") for place in range(30)))
    newest = {memory.id for memory in said[-10:]}
    found = await texts.match(["common"], asked, now=NOW, limit=5)
    assert len(found) == 5
    assert {match.id for match in found} <= newest
    # Those of somebody else are newer still.
    await told(records, *(a_memory(f"Common bird {place}", scope=a_scope(tenant="acme")) for place in range(20)))
    assert {match.id for match in await texts.match(["common"], asked, now=NOW, limit=10)} == newest
    # A rarer word is found behind them.
    [old] = await told(records, a_memory("Common heron", created_at=NOW))
    await told(records, *(a_memory(f"Common bird {place}") for place in range(30, 60)))
    assert (await SqlTexts(database).match(["common", "heron"], asked, now=NOW, limit=8))[0].id == old.id


async def test_a_filter_that_was_wide_finds_what_is_left(database, monkeypatch):
    monkeypatch.setattr(texts_postgresql, "RANKED", 10)
    records, texts = SqlRecords(database), SqlTexts(database)
    said = await told(records, *(a_memory(f"Common bird {place}") for place in range(30)), a_memory("Rare heron"))
    asked = Filter(scope=a_scope())
    assert (await texts.match(["common", "heron"], asked, now=NOW, limit=3))[0].id == said[-1].id
    await records.close(a_scope(), [memory.id for memory in said[4:]], at=NOW, because="gone")
    found = await texts.match(["common", "bird"], asked, now=NOW + timedelta(seconds=1), limit=9)
    assert {match.id for match in found} == {memory.id for memory in said[:4]}


async def test_a_wide_search_counts_each_word_once(database, monkeypatch):
    monkeypatch.setattr(texts_postgresql, "RANKED", 10)
    texts = SqlTexts(database)
    await told(SqlRecords(database), *(a_memory(f"Common bird number{place}") for place in range(30)))
    counted = []
    usual = texts_postgresql.told_together

    def heard(connection, asked):
        if not any("ts_rank" in statement for statement, _ in asked):
            counted.append(len(asked))
        return usual(connection, asked)

    monkeypatch.setattr(texts_postgresql, "told_together", heard)
    asked = Filter(scope=a_scope())
    first = await texts.match(["bird", "number7"], asked, now=NOW, limit=3)
    assert counted == [3, 2], (
        "what the planner expects of two words, and all rows; then those of words that may be rare"
    )
    assert await texts.match(["bird", "number7"], asked, now=NOW, limit=3) == first
    assert counted == [3, 2]


async def test_an_error_of_the_server_is_ours(database):
    await told(SqlRecords(database), a_memory("One"))
    url = database.url.set(drivername="postgresql").render_as_string()
    hasty = Database(url, statement_seconds=0.2)
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE texts IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="Ask for less at once"):
            await SqlTexts(hasty).match(["one"], Filter(scope=a_scope()), now=NOW, limit=3)
    assert len(await SqlTexts(hasty).match(["one"], Filter(scope=a_scope()), now=NOW, limit=3)) == 1
    await hasty.shut()


async def test_an_error_while_the_driver_prepares_a_statement_is_not_told_again(database):
    await told(SqlRecords(database), a_memory("One"))
    url = database.url.set(drivername="postgresql").render_as_string()
    hasty = Database(url, statement_seconds=0.5)
    texts, asked = SqlTexts(hasty), Filter(scope=a_scope())
    for _ in range(5):  # What is asked more often is prepared, and the driver then takes it to be there.
        assert len(await texts.match(["one"], asked, now=NOW, limit=3)) == 1
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE texts IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="Ask for less at once"):
            await texts.match(["one"], asked, now=NOW, limit=3)
    assert len(await texts.match(["one"], asked, now=NOW, limit=3)) == 1
    await hasty.shut()


async def test_what_is_asked_of_the_driver_starts_over_when_the_connection_was_ended(database):
    records, texts = SqlRecords(database), SqlTexts(database)
    [stored] = await told(records, a_memory("One"))
    with psycopg.connect(database.url.set(drivername="postgresql").render_as_string(), autocommit=True) as other:
        for ask in (
            lambda: texts.match(["one"], Filter(scope=a_scope()), now=NOW, limit=3),
            lambda: records.get(a_scope(), [stored.id]),
        ):
            await asyncio.gather(*(database.ping() for _ in range(8)))
            ours = "application_name = 'scrubjay' AND datname = current_database()"
            other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
            assert [one.id for one in await ask()] == [stored.id]


async def test_a_generation_made_anew_by_another_process_with_other_vectors_is_searched_at_once(postgres_database):
    url = postgres_database()
    databases = [Database(url), Database(url)]
    await migrate(databases[0])
    one, other = [PgVectors(database) for database in databases]
    entries = entries_of(directions(5))
    await one.upsert(1, entries)
    assert len(await one.search(1, entries[0].vectors[0], HERE, now=NOW, limit=9)) == 5
    small = an_entry(directions(1, dimensions=32)[0])
    await other.drop(1)
    await other.upsert(1, [small])
    assert ids_of(await one.search(1, small.vectors[0], HERE, now=NOW, limit=9)) == [small.id]
    await one.upsert(1, [an_entry(np.flip(small.vectors[0]))])
    assert await other.count(1) == 2
    for engine, database in zip((one, other), databases, strict=True):
        await engine.shut()
        await database.shut()


async def test_a_filter_that_grows_wide_is_answered_by_the_graph_and_shrinks_back(postgres_database):
    database = Database(postgres_database())
    await migrate(database)
    engine = PgVectors(database, exact_up_to=30)
    await engine.upsert(1, entries_of(directions(60), scope=a_scope("bob")))
    mine = entries_of(directions(60, seed=5), scope=a_scope("anna"))
    await engine.upsert(1, mine[:20])
    asked, question = Filter(scope=a_scope("anna")), mine[0].vectors[0]
    await engine.search(1, question, Filter(scope=Scope()), now=NOW, limit=5)
    await engine.settle()
    assert len(await engine.search(1, question, asked, now=NOW, limit=50)) == 20
    await engine.upsert(1, mine[20:])
    for _ in range(2):  # Compared first, then along the graph.
        assert ids_of(await engine.search(1, question, asked, now=NOW, limit=5))[0] == mine[0].id
    await engine.retire(ids_of(mine[3:]))
    assert set(ids_of(await engine.search(1, question, asked, now=NOW, limit=50))) == set(ids_of(mine[:3]))
    await engine.shut()
    await database.shut()
