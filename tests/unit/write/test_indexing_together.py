"""Writers whose vectors lie on a server: those who come while one write is under way share the next one."""

import asyncio
from contextlib import suppress

import pytest

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import InvalidInput, StoreUnavailable
from scrubjay.model import Filter
from scrubjay.ports import Stores
from scrubjay.testing import NOW, ToyEmbedder, a_scope, some_memories
from scrubjay.testing.values import told
from scrubjay.write.embed import embed
from scrubjay.write.together import MANY, Together


class Slow(MemoryVectors):
    """Waits to be let go, notes how many each write brought, and fails where it is told to."""

    def __init__(self):
        super().__init__()
        self.open = asyncio.Event()
        self.writes = []
        self.down = False
        self.refused = set()

    async def upsert(self, generation, entries):
        self.writes.append(len(entries))
        await self.open.wait()
        if self.down:
            raise StoreUnavailable("the engine is down")
        if self.refused & {entry.id for entry in entries}:
            raise InvalidInput("a vector is broken")
        await super().upsert(generation, entries)


@pytest.fixture
def stores():
    store = MemoryStore()
    return Stores(records=store, generations=store, texts=store, vectors=Slow(), blobs=MemoryBlobs())


async def stored(stores, many):
    memories = await told(stores.records, *some_memories(many))
    return await embed(memories, ToyEmbedder())


async def begun(together, groups):
    """Each group of entries on its way, in this order."""
    tasks = []
    for entries in groups:
        tasks.append(asyncio.create_task(together.store(1, entries)))
        await asyncio.sleep(0)
    return tasks


async def marked(stores):
    found = await stores.records.find(Filter(scope=a_scope()), now=NOW, limit=200)
    return {one.id for one in found if one.generation == 1}


async def test_those_who_wait_share_a_write(stores):
    entries = await stored(stores, 5)
    tasks = await begun(Together(stores), [[one] for one in entries])
    stores.vectors.open.set()
    await asyncio.gather(*tasks)
    assert stores.vectors.writes == [1, 4]
    assert await stores.vectors.count(1) == 5
    assert await marked(stores) == {one.id for one in entries}


async def test_who_brings_many_goes_alone(stores):
    entries = await stored(stores, MANY + 3)
    tasks = await begun(Together(stores), [entries[:1], entries[1:-1], entries[-1:]])
    assert stores.vectors.writes == [1, MANY + 1]
    stores.vectors.open.set()
    await asyncio.gather(*tasks)
    assert stores.vectors.writes == [1, MANY + 1, 1]
    assert len(await marked(stores)) == MANY + 3


async def test_an_outage_is_told_to_each(stores):
    entries = await stored(stores, 3)
    stores.vectors.down = True
    tasks = await begun(Together(stores), [[one] for one in entries])
    stores.vectors.open.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(one) for one in ended] == ["the engine is down"] * 3
    assert len({id(one) for one in ended}) == 3
    assert await marked(stores) == set()


async def test_what_cannot_be_stored_fails_alone(stores):
    entries = await stored(stores, 4)
    stores.vectors.refused = {entries[2].id}
    tasks = await begun(Together(stores), [[one] for one in entries])
    stores.vectors.open.set()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in ended] == [type(None), type(None), InvalidInput, type(None)]
    assert await marked(stores) == {one.id for one in entries} - stores.vectors.refused


async def test_a_writer_who_is_cancelled_takes_nobody_with_it(stores):
    entries = await stored(stores, 4)
    together = Together(stores)
    first, second, *others = await begun(together, [[one] for one in entries])
    stores.vectors.open.set()
    await first
    stores.vectors.open.clear()
    while len(stores.vectors.writes) < 2:  # noqa: ASYNC110 -- the second write has begun when it says so
        await asyncio.sleep(0)
    second.cancel()
    with suppress(asyncio.CancelledError):
        await second
    stores.vectors.open.set()
    await asyncio.gather(*others)
    assert {one.id for one in entries[2:]} <= await marked(stores)


async def test_what_was_purged_meanwhile_does_not_come_back(stores):
    entries = await stored(stores, 2)
    tasks = await begun(Together(stores), [[one] for one in entries])
    await stores.records.purge(a_scope(), [entries[1].id])
    stores.vectors.open.set()
    await asyncio.gather(*tasks)
    assert await stores.vectors.traces([one.id for one in entries]) == 1
