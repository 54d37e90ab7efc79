"""Confidence: by the closest memory, whatever stands first; nothing is claimed of what was not compared."""

import math
from itertools import pairwise

import pytest

from scrubjay.model import Hits
from scrubjay.model.answers import OFF_TOPIC
from scrubjay.read.confidence import GROWTH, MANY, MIDDLE, chance, confidence


class Halving:
    """Says that a cosine means half of itself."""

    def calibrate(self, cosine: float) -> float:
        return cosine / 2


def test_the_closest_counts_wherever_it_stands():
    assert confidence([None, 0.1, 0.9, 0.4], Halving(), compared=3) == chance(0.45, 3)
    assert confidence([0.9], Halving(), compared=1) == chance(0.45, 1)


def test_where_there_is_nothing_nothing_is_about_it():
    assert confidence([], Halving(), compared=0) == 0


@pytest.mark.parametrize(("cosines", "scale"), [((None, None), Halving()), ((0.9,), None), ((), None)])
def test_what_was_not_compared_is_not_known(cosines, scale):
    assert confidence(cosines, scale, compared=len(cosines)) is None


def test_the_chance_grows_with_the_similarity_from_0_to_1():
    chances = [chance(step / 100) for step in range(101)]
    assert all(less < more for less, more in pairwise(chances))
    assert 0 < chances[0] < 0.01
    assert 0.99 < chances[-1] < 1
    assert math.isclose(chance(MIDDLE, 1), 0.5)


def test_the_closest_of_many_has_to_be_closer():
    sizes = (1, 2, 5, 10, 30, MANY)
    assert all(more < less for less, more in pairwise(chance(0.25, size) for size in sizes))
    assert math.isclose(chance(MIDDLE + GROWTH, 10), 0.5)
    assert chance(0.25, 0) == chance(0.25, 1)
    assert chance(0.25, MANY) == chance(0.25, 1_000_000)


@pytest.mark.parametrize(
    ("known", "is_off_topic", "shown"),
    [(None, False, "<0 hits in 1.5 ms>"), (0.0, True, ", confidence 0.00>"), (OFF_TOPIC, False, "confidence 0.10>")],
)
def test_hits_show_it(known, is_off_topic, shown):
    hits = Hits(hits=(), confidence=known, milliseconds=1.5)
    assert hits.is_off_topic is is_off_topic
    assert shown in repr(hits)
