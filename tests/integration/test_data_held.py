"""What is asked of `data` on a file is held in memory: the answers are those of `Filter.matches`, whatever happens."""

import asyncio
import json
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import text

from scrubjay.backends.sql import columns as columns_module
from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.resealing import SqlResealed
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.model import AsOf, Filter, Scope
from scrubjay.model.query import MOST_CONDITIONS
from scrubjay.testing import NOW
from scrubjay.testing.values import DAY, a_memory, all_rows, keep_all, replace_by_key, told

VALUES = [
    "open", "closed", "", "é", "🦉", 0, 1, 1.0, -2.5, 2**53, 2**53 + 1, 2**63 - 1, True, False, None,
    [], [1, "open"], {}, {"b": "open"}, {"b": {"c": 3}}, {"b": True}, {"": 1},
]  # fmt: skip
NAMES = ["a", "naïve", "it's", "x[0]", "a b", "%"]
PATHS = ["a", "a.b", "a.b.c", "naïve", "it's", "x[0]", "a b", "%", "missing"]


@pytest.fixture
def database(sqlite):
    return sqlite


@pytest.fixture(autouse=True)
def little_is_much(monkeypatch):
    """A few rows are read as many are."""
    for name, value in {"SMALL": -1, "PATIENCE": 0, "WALKED": 20, "HEARD": 12, "STRETCH": 7, "PAUSE": 0.0}.items():
        monkeypatch.setattr(columns_module, name, value)


async def held(database, filter):
    """Have everything that a filter asks for read, and say what is known of it."""
    columns = columns_of(database)
    async with asyncio.timeout(20):
        while True:
            is_held = columns.holds(filter)
            found = await database.read(lambda connection: columns.narrowed(connection, filter))
            if is_held and columns.holds(filter):
                return found
            await asyncio.sleep(0.001)


async def at_rest(columns):
    """Wait until nobody reads."""
    async with asyncio.timeout(20):
        while columns.is_reading:  # noqa: ASYNC110 -- a thread reads it, and tells nobody
            await asyncio.sleep(0.001)


async def check(database, filter, rows, now=NOW):
    """Every way of asking says what the filter says of each row."""
    await held(database, filter)
    records = SqlRecords(database)
    wanted = [row for row in rows if filter.matches(row, now)]
    assert await records.find(filter, now=now, limit=1_000, order="oldest") == wanted, filter
    assert await records.find(filter, now=now, limit=3) == wanted[::-1][:3]
    assert await records.among(filter, now=now, limit=1_000) == [row.id for row in wanted[::-1]]
    assert (await records.count(filter, now=now)).current == len(wanted)
    assert [row async for batch in records.scan(filter, now=now) for row in batch] == wanted
    if len(wanted) > 2:
        behind = await records.find(filter, now=now, limit=2, after=wanted[-2].id)
        assert behind == wanted[:-2][::-1][:2]
        assert await records.among(filter, now=now, limit=2) is None


def a_condition(chance):
    scalar = [value for value in VALUES if isinstance(value, str | int | float)]
    one = chance.choice(scalar)
    return chance.choice(
        [
            one,
            None,
            chance.sample(scalar, 2),
            {"in": chance.sample(scalar, 3)},
            {"ne": one},
            {"exists": chance.random() < 0.5},
            {"gte": 0, "lt": 2**60},
            {"gt": "a"},
            {"gte": one, "ne": chance.choice(scalar)},
        ]
    )


def a_filter(chance):
    place = Scope(user=chance.choice([None, "u-1", "u-2"]))
    more = [{}, {}, {"kinds": ("rule",)}, {"history": True}, {"as_of": AsOf(known_at=NOW)}, {"key_prefix": "k-1"}]
    asked = {path: a_condition(chance) for path in chance.sample(PATHS, chance.choice([1, 1, 2]))}
    return Filter(scope=place, reach=chance.choice(["sees", "holds"]), data=asked, **chance.choice(more))


