"""A real PostgreSQL that falls, freezes, restarts or is not there: a clear error soon, and nothing half-written."""

import asyncio
import itertools
import uuid
from functools import partial

import psycopg
import pytest
from faulty_servers import FaultyPostgres, FaultyQdrant, Stopwatch, eventually, running

import scrubjay
from scrubjay.errors import StoreUnavailable
from scrubjay.jobs import runner

# A server has two seconds of the real clock to answer: a machine that stands still for longer makes any look away.
pytestmark = pytest.mark.flaky(reruns=2)

BOUND = 20
"""Seconds: two until a call is doubted, two for a new connection that nobody answers, and slow machines. A statement
may take thirty, and who waits for that waits for longer."""

RECOVERY_SECONDS = 60

KEYS = 5
"""Each writer tells new values for so many, in turn."""


@pytest.fixture(scope="module")
def postgres():
    with running(FaultyPostgres) as server:
        yield server


@pytest.fixture(scope="module")
def qdrant():
    with running(FaultyQdrant) as server:
        yield server


@pytest.fixture(params=[pytest.param("pgvector", marks=pytest.mark.long), "qdrant"])
def stores(request, tmp_path, postgres):
    postgres.mend()
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    vectors = "pgvector:"
    if request.param == "qdrant":
        vectors = f"qdrant://{request.getfixturevalue('qdrant').url.removeprefix('http://')}?prefix={name}"
    yield {
        "home": tmp_path,
        "embedder": "static",
        "records": f"{postgres.url.rpartition('/')[0]}/{name}?connect_timeout=2",
        "vectors": vectors,
    }
    postgres.mend()


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(runner, "TICK", 0.1)


class Writer:
    """Tells one thing after another, whatever happens, and keeps what was acknowledged."""

    def __init__(self, jay):
        self._jay = jay
        self.told = set()
        self.refused = set()
        self.longest = 0.0
        self.done = False

    async def write(self):
        for place in itertools.count():
            if self.done:
                return
            content = f"deploy number {place} by {id(self)}"
            with Stopwatch() as watch:
                try:
                    await self._jay.remember(content, key=f"{id(self)}:{place % KEYS}")
                except StoreUnavailable:
                    self.refused.add(content)
                else:
                    self.told.add(content)
            self.longest = max(self.longest, watch.seconds)
            await asyncio.sleep(0.01)


async def told(writers, least):
    return all(len(writer.told) >= least for writer in writers)


async def works(jay):
    try:
        await jay.remember("it works again", key="works")
        return (await jay.health()).state == "ready"
    except StoreUnavailable:
        return False


async def is_drained(jay):
    return (await jay.health()).pending == 0


async def check_whole(jay, stores, writers):
    """Every acknowledged write is there; of the others each is there whole or not at all."""
    kept = [memory.content for memory in await jay.list(limit=10_000, history=True)]
    for writer in writers:
        assert writer.told <= set(kept)
        # A change that were half-written would leave its key without a value, or with two.
        current = [memory.key for memory in await jay.list(limit=10_000)]
        assert all(current.count(f"{id(writer)}:{number}") == 1 for number in range(KEYS))
    assert set(kept) <= {"it works again"}.union(*(writer.told | writer.refused for writer in writers))
    assert await jay.check() == []
    stats = await jay.stats()
    assert (stats.versions, stats.pending, stats.vectors) == (len(kept), 0, len(kept))
    with psycopg.connect(stores["records"].partition("?")[0]) as connection:
        [(rows, marked, texts)] = connection.execute(
            "SELECT count(*), count(generation), (SELECT count(*) FROM texts) FROM memories"
        ).fetchall()
        assert (rows, marked) == (len(kept), len(kept))
        assert texts == rows


async def through(jay, trouble):
    """Write from three tasks at once, before, during and after the trouble, and wait until all is indexed."""
    writers = [Writer(jay) for _ in range(3)]
    tasks = [asyncio.create_task(writer.write()) for writer in writers]
    await eventually(lambda: told(writers, KEYS), within=RECOVERY_SECONDS)
    await trouble()
    await eventually(lambda: works(jay), within=RECOVERY_SECONDS)
    already = max(len(writer.told) for writer in writers)
    await eventually(lambda: told(writers, already + 1), within=RECOVERY_SECONDS)
    for writer in writers:
        writer.done = True
    await asyncio.gather(*tasks)
    await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
    return writers


async def test_one_memory_through_every_fault(stores, postgres):
    async with scrubjay.open_async(**stores) as jay:
        writers = []
        for fault in (falls_and_rises, restarts, freezes):
            writers += await through(jay, partial(fault, jay, postgres))
            await check_whole(jay, stores, writers)
    assert any(writer.refused for writer in writers)
    assert max(writer.longest for writer in writers) < BOUND


async def falls_and_rises(jay, postgres):
    await asyncio.to_thread(postgres.fall)
    for _ in range(3):
        with Stopwatch() as watch, pytest.raises(StoreUnavailable, match="Check that the server runs"):
            await jay.recall("deploy")
        assert watch.seconds < BOUND
    health = await jay.health()
    assert (health.state, health.pending) == ("down", None)
    assert health.stores["records"].error
    postgres.rise()


async def restarts(jay, postgres):
    await asyncio.to_thread(postgres.fall)
    postgres.rise()


async def freezes(jay, postgres):
    with postgres.frozen():
        with Stopwatch() as first, pytest.raises(StoreUnavailable):
            await jay.recall("deploy")
        assert first.seconds < BOUND
        with Stopwatch() as others:
            answers = await asyncio.gather(*(jay.count() for _ in range(100)), return_exceptions=True)
        assert others.seconds < BOUND
        assert sum("is down since" in str(one) for one in answers) >= 99, "at most one of them had to try"
        assert (await jay.health()).state == "down"


@pytest.mark.parametrize("stores", ["pgvector"], indirect=True)
async def test_closing_does_not_wait_for_a_frozen_server(stores, postgres):
    jay = await scrubjay.open_async(**stores).start()
    await jay.remember("deploy on Friday")
    with postgres.frozen():
        asking = asyncio.create_task(jay.recall("deploy"))
        await asyncio.sleep(0.1)
        with Stopwatch() as watch:
            await jay.close()
        assert watch.seconds < 2 * BOUND
        with pytest.raises(StoreUnavailable):
            await asking


async def test_down_at_the_start(stores, postgres):
    postgres.fall()
    with Stopwatch() as watch, pytest.raises(StoreUnavailable, match="Check that the server runs") as raised:
        await scrubjay.open_async(**stores).start()
    assert watch.seconds < BOUND
    assert "\n" not in str(raised.value)
    postgres.rise()
    async with scrubjay.open_async(**stores) as jay:
        await jay.remember("deploy on Friday")
        assert (await jay.health()).state == "ready"
