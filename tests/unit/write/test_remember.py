"""The writer: everything is checked first, written in batches, and indexed as the batch leaves it."""

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter, new_id
from scrubjay.ports import Stores
from scrubjay.testing import NOW, Ticking, ToyEmbedder, a_scope
from scrubjay.write import remember
from scrubjay.write.index import Index
from scrubjay.write.remember import Writer


@pytest.fixture
def stores():
    store = MemoryStore()
    return Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())


@pytest.fixture
def writer(stores):
    index = Index(
        stores=stores, embedder=ToyEmbedder(), reopen=lambda identity: None, events=LocalEvents(), clock=Ticking()
    )
    return Writer(stores=stores, index=index, redactor=None, events=LocalEvents(), clock=Ticking())


async def current(stores):
    return await stores.records.find(Filter(scope=a_scope()), now=NOW, limit=100, order="oldest")


async def test_many_are_written_in_batches(stores, writer, monkeypatch):
    monkeypatch.setattr(remember, "BATCH", 4)
    seen = []
    done = await writer.remember([f"fact {place}" for place in range(10)], a_scope(), progress=seen.append)
    assert [one.memory.content for one in done] == [f"fact {place}" for place in range(10)]
    assert seen == [4, 8, 10]
    assert await stores.vectors.count(1) == 10


async def test_a_bad_item_of_a_later_batch_stops_the_first_too(stores, writer, monkeypatch):
    monkeypatch.setattr(remember, "BATCH", 2)
    with pytest.raises(InvalidInput, match="item 3: content"):
        await writer.remember(["a", "b", "c", ""], a_scope())
    assert await current(stores) == []


async def test_a_source_that_is_not_stored_stops_all(stores, writer):
    with pytest.raises(InvalidInput, match="store the sources first"):
        await writer.remember(["a", {"content": "b", "derived_from": [new_id()]}], a_scope())
    assert await current(stores) == []


async def test_what_a_batch_opens_and_closes_is_indexed_as_closed(stores, writer):
    done = await writer.remember([{"content": f"value {place}", "key": "k"} for place in range(3)], a_scope())
    [question] = await ToyEmbedder().embed(["value"])
    found = await stores.vectors.search(1, question, Filter(scope=a_scope()), now=NOW, limit=10)
    assert [match.id for match in found] == [done[2].id]
    assert await stores.records.backlog(1) == 0


async def test_what_is_known_is_not_indexed_again(stores, writer):
    class Counting(ToyEmbedder):
        asked = 0

        async def embed(self, texts, *, question=False):
            Counting.asked += len(texts)
            return await super().embed(texts, question=question)

    index = Index(
        stores=stores, embedder=Counting(), reopen=lambda identity: None, events=LocalEvents(), clock=Ticking()
    )
    writer = Writer(stores=stores, index=index, redactor=None, events=LocalEvents(), clock=Ticking())
    for _ in range(3):
        await writer.remember(["a", "b", "a"], a_scope())
    assert Counting.asked == 2


async def test_nothing_to_remember_is_fine(writer):
    assert await writer.remember([], a_scope()) == []
