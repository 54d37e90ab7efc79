"""Large tenants that are not in memory: the signs that are kept of them, what these survive, and loading aside."""

import asyncio
import json
import os
import sqlite3
import stat
import time
from contextlib import closing
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pytest

from scrubjay.backends import aside
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.readers import THREADS
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors import embedded, keeper, kept, signs, unloaded
from scrubjay.backends.vectors.coded import question
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.kept import Files, Origin
from scrubjay.errors import Closed, InvalidInput
from scrubjay.model import Filter
from scrubjay.testing import NOW, a_scope
from scrubjay.testing.vectors import HERE, an_entry, directions, ids_of

MANY = 1_500
DIMENSIONS = 256
KEY = (1, "default")
ALL = Filter(scope=a_scope(None))


def clustered(many, *, seed=3):
    """Vectors as embedders make them: topics, and a part that all have in common."""
    generator = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((30, DIMENSIONS))
    rows = topics[generator.integers(0, 30, many)] + 0.8 * generator.standard_normal((many, DIMENSIONS)) + 0.3
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def entries():
    kinds = ("note", "rule", "skill")
    return [
        an_entry(row, kind=kinds[place % 3], scope=a_scope(f"u-{place % 30}" if place % 2 else "anna"))
        for place, row in enumerate(clustered(MANY))
    ]


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Small tenants count as large, hardly any rows are few, and files are looked after at every search."""
    monkeypatch.setattr(signs, "MANY", 500)
    monkeypatch.setattr(embedded, "NARROW", 100)
    monkeypatch.setattr(embedded, "NARROW_MEANWHILE", 100)
    monkeypatch.setattr(unloaded, "READ_AT_LEAST", 200)
    monkeypatch.setattr(keeper, "SECONDS", 0.0)


@pytest.fixture
async def opened(tmp_path):
    """Opens engines on one database, each as another process would."""
    parts = []

    async def open_one(**options):
        database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
        if not parts:
            await database.write(metadata.create_all)
        engine = EmbeddedVectors(database, **options)
        parts.append((engine, database))
        return engine

    yield open_one
    for engine, database in parts:
        await engine.shut()
        await database.shut()


@pytest.fixture
async def engine(opened, entries):
    """An engine that has loaded all entries and keeps their signs."""
    engine = await opened()
    await engine.upsert(1, entries)
    await searched(engine)
    await settled(engine)
    return engine


async def searched(engine, asked=None, filter=ALL, **options):
    asked = clustered(1)[0] if asked is None else asked
    return ids_of(await engine.search(1, asked, filter, now=NOW, limit=10, **options))


async def settled(engine):
    """Wait until nothing is done aside."""
    async with asyncio.timeout(60):
        while engine._aside._threads:  # noqa: ASYNC110 -- threads have nothing to await
            await asyncio.sleep(0.005)


def files_in(tmp_path):
    folder = tmp_path / "scrubjay.db.signs"
    return sorted(folder.iterdir()) if folder.exists() else []


def header_of(path):
    return json.loads(path.read_bytes().partition(b"\n")[0])


async def test_a_large_tenant_answers_from_its_signs_while_it_is_loaded_aside(opened, engine):
    late = await opened()
    for asked in clustered(3, seed=6):
        found, wanted = await searched(late, asked), await searched(engine, asked)
        assert len(set(found) & set(wanted)) >= 9
        assert late._partitions[KEY].matrix is None, "three searches are no reason to load it"
    await searched(late)
    await settled(late)
    assert len(late._partitions[KEY].matrix) == MANY
    assert late._partitions[KEY].kept is None
    for asked in clustered(3, seed=6):
        assert await searched(late, asked) == await searched(engine, asked)


async def test_only_what_is_likely_to_be_near_is_read(opened, engine, monkeypatch):
    read = []
    real = unloaded.of_signs
    monkeypatch.setattr(embedded, "of_signs", lambda *given, **asked: read.append(real(*given, **asked)) or read[-1])
    late = await opened()
    found = wanted = 0
    for asked in clustered(40, seed=4):
        late._partitions.clear()
        near = await searched(engine, asked)
        found += len(set(near) & set(await searched(late, asked)))
        wanted += len(near)
    assert found / wanted >= 0.97
    assert {200 <= len(matrix) < 220 for matrix in read} == {True}


async def test_a_filter_that_drops_most_has_more_read_and_at_last_everything(opened, engine, monkeypatch):
    asked = Filter(scope=a_scope(), kinds=("rule",))
    late = await opened()
    assert len(await searched(late, filter=asked)) == 10
    assert late._partitions[KEY].matrix is None
    nobody = Filter(scope=a_scope(), kinds=("nothing",))
    assert await searched(late, filter=nobody) == []
    assert len(late._partitions[KEY].matrix) == MANY


async def test_what_changed_since_counts_before_the_tenant_is_loaded(opened, engine, entries):
    asked = entries[0].vectors[0]
    [mine] = [an_entry(asked)]
    await engine.upsert(1, [mine])
    await engine.retire([entries[0].id])
    await engine.upsert(1, [an_entry(-entries[2].vectors[0], id=entries[2].id)])
    late = await opened()
    found = await searched(late, asked)
    assert found[0] == mine.id
    assert entries[0].id not in found
    assert (await searched(late, asked, HERE))[0] == mine.id
    assert entries[2].id not in await searched(late, entries[2].vectors[0])
    assert late._partitions[KEY].matrix is None


async def test_where_more_has_changed_than_is_read_at_once_the_tenant_is_loaded_first(opened, engine, monkeypatch):
    monkeypatch.setattr(unloaded, "NARROW_MEANWHILE", 20)
    [asked] = clustered(1, seed=6)
    new = [an_entry(row) for row in (asked, *clustered(20, seed=7))]
    await engine.upsert(1, new)
    late = await opened()
    assert (await searched(late, asked))[0] == new[0].id
    assert len(late._partitions[KEY].matrix) == MANY + 21


async def test_without_a_file_a_large_tenant_is_loaded_first(opened, engine, entries):
    engine._keeper.forget(generation=1)
    late = await opened()
    assert (await searched(late, entries[0].vectors[0]))[0] == entries[0].id
    assert len(late._partitions[KEY].matrix) == MANY


async def test_signs_are_kept_again_when_one_in_fifty_has_changed(engine, tmp_path):
    [path] = files_in(tmp_path)
    before = header_of(path)
    assert before["count"] == MANY
    await engine.upsert(1, [an_entry(row) for row in clustered(MANY // 50 - 1, seed=7)])
    await searched(engine)
    await settled(engine)
    assert header_of(path) == before
    await engine.upsert(1, [an_entry(row) for row in clustered(20, seed=8)])
    await searched(engine)
    await settled(engine)
    assert header_of(path)["count"] == MANY + MANY // 50 - 1 + 20
    assert header_of(path)["change"] > before["change"]


async def test_who_has_loaded_a_tenant_looks_after_its_file_once_a_minute(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(keeper, "SECONDS", 60.0)
    [path] = files_in(tmp_path)
    path.unlink()
    await searched(engine)
    await settled(engine)
    assert files_in(tmp_path) == []
    engine._partitions[KEY].looked_at -= 60
    await searched(engine)
    await settled(engine)
    assert files_in(tmp_path) == [path]


async def test_a_file_is_for_its_owner_only(engine, tmp_path):
    [path] = files_in(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_what_was_abandoned_while_it_was_written_is_swept(engine, tmp_path):
    [path] = files_in(tmp_path)
    dead, alive = path.with_name("1-dead-1.new"), path.with_name("1-alive-1.new")
    for one, age in ((dead, kept.ABANDONED_SECONDS + 60), (alive, 60)):
        one.write_bytes(b"half")
        os.utime(one, (time.time() - age,) * 2)
    path.unlink()
    await searched(engine)
    await settled(engine)
    assert set(files_in(tmp_path)) == {path, alive}


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    return content[:-100] + bytes([content[-100] ^ 0xFF]) + content[-99:]


def told(**changes):
    def change(content):
        line, _, rest = content.partition(b"\n")
        return json.dumps({**json.loads(line), **changes}).encode() + b"\n" + rest

    return change


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        lambda content: b"",
        lambda content: b"[]" + content,
        lambda content: content.replace(b"\n", b" ", 1),
        told(count=MANY + 1),
        told(count="all"),
        told(dimensions=None),
        told(extra=1),
    ],
)
async def test_a_damaged_file_is_deleted_and_replaced(opened, engine, tmp_path, damage):
    [path] = files_in(tmp_path)
    before = path.read_bytes()
    path.write_bytes(damage(before))
    late = await opened()
    wanted = await searched(late, filter=HERE)
    assert len(late._partitions[KEY].matrix) == MANY, "there was nothing else to answer from"
    assert wanted == await searched(engine, filter=HERE)
    await settled(late)
    await settled(engine)
    assert header_of(path) == header_of(path) | {"count": MANY}
    assert path.read_bytes().partition(b"\n")[2] == before.partition(b"\n")[2]


@pytest.mark.parametrize(
    "foreign",
    [{"history": 99}, {"epoch": 99}, {"change": 99}, {"format": 0}, {"tenant": "another"}, {"generation": 2}],
)
async def test_a_foreign_file_is_ignored_and_replaced(opened, engine, tmp_path, foreign):
    [path] = files_in(tmp_path)
    before = header_of(path)
    path.write_bytes(told(**foreign)(path.read_bytes()))
    late = await opened()
    await searched(late)
    assert len(late._partitions[KEY].matrix) == MANY
    await settled(late)
    assert header_of(path) == before


async def test_signs_of_the_store_that_was_in_the_file_before_are_not_asked(opened, engine, tmp_path):
    [path] = files_in(tmp_path)
    before = header_of(path)
    with closing(sqlite3.connect(tmp_path / "scrubjay.db")) as file, closing(sqlite3.connect(":memory:")) as copy:
        file.backup(copy)
        copy.backup(file)
    late = await opened()
    await searched(late)
    assert len(late._partitions[KEY].matrix) == MANY, "it was loaded first, for there was nothing to answer from"
    await settled(late)
    assert header_of(path) == before | {"history": before["history"] + 1}


async def test_vectors_that_are_too_short_for_signs_are_kept_nowhere(opened, tmp_path):
    engine = await opened()
    await engine.upsert(1, [an_entry(row) for row in directions(600)])
    await searched(engine, directions(1)[0])
    await settled(engine)
    assert files_in(tmp_path) == []


async def test_what_is_removed_or_dropped_is_not_kept(engine, entries, tmp_path):
    await engine.upsert(2, entries[:10])
    await engine.drop(2)
    assert len(files_in(tmp_path)) == 1
    await engine.remove([an_entry(*directions(1)).id])
    assert len(files_in(tmp_path)) == 1, "nothing was removed"
    await engine.remove(ids_of(entries[:1]))
    assert files_in(tmp_path) == []
    await searched(engine)
    await settled(engine)
    [path] = files_in(tmp_path)
    assert header_of(path)["count"] == MANY - 1
    await engine.drop(1)
    assert files_in(tmp_path) == []
    assert await searched(engine) == []


async def test_what_is_removed_while_signs_are_written_is_not_kept_either(engine, entries, tmp_path, monkeypatch):
    [path] = files_in(tmp_path)
    path.unlink()
    written, go_on = Event(), Event()
    keep = Files.keep

    def keeping(*given, **said):
        written.set()
        go_on.wait(60)
        keep(*given, **said)

    monkeypatch.setattr(Files, "keep", keeping)
    await searched(engine)
    assert await asyncio.to_thread(written.wait, 60)
    await engine.remove(ids_of(entries[:1]))
    go_on.set()
    await settled(engine)
    assert files_in(tmp_path) == []


async def test_a_folder_that_cannot_be_written_to_costs_only_the_file(opened, engine, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    other = await opened(folder=tmp_path / "file" / "signs")
    assert await searched(other) == await searched(engine)
    await settled(other)
    assert await searched(other) == await searched(engine)


async def test_graphs_of_versions_before_are_cleared_away(opened, tmp_path):
    graphs = tmp_path / "scrubjay.db.graph"
    graphs.mkdir()
    (graphs / "1-0123.json").write_text("{}")
    (tmp_path / "other.db.graph").mkdir()
    await opened()
    assert not graphs.exists()
    assert (tmp_path / "other.db.graph").exists()


async def loading(opened, monkeypatch, entries):
    """An engine whose loader has read everything and hands over when it is let go, and how to let it go."""
    read, give, real = Event(), Event(), unloaded.loaded

    def held_back(*given):
        matrix = real(*given)
        read.set()
        give.wait(60)
        return matrix

    monkeypatch.setattr(unloaded, "loaded", held_back)
    late = await opened()
    for _ in range(4):
        await searched(late)
    assert await asyncio.to_thread(read.wait, 60), "all rows have been read"
    return late, give


async def test_who_waits_for_the_one_who_loads_misses_nothing_that_was_written_meanwhile(
    opened, engine, entries, monkeypatch
):
    late, give = await loading(opened, monkeypatch, entries)
    [mine] = [an_entry(entries[7].vectors[0])]
    await engine.upsert(1, [mine])
    named = ids_of([mine, *entries])
    searching = asyncio.create_task(searched(late, mine.vectors[0], among=named))
    await asyncio.sleep(0.05)
    assert not searching.done()
    give.set()
    assert set(await searching) >= {mine.id, entries[7].id}


async def test_those_who_wait_for_the_one_who_loads_keep_nobody_else_waiting(opened, engine, entries, monkeypatch):
    late, give = await loading(opened, monkeypatch, entries)
    named = ids_of(entries)
    waiting = [asyncio.create_task(searched(late, among=named)) for _ in range(2 * THREADS)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(10):
        assert await late.count(1) == MANY
        assert len(await searched(late)) == 10
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    assert not any(task.done() for task in waiting[1:]), "one who gave up has not given up for the others"
    give.set()
    answers = await asyncio.gather(*waiting[1:])
    assert {len(answer) for answer in answers} == {10}


async def test_several_reads_that_are_made_as_one_wait_as_one(opened, engine, entries, monkeypatch):
    late, give = await loading(opened, monkeypatch, entries)

    async def several():
        return await late.count(1), await searched(late, among=ids_of(entries)), await late.count(1)

    asked = asyncio.create_task(late._database.together(several))
    await asyncio.sleep(0.05)
    assert not asked.done()
    give.set()
    before, found, after = await asked
    assert (before, len(found), after) == (MANY, 10, MANY)


async def test_those_who_wait_are_told_why_a_tenant_could_not_be_loaded(opened, engine, entries, monkeypatch):
    def failing(*_):
        raise MemoryError("too many rows")

    with monkeypatch.context() as patched:
        patched.setattr(unloaded, "loaded", failing)
        late = await opened()
        with pytest.raises(MemoryError, match="too many"):
            await searched(late, among=ids_of(entries))
    assert len(await searched(late, among=ids_of(entries))) == 10


async def test_who_asks_with_a_vector_of_another_size_is_refused_and_nobody_else(opened, engine, entries, monkeypatch):
    go_on, real = Event(), unloaded.loaded
    monkeypatch.setattr(unloaded, "loaded", lambda *given: go_on.wait(60) and real(*given))
    late = await opened()
    [small] = directions(1, dimensions=32)
    waiting = []
    for asked in (small, clustered(1)[0]):
        waiting.append(asyncio.create_task(searched(late, asked, among=ids_of(entries))))
        await asyncio.sleep(0.05)
    go_on.set()
    refused, found = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(refused, InvalidInput)
    assert len(found) == 10


async def test_a_tenant_that_was_asked_before_it_had_vectors_is_loaded_when_it_has_many(opened, entries):
    late, writer = await opened(), await opened()
    [small] = directions(1, dimensions=32)
    assert await searched(late, small) == []
    await writer.upsert(1, entries)
    async with asyncio.timeout(60):
        assert len(await searched(late)) == 10


class Refused(Thread):
    def start(self):
        raise RuntimeError("can't start new thread")


async def test_a_search_is_answered_where_no_thread_is_left_to_keep_signs(engine, tmp_path, monkeypatch):
    [path] = files_in(tmp_path)
    path.unlink()
    monkeypatch.setattr(aside, "Thread", Refused)
    assert len(await searched(engine)) == 10
    assert files_in(tmp_path) == []


async def test_nobody_waits_for_a_loader_that_could_not_be_started(opened, engine, monkeypatch):
    late = await opened()
    for _ in range(3):
        await searched(late)
    with monkeypatch.context() as patched:
        patched.setattr(aside, "Thread", Refused)
        assert len(await searched(late)) == 10, "it is answered by the signs"
    assert late._partitions[KEY].arrival is None
    await searched(late)
    await settled(late)
    assert len(late._partitions[KEY].matrix) == MANY


async def test_shutting_does_not_wait_until_a_tenant_is_loaded(opened, engine, entries, monkeypatch):
    late, give = await loading(opened, monkeypatch, entries)
    partition = late._partitions[KEY]
    waiting = asyncio.create_task(searched(late, among=ids_of(entries)))
    await asyncio.sleep(0.05)
    shutting = asyncio.create_task(late.shut())
    await asyncio.sleep(0.05)
    give.set()
    await shutting
    assert partition.matrix is None, "it was given up"
    with pytest.raises(Closed):
        await waiting


def test_files_of_two_tenants_and_generations_do_not_meet(tmp_path):
    files = Files(tmp_path / "signs")
    columns = list(np.random.default_rng(1).integers(0, 2**64, (2, 50), dtype=np.uint64))
    first = Origin(generation=1, tenant="a", dimensions=100, history=1, epoch=1, change=7)
    second, other = replace(first, tenant="b"), replace(first, generation=11)
    for origin in (first, second, other):
        files.keep(origin, np.arange(50), columns)
    assert files.find(replace(first, change=9)).change == 7
    for foreign in ({"tenant": "c"}, {"history": 2}, {"epoch": 2}, {"dimensions": 12}, {"change": 6}):
        assert files.find(replace(first, **foreign)) is None
    files.keep(replace(first, change=8), np.arange(50) + 2**40, columns)
    found = files.find(replace(first, change=9))
    assert (found.change, found.numbers.tolist()) == (8, [2**40 + place for place in range(50)])
    assert [column.tolist() for column in found.signs] == [column.tolist() for column in columns]
    assert len(list((tmp_path / "signs").iterdir())) == 3
    files.forget(generation=1)
    assert files.find(second) is None
    assert files.find(other) is not None
    files.forget(tenants=["a"])
    assert list((tmp_path / "signs").iterdir()) == []


def test_a_closer_look_finds_more_of_the_nearest_than_counting_signs():
    rows, asked = clustered(10_000), clustered(20, seed=9)
    columns, every = list(signs.packed_signs(rows > 0).T), np.arange(len(rows))
    looked = counted = 0
    for one in map(question, asked):
        near = set(np.argsort(-(rows @ one.exact), kind="stable")[:10].tolist())
        some = signs.likely(one, columns, every, 500)
        best = signs.likeliest(one, columns, some, 60)
        apart = ((rows[some] > 0) != one.signs).sum(axis=1)
        looked += len(near & set(best.tolist()))
        counted += len(near & set(some[np.argsort(apart, kind="stable")[: len(best)]].tolist()))
    assert looked > 1.1 * counted
    assert signs.likeliest(one, columns, some, len(some)) is some
