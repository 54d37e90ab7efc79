"""The embedded engine on SQLite and on PostgreSQL, loaded and not yet, and beside other processes on one database."""

import asyncio
import subprocess
import sys

import numpy as np
import pytest
from sqlalchemy import func, select

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.sql.schema import vectors as table
from scrubjay.backends.vectors import embedded, signs
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter
from scrubjay.testing import NOW, VectorsSuite, a_scope
from scrubjay.testing.vectors import HERE, an_entry, assert_nearest, directions, entries_of, ids_of


@pytest.fixture
async def url(tmp_path):
    url = f"sqlite:///{tmp_path}/scrubjay.db"
    database = Database(url)
    await database.write(metadata.create_all)
    await database.shut()
    return url


@pytest.fixture
async def opened(url):
    """Opens engines on one database, as many as asked for, each as another process would."""
    parts = []

    def open_one(**options):
        database = Database(url)
        parts.append((EmbeddedVectors(database, **options), database))
        return parts[-1][0]

    yield open_one
    for engine, database in parts:
        await engine.shut()
        await database.shut()


class TestOnSqlite(VectorsSuite):
    @pytest.fixture
    async def vectors(self, opened):
        return opened()


class TestOnSqliteWithLittleMemory(VectorsSuite):
    """Every tenant is let go of as soon as another one is searched."""

    @pytest.fixture
    async def vectors(self, opened):
        return opened(memory=0)


class TestOnSqliteBeforeItIsLoaded(VectorsSuite):
    """What signs say is likely to be near is read from the database, with what changed since they were kept."""

    @pytest.fixture
    async def vectors(self, opened, monkeypatch):
        monkeypatch.setattr(signs, "MANY", 1)
        monkeypatch.setattr(signs, "LEAST_DIMENSIONS", 1)
        monkeypatch.setattr(embedded, "NARROW", 0)
        monkeypatch.setattr(embedded, "NARROW_MEANWHILE", 0)
        return Unloaded(opened(), opened())


class TestOnPostgresql(VectorsSuite):
    @pytest.fixture
    async def vectors(self, emptied_postgres):
        database = Database(emptied_postgres())
        engine = EmbeddedVectors(database)
        yield engine
        await engine.shut()
        await database.shut()


class Unloaded:
    """An engine that has forgotten everything before each search, beside one that has it in memory and keeps signs."""

    def __init__(self, engine, keeping):
        self._engine = engine
        self._keeping = keeping

    def __getattr__(self, name):
        return getattr(self._engine, name)

    async def search(self, *given, **asked):
        wanted = await self._keeping.search(*given, **asked)
        async with asyncio.timeout(60):
            while self._keeping._aside._threads:  # noqa: ASYNC110 -- threads have nothing to await
                await asyncio.sleep(0.005)
        self._engine._partitions.clear()
        found = await self._engine.search(*given, **asked)
        assert found == wanted
        return found


async def found(engine, question, asked=HERE, **options):
    return ids_of(await engine.search(1, question, asked, now=NOW, limit=10, **options))


async def test_what_one_process_writes_another_finds_at_once(opened):
    one, two = opened(), opened()
    entries = entries_of(directions(50))
    question = entries[0].vectors[0]
    await one.upsert(1, entries[:25])
    assert (await found(two, question))[0] == entries[0].id
    await two.upsert(1, entries[25:])
    assert (await found(one, entries[30].vectors[0]))[0] == entries[30].id
    await one.retire([entries[0].id])
    assert entries[0].id not in await found(two, question)
    assert await found(two, question, among=[entries[0].id]) == [entries[0].id]
    await two.remove([entries[0].id, entries[30].id])
    assert await found(one, question, among=ids_of(entries[:1])) == []
    assert entries[30].id not in await found(one, entries[30].vectors[0])
    await one.upsert(1, entries[:1])
    assert (await found(two, question))[0] == entries[0].id