def a_draft(chance, now):
    data = {name: chance.choice(VALUES) for name in chance.sample(NAMES, chance.randrange(3))}
    return a_memory(
        f"Said {chance.random()}",
        scope=Scope(user=chance.choice([None, "u-1", "u-2"])),
        kind=chance.choice(["note", "rule"]),
        key=f"k-{chance.randrange(30)}" if chance.random() < 0.3 else None,
        data=data,
        created_at=now,
    )


async def something_happens(records, chance, now):
    """Memories are told, replaced, imported, closed, deleted, or stored without what they said."""
    said = await all_rows(records, Scope())
    what = chance.randrange(10)
    if what < 5 or not said:
        drafts = [a_draft(chance, now) for _ in range(chance.choice([1, 2, 9, 40]))]
        drafts = list({draft.key or draft.id: draft for draft in drafts}.values())
        if what == 0:
            await records.load([replace(draft, key=None) for draft in drafts])
        else:
            await records.write(drafts, replace_by_key)
    elif what < 7:
        for memory in chance.sample(said, min(len(said), 3)):
            await records.close(memory.scope, [memory.id], at=now, because="wrong")
    elif what == 7:
        some = chance.sample(said, min(len(said), chance.choice([1, 15])))
        await records.purge(Scope(), [memory.id for memory in some])
    else:
        some = chance.sample(said, min(len(said), 2))
        await SqlResealed(records._database).replace_rows([(one, replace(one, data={"a": "resealed"})) for one in some])


@pytest.mark.parametrize("seed", range(3))
async def test_the_same_is_found_whatever_happens(database, seed):
    chance, now = random.Random(seed), NOW
    other = Database(str(database.url))
    records = [SqlRecords(database), SqlRecords(other)]
    for _ in range(25):
        now += DAY / 24
        await something_happens(chance.choice(records), chance, now)
        rows = await all_rows(records[0], Scope())
        for _ in range(3):
            await check(database, a_filter(chance), rows, now)
    await other.shut()


async def test_words_and_meaning_are_searched_among_those_that_have_the_value(database):
    records, texts = SqlRecords(database), SqlTexts(database)
    stored = await told(records, *(a_memory(f"The canary {place}", data={"lot": place % 50}) for place in range(200)))
    asked = Filter(scope=Scope(), data={"lot": {"lt": 2}})
    await held(database, asked)
    wanted = {memory.id for memory in stored if memory.data["lot"] < 2}
    for _ in range(30):
        found = await texts.match(["canary"], asked, now=NOW, limit=100)
        assert {match.id for match in found} == wanted
        await asyncio.sleep(0.002)
    assert texts._shelf is not None


async def test_a_value_that_was_deleted_or_encrypted_is_held_no_more(database):
    records = SqlRecords(database)
    purged, sealed, kept = await told(records, *(a_memory(f"Fact {n}", data={"pin": f"secret-{n}"}) for n in range(3)))
    asked = Filter(scope=Scope(), data={"pin": {"gte": "secret"}})
    assert len((await held(database, asked)).among) == 3
    await records.purge(Scope(), [purged.id])
    await SqlResealed(database).replace_rows([(sealed, replace(sealed, data={}))])
    assert len((await held(database, asked)).among) == 1
    [place] = columns_of(database)._kept.values()
    place.column.settle()
    assert place.column._texts.values == ["secret-2"]
    assert await records.find(asked, now=NOW, limit=5) == [kept]


async def test_whoever_changes_data_is_heard_of(database):
    records, texts = SqlRecords(database), SqlTexts(database)
    stored = await told(records, *(a_memory(f"The canary {n}", data={"lot": n % 5} if n else {}) for n in range(30)))
    asked = Filter(scope=Scope(), data={"lot": 3})
    await held(database, asked)

    def by_hand(*changes):
        """As somebody does who has never heard of columns."""
        with closing(sqlite3.connect(database.path)) as file, file:
            for place, data in changes:
                file.execute("UPDATE memories SET data = ? WHERE id = ?", (data, stored[place].id.bytes))

    for changes in ([(1, '{"lot":3}'), (3, '{"lot":1}')], [(0, '{"lot":3}')], [(0, None), (8, "{}")]):
        by_hand(*changes)
        rows = await all_rows(records, Scope())
        await check(database, asked, rows)
        wanted = {row.id for row in rows if asked.matches(row, NOW)}
        assert {one.id for one in await texts.match(["canary"], asked, now=NOW, limit=50)} == wanted
    assert stored[1].id in wanted
    assert not wanted & {stored[place].id for place in (0, 3, 8)}


