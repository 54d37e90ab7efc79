"""Tenants are loaded on few threads, and where there is none to be had, that is an error with a remedy."""

import asyncio
from threading import Event, Lock

import pytest

from scrubjay.backends import aside
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import metadata
from scrubjay.backends.vectors import embedded, unloaded
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter
from scrubjay.testing import NOW, a_scope
from scrubjay.testing.vectors import directions, entries_of

TENANTS = [f"t-{place}" for place in range(8)]


@pytest.fixture
async def database(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "NARROW", 10)
    monkeypatch.setattr(embedded, "NARROW_MEANWHILE", 10)
    found = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    await found.write(metadata.create_all)
    writer = EmbeddedVectors(found)
    for tenant in TENANTS:
        await writer.upsert(1, entries_of(directions(50), scope=a_scope(tenant=tenant)))
    await writer.shut()
    yield found
    await found.shut()


async def searched(engine, tenant):
    return await engine.search(1, directions(1)[0], Filter(scope=a_scope(tenant=tenant)), now=NOW, limit=5)


async def test_few_tenants_are_loaded_at_a_time(database, monkeypatch):
    engine, lock, crowded, counts = EmbeddedVectors(database), Lock(), Event(), [0, 0]
    whole = unloaded.loaded

    def watched(*given):
        with lock:
            counts[0] += 1
            counts[1] = max(counts)
            if counts[0] > unloaded.LOADED_AT_ONCE:
                crowded.set()
        crowded.wait(0.05)  # One too many has the time to come along.
        try:
            return whole(*given)
        finally:
            with lock:
                counts[0] -= 1

    monkeypatch.setattr(unloaded, "loaded", watched)
    found = await asyncio.gather(*(searched(engine, tenant) for tenant in TENANTS))
    assert [len(matches) for matches in found] == [5] * len(TENANTS)
    assert 1 <= counts[1] <= unloaded.LOADED_AT_ONCE
    await engine.shut()


async def test_a_small_tenant_does_not_wait_for_large_ones(database, monkeypatch):
    monkeypatch.setattr(embedded.signs, "MANY", 40)
    engine, may_end, whole = EmbeddedVectors(database), Event(), unloaded.loaded
    await engine.upsert(1, entries_of(directions(20), scope=a_scope(tenant="small")))

    def held(read, partition, *given):
        if partition.is_large:
            may_end.wait(60)
        return whole(read, partition, *given)

    monkeypatch.setattr(unloaded, "loaded", held)
    large = [asyncio.create_task(searched(engine, tenant)) for tenant in TENANTS]
    waiting = engine._loader._waiting
    while len(waiting) < len(TENANTS) - unloaded.LOADED_AT_ONCE:  # noqa: ASYNC110 -- a thread fills it, and tells nobody
        await asyncio.sleep(0)
    assert len(await asyncio.wait_for(searched(engine, "small"), 30)) == 5
    assert not any(task.done() for task in large)
    may_end.set()
    assert [len(matches) for matches in await asyncio.gather(*large)] == [5] * len(TENANTS)
    await engine.shut()


async def test_without_a_thread_the_search_says_so_and_the_next_one_may_be_luckier(database, monkeypatch):
    engine = EmbeddedVectors(database)

    class Refused(aside.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(aside, "Thread", Refused)
        with pytest.raises(StoreUnavailable, match=r"'t-0' are not loaded.*can't start new thread.*more threads"):
            await searched(engine, "t-0")
    assert len(await searched(engine, "t-0")) == 5
    await engine.shut()
