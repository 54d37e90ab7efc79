"""Shortlist: fewer memories are fetched, and the answers are those that all of them would have given."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model import Filter, Query
from scrubjay.ports import Match
from scrubjay.read.diversify import diversify
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import rerank
from scrubjay.read.retrieve import Retrieved
from scrubjay.read.shortlist import FURTHER, LIFT, needed, shortlist
from scrubjay.read.understand import understand
from scrubjay.testing.values import NOW, a_memory, a_scope

QUESTION = understand(Query(text="where do we deploy?", filter=Filter(scope=a_scope())))
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "ledge",
         "marsh", "north", "ocean", "plain")  # fmt: skip

told = st.builds(
    dict,
    relevance=st.floats(-3, 6),
    importance=st.floats(0, 1),
    uses=st.integers(0, 1_000_000),
    days=st.integers(0, 4_000),
    kind=st.sampled_from(["note", "rule", "event", "feedback"]),
    data=st.sampled_from([{}, {"role": "assistant"}, {"role": "user"}]),
    repeated=st.booleans(),
)


def found_for(items):
    """The candidates, best first, each with its memory. What is repeated differs from the others by a sign only."""
    pairs = []
    for place, item in enumerate(sorted(items, key=lambda item: -item["relevance"])):
        own = f"{WORDS[place % 16]} {WORDS[place // 16]} lies behind the {WORDS[-1 - place % 16]} number {place}"
        memory = a_memory(
            f"We deploy on Fridays{'!' * (place % 3)}" if item["repeated"] else own,
            kind=item["kind"],
            importance=item["importance"],
            uses=item["uses"],
            data=item["data"],
            valid_from=NOW - timedelta(days=item["days"]),
        )
        pairs.append((Candidate(id=memory.id, relevance=item["relevance"], signals={}), memory))
    return pairs


def relevances(pairs):
    return [candidate.relevance for candidate, _ in pairs]


def alone(pairs):
    return Retrieved(rankings={"words": [Match(id=candidate.id, score=1.0, alone=True) for candidate, _ in pairs]})


def answered(pairs, many, limit):
    ranked = rerank(pairs[:many], question=QUESTION, now=NOW, left=len(pairs) - many)
    diverse = diversify(ranked, limit)
    return diverse.answers, needed(diverse, relevances(pairs), limit, fetched=many)


@given(told)
def test_nothing_lifts_a_memory_that_stands_alone_any_further(item):
    pairs = found_for([item])
    [ranked] = rerank(pairs, question=QUESTION, now=NOW)
    assert sum(ranked.parts) <= item["relevance"] + LIFT + 1e-9


@given(st.lists(told, min_size=1, max_size=80), st.integers(1, 20), st.floats(-1, 2))
def test_the_answers_are_those_of_all_candidates(items, limit, lift):
    pairs = found_for(items)
    fetched, many = 0, shortlist(relevances(pairs), alone(pairs), limit, lift=lift)
    while fetched < many:
        answers, wanted = answered(pairs, many, limit)
        fetched, many = many, wanted
    everything, _ = answered(pairs, len(pairs), limit)
    assert [(one.memory.id, one.score) for one in answers] == [(one.memory.id, one.score) for one in everything]


def plain(relevance, *, repeated=False):
    return {"relevance": relevance, "importance": 0.5, "uses": 0, "days": 0, "kind": "note", "data": {},
            "repeated": repeated}  # fmt: skip


def test_what_lies_far_behind_is_left_out():
    pairs = found_for([plain(5.0)] * 10 + [plain(1.0)] * 90)
    many = shortlist(relevances(pairs), alone(pairs), 10)
    assert many == 13
    assert answered(pairs, many, 10)[1] <= many


def test_what_could_still_be_an_answer_is_fetched():
    pairs = found_for([plain(5.0)] * 10 + [plain(5.2 - LIFT)] * 40 + [plain(1.0)] * 50)
    assert shortlist(relevances(pairs), alone(pairs), 10, lift=0.1) == 50
    assert shortlist(relevances(pairs), alone(pairs), 10, lift=0.3) == 13


def test_answers_that_repeat_each_other_are_not_settled():
    pairs = found_for([plain(5.0, repeated=True)] * 40 + [plain(1.0)] * 60)
    many = shortlist(relevances(pairs), alone(pairs), 10)
    assert many == 40
    assert answered(pairs, many, 10)[1] == len(pairs)


def test_what_turns_out_to_be_needed_is_fetched_as_well_and_no_more():
    faded = {**plain(5.0), "days": 4_000}
    pairs = found_for([faded] * 10 + [plain(5.0 - LIFT + 0.01)] * 40 + [plain(1.0)] * 50)
    many = shortlist(relevances(pairs), alone(pairs), 10)
    assert many == 50
    many = shortlist(relevances(pairs), alone(pairs), 10, lift=0.25)
    assert many == 13
    assert answered(pairs, many, 10)[1] == 50
    assert answered(pairs, 50, 10)[1] <= 50


def test_a_repetition_gives_its_place_to_whatever_is_left():
    repeated = [plain(5.0, repeated=True)] * 23
    pairs = found_for([plain(6.0)] * 4 + repeated + [plain(1.0)] * 60)
    assert diversify(rerank(pairs[:13], question=QUESTION, now=NOW), 10).repeats
    assert answered(pairs, 13, 10)[1] == FURTHER * 13
    # By now what is left could outrank the last of the answers.
    assert answered(pairs, FURTHER * 13, 10)[1] == len(pairs)


def test_all_are_fetched_whose_titles_are_to_be_compared():
    pairs = found_for([plain(5.0)] * 10 + [plain(1.0)] * 90)
    assert shortlist(relevances(pairs), alone(pairs), 10, together=True) == 100


def test_where_there_is_a_turn_all_are_fetched():
    pairs = found_for([plain(5.0)] * 10 + [plain(1.0)] * 90)
    turn = Match(id=pairs[-1][0].id, score=1.0)
    found = Retrieved(rankings={**alone(pairs).rankings, "meaning": [turn]})
    assert shortlist(relevances(pairs), found, 10) == 100


def test_where_there_is_a_message_outside_of_any_session_all_are_fetched():
    pairs = found_for([plain(5.0)] * 10 + [plain(1.0)] * 90)
    message = Match(id=pairs[-1][0].id, score=1.0, outside=True)
    found = Retrieved(rankings={**alone(pairs).rankings, "meaning": [message]})
    assert shortlist(relevances(pairs), found, 10) == 100
