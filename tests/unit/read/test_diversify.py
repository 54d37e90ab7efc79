"""Diversify: repetitions make room, nothing else moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.read.diversify import Gist, diversify
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import Ranked
from scrubjay.testing.values import a_memory


def answers(*contents):
    memories = [a_memory(content) for content in contents]
    return [
        Ranked(memory=memory, candidate=Candidate(id=memory.id, relevance=0.0, signals={}), score=1 - place / 1000)
        for place, memory in enumerate(memories)
    ]


def told(ranked, limit):
    return [answer.memory.content for answer in diversify(ranked, limit).answers]


def test_a_repetition_moves_behind():
    ranked = answers("The user likes tabs", "the user likes tabs!", "Deploy on Fridays", "Tests come first")
    assert told(ranked, 3) == ["The user likes tabs", "Deploy on Fridays", "Tests come first"]
    assert told(ranked, 4)[-1] == "the user likes tabs!"


def test_a_repetition_stays_when_there_is_room():
    assert len(diversify(answers("Same", "Same", "Same"), 10).answers) == 3


LONG = "After the release of the new billing service the staging cluster listens on port {} for all internal traffic"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG.format(8080), LONG.format(9090)),
        (LONG.format(80).replace("cluster", "cluster never"), LONG.format(80)),
        (
            "I do like it when the build is green and the tests are quick",
            "I don't like it when the build is green and the tests are quick",
        ),
        ("Prefers tabs", "Prefers spaces"),
        ("🦜", "🐦"),
    ],
)
def test_what_differs_in_a_number_or_a_negation_is_no_repetition(one, other):
    assert told(answers(one, other, "Something else"), 2) == [one, other]


RULE = "{} the cache of the web server for all requests that come from the internal network of the company {} midnight"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            ((first, "after"), (second, "after"))
            for first, second in (
                ("Enable", "Disable"),
                ("We have enabled", "We have disabled"),
                ("Allow", "Deny"),
                ("Add", "Remove"),
                ("Start", "Stop"),
                ("Starting", "Stopping"),
                ("Always keep", "Never keep"),
                ("Turn on", "Turn off"),
                ("It is true of", "It is false of"),
                ("Use", "Avoid"),
                ("Go with", "Go without"),
                ("You must clear", "You must not clear"),
                ("Lock", "Unlock"),
                ("A valid answer is in", "An invalid answer is in"),
                ("Enable the proxy and disable", "Disable the proxy and enable"),
            )
        ),
        (("Clear", "before"), ("Clear", "after")),
    ],
)
def test_what_says_the_opposite_is_no_repetition(one, other):
    one, other = RULE.format(*one), RULE.format(*other)
    assert not Gist(one).repeats(Gist(other))
    assert not Gist(other).repeats(Gist(one))
    assert told(answers(one, other, "Something else"), 2) == [one, other]


@pytest.mark.parametrize("verb", ["Clear", "Please clear", "Cleared", "Enable", "Add to"])
def test_what_is_only_put_otherwise_is_a_repetition(verb):
    one, other = RULE.format("Clear" if "lear" in verb else verb, "after"), RULE.format(verb, "after") + "!"
    assert Gist(one).repeats(Gist(other))


def test_a_long_text_with_a_word_changed_is_a_repetition():
    one = LONG.format(80)
    assert told(answers(one, one.replace("internal", "external"), "Something else"), 2) == [one, "Something else"]


def test_emoji_alone_can_be_repeated():
    assert told(answers("🦜", "🦜", "🐦"), 2) == ["🦜", "🐦"]


@given(
    contents=st.lists(st.sampled_from(["a b c", "a b c!", "d", "e 1", "e 2", "🦜", "…"]), max_size=20),
    limit=st.integers(1, 25),
)
def test_nothing_is_lost_that_there_is_room_for(contents, limit):
    ranked = answers(*contents)
    kept = diversify(ranked, limit).answers
    assert len(kept) == min(limit, len(ranked))
    assert len({answer.memory.id for answer in kept}) == len(kept)
    assert kept[:1] == ranked[:1]
    if limit >= len(ranked):
        assert {answer.memory.id for answer in kept} == {answer.memory.id for answer in ranked}


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "eta", "zeta", "7", "not"]), min_size=1, max_size=12)
)
def test_texts_that_are_alike_have_a_mark_in_common(words):
    one = Gist(" ".join(words))
    for place in range(len(words)):
        other = Gist(" ".join([*words[:place], *words[place + 1 :]]) or "other")
        assert not one.repeats(other) or set(one.marks()) & set(other.marks())


@given(st.lists(st.lists(st.sampled_from("a b c d e 1 not".split()), min_size=1, max_size=9), max_size=14))  # noqa: SIM905 -- words
def test_only_what_says_the_same_as_a_better_one_moves(texts):
    contents = [" ".join(words) for words in texts]
    taken, behind = [], []
    for content in contents:
        is_repetition = any(Gist(content).repeats(Gist(other)) for other in taken)
        (behind if is_repetition else taken).append(content)
    assert told(answers(*contents), 14) == taken + behind
