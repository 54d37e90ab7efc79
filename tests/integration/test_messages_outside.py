"""Messages outside of any session: answers and scores are the same, however many of those found are fetched."""

import pytest

from scrubjay.read import recall as reading

FACTS = [f"The {name} gate of the harbour opens at {hour}" for name in ("north", "south", "east") for hour in range(12)]
SAID = "I walked along the harbour to the north gate and my shoes are wet, it opens so early"


def everything(relevances, *_, **__):
    return len(relevances)


def scores(hits):
    return [(hit.memory.content, round(hit.score, 9)) for hit in hits]


@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("question", ["when does the north gate open?", "who walked along the harbour?", "lighthouse"])
@pytest.mark.parametrize("author", ["Anna", None])
async def test_a_message_has_one_score_and_so_has_what_stands_beside_it(jay, monkeypatch, question, limit, author):
    await jay.remember_many(FACTS)
    await jay.remember_many([{"content": SAID, "kind": "message", "author": author}])
    hits = await jay.recall(question, limit=limit, touch=False)
    monkeypatch.setattr(reading, "shortlist", everything)
    assert scores(hits) == scores(await jay.recall(question, limit=limit, touch=False))


async def test_facts_alone_are_still_shortlisted(jay, setup, monkeypatch):
    await jay.remember_many(FACTS)
    fetched = []
    shortlist = reading.shortlist

    def noted(*given, **options):
        fetched.append(shortlist(*given, **options))
        return fetched[-1]

    monkeypatch.setattr(reading, "shortlist", noted)
    await jay.recall("when does the north gate open?", limit=1, touch=False)
    await jay.remember(SAID, kind="message")
    await jay.recall("when does the north gate open?", limit=1, touch=False)
    facts, beside = fetched
    assert beside == len(FACTS) + 1
    assert facts < len(FACTS) or setup.name != "sqlite"
