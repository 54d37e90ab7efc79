"""A real Qdrant that falls, freezes, restarts or is not there: nothing that was told is lost, and recall answers."""

import asyncio
import uuid

import pytest
from faulty_servers import FaultyQdrant, eventually, running

import scrubjay
from scrubjay.jobs import runner

# Searches have two seconds of the real clock: a machine that stands still for longer makes any engine look away.
pytestmark = pytest.mark.flaky(reruns=2)

RECOVERY_SECONDS = 60
"""A pause of at most 4 seconds, a look, and slow machines."""

NO_WAIT = 15
"""Seconds within which those are answered who do not wait for the engine. Those who did would take twice as long."""

WRITE_SECONDS = 2
LONG = 60
"""Timeouts in the URL: one that a test waits for, and one that nobody may wait for."""


@pytest.fixture(scope="module")
def qdrant():
    with running(FaultyQdrant) as server:
        yield server


@pytest.fixture(params=[pytest.param("sqlite", marks=pytest.mark.long), "postgresql"])
def stores(request, tmp_path, qdrant, postgres_database):
    qdrant.mend()
    yield {
        "home": tmp_path,
        "embedder": "static",
        "records": postgres_database() if request.param == "postgresql" else "",
        "vectors": f"qdrant://{qdrant.url.removeprefix('http://')}?prefix=test-{uuid.uuid4().hex}&timeout={LONG}",
    }
    qdrant.mend()


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(runner, "TICK", 0.1)


def impatient(stores):
    """The same stores, where a write gives up soon."""
    return {**stores, "vectors": stores["vectors"].replace(f"timeout={LONG}", f"timeout={WRITE_SECONDS}")}


async def tell(jay, prefix, count=5):
    return [(await jay.remember(f"{prefix} deploy number {place}")).id for place in range(count)]


async def check_whole(jay, ids):
    """What was acknowledged is all there, and nothing else; each is indexed by words and by meaning."""
    stats = await jay.stats()
    assert (stats.memories, stats.versions, stats.vectors, stats.pending) == (len(ids), len(ids), len(ids), 0)
    assert {memory.id for memory in await jay.list(limit=1_000)} == set(ids)
    assert {hit.memory.id for hit in await jay.recall("deploy number", limit=100, mode="words")} == set(ids)
    found = await jay.recall("deploy number", limit=100, mode="meaning")
    assert ({hit.memory.id for hit in found}, found.degraded) == (set(ids), ())
    assert await jay.check() == []


async def is_drained(jay):
    health = await jay.health()
    return health.state == "ready" and health.pending == 0


async def test_one_memory_through_every_fault(stores, qdrant):
    """In one go, since a collection takes longer to make than most faults last."""
    async with scrubjay.open_async(**stores) as jay:
        ids = await tell(jay, "before")
        for fault in (falls_and_rises, restarts_between_two_calls, freezes_before_a_recall):
            ids += await fault(jay, qdrant, len(ids))
            await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
            await check_whole(jay, ids)
    async with scrubjay.open_async(**impatient(stores)) as jay:
        ids += await freezes_before_a_write(jay, qdrant, len(ids))
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        await check_whole(jay, ids)


async def falls_and_rises(jay, qdrant, there):
    qdrant.fall()
    async with asyncio.timeout(NO_WAIT):
        ids = await tell(jay, "fallen")
        hits = await jay.recall("deploy number", limit=100)
    assert (len(hits), hits.degraded) == (there + 5, ("vectors",))
    health = await jay.health()
    assert (health.state, health.stores["vectors"].state, health.stores["records"].state) == ("degraded", "down", "up")
    assert "cannot be reached" in health.stores["vectors"].error
    assert health.pending == 5
    qdrant.rise()
    return ids


async def restarts_between_two_calls(jay, qdrant, there):
    qdrant.fall()
    qdrant.rise()
    hits = await jay.recall("deploy number", limit=100)
    assert (len(hits), hits.degraded) == (there, ()), "nobody notices"
    return await tell(jay, "restarted")


async def freezes_before_a_recall(jay, qdrant, there):
    with qdrant.frozen():
        # The first recall waits for the deadline of a search, not for that of a write.
        async with asyncio.timeout(NO_WAIT):
            hits = await jay.recall("deploy number", limit=100)
        assert (len(hits), hits.degraded) == (there, ("vectors",))
        # Nobody pays for it again, but now and then for a ping.
        async with asyncio.timeout(NO_WAIT):
            for _ in range(15):
                for one in await asyncio.gather(*(jay.recall("deploy number", limit=100) for _ in range(2))):
                    assert (len(one), one.degraded) == (there, ("vectors",))
        async with asyncio.timeout(NO_WAIT):
            ids = await tell(jay, "frozen")
    return ids