async def test_every_tenant_has_columns_of_its_own(database):
    records = SqlRecords(database)
    await told(records, *(a_memory(f"Fact {n}", scope=Scope(tenant=f"t-{n % 2}"), data={"n": n}) for n in range(30)))
    for tenant in ("t-0", "t-1", "t-2"):
        asked = Filter(scope=Scope(tenant=tenant), data={"n": {"gte": 0}})
        assert len((await held(database, asked)).among) == (0 if tenant == "t-2" else 15)
        assert {one.scope.tenant for one in await records.find(asked, now=NOW, limit=50)} <= {tenant}


async def test_a_column_is_read_again_when_too_much_has_changed_or_another_store_is_there(database):
    records = SqlRecords(database)
    stored = await told(records, *(a_memory(f"Fact {n}", data={"n": n}) for n in range(60)))
    asked = Filter(scope=Scope(), data={"n": {"gte": 0}})
    await held(database, asked)
    await records.close(Scope(), [one.id for one in stored[:40]], at=NOW, because="wrong")
    await check(database, asked, await all_rows(records, Scope()))
    await database.write(lambda connection: connection.execute(text("DELETE FROM text_changes")))
    await check(database, asked, await all_rows(records, Scope()))


async def test_a_small_file_and_a_first_question_are_left_to_the_file(database, monkeypatch):
    monkeypatch.setattr(columns_module, "PATIENCE", 1)
    monkeypatch.setattr(columns_module, "SMALL", 10)
    records, columns = SqlRecords(database), columns_of(database)
    asked = Filter(scope=Scope(), data={"n": 1})

    def ask(connection):
        return columns.narrowed(connection, asked)

    await told(records, *(a_memory(f"Fact {n}", data={"n": n}) for n in range(10)))
    for _ in range(3):
        assert await database.read(ask) is None
    assert not columns._kept
    await told(records, a_memory("One more", data={"n": 1}))
    assert await database.read(ask) is None
    [place] = columns._kept.values()
    assert (place.patience, place.reading) == (0, False)
    assert len((await held(database, asked)).among) == 2


async def test_what_takes_too_much_room_is_let_go_of(database, monkeypatch):
    records, columns = SqlRecords(database), columns_of(database)
    await told(records, *(a_memory(f"Fact {n}", data={"long": f"{n}" * 50, "n": 1}) for n in range(50)))
    monkeypatch.setattr(columns_module, "LARGEST", 3_000)
    asked = Filter(scope=Scope(), data={"long": "x"})
    await database.read(lambda connection: columns.narrowed(connection, asked))
    async with asyncio.timeout(20):
        while not (place := columns._kept["default", "long"]).refused_until:  # noqa: ASYNC110 -- a thread reads it, and tells nobody
            await asyncio.sleep(0.001)
    assert place.column is None
    assert await records.find(asked, now=NOW, limit=1) == []
    assert await held(database, Filter(scope=Scope(), data={"n": 1}))
    monkeypatch.setattr(columns_module, "MOST", 1)
    await held(database, Filter(scope=Scope(), data={"missing": 1}))
    assert list(columns._kept) == [("default", "missing")]


async def test_what_is_too_large_is_not_read_to_its_end(database, monkeypatch):
    records, columns = SqlRecords(database), columns_of(database)
    await told(records, *(a_memory(f"Fact {n}", data={"long": f"{n} {'x' * 100}"}) for n in range(200)))
    monkeypatch.setattr(columns_module, "LARGEST", 3_000)
    read = []

    def noted(*some, named=columns_module._named, **more):
        read.append(some)
        return named(*some, **more)

    monkeypatch.setattr(columns_module, "_named", noted)
    await records.count(Filter(scope=Scope(), data={"long": "x"}), now=NOW)
    await at_rest(columns)
    assert columns._kept["default", "long"].refused_until
    assert 0 < len(read) < 10


