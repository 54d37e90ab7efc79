"""A hit says why it is one when it is asked, and is in everything else the value that it always was."""

import copy
import pickle
import weakref
from dataclasses import asdict, replace

import pytest

from scrubjay.model import Hit
from scrubjay.model.answers import hit_found
from scrubjay.testing.values import a_memory

MEMORY = a_memory("We deploy on Fridays")
TOLD = Hit(memory=MEMORY, score=0.5, similarity=0.25, why="because", signals={"total": 1.0})


class Reason:
    """Counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return "because"


@pytest.fixture
def reason():
    return Reason()


@pytest.fixture
def hit(reason):
    return hit_found(MEMORY, 0.5, 0.25, None, {"total": 1.0}, reason)


def test_a_reason_is_put_into_words_once_and_only_when_it_is_looked_at(hit, reason):
    assert (hit.memory, hit.score, hit.similarity, hit.passage, hit.cited) == (MEMORY, 0.5, 0.25, None, ())
    assert reason.asked == 0
    assert [hit.why, hit.why] == ["because", "because"]
    assert reason.asked == 1


def test_what_a_reason_knows_is_let_go_of_when_it_is_told():
    reason = Reason()
    held = weakref.ref(reason)
    hit = hit_found(MEMORY, 0.5, 0.25, None, {}, reason)
    del reason
    assert hit.why == "because"
    assert held() is None


@pytest.mark.parametrize(
    "seen",
    [
        lambda hit: hit,
        copy.copy,
        copy.deepcopy,
        replace,
        lambda hit: Hit(**{**asdict(hit), "memory": hit.memory}),
        lambda hit: pickle.loads(pickle.dumps(hit)),
    ],
    ids=["itself", "copy", "deep copy", "replace", "asdict", "pickle"],
)
def test_it_equals_a_hit_that_was_told_the_reason(hit, seen):
    assert seen(hit) == TOLD
    assert hash(seen(hit)) == hash(TOLD)
    assert repr(seen(hit)) == repr(TOLD)


def test_it_has_no_other_names(hit):
    with pytest.raises(AttributeError, match="no 'because'"):
        _ = hit.because
    assert not hasattr(hit, "__dict__")
