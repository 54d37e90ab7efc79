"""Exact tests and the control of false discoveries, against brute force and against their own promises."""

from itertools import combinations
from math import comb, isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.memories.learning.contrast import (
    Counts,
    bar,
    design_effect,
    exact_p,
    explained_p,
    least_p,
    q_values,
    strength,
)

cell = st.integers(0, 12)
tables = st.builds(lambda a, b, c, d: Counts(a, a + b, c, c + d), cell, cell, cell, cell)
p_values = st.lists(st.floats(1e-12, 1), min_size=1, max_size=60).map(np.array)


def by_hand(counts):
    """The test by its definition: add up the chances of all tables that are no more likely than this one."""
    whole, hits = counts.seen + counts.other_seen, counts.hits + counts.other_hits
    low, high = max(0, counts.seen + hits - whole), min(counts.seen, hits)
    ways = {k: comb(counts.seen, k) * comb(counts.other_seen, hits - k) for k in range(low, high + 1)}
    own = ways[counts.hits]
    return sum(one for one in ways.values() if one <= own * (1 + 1e-7)) / comb(whole, hits)


@given(tables)
def test_the_exact_test_is_what_its_definition_says(counts):
    assert exact_p(counts) == pytest.approx(by_hand(counts), rel=1e-6)


@given(tables)
def test_having_and_lacking_a_trait_are_equally_telling(counts):
    other = Counts(counts.other_hits, counts.other_seen, counts.hits, counts.seen)
    assert exact_p(counts) == pytest.approx(exact_p(other), rel=1e-6)


@given(tables)
def test_no_outcome_gets_below_the_least_p(counts):
    assert exact_p(counts) >= least_p(counts) * (1 - 1e-9)


def test_the_level_of_the_exact_test_holds():
    """Of all ways to deal 5 successes to 12 executions, at most 5 % are significant at 5 %."""
    dealt = [sum(place < 6 for place in places) for places in combinations(range(12), 5)]
    significant = [exact_p(Counts(hits, 6, 5 - hits, 6)) <= 0.05 for hits in dealt]
    assert sum(significant) <= 0.05 * len(significant)


@given(p_values)
def test_accepting_by_q_is_benjamini_and_hochberg(p):
    level = 0.05
    ordered = np.sort(p)
    ranks = [rank for rank in range(1, len(p) + 1) if ordered[rank - 1] <= level * rank / len(p)]
    accepted = p <= (ordered[max(ranks) - 1] if ranks else -1)
    close = [isclose(q, level, rel_tol=1e-9) for q in q_values(p)]
    assert all(one or two == three for one, two, three in zip(close, q_values(p) <= level, accepted, strict=True))


@given(p_values)
def test_q_is_never_below_p_and_keeps_the_order(p):
    q = q_values(p)
    assert (q >= p * (1 - 1e-12)).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= -1e-12).all()


@given(p_values)
def test_the_bar_is_the_highest_that_leaves_no_more_tests_in_than_it_allows(least):
    level = 0.05
    allowed = round(level / bar(least, level=level))
    assert (least <= level / allowed).sum() <= allowed
    assert allowed == 1 or (least <= level / (allowed - 1)).sum() > allowed - 1


def test_without_hopeless_tests_others_gain():
    least = np.array([1e-6, 1e-5] + [0.2] * 1_000)
    assert (least <= bar(least, level=0.05)).sum() == 2


@given(tables)
def test_strength_grows_with_the_same_rates_on_more_executions(counts):
    more = Counts(4 * counts.hits, 4 * counts.seen, 4 * counts.other_hits, 4 * counts.other_seen)
    if counts.seen and counts.other_seen and strength(counts) > 0:
        assert strength(more) > strength(counts)


def test_no_difference_has_no_strength():
    assert strength(Counts(50, 100, 50, 100)) < 0 < strength(Counts(90, 100, 20, 100))


def test_attempts_that_always_end_alike_are_one():
    assert design_effect([(4, 4), (4, 0)] * 10) == pytest.approx(4.0)
    assert design_effect([(1, 1), (1, 0)] * 10) == 1.0
    assert design_effect([(4, 2)] * 10) == 1.0


@given(st.lists(st.integers(1, 6).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size))), max_size=40))
def test_an_execution_is_never_worth_more_than_one_or_less_than_its_task(groups):
    effect = design_effect(groups)
    assert 1 <= effect <= max([size for size, _ in groups], default=1) + 1e-9


@settings(max_examples=50)
@given(tables, st.floats(1, 5))
def test_fewer_independent_executions_are_still_a_table(counts, by):
    shrunk = counts.shrunk(by)
    assert 0 <= shrunk.hits <= shrunk.seen <= counts.seen
    assert 0 <= shrunk.other_hits <= shrunk.other_seen <= counts.other_seen


def test_what_another_trait_explains_does_not_matter():
    """With the other trait all succeed and without it all fail, whether they have this one or not."""
    assert explained_p([Counts(30, 30, 10, 10), Counts(0, 10, 0, 30)]) == 1.0
    assert explained_p([Counts(18, 20, 4, 20), Counts(17, 20, 3, 20)]) < 1e-6
