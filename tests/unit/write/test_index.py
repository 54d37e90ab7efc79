"""The index beside the records: the mark is the outbox, and whatever fails in between is found again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import EmbedderUnavailable, InvalidInput, Misconfigured, StoreUnavailable
from scrubjay.model import Filter
from scrubjay.ports import UNSURE, Stores
from scrubjay.testing import NOW, Ticking, ToyEmbedder, a_memory, a_scope, some_memories
from scrubjay.testing.values import told
from scrubjay.write.index import Index


class Failing(ToyEmbedder):
    """Fails as often as it is told to, then works."""

    def __init__(self, failures=0, **options):
        super().__init__(**options)
        self.failures = failures
        self.was_shut = False

    async def embed(self, texts, *, question=False):
        if self.failures:
            self.failures -= 1
            raise EmbedderUnavailable
        return await super().embed(texts, question=question)

    async def shut(self):
        self.was_shut = True


@pytest.fixture
def stores():
    store = MemoryStore()
    return Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())


def index_of(stores, embedder=None, reopen=lambda identity: None):
    return Index(
        stores=stores, embedder=embedder or ToyEmbedder(), reopen=reopen, events=LocalEvents(), clock=Ticking()
    )


async def marks(stores):
    found = await stores.records.find(Filter(scope=a_scope(), history=True), now=NOW, limit=100)
    return [one.generation for one in found]


async def test_what_is_added_is_marked_and_found(stores):
    index = index_of(stores)
    memories = await told(stores.records, *some_memories(3))
    assert await index.add(memories)
    assert await marks(stores) == [1, 1, 1]
    assert await stores.vectors.count(1) == 3
    assert await index.backlog() == 0


async def test_what_could_not_be_added_waits_and_is_drained(stores):
    embedder = Failing(failures=1)
    index = index_of(stores, embedder)
    memories = await told(stores.records, *some_memories(3))
    assert not await index.add(memories)
    assert await marks(stores) == [None] * 3
    assert await index.backlog() == 3
    assert await index.drain() == 3
    assert await marks(stores) == [1] * 3
    assert await index.drain() == 0


async def test_vectors_that_were_stored_without_their_mark_are_stored_again(stores):
    index = index_of(stores)
    memories = await told(stores.records, *some_memories(3))
    await index.add(memories)
    await stores.records.mark([one.id for one in memories], None)
    assert await index.drain() == 3
    assert await stores.vectors.count(1) == 3


async def test_what_is_retired_answers_questions_about_the_past_only(stores):
    index = index_of(stores)
    [memory] = await told(stores.records, a_memory())
    await index.add([memory])
    closed = await stores.records.close(a_scope(), [memory.id], at=NOW, because="x")
    assert await index.retire(closed)
    [question] = await ToyEmbedder().embed([memory.content])
    here = Filter(scope=a_scope())
    assert await stores.vectors.search(1, question, here, now=NOW, limit=5) == []
    assert len(await stores.vectors.search(1, question, here, now=NOW, limit=5, among=[memory.id])) == 1
    assert await marks(stores) == [1]


async def test_what_is_retired_before_it_was_indexed_keeps_waiting(stores):
    index = index_of(stores)
    [memory] = await told(stores.records, a_memory())
    await index.retire(await stores.records.close(a_scope(), [memory.id], at=NOW, because="x"))
    assert await marks(stores) == [None]
    assert await index.drain() == 1


async def test_what_is_renewed_is_filtered_by_what_is_new(stores):
    index = index_of(stores)
    [memory] = await told(stores.records, a_memory(expires_at=NOW + timedelta(hours=1)))
    await index.add([memory])
    assert await index.renew([replace(memory, expires_at=NOW + timedelta(days=9))])
    [question] = await ToyEmbedder().embed([memory.content])
    later = NOW + timedelta(days=2)
    assert len(await stores.vectors.search(1, question, Filter(scope=a_scope()), now=later, limit=5)) == 1


async def test_without_a_model_there_is_nothing_to_do(stores):
    index = Index(stores=stores, embedder=None, reopen=lambda identity: None, events=LocalEvents(), clock=Ticking())
    memories = await told(stores.records, *some_memories(2))
    assert await index.add(memories)
    assert await index.retire(memories)
    assert await index.renew(memories)
    assert (await index.drain(), await index.backlog(), await index.serving()) == (0, 0, None)
    assert await stores.generations.generations() == []


async def test_an_older_model_that_cannot_be_opened_is_asked_for_once(stores):
    await index_of(stores, ToyEmbedder(version="old")).serving()
    asked = []

    def reopen(identity):
        asked.append(identity)
        raise Misconfigured("it needs an extra")

    index = index_of(stores, ToyEmbedder(version="new"), reopen)
    assert await index.serving() is None
    await index.drain()
    assert len(asked) == 1
    assert (await index.serving()).embedder.identity.version == "new"


async def test_rebuilding_drops_and_makes_all_vectors_again(stores):
    index = index_of(stores)
    await index.add(await told(stores.records, *some_memories(5)))
    await index.rebuild()
    assert await stores.vectors.count(1) == 0
    assert await index.backlog() == 5
    assert await index.drain() == 5


async def test_all_models_are_let_go_of(stores):
    old, new = Failing(version="old"), Failing(version="new")
    await index_of(stores, old).serving()
    index = index_of(stores, new, {old.identity: old}.get)
    await index.serving()
    await index.models.shut()
    assert old.was_shut
    assert new.was_shut


async def test_a_store_that_is_down_is_no_reason_to_fail(stores):
    class Down:
        def __getattr__(self, verb):
            raise StoreUnavailable

    broken = replace(stores, vectors=Down())
    index = index_of(broken)
    memories = await told(stores.records, *some_memories(2))
    assert not await index.add(memories)
    assert not await index.retire(memories)
    assert not await index.renew(memories)
    assert await marks(stores) == [None, None]


async def test_an_outage_is_two_lines_in_the_log_however_much_is_written(stores, caplog):
    caplog.set_level("INFO")

    class Down(MemoryVectors):
        is_down = True

        async def upsert(self, generation, entries):
            if self.is_down:
                raise StoreUnavailable
            await super().upsert(generation, entries)

    index = index_of(replace(stores, vectors=(engine := Down())))
    for memory in await told(stores.records, *some_memories(20)):
        assert not await index.add([memory])
    engine.is_down = False
    assert await index.add(await told(stores.records, a_memory("The engine is back")))
    said = [record.getMessage() for record in caplog.records if "indexing" in record.getMessage()]
    assert len(said) == 2
    assert "indexing has to wait" in said[0]
    assert "waited=20" in said[1]


async def test_what_the_engine_refuses_waits_and_fails_no_write(stores):
    class Refusing(MemoryVectors):
        async def upsert(self, generation, entries):
            raise InvalidInput("vectors of another size")

    index = index_of(replace(stores, vectors=Refusing()))
    memories = await told(stores.records, *some_memories(2))
    assert not await index.add(memories)
    assert not await index.renew(memories)
    assert await marks(stores) == [None, None]


async def test_what_is_closed_while_it_is_looked_over_is_not_live(stores):
    class Closing:
        """Records in which somebody else closes everything right after it was read."""

        def __getattr__(self, verb):
            return getattr(stores.records, verb)

        async def pending(self, generation, *, limit):
            found = await stores.records.pending(generation, limit=limit)
            ids = [memory.id for memory in found]
            await stores.records.close(a_scope(), ids, at=NOW, because="asked to")
            await stores.vectors.retire(ids)
            return found

    [memory] = await told(stores.records, a_memory("Deploys happen on Friday"))
    await index_of(stores).add([memory])
    await stores.records.mark([memory.id], UNSURE)
    assert await index_of(replace(stores, records=Closing())).drain() == 1
    [entry] = await stores.vectors.entries(1, [memory.id])
    assert not entry.live


class Replacing(ToyEmbedder):
    """A model that takes so long that somebody closes what it reads meanwhile."""

    def __init__(self, stores):
        super().__init__()
        self._stores = stores

    async def embed(self, texts, *, question=False):
        waiting = await self._stores.records.pending(1, limit=9)
        ids = [memory.id for memory in waiting if memory.superseded_at is None]
        await self._stores.records.close(a_scope(), ids, at=NOW, because="asked to")
        await self._stores.vectors.retire(ids)
        return await super().embed(texts, question=question)


class OnceDown(MemoryVectors):
    """An engine that fails at the first retirement after it has stored something."""

    is_down = False

    async def upsert(self, generation, entries):
        await super().upsert(generation, entries)
        self.is_down = not hasattr(self, "failed")

    async def retire(self, ids):
        if self.is_down:
            self.is_down, self.failed = False, True
            raise StoreUnavailable
        await super().retire(ids)


async def test_what_is_closed_while_it_is_embedded_is_retired_even_if_the_engine_fails_then(stores):
    stores = replace(stores, vectors=OnceDown())
    [memory] = await told(stores.records, a_memory("Deploys happen on Friday"))
    assert not await index_of(stores, Replacing(stores)).add([memory])
    assert stores.vectors.failed
    [entry] = await stores.vectors.entries(1, [memory.id])
    assert (entry.live, await marks(stores)) == (True, [None]), "it waits, so that it is found again"
    assert await index_of(stores).drain() == 1
    [entry] = await stores.vectors.entries(1, [memory.id])
    assert (entry.live, await marks(stores)) == (False, [1])
