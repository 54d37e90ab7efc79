"""Follow: the turn after a good match, and turns and events of a named time join the candidates; nothing else does."""

from datetime import UTC, datetime

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.model import Filter, Query
from scrubjay.read.follow import FOLLOWED, OF_A_TIME, UNSEEN, follow
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


async def dated_talk(store, *days):
    drafts = [
        a_memory(f"Said {place}", kind="message", scope=TALK, valid_from=datetime(2023, 5, day, 12, tzinfo=UTC))
        for place, day in enumerate(days)
    ]
    return await told(store, *drafts)


async def test_the_turns_of_a_time_that_is_named_join(store):
    said = await dated_talk(store, 1, 2, 25, 25, 26)
    found = await followed(store, said[4], text="what did she do on 25 May 2023?")
    assert {memory.id for _, memory in found} == {said[place].id for place in (2, 3, 4)}
    assert [candidate.relevance for candidate, _ in found] == [3.0, UNSEEN, UNSEEN]


async def test_each_turn_joins_once_and_only_what_the_filter_admits(store):
    said = await dated_talk(store, 25, 25, 25)
    found = await followed(store, said[0], text="what did she do on 25 May 2023, or in May 2023?")
    assert sorted(memory.position for _, memory in found) == [0, 1, 2]
    assert await followed(store, said[0], text="what was on 25 May 2023?", kinds=("observation",)) == found[:1]


async def test_a_time_outside_of_the_filter_is_not_looked_up(store):
    said = await dated_talk(store, 1, 25)
    narrowed = Filter(scope=a_scope(), until=datetime(2023, 5, 2, tzinfo=UTC))
    query = Query(text="what did she do on 25 May 2023?", filter=narrowed)
    pairs = [(Candidate(said[0].id, 3.0, {}), said[0])]
    assert await follow(pairs, question=understand(query), query=query, records=store, now=NOW) == pairs


async def test_events_of_a_time_join_whatever_was_found_and_facts_do_not(store):
    [said] = await dated_talk(store, 25)
    then = datetime(2023, 5, 25, 12, tzinfo=UTC)
    happened, _ = await told(
        store, a_memory("Upgraded", kind="event", valid_from=then), a_memory("Holds since then", valid_from=then)
    )
    fact = a_memory("She was there")
    found = await followed(store, fact, text="what did she do on 25 May 2023?")
    assert {memory.id for _, memory in found} == {fact.id, said.id, happened.id}


async def test_what_happened_on_a_day_of_any_year_joins_as_of_the_last(store):
    told_then = datetime(NOW.year - 1, 12, 9, 12, tzinfo=UTC)
    [then, *_] = await told(
        store,
        a_memory("Moved to the new office", kind="event", valid_from=told_then),
        a_memory("Bought chairs", kind="event", valid_from=told_then.replace(day=10)),
    )
    found = await followed(store, text="what happened on 9 December?")
    assert [memory for _, memory in found] == [then]


async def test_notes_of_a_day_leave_room_for_what_happened_on_it(store):
    then = datetime(NOW.year - 1, 12, 9, 12, tzinfo=UTC)
    [event] = await told(store, a_memory("Moved to the new office", kind="event", valid_from=then))
    await told(store, *(a_memory(f"Note {number}", valid_from=then) for number in range(2 * OF_A_TIME)))
    text = "what happened on 9 December?"
    assert [memory for _, memory in await followed(store, text=text)] == [event]
    assert [memory for _, memory in await followed(store, text=text, kinds=("event",))] == [event]
    assert await followed(store, text=text, kinds=("fact",)) == []
