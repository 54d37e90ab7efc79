"""Reread: what a model says that reads question and memory together moves a memory, by a documented amount."""

from math import sqrt

import pytest

from scrubjay.errors import RerankerUnavailable
from scrubjay.model import Filter, Query
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import rerank
from scrubjay.read.reread import MOST_REREAD, QUESTION, REREAD, TEXT, Rereading, reread, reread_if_possible, wanted
from scrubjay.read.understand import understand
from scrubjay.testing.values import NOW, a_memory, a_scope


class Told:
    """Says what it was told to say, or is away."""

    name = "told"

    def __init__(self, scores=None):
        self.told = scores
        self.read = []

    async def scores(self, question, texts):
        self.read.append((question, list(texts)))
        if self.told is None:
            raise RerankerUnavailable
        return self.told[: len(texts)]

    async def shut(self):
        pass


def ranked(*relevances, **fields):
    found = []
    for place, relevance in enumerate(relevances):
        memory = a_memory(f"Memory {place}", **fields)
        found.append((Candidate(id=memory.id, relevance=relevance, signals={"meaning": 0.5}), memory))
    asked = understand(Query(text="which one?", filter=Filter(scope=a_scope())))
    return rerank(found, question=asked, now=NOW)


def names(answers):
    return [one.memory.content for one in answers]


async def test_what_the_model_prefers_comes_first():
    before = ranked(3.0, 2.9, 1.0)
    after = await reread(before, "which one?", Rereading(Told([0.0, 10.0, 0.0]), 0.5))
    assert names(after) == ["Memory 1", "Memory 0", "Memory 2"]
    best = after[0]
    deviations = 2 / sqrt(2)  # of ten among two zeros
    assert best.reread.deviations == pytest.approx(deviations)
    assert best.reread.added == pytest.approx(0.5 * deviations)
    assert best.signals["total"] == pytest.approx(before[1].signals["total"] + 0.5 * deviations)
    assert best.signals["reranker"] == 10.0
    assert best.signals["reranker_rank"] == 1
    assert best.why.endswith("fits when read again")
    assert "read again" not in after[1].why


async def test_scores_stay_in_the_order_of_totals():
    after = await reread(ranked(5.0, 4.0, 3.0, 2.0), "which one?", Rereading(Told([1.0, 9.0, 4.0, 7.0]), 2.0))
    totals = [one.signals["total"] for one in after]
    assert totals == sorted(totals, reverse=True)
    assert [one.score for one in after] == sorted((one.score for one in after), reverse=True)
    assert all(0 < one.score < 1 for one in after)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
async def test_the_scale_of_a_model_does_not_matter(scale):
    told = [scale * score for score in (3.0, -1.0, 2.0)]
    after = await reread(ranked(1.0, 1.1, 1.2), "which one?", Rereading(Told(told), 0.5))
    assert names(after) == ["Memory 2", "Memory 0", "Memory 1"]


@pytest.mark.parametrize("told", [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
async def test_a_model_that_says_the_same_of_all_changes_nothing(told):
    before = ranked(3.0, 2.0, 1.0)
    assert await reread(before, "which one?", Rereading(Told(told), 5.0)) == before


async def test_without_a_weight_nothing_moves():
    before = ranked(3.0, 2.0, 1.0)
    after = await reread(before, "which one?", Rereading(Told([0.0, 5.0, 9.0]), 0.0))
    assert names(after) == names(before)
    assert [one.score for one in after] == pytest.approx([one.score for one in before])


async def test_it_reads_who_said_it_and_the_part_that_was_found():
    reader = Told([1.0, 2.0])
    long = a_memory("a" * 5_000, author="Ben")
    part = a_memory("Unrelated. The port is 8080. Unrelated.", data={"role": "user"})
    found = [
        (Candidate(id=long.id, relevance=1.0, signals={}), long),
        (Candidate(id=part.id, relevance=0.5, signals={}, start=11, stop=28), part),
    ]
    asked = understand(Query(text="port?", filter=Filter(scope=a_scope())))
    await reread(rerank(found, question=asked, now=NOW), "p" * 5_000, Rereading(reader, 0.5))
    ((question, texts),) = reader.read
    assert len(question) == QUESTION
    assert texts[0] == ("Ben: " + "a" * 5_000)[:TEXT]
    assert texts[1] == "user: The port is 8080."


async def test_no_more_than_fifty_are_read():
    reader = Told([float(place) for place in range(100)])
    before = ranked(*(3.0 - place / 100 for place in range(80)))
    after = await reread(before, "which one?", Rereading(reader, 0.5))
    assert len(reader.read[0][1]) == MOST_REREAD
    assert sorted(names(after)) == sorted(names(before))


@pytest.mark.parametrize(("relevances", "question"), [((3.0,), "which one?"), ((3.0, 2.0), "  "), ((), "which one?")])
async def test_where_there_is_nothing_to_decide_nobody_is_asked(relevances, question):
    reader = Told([1.0, 2.0])
    before = ranked(*relevances)
    assert await reread(before, question, Rereading(reader, 0.5)) == before
    assert reader.read == []


async def test_a_model_that_is_away_leaves_the_order_and_is_named():
    before = ranked(3.0, 2.0, 1.0)
    assert await reread_if_possible(before, "which one?", Rereading(Told(), 0.5), 2) == (before[:2], ("reranker",))


def test_more_are_ranked_than_are_wanted():
    assert wanted(5) == REREAD
    assert wanted(30) == 30
