"""Follow: the turn after a good match joins the candidates, and nothing else does."""

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.model import Filter, Query
from scrubjay.read.follow import FOLLOWED, UNSEEN, follow
from scrubjay.read.fuse import Candidate
from scrubjay.read.understand import understand
from scrubjay.testing.values import NOW, a_memory, a_scope, told

TALK = a_scope(session="s-1")


@pytest.fixture
async def store():
    return MemoryStore()


async def a_talk(store, many, *, assistant=False):
    roles = ("user", "assistant") if assistant else ("user",)
    drafts = [
        a_memory(f"Said {place}", kind="message", scope=TALK, data={"role": roles[place % len(roles)]})
        for place in range(many)
    ]
    return await told(store, *drafts)


async def followed(store, *found, text="where did she go?", **options):
    narrowed = Filter(scope=a_scope(), kinds=options.pop("kinds", ()))
    query = Query(text=text, filter=narrowed, **options)
    pairs = [(Candidate(memory.id, 3.0, {}), memory) for memory in found]
    return await follow(pairs, question=understand(query), query=query, records=store, now=NOW)


async def test_the_turn_after_a_match_joins_behind_the_others(store):
    said = await a_talk(store, 6)
    found = await followed(store, said[4], said[1])
    assert [memory for _, memory in found] == [said[4], said[1], said[2], said[5]]
    assert [candidate.relevance for candidate, _ in found] == [3.0, 3.0, UNSEEN, UNSEEN]
    assert [candidate.id for candidate, _ in found] == [memory.id for _, memory in found]


async def test_a_turn_that_was_found_is_not_added_again(store):
    said = await a_talk(store, 3)
    assert [memory for _, memory in await followed(store, said[0], said[1], said[2])] == said


async def test_only_the_best_are_followed(store):
    said = await a_talk(store, 40)
    found = await followed(store, *said[::2])
    assert [memory for _, memory in found[20:]] == said[1 : 2 * FOLLOWED : 2]


async def test_what_follows_an_assistant_begins_something_new(store):
    said = await a_talk(store, 6, assistant=True)
    assert [memory for _, memory in await followed(store, said[2], said[5])] == [said[2], said[5], said[3]]
    assert [memory for _, memory in await followed(store, said[1])] == [said[1]]


async def test_the_filter_holds_for_what_follows_too(store):
    [question] = await told(store, a_memory("Where to?", kind="message", scope=TALK))
    await told(store, a_memory("Lisbon", kind="observation", scope=TALK))
    assert len(await followed(store, question)) == 2
    assert len(await followed(store, question, kinds=("message",))) == 1


@pytest.mark.parametrize(
    "asked", [{"mode": "words"}, {"mode": "meaning"}, {"least_similarity": 0.5}, {"text": ""}], ids=str
)
async def test_a_caller_who_drew_a_line_gets_what_is_inside_it(store, asked):
    said = await a_talk(store, 3)
    assert [memory for _, memory in await followed(store, said[0], **asked)] == [said[0]]


async def test_outside_a_session_nothing_follows(store):
    notes = await told(store, *(a_memory(f"Note {place}") for place in range(3)))
    assert [memory for _, memory in await followed(store, notes[0])] == [notes[0]]
