"""Latest: a question for the newest of something finds it first, and no other question does."""

from datetime import timedelta

import pytest

from scrubjay.model import Filter, Query
from scrubjay.read.follow import UNSEEN
from scrubjay.read.fuse import Candidate
from scrubjay.read.latest import LATEST, latest, newest_alike
from scrubjay.read.rerank import rerank
from scrubjay.read.understand import understand
from scrubjay.testing.values import NOW, a_memory, a_scope

DAY = timedelta(days=1)


def pair(content, *, days, relevance=0.0, **details):
    memory = a_memory(content, valid_from=NOW - days * DAY, **details)
    return Candidate(memory.id, relevance, {"words": 1.0}), memory


RELEASES = [
    pair("Release 2.3.0 is out with dark mode", days=200, relevance=1.5),
    pair("Release 2.4.1 fixes the login bug", days=30, relevance=0.0),
    pair("Release 2.4.0 is out with faster search", days=90, relevance=1.6),
    pair("Standup is at ten", days=1, relevance=-0.5),
]


def ask(text):
    return understand(Query(text=text, filter=Filter(scope=a_scope())))


def asked(text, found):
    added = latest(found, ask(text))
    return {memory.content.split(" ")[1]: added[memory.id] for _, memory in found if memory.id in added}


@pytest.mark.parametrize("text", ["What is the latest release?", "newest release", "the MOST RECENT release please"])
def test_the_newest_of_those_that_have_the_words_gains_most(text):
    # Each as relevant as the best of them.
    added = {"2.4.1": LATEST + 1.6, "2.4.0": LATEST / 4, "2.3.0": LATEST / 16 + 0.1}
    assert asked(text, RELEASES) == pytest.approx(added)
    best, *_ = rerank(RELEASES, question=ask(text), now=NOW)
    assert "2.4.1" in best.memory.content
    assert "the newest" in best.why


@pytest.mark.parametrize(
    "text",
    [
        "which release has dark mode?",
        "a recent release",
        "the latest",
        "the latest invoice",
        f"The latest release crashes\n{'when it starts ' * 20}",
    ],
)
def test_nothing_is_added_unless_it_is_asked_for_and_something_has_the_words(text):
    assert asked(text, RELEASES) == {}


def test_what_happened_comes_before_what_holds():
    found = [
        pair("Never deploy on Fridays", days=0, kind="rule"),
        pair("Deploy 103 worked", days=20, kind="event"),
        pair("Deploy 104 failed", days=10, kind="event"),
    ]
    assert asked("What was the latest deploy?", found) == {"104": LATEST, "103": LATEST / 4}


def test_who_has_more_of_the_words_is_meant():
    found = [
        pair("Deploy 104 failed", days=10, kind="event"),
        pair("Deploy 105 worked", days=5, kind="event"),
    ]
    assert asked("Why did the most recent deploy fail?", found) == {"104": LATEST}


def test_who_asked_the_same_before_is_no_answer_and_what_was_said_no_event():
    found = [
        pair("Release 2.1 of atlas is out", days=90),
        pair("Release 2.2 of atlas is out", days=30),
        pair("What is the latest release of atlas?", days=1, kind="message"),
        pair("The release 2.0 of atlas is what I use", days=100, kind="message"),
    ]
    assert asked("What is the latest release of atlas?", found) == {
        "2.2": LATEST,
        "2.1": LATEST / 4,
        "release": LATEST / 16,
    }


def test_a_newer_fact_counts_unless_it_is_asked_what_was():
    found = [
        pair("Python 3.9 came to the shop", days=300, kind="event"),
        pair("Python 3.13 runs the shop", days=5, kind="fact"),
        pair("Python 3.14 is never to be used", days=1, kind="rule"),
    ]
    assert asked("What is the latest Python?", found) == {"3.13": LATEST, "3.9": LATEST / 4}
    assert asked("What was the latest Python?", found) == {"3.9": LATEST}


@pytest.mark.parametrize(
    "text",
    [
        "why do we not use the latest release?",
        "how do I install the latest release?",
        "should I take the newest release?",
    ],
)
def test_who_asks_for_advice_does_not_ask_which_it_is(text):
    assert asked(text, RELEASES) == {}


def test_who_asked_somebody_for_the_latest_is_no_answer_and_who_told_it_is():
    found = [
        pair("Release 2.2 of atlas is out", days=30, kind="message"),
        pair("Please tell me the latest release of atlas.", days=2, kind="message"),
        pair("The newest release of atlas is 2.3", days=1, kind="message"),
    ]
    assert asked("What is the latest release of atlas?", found) == {"newest": LATEST, "2.2": LATEST / 4}


def test_what_no_search_found_is_as_relevant_as_those_with_the_same_words():
    _, memory = pair("Release 2.5.0 is out", days=1)
    found = [*RELEASES, (Candidate(memory.id, UNSEEN, {}), memory)]
    assert asked("What is the latest release?", found)["2.5.0"] == LATEST + 1.6 - UNSEEN
    best, *_ = rerank(found, question=ask("What is the latest release?"), now=NOW)
    assert best.memory is memory
    assert newest_alike(RELEASES, [memory], ask("What is the latest release?")) == [memory]
    assert newest_alike(RELEASES, [a_memory("Standup is at ten")], ask("What is the latest release?")) == []
