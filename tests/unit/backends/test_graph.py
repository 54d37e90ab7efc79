"""The graph: what it proposes, what it survives, and its snapshots."""

import asyncio
import json
from threading import Event, Thread

import numpy as np
import pytest

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors import embedded, unloaded
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.graph import RELIABLE, Source, build
from scrubjay.backends.vectors.snapshots import Snapshots
from scrubjay.model import Filter
from scrubjay.testing import NOW, a_scope
from scrubjay.testing.vectors import HERE, an_entry, directions, ids_of

MANY = 1_500
KEY = (1, "default")


def clustered(many, *, seed=3):
    """Vectors as embedders make them: topics, and a part that all have in common."""
    generator = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((30, 64))
    rows = topics[generator.integers(0, 30, many)] + 0.8 * generator.standard_normal((many, 64)) + 0.3
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def entries():
    kinds = ("note", "rule", "skill")
    return [
        an_entry(row, kind=kinds[place % 3], scope=a_scope(f"u-{place % 30}" if place % 2 else "anna"))
        for place, row in enumerate(clustered(MANY))
    ]


@pytest.fixture
async def opened(tmp_path):
    """Opens engines on one database, each as another process would."""
    parts = []

    async def open_one(**options):
        database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
        if not parts:
            await database.write(metadata.create_all)
        engine = EmbeddedVectors(database, **{"graph_from": 500, **options})
        parts.append((engine, database))
        return engine

    yield open_one
    for engine, database in parts:
        await engine.shut()
        await database.shut()


@pytest.fixture
async def engine(opened, entries):
    """An engine with a graph over all entries, and an exact one beside it."""
    engine = await opened()
    await engine.upsert(1, entries)
    await with_graph(engine)
    return engine


@pytest.fixture
async def exact(opened, engine):
    return await opened(graph_from=10**9)


async def with_graph(engine):
    """Search until the engine has a graph, and nothing is being built."""
    async with asyncio.timeout(60):
        while True:
            await engine.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
            partition = engine._partitions[KEY]
            if partition.graph is not None and not partition.building and not partition.graph.stale:
                return partition.graph
            await asyncio.sleep(0.02)


ALL = Filter(scope=a_scope(None))


async def recall(engine, exact, asked=ALL, limit=10):
    hits = 0
    for question in clustered(40, seed=4):
        wanted = ids_of(await exact.search(1, question, asked, now=NOW, limit=limit))
        found = ids_of(await engine.search(1, question, asked, now=NOW, limit=limit))
        assert len(found) == len(wanted) == limit
        hits += len(set(found) & set(wanted))
    return hits / (40 * limit)


def count_proposals(engine, monkeypatch):
    """Count how often the graph is asked."""
    graph = engine._partitions[KEY].graph
    proposals = []
    real = type(graph).propose

    def propose(self, *given, **asked):
        slots = real(self, *given, **asked)
        proposals.append(slots)
        return slots

    monkeypatch.setattr(type(graph), "propose", propose)
    return proposals


async def test_the_graph_finds_what_the_exact_search_finds(engine, exact, monkeypatch):
    proposals = count_proposals(engine, monkeypatch)
    assert await recall(engine, exact) >= 0.95
    assert len(proposals) == 40
    assert max(len(slots) for slots in proposals) < MANY / 4


async def test_scores_come_from_the_stored_vectors(engine, exact):
    for question in clustered(10, seed=5):
        [best] = await exact.search(1, question, ALL, now=NOW, limit=1)
        [found] = await engine.search(1, question, ALL, now=NOW, limit=1)
        assert found == best


async def test_wide_filters_go_through_the_graph_and_narrow_ones_do_not(engine, exact, monkeypatch):
    proposals = count_proposals(engine, monkeypatch)
    for asked in (Filter(scope=a_scope()), Filter(scope=a_scope(None), kinds=("rule",))):
        assert await recall(engine, exact, asked) >= 0.95
    assert len(proposals) == 80
    assert await recall(engine, exact, Filter(scope=a_scope("u-7"))) == 1
    assert len(proposals) == 80


