"""Clauses: a question that compares finds what answers each side of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_serving import EMBEDDER, serving

from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, Query
from scrubjay.ports import Match, Stores
from scrubjay.read.clauses import CLAUSE, MOST, unite
from scrubjay.read.fuse import fuse
from scrubjay.read.recall import rank, recall
from scrubjay.read.rerank import rerank
from scrubjay.read.retrieve import Retrieved, retrieve
from scrubjay.read.understand import understand
from scrubjay.testing import NOW
from scrubjay.testing.values import a_memory, a_scope, told
from scrubjay.write.embed import embed

TWO_DAYS = "How many days passed between when I obtained my weather key and when I finished the wireframe of the app?"
KEY = "I obtained my weather key"
WIREFRAME = "I finished the wireframe of the app"


def asked(text=TWO_DAYS, **options):
    return Query(text=text, filter=Filter(scope=a_scope()), **options)


def clauses(text, **options):
    return understand(asked(text, **options)).clauses


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            TWO_DAYS,
            ("How many days passed", "when I obtained my weather key", "when I finished the wireframe of the app"),
        ),
        (
            "Which came first: my quiz score rising to 82% in March, or my test score after the second course?",
            ("Which came first", "my quiz score rising to 82% in March", "my test score after the second course"),
        ),
        (
            "Between my fetch call latency and my autocomplete response time, which one is faster now?",
            ("my fetch call latency", "my autocomplete response time", "which one is faster now"),
        ),
        (
            "Considering my essay deadlines, the call with the director, and my test scores, what should come first?",
            (
                "Considering my essay deadlines",
                "the call with the director",
                "my test scores",
                "what should come first",
            ),
        ),
    ],
)
def test_a_question_is_taken_apart_where_its_parts_meet(text, parts):
    assert clauses(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "When did I move to Lisbon?",
        "salt and pepper, or oil",
        "What did I say about the leaking roof of the summer house, and how did Anna repair the garden fence?",
        "What kind of people does the agency that Anna is considering support, and where does it have its offices?",
        "What did the architect from Porto recommend for the leaking roof of our old summer house?",
        "Why does pg_dump 16.2. fail with a timeout after fifteen minutes on the staging replica host",
        f"{TWO_DAYS}\nTell me exactly.",
        f"{TWO_DAYS} {'So many words. ' * 40}",
    ],
)
def test_a_question_that_compares_nothing_or_has_few_words_and_a_text_are_not(text):
    assert clauses(text) == ()


def test_nothing_is_taken_apart_where_the_caller_drew_a_line():
    assert clauses(TWO_DAYS)
    assert clauses(TWO_DAYS, mode="words") == clauses(TWO_DAYS, mode="meaning") == ()
    assert clauses(TWO_DAYS, least_similarity=0.2) == ()


@given(st.text(max_size=300))
def test_any_text_has_no_clause_or_several_and_never_too_many(text):
    assert len(clauses(text)) in {0, *range(2, MOST + 1)}


def test_the_mean_of_the_question_and_its_closest_clause_counts():
    both, one, late = a_memory("both").id, a_memory("one").id, a_memory("late").id
    whole = fuse({"meaning": [Match(both, 0.8), Match(one, 0.4)]})
    parts = [fuse({"meaning": [Match(one, 0.9), Match(both, 0.5)]}), fuse({"meaning": [Match(late, 0.7)]})]
    united = {candidate.id: candidate for candidate in unite(whole, parts, limit=10)}
    assert united[one].signals["clause"] == pytest.approx(parts[0][0].relevance)
    for candidate in whole:
        closest = united[candidate.id].signals["clause"]
        mean = (1 - CLAUSE) * candidate.relevance + CLAUSE * closest
        assert united[candidate.id].relevance == pytest.approx(mean)
        assert united[candidate.id].similarity == candidate.similarity
    assert united[late].similarity is None, "it was not compared with the question"
    assert len(unite(whole, parts, limit=2)) == 2
    assert unite(fuse({}), [fuse({}), fuse({})], limit=2) == []


class Place:
    """Notes, stored and embedded."""

    def __init__(self, vectors=None):
        self.store, self.vectors = MemoryStore(), vectors or MemoryVectors()
        self.stores = Stores(
            records=self.store, generations=self.store, texts=self.store, vectors=self.vectors, blobs=MemoryBlobs()
        )

    async def tell(self, *contents):
        memories = await told(self.store, *[a_memory(content) for content in contents])
        await self.vectors.upsert(1, await embed(memories, EMBEDDER))
        return memories

    async def find(self, query, depth=10):
        return await retrieve(understand(query), query, stores=self.stores, serving=serving, now=NOW, depth=depth)


async def test_both_halves_of_an_answer_come_first():
    place = Place()
    others = [f"Many days passed with app {number} and its weather" for number in range(8)]
    await place.tell(*others, KEY, WIREFRAME)
    ranked, missing = await rank(asked(limit=2), stores=place.stores, serving=serving, now=NOW)
    assert {one.memory.content for one in ranked} == {KEY, WIREFRAME}
    assert missing == ()
    assert all("clause" in one.signals for one in ranked)


async def test_what_only_a_clause_found_says_so():
    query = asked()
    [memory] = await Place().tell(KEY)
    whole, part = fuse({"meaning": [Match(a_memory("other").id, 0.8)]}), fuse({"meaning": [Match(memory.id, 0.9)]})
    [found] = [one for one in unite(whole, [part, part], limit=9) if one.id == memory.id]
    [ranked] = rerank([(found, memory)], question=understand(query), now=NOW)
    assert ranked.why == "close to a part of the question"


async def test_a_plain_question_searches_once():
    place = Place()
    await place.tell(KEY, WIREFRAME)
    assert (await place.find(asked("When did I finish the wireframe?"))).clauses == ()
    found = await place.find(asked())
    assert [sorted(rankings) for rankings in found.clauses] == [["meaning", "words"]] * 3


def test_a_clause_that_finds_a_turn_is_no_search_among_what_stands_alone():
    note, turn = Match(a_memory(KEY).id, 0.9, alone=True), Match(a_memory(WIREFRAME).id, 0.9, alone=False)
    assert Retrieved(rankings={"meaning": [note]}, clauses=({"meaning": [note]},)).stands_alone
    assert not Retrieved(rankings={"meaning": [note]}, clauses=({"meaning": [note]}, {"words": [turn]})).stands_alone


class Leaving(MemoryVectors):
    """An engine that answers once, and is away after that."""

    answered = 0

    async def search(self, *given, **options):
        self.answered += 1
        if self.answered > 1:
            raise StoreUnavailable("the engine is away")
        return await super().search(*given, **options)


async def test_without_the_clauses_the_searches_still_answer():
    place = Place(Leaving())
    await place.tell(KEY, WIREFRAME)
    hits = await recall(asked(), stores=place.stores, serving=serving, now=NOW)
    assert len(hits) == 2
    assert hits.degraded == ("vectors",)


async def test_without_a_model_the_words_answer():
    place = Place()
    await place.tell(KEY, WIREFRAME)
    query = asked()
    found = await retrieve(understand(query), query, stores=place.stores, serving=None, now=NOW, depth=10)
    assert found.clauses == ()
    assert len(found.rankings["words"]) == 2