async def test_a_real_second_process_is_heard(opened, url):
    one = opened()
    rows = directions(3)
    mine = an_entry(rows[0])
    await one.upsert(1, [mine])
    assert await found(one, rows[1]) == [mine.id]
    script = f"""
import asyncio
from scrubjay.backends.sql.database import Database
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.testing import NOW
from scrubjay.testing.vectors import HERE, an_entry, directions
async def main():
    database = Database({url!r})
    engine = EmbeddedVectors(database)
    rows = directions(3)
    [match] = await engine.search(1, rows[0], HERE, now=NOW, limit=10)
    await engine.remove([match.id])
    entry = an_entry(rows[1])
    await engine.upsert(1, [entry])
    print(match.id, entry.id)
    await engine.shut()
    await database.shut()
asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=180
    )
    removed, added = done.stdout.split()
    assert removed == str(mine.id)
    assert list(map(str, await found(one, rows[1]))) == [added]


async def test_a_memory_that_changes_its_scope_or_tenant_leaves_the_old_one(opened):
    one, two = opened(), opened()
    question, other = directions(2)
    entry = an_entry(question)
    await one.upsert(1, [entry, an_entry(other)])
    assert len(await found(two, question)) == 2
    for scope in (a_scope("bob"), a_scope(tenant="acme")):
        await one.upsert(1, [an_entry(question, id=entry.id, scope=scope)])
        for engine in (one, two):
            assert entry.id not in await found(engine, question)
            assert entry.id in await found(engine, question, Filter(scope=scope))


async def test_removed_vectors_are_gone_from_the_file(opened, url, tmp_path):
    engine = opened()
    entries = entries_of(directions(30))
    await engine.upsert(1, entries)
    secret = entries[7].vectors.astype("<f2").tobytes()
    pieces = [secret[at : at + 16] for at in range(0, len(secret), 16)]
    file = tmp_path / "scrubjay.db"
    await checkpointed(url)
    assert all(piece in file.read_bytes() for piece in pieces)
    await engine.remove([entries[7].id])
    await checkpointed(url)
    for left in tmp_path.glob("scrubjay.db*"):
        assert not any(piece in left.read_bytes() for piece in pieces)


async def checkpointed(url):
    database = Database(url)
    await asyncio.to_thread(
        lambda: [database._engine.raw_connection().cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()]
    )
    await database.shut()


async def test_many_tombstones_are_swept_and_everybody_hears_of_it(opened, url):
    one, two = opened(), opened()
    entries = entries_of(directions(1_500))
    await one.upsert(1, entries)
    question = entries[-1].vectors[0]
    assert (await found(two, question))[0] == entries[-1].id
    await one.remove(ids_of(entries[:999]))
    assert await rows_stored(url) == 1_500
    await one.remove(ids_of(entries[999:1_100]))
    assert await rows_stored(url) == 400
    for engine in (one, two):
        matches = await engine.search(1, question, HERE, now=NOW, limit=1_000)
        assert set(ids_of(matches)) == set(ids_of(entries[1_100:]))


async def rows_stored(url):
    database = Database(url)
    stored = await database.read(
        lambda connection: connection.execute(select(func.count()).select_from(table)).scalar()
    )
    await database.shut()
    return stored


async def test_parts_that_an_entry_no_longer_has_are_gone(opened):
    engine = opened()
    rows = directions(4)
    entry = an_entry(*rows)
    await engine.upsert(1, [entry])
    await engine.upsert(1, [an_entry(rows[0], id=entry.id)])
    [match] = await engine.search(1, rows[3], HERE, now=NOW, limit=10)
    assert match.score == pytest.approx(float(rows[3] @ rows[0]), abs=2e-3)
    await engine.upsert(1, [an_entry(*rows, id=entry.id)])
    [match] = await engine.search(1, rows[3], HERE, now=NOW, limit=10)
    assert (match.start, match.stop) == (30, 40)


async def test_a_narrow_search_of_a_large_tenant_does_not_load_it(opened, monkeypatch):
    monkeypatch.setattr(embedded, "NARROW", 100)
    writer = opened()
    entries = [an_entry(row, scope=a_scope(f"u-{place % 10}")) for place, row in enumerate(directions(900))]
    await writer.upsert(1, entries)
    mine = entries[3::10]
    asked = Filter(scope=a_scope("u-3"))
    engine = opened()
    [question] = directions(1, seed=9)
    for _ in range(3):
        assert_nearest(await engine.search(1, question, asked, now=NOW, limit=7), mine, question, 7)
        assert engine._partitions[1, "default"].matrix is None
    assert_nearest(await engine.search(1, question, asked, now=NOW, limit=7), mine, question, 7)
    assert len(engine._partitions[1, "default"].matrix) == 900, "who comes back that often is better served from memory"

    engine = opened()
    named = entries[5:25]
    everywhere = Filter(scope=a_scope(None), reach="holds")
    matches = await engine.search(1, question, everywhere, now=NOW, limit=7, among=ids_of(named))
    assert_nearest(matches, named, question, 7)
    assert engine._partitions[1, "default"].matrix is None


async def test_tenants_that_were_not_searched_for_longest_are_let_go(opened):
    engine = opened(memory=400_000)
    for tenant in "abc":
        await engine.upsert(1, entries_of(directions(500), scope=a_scope(tenant=tenant)))
    for tenant in "abcab":
        assert len(await found(engine, directions(1)[0], Filter(scope=a_scope(tenant=tenant)))) == 10
    assert sum(partition.size for partition in engine._partitions.values()) <= 400_000
    assert list(engine._partitions)[-1] == (1, "b")


async def test_searches_and_writes_at_once_agree_with_some_order(opened):
    one, two = opened(), opened()
    rows = directions(400)
    stays = entries_of(rows[:200])
    await one.upsert(1, stays)

    async def write():
        for start in range(200, 400, 20):
            entries = entries_of(rows[start : start + 20])
            await one.upsert(1, entries)
            await two.remove(ids_of(entries[::2]))
            await one.upsert(1, stays[:50])

    async def ask(engine):
        for row in rows[:100]:
            matches = await engine.search(1, row, HERE, now=NOW, limit=400)
            assert set(ids_of(stays)) <= set(ids_of(matches))

    await asyncio.gather(write(), ask(one), ask(one), ask(two))
    assert await one.count(1) == 300


async def test_vectors_of_another_size_are_refused(opened):
    engine = opened()
    await engine.upsert(1, entries_of(directions(5)))
    [small] = directions(1, dimensions=32)
    with pytest.raises(InvalidInput, match="32"):
        await engine.search(1, small, HERE, now=NOW, limit=3)
    assert len(await found(engine, directions(1)[0])) == 5
    with pytest.raises(InvalidInput, match="32"):
        await engine.search(1, small, HERE, now=NOW, limit=3)
    with pytest.raises(InvalidInput, match="32 and 64"):
        await engine.upsert(1, [an_entry(small), *entries_of(directions(1))])


async def test_vectors_with_numbers_that_are_not_finite_are_refused(opened):
    engine = opened()
    good, broken = directions(2)
    broken[3] = np.nan
    with pytest.raises(InvalidInput, match="finite"):
        await engine.upsert(1, [an_entry(good), an_entry(broken)])
    assert await engine.count(1) == 0
    with pytest.raises(InvalidInput, match="finite"):
        await engine.search(1, broken, HERE, now=NOW, limit=3)


async def test_a_generation_that_was_asked_before_it_had_vectors(opened):
    engine = opened()
    [small] = directions(1, dimensions=32)
    assert await found(engine, small) == []
    entries = entries_of(directions(3))
    await engine.upsert(1, entries)
    assert len(await found(engine, entries[0].vectors[0])) == 3