async def freezes_before_a_write(jay, qdrant, there):
    with qdrant.frozen():
        ids = await tell(jay, "frozen again", count=1)  # which waits for the timeout of the URL
        async with asyncio.timeout(NO_WAIT):
            ids += await tell(jay, "still frozen", count=15)
            hits = await jay.recall("deploy number", limit=100)
        assert (len(hits), hits.degraded) == (there + 16, ("vectors",))
    return ids


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_what_is_forgotten_meanwhile_is_not_found_afterwards(stores, qdrant):
    qdrant.fall()
    async with scrubjay.open_async(**stores) as jay:
        [kept, gone] = await tell(jay, "without", count=2)
        qdrant.rise()
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        qdrant.fall()
        await jay.forget(gone)
        qdrant.rise()
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        found = await jay.recall("deploy number", limit=100, mode="meaning")
        assert ([hit.memory.id for hit in found], found.degraded) == ([kept], ())
        assert await jay.check() == []


async def test_what_is_purged_meanwhile_goes_when_the_engine_is_back(stores, qdrant):
    async with scrubjay.open_async(**stores) as jay:
        [kept, *gone] = await tell(jay, "before", count=4)
        qdrant.fall()
        receipt = await jay.forget(gone, purge=True)
        assert (receipt.remaining["records"], receipt.remaining["vectors"]) == (0, 3)
        qdrant.rise()

        async def is_clear():
            return await is_drained(jay) and await jay.parts.stores.vectors.traces(gone) == 0

        await eventually(is_clear, within=RECOVERY_SECONDS)
        await check_whole(jay, [kept])


async def test_down_at_the_start(stores, qdrant):
    qdrant.fall()
    async with scrubjay.open_async(**stores) as jay:
        async with asyncio.timeout(NO_WAIT):
            ids = await tell(jay, "without")
            hits = await jay.recall("deploy number", limit=100)
        assert (len(hits), hits.degraded) == (5, ("vectors",))
        qdrant.rise()
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        await check_whole(jay, ids)


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_closing_does_not_wait_for_a_frozen_engine(stores, qdrant):
    jay = await scrubjay.open_async(**impatient(stores)).start()
    ids = await tell(jay, "before")
    with qdrant.frozen():
        ids += await tell(jay, "without", count=1)
        async with asyncio.timeout(NO_WAIT):
            await jay.close()
    async with scrubjay.open_async(**stores) as jay:
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        await check_whole(jay, ids)


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_the_mirror_answers_by_meaning_while_the_engine_is_down(stores, qdrant):
    texts = ["The cat sleeps on the sofa", "The invoice was paid in March", "A kitten dozes", "Taxes are due soon"]
    async with scrubjay.open_async(**stores) as jay:
        ids = [(await jay.remember(text)).id for text in texts]
        asked = {"limit": 5, "mode": "meaning", "touch": False}
        before = await jay.recall("feline nap", **asked)
        assert before.degraded == ()
        qdrant.fall()
        told = (await jay.remember("A tomcat has a rest")).id
        await jay.forget(ids[3])
        down = await jay.recall("feline nap", **asked)
        assert down.degraded == ("vectors",)
        order = [hit.memory.id for hit in down if hit.memory.id != told]
        assert order == [hit.memory.id for hit in before if hit.memory.id != ids[3]], "as the engine would answer"
        assert told in {hit.memory.id for hit in down}, "also what was told meanwhile"
        assert (await jay.vectors.status()).generations[0].engine is None
        qdrant.rise()
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        after = await jay.recall("feline nap", **asked)
        assert ([hit.memory.id for hit in after], after.degraded) == ([hit.memory.id for hit in down], ())
        # Its collections are deleted, as by the loss of its disk: nothing has to be embedded to have them again.
        await jay.parts.stores.vectors.engine.drop(1)
        assert (await jay.vectors.rebuild()).embedded == 0
        again = await jay.recall("feline nap", **asked)
        assert ([hit.memory.id for hit in again], again.degraded) == ([hit.memory.id for hit in down], ())


@pytest.mark.long
@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
async def test_after_a_long_outage_it_is_used_again_at_once(stores, qdrant):
    """The pauses of a guard grow to half a minute: they are not for the task that asks whether it is back."""
    async with scrubjay.open_async(**stores) as jay:
        ids = await tell(jay, "before")
        qdrant.fall()
        for _ in range(40):
            assert (await jay.recall("deploy number")).degraded == ("vectors",)
            await asyncio.sleep(1)
        qdrant.rise()

        async def is_back():
            return (await jay.recall("deploy number")).degraded == ()

        seconds = await eventually(is_back, within=10)
        print(f"back {seconds:.1f} s after it answers")  # noqa: T201 -- for the page
        await eventually(lambda: is_drained(jay), within=RECOVERY_SECONDS)
        await check_whole(jay, ids)
