"""The lower bound of a posterior, checked against values computed elsewhere and against what must hold of any."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.learning.posterior import BOUND, beta_quantile, beta_share, confidence

counts = st.integers(0, 500).flatmap(lambda seen: st.tuples(st.integers(0, seen), st.just(seen)))


@pytest.mark.parametrize(
    ("x", "a", "b", "share"),
    # From closed forms: Beta(1, b) lies below x with 1 - (1 - x)^b, Beta(a, 1) with x^a, Beta(2, 2) with 3x² - 2x³.
    [(0.3, 1, 5, 1 - 0.7**5), (0.8, 7, 1, 0.8**7), (0.25, 2, 2, 3 / 16 - 2 / 64), (0.5, 300, 300, 0.5)],
)
def test_the_beta_distribution(x, a, b, share):
    assert beta_share(x, a, b) == pytest.approx(share, abs=1e-10)


def test_three_lucky_runs_are_not_certainty():
    assert confidence(3, 3) == pytest.approx(BOUND ** (1 / 4), abs=1e-6)
    assert confidence(3, 3) < 0.5 < confidence(30, 30) < 1


def test_knowing_nothing_is_next_to_nothing():
    assert confidence(0, 0) == pytest.approx(BOUND, abs=1e-6)


@given(counts)
def test_it_is_below_the_rate_that_was_seen(pair):
    held, seen = pair
    assert 0 <= confidence(held, seen) < (held + 1) / (seen + 2)


@given(counts)
def test_one_more_that_holds_raises_it_and_one_more_that_does_not_lowers_it(pair):
    held, seen = pair
    assert confidence(held, seen + 1) < confidence(held, seen) < confidence(held + 1, seen + 1)


@given(st.floats(0.01, 0.99), st.floats(0.5, 200), st.floats(0.5, 200))
def test_the_quantile_undoes_the_share(share, a, b):
    assert beta_share(beta_quantile(share, a, b), a, b) == pytest.approx(share, abs=1e-5)