async def test_an_exact_search_answers_when_the_graph_finds_too_few(engine, exact, monkeypatch):
    proposals = count_proposals(engine, monkeypatch)
    assert await recall(engine, exact, limit=600) == 1
    assert set(map(type, proposals)) == {type(None)}


async def test_a_graph_that_has_lost_its_ways_is_not_asked(engine, exact, monkeypatch):
    graph = engine._partitions[KEY].graph
    assert graph.try_out() >= RELIABLE
    assert graph.is_reliable
    # Rows that no way leads to are never proposed, as if they were not in the graph.
    for label in range(1, MANY, 2):
        graph.index.remove(label)
    assert graph.try_out() < RELIABLE
    proposals = count_proposals(engine, monkeypatch)
    assert await recall(engine, exact) == 1.0
    assert not proposals


async def test_what_was_retired_before_does_not_count_against_a_graph(opened, entries):
    engine = await opened()
    await engine.upsert(1, entries)
    await engine.retire([entry.id for entry in entries[: MANY // 2]])
    assert (await with_graph(engine)).is_reliable


async def test_changes_after_the_graph_was_built_count_at_once(engine, exact, entries):
    graph = engine._partitions[KEY].graph
    question = clustered(1, seed=6)[0]
    nearest = await engine.search(1, question, ALL, now=NOW, limit=10)
    gone, past, moved = ids_of(nearest)[:3]
    await exact.remove([gone])
    await exact.retire([past])
    await exact.upsert(1, [an_entry(-question, id=moved)])
    new = an_entry(question)
    await exact.upsert(1, [new])
    found = ids_of(await engine.search(1, question, ALL, now=NOW, limit=10))
    assert found[0] == new.id
    assert not {gone, past, moved} & set(found)
    assert found == ids_of(await exact.search(1, question, ALL, now=NOW, limit=10))
    assert engine._partitions[KEY].graph is graph


async def test_the_graph_is_built_again_when_a_tenth_has_changed(engine, exact):
    old = engine._partitions[KEY].graph
    await engine.upsert(1, [an_entry(row) for row in clustered(MANY // 5, seed=7)])
    new = await with_graph(engine)
    assert new.change > old.change
    assert await recall(engine, exact) >= 0.95


async def test_the_graph_outlives_the_removal_of_many_rows(engine, exact, entries):
    await engine.remove(ids_of(entries[:700]))
    assert await recall(engine, exact) >= 0.95
    await with_graph(engine)
    assert await recall(engine, exact) >= 0.95


def snapshot_files(tmp_path):
    return sorted(path.name for path in (tmp_path / "scrubjay.db.graph").iterdir())


async def test_another_process_uses_the_snapshot_and_the_changes_since(opened, engine, exact, tmp_path):
    files = snapshot_files(tmp_path)
    assert len(files) == 2
    question = clustered(1, seed=6)[0]
    new = an_entry(question)
    await engine.upsert(1, [new])
    await engine.retire([ids_of(await engine.search(1, question, ALL, now=NOW, limit=2))[1]])
    other = await opened()
    graph = await with_graph(other)
    assert graph.change == engine._partitions[KEY].graph.change, "one that was built now would be newer"
    assert snapshot_files(tmp_path) == files
    for asked in (question, *clustered(5, seed=8)):
        wanted = await exact.search(1, asked, ALL, now=NOW, limit=5)
        assert await other.search(1, asked, ALL, now=NOW, limit=5) == wanted
    assert (await other.search(1, question, ALL, now=NOW, limit=5))[0].id == new.id


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("which", "damage"),
    [
        ("usearch", cut),
        ("usearch", flip),
        ("usearch", lambda path: path.unlink()),
        ("json", cut),
        ("json", lambda path: path.write_text("[]")),
        ("json", lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "epoch": 99}))),
        ("json", lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "format": 0}))),
    ],
)
async def test_a_damaged_or_foreign_snapshot_is_ignored_and_replaced(opened, engine, exact, tmp_path, which, damage):
    folder = tmp_path / "scrubjay.db.graph"
    [header] = folder.glob("*.json")
    before = header.read_text()
    [path] = folder.glob(f"*.{which}")
    damage(path)
    other = await opened()
    await with_graph(other)
    assert await recall(other, exact) >= 0.95
    await other.shut()
    after = json.loads(header.read_text())
    assert header.read_text() != before
    assert after["count"] == MANY
    assert (folder / after["file"]).stat().st_size == after["size"]


