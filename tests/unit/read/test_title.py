"""Title: what was found for a long question is compared with its first line, whoever found it."""

import pytest
from toy_serving import EMBEDDER, SERVING, serving

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, Query
from scrubjay.ports import Match, Stores
from scrubjay.read.retrieve import retrieve
from scrubjay.read.title import compare_title
from scrubjay.read.understand import understand
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, a_scope
from scrubjay.write.embed import embed

REPORT = "Printer jams on Monday"
BODY = "Steps to reproduce: open the program, wait, look at the paper"


@pytest.fixture
async def vectors():
    return MemoryVectors()


async def stored(vectors, *contents):
    memories = [a_memory(content) for content in contents]
    await vectors.upsert(1, await embed(memories, EMBEDDER))
    return memories


async def compared(vectors, by_meaning, by_words):
    title, opening = await EMBEDDER.embed([REPORT, f"{REPORT}\n{BODY}"], question=True)
    place = Filter(scope=a_scope())
    return await compare_title(
        by_meaning, by_words, place, serving=SERVING, opening=opening, title=title, vectors=vectors, now=NOW
    )


async def test_everything_that_was_found_is_compared_with_both(vectors):
    alike, named, neither = await stored(vectors, BODY, REPORT, "Lunch is at noon")
    found = await compared(vectors, [Match(alike.id, 0.9)], [Match(named.id, 7.0)])
    assert [match.id for match in found["title"]] == [named.id, alike.id]
    assert found["title"][0].score == pytest.approx(1.0)
    by_id = {match.id: match.score for match in found["meaning"]}
    assert by_id.keys() == {alike.id, named.id}, "what nobody found does not join"
    assert by_id[alike.id] == 0.9, "what the search by meaning said is not asked again"
    assert 0 < by_id[named.id] < 0.9
    assert neither.id not in by_id


async def test_the_best_come_first_whoever_found_them(vectors):
    poor, good = await stored(vectors, "Lunch is at noon", f"{REPORT} {BODY}")
    found = await compared(vectors, [Match(poor.id, 0.1)], [Match(good.id, 7.0), Match(poor.id, 1.0)])
    assert [match.id for match in found["meaning"]] == [good.id, poor.id]


async def test_what_has_no_vector_is_in_neither(vectors):
    [alike] = await stored(vectors, BODY)
    waiting = a_memory(REPORT)
    found = await compared(vectors, [Match(alike.id, 0.9)], [Match(waiting.id, 7.0)])
    assert [match.id for match in found["meaning"]] == [match.id for match in found["title"]] == [alike.id]
    assert await compared(vectors, [], [Match(waiting.id, 7.0)]) == {"meaning": [], "title": []}
    assert await compared(vectors, [], []) == {"meaning": [], "title": []}


class Down(MemoryVectors):
    """An engine that went away between two searches."""

    async def search(self, *_, **__):
        raise StoreUnavailable("the engine is away")


async def test_an_engine_that_went_away_says_so():
    with pytest.raises(StoreUnavailable):
        await compared(Down(), [Match(a_memory().id, 0.9)], [])


class Leaving(MemoryVectors):
    """An engine that answers a search, and is away when it is asked about some memories by name."""

    async def search(self, *given, among=None, **options):
        if among is not None:
            raise StoreUnavailable("the engine is away")
        return await super().search(*given, **options)


async def test_without_the_title_the_searches_still_answer():
    vectors, store = Leaving(), MemoryStore()
    [alike] = await stored(vectors, BODY)
    query = Query(text=f"{REPORT}\n{BODY * 4}", filter=Filter(scope=a_scope()), mode="meaning")
    stores = Stores(records=store, generations=store, texts=store, vectors=vectors, blobs=MemoryBlobs())

    found = await retrieve(understand(query), query, stores=stores, serving=serving, now=NOW, depth=10)
    assert [match.id for match in found.rankings["meaning"]] == [alike.id]
    assert "title" not in found.rankings
    assert found.degraded == ("vectors",)