async def test_a_question_with_many_conditions_is_asked_of_few_columns(database):
    records, columns = SqlRecords(database), columns_of(database)
    every = {f"p{n}": 1 for n in range(MOST_CONDITIONS)}
    await told(records, a_memory("All", data=every), a_memory("But one", data={**every, "p99": 2}))
    begun = []

    def noted(*some, begin=columns._aside.begin, **more):
        begun.append(some)
        begin(*some, **more)

    columns._aside.begin = noted
    for _ in range(20):
        assert (await records.count(Filter(scope=Scope(), data=every), now=NOW)).current == 1
        await at_rest(columns)
    assert len(begun) == len(columns._kept) == columns_module.EACH
    assert len((await held(database, Filter(scope=Scope(), data=every))).rest.data) == 92


async def test_no_more_columns_are_read_at_once_than_may_be(database, monkeypatch):
    records, columns = SqlRecords(database), columns_of(database)
    await told(records, *(a_memory(f"Fact {n}", data={"n": n}) for n in range(50)))
    most = 0

    def slowly(*some, begin=columns._aside.begin, **more):
        nonlocal most
        time.sleep(0.02)
        begin(*some, **more)
        most = max(most, columns._aside.busy)

    monkeypatch.setattr(columns._aside, "begin", slowly)
    monkeypatch.setattr(columns_module, "PAUSE", 0.02)
    await asyncio.gather(*(records.count(Filter(scope=Scope(), data={f"p{n}": 1}), now=NOW) for n in range(12)))
    assert most == columns_module.READ_AT_ONCE
    await at_rest(columns)


async def test_a_column_that_had_to_go_is_not_read_to_its_end(database, monkeypatch):
    records, columns = SqlRecords(database), columns_of(database)
    await told(records, *(a_memory(f"Fact {n}", data={"n": n}) for n in range(50)))
    for name, value in {"MOST": 1, "STRETCH": 1, "PAUSE": 1.0}.items():
        monkeypatch.setattr(columns_module, name, value)
    await records.count(Filter(scope=Scope(), data={"n": 1}), now=NOW)
    monkeypatch.setattr(columns_module, "SMALL", 1_000)
    columns._keep("default", "m")
    await at_rest(columns)
    assert list(columns._kept) == [("default", "m")]


async def test_where_no_thread_is_to_be_had_the_file_answers(database, monkeypatch):
    records = SqlRecords(database)
    await told(records, a_memory("Fact", data={"n": 1}))

    def refuse(*_, **__):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(columns_of(database)._aside, "begin", refuse)
    asked = Filter(scope=Scope(), data={"n": 1})
    for _ in range(3):
        assert len(await records.find(asked, now=NOW, limit=1)) == 1
    [place] = columns_of(database)._kept.values()
    assert not place.reading


async def test_data_that_older_versions_wrote_is_read_however_it_is_spelled(database):
    records = SqlRecords(database)
    [memory] = await told(records, a_memory("Fact", data={"naïve": "oui", "n": 1}))
    escaped = json.dumps(memory.data)

    def rewrite(connection):
        connection.execute(text("UPDATE memories SET data = :data"), {"data": escaped})

    await database.write(rewrite)
    assert "\\u00ef" in sqlite3.connect(database.path).execute("SELECT data FROM memories").fetchone()[0]
    for data in ({"naïve": "oui"}, {"n": 1}):
        assert await held(database, Filter(scope=Scope(), data=data))
        assert await records.find(Filter(scope=Scope(), data=data), now=NOW, limit=1) == [memory]


async def test_closing_waits_for_what_is_being_read(tmp_path, monkeypatch):
    from scrubjay.backends.sql.migrate import migrate

    monkeypatch.setattr(columns_module, "PAUSE", 0.01)
    monkeypatch.setattr(columns_module, "STRETCH", 1)
    database = Database(f"sqlite:///{tmp_path}/other.db")
    await migrate(database)
    records = SqlRecords(database)
    await records.write([a_memory(f"Fact {n}", data={"n": n}) for n in range(500)], keep_all)
    await records.count(Filter(scope=Scope(), data={"n": 1}), now=NOW)
    columns = columns_of(database)
    assert columns._aside.busy
    await database.shut()
    assert not columns._aside.busy