@pytest.fixture
def hardly_any_are_few(monkeypatch):
    """More rows than these are not read for one search."""
    monkeypatch.setattr(embedded, "NARROW", 100)
    monkeypatch.setattr(embedded, "NARROW_MEANWHILE", 100)


async def with_matrix(engine):
    """Search until the tenant is in memory; return how often it was not."""
    times = 0
    async with asyncio.timeout(60):
        while engine._partitions[KEY].matrix is None:
            assert len(await engine.search(1, clustered(1)[0], ALL, now=NOW, limit=10)) == 10
            times += 1
            await asyncio.sleep(0.02)
    return times


async def test_a_large_tenant_answers_from_its_snapshot_while_it_is_loaded_aside(
    opened, engine, exact, entries, hardly_any_are_few
):
    first = await opened()
    for question in clustered(3, seed=6):
        wanted = await exact.search(1, question, ALL, now=NOW, limit=10)
        found = await first.search(1, question, ALL, now=NOW, limit=10)
        assert len(set(ids_of(found)) & set(ids_of(wanted))) >= 9
        assert first._partitions[KEY].matrix is None, "three searches are no reason to load it"
    await with_matrix(first)
    assert len(first._partitions[KEY].matrix) == MANY
    assert first._partitions[KEY].graph is not None, "the snapshot serves on"
    assert await recall(first, exact) >= 0.95


async def test_what_changed_since_the_snapshot_counts_before_the_tenant_is_loaded(
    opened, engine, entries, hardly_any_are_few
):
    question = entries[0].vectors[0]
    [mine] = [an_entry(question)]
    await engine.upsert(1, [mine])
    await engine.retire([entries[0].id])
    late = await opened()
    found = ids_of(await late.search(1, question, ALL, now=NOW, limit=10))
    assert found[0] == mine.id
    assert entries[0].id not in found
    assert late._partitions[KEY].matrix is None
    assert ids_of(await late.search(1, question, HERE, now=NOW, limit=10))[0] == mine.id


async def test_without_a_snapshot_a_large_tenant_is_loaded_by_who_asks(opened, engine, entries, hardly_any_are_few):
    engine._builder.forget(generation=1)
    late = await opened()
    found = await late.search(1, entries[0].vectors[0], ALL, now=NOW, limit=10)
    assert found[0].id == entries[0].id
    assert len(late._partitions[KEY].matrix) == MANY


async def test_a_search_that_cannot_be_answered_aside_waits_for_the_one_who_loads(
    opened, engine, entries, hardly_any_are_few
):
    late = await opened()
    for _ in range(4):
        await late.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
    named = ids_of(entries)
    found = await late.search(1, entries[7].vectors[0], ALL, now=NOW, limit=10, among=named)
    assert found[0].id == entries[7].id
    assert len(late._partitions[KEY].matrix) == MANY
    assert not late._partitions[KEY].loading


async def test_a_search_that_waits_for_the_one_who_loads_misses_nothing_that_was_written_meanwhile(
    opened, engine, entries, hardly_any_are_few, monkeypatch
):
    read, hand_over, give = Event(), unloaded._hand_over, Event()

    def handing_over(*given):
        read.set()
        give.wait(60)
        hand_over(*given)

    monkeypatch.setattr(unloaded, "_hand_over", handing_over)
    late = await opened()
    for _ in range(4):
        await late.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
    assert await asyncio.to_thread(read.wait, 60), "all rows have been read"
    [mine] = [an_entry(entries[7].vectors[0])]
    await engine.upsert(1, [mine])
    named = ids_of([mine, *entries])
    searching = asyncio.create_task(late.search(1, mine.vectors[0], ALL, now=NOW, limit=10, among=named))
    await asyncio.sleep(0.05)
    give.set()
    assert mine.id in ids_of(await searching)


