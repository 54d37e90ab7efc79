"""Forgetting: what was made from it goes too, and a purge that stops half-way can be done again."""

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import NotFound, StoreUnavailable
from scrubjay.model import Scope
from scrubjay.ports import Stores
from scrubjay.testing import NOW, Ticking, ToyEmbedder, a_memory, a_scope
from scrubjay.testing.values import told
from scrubjay.write.forget import forget, purge
from scrubjay.write.index import Index


class Stopping(MemoryStore):
    """A record store that fails in the middle of a purge, once."""

    fails = True

    async def purge(self, scope, ids, **how):
        if self.fails:
            self.fails = False
            raise StoreUnavailable
        return await super().purge(scope, ids, **how)


@pytest.fixture
def stores():
    store = Stopping()
    return Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())


@pytest.fixture
def index(stores):
    return Index(
        stores=stores, embedder=ToyEmbedder(), reopen=lambda identity: None, events=LocalEvents(), clock=Ticking()
    )


async def family(stores, index):
    """A source, what was made from it in a wider place, and what was made from that."""
    source = a_memory("source")
    summary = a_memory("summary", derived_from=(source.id,), scope=Scope())
    lesson = a_memory("lesson", derived_from=(summary.id,))
    memories = await told(stores.records, source, summary, lesson)
    await index.add(memories)
    return [one.id for one in memories]


async def test_forgetting_closes_the_whole_family_with_reasons(stores, index):
    source, summary, lesson = await family(stores, index)
    receipt = await forget(
        a_scope(), [source], stores=stores, index=index, events=LocalEvents(), at=NOW, because="asked to"
    )
    assert (receipt.ids, set(receipt.derived)) == ((source,), {summary, lesson})
    found = await stores.records.get(Scope(), [source, summary, lesson])
    with_it = ["forgotten, with its source", "forgotten: asked to, with its source"]
    assert [one.closed_because for one in found] == ["forgotten: asked to", *with_it]


async def test_what_is_not_held_takes_nothing_with_it(stores, index):
    source, summary, _ = await family(stores, index)
    with pytest.raises(NotFound):
        await forget(a_scope("bob"), [source], stores=stores, index=index, events=LocalEvents(), at=NOW, because=None)
    assert (await stores.records.get(Scope(), [summary]))[0].superseded_at is None


async def test_a_purge_that_stops_half_way_is_indexed_again_or_finished(stores, index):
    source, summary, lesson = await family(stores, index)
    with pytest.raises(StoreUnavailable):
        await purge(a_scope(), [source], stores=stores, index=index, events=LocalEvents(), at=NOW)
    assert await stores.vectors.count(1) == 3
    assert await index.drain() == 0
    assert await stores.vectors.count(1) == 3, "what is still there is still found"
    receipt = await purge(a_scope(), [source], stores=stores, index=index, events=LocalEvents(), at=NOW)
    assert (receipt.ids, set(receipt.derived)) == ((source,), {summary, lesson})
    assert receipt.remaining == {"records": 0, "vectors": 0, "blobs": 0}
    assert await stores.vectors.count(1) == 0