async def test_nobody_waits_for_a_loader_that_could_not_be_started(opened, engine, hardly_any_are_few, monkeypatch):
    class Refused(Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    late = await opened()
    for _ in range(3):
        await late.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
    with monkeypatch.context() as patched:
        patched.setattr(unloaded, "Thread", Refused)
        with pytest.raises(RuntimeError, match="can't start"):
            await late.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
    assert not late._partitions[KEY].loading
    await with_matrix(late)


async def test_shutting_does_not_wait_until_a_tenant_is_loaded(opened, engine, hardly_any_are_few):
    late = await opened()
    for _ in range(4):
        await late.search(1, clustered(1)[0], ALL, now=NOW, limit=10)
    await late.shut()
    assert not late._loader._threads


async def test_what_is_removed_or_dropped_is_not_kept_in_a_snapshot(engine, entries, tmp_path):
    await engine.upsert(2, entries[:10])
    await engine.drop(2)
    assert len(snapshot_files(tmp_path)) == 2
    await engine.remove([an_entry(*directions(1)).id])
    assert len(snapshot_files(tmp_path)) == 2, "nothing was removed"
    await engine.remove(ids_of(entries[:1]))
    assert snapshot_files(tmp_path) == []


async def test_what_is_removed_while_a_graph_is_built_is_not_kept_either(opened, entries, tmp_path):
    engine = await opened()
    await engine.upsert(1, entries)
    await engine.search(1, entries[0].vectors[0], ALL, now=NOW, limit=1)
    assert engine._partitions[KEY].building
    await engine.remove(ids_of(entries[:1]))
    await with_graph(engine)
    assert snapshot_files(tmp_path) == []


async def test_dropping_the_generation_drops_its_graph(engine, entries, tmp_path):
    await engine.drop(1)
    assert snapshot_files(tmp_path) == []
    assert await engine.search(1, entries[0].vectors[0], ALL, now=NOW, limit=10) == []
    assert engine._partitions[KEY].graph is None


async def test_searches_are_answered_while_the_graph_is_built_and_shutting_does_not_wait(opened):
    engine = await opened()
    await engine.upsert(1, [an_entry(row) for row in directions(8_000)])
    for question in directions(20, seed=9):
        assert len(await engine.search(1, question, HERE, now=NOW, limit=10)) == 10
    partition = engine._partitions[KEY]
    assert partition.building
    assert partition.graph is None
    await engine.shut()
    assert partition.graph is None, "it was given up"
    assert not engine._partitions


async def test_a_folder_that_cannot_be_written_to_costs_only_the_snapshot(opened, entries, exact, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    engine = await opened(folder=tmp_path / "file" / "graphs")
    await with_graph(engine)
    assert await recall(engine, exact) >= 0.95


def test_building_stops_when_told_to():
    stop = Event()
    stop.set()
    source = Source(1, 1, np.arange(100), np.zeros((100, 8), dtype=np.int8), np.arange(100))
    assert build(source, stop) is None


def test_snapshots_of_two_tenants_and_generations_do_not_meet(tmp_path):
    snapshots = Snapshots(tmp_path / "graphs")
    codes = np.random.default_rng(1).integers(-127, 128, (50, 8), dtype=np.int8)
    index = build(Source(7, 1, np.arange(50), codes, np.arange(50)), Event())
    for generation, tenant in ((1, "a"), (1, "b"), (11, "a")):
        snapshots.keep(index, generation, tenant, epoch=generation, change=7)
    assert snapshots.find(1, "a", dimensions=8, epoch=1)[1] == 7
    assert snapshots.find(1, "c", dimensions=8, epoch=1) is None
    assert snapshots.find(1, "a", dimensions=8, epoch=2) is None
    assert snapshots.find(1, "a", dimensions=9, epoch=1) is None
    snapshots.keep(index, 1, "a", epoch=1, change=8)
    assert snapshots.find(1, "a", dimensions=8, epoch=1)[1] == 8
    assert len(list((tmp_path / "graphs").iterdir())) == 6
    snapshots.forget_generation(1)
    assert snapshots.find(1, "b", dimensions=8, epoch=1) is None
    assert snapshots.find(11, "a", dimensions=8, epoch=11) is not None
    snapshots.forget_tenant("a")
    assert list((tmp_path / "graphs").iterdir()) == []
