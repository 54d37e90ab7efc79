"""Contrast: which traits go with an outcome, by exact tests with the rate of false discoveries under control.

Every trait of a family is one hypothesis: that the outcome does not depend on it. Fisher's exact test on four counts
(with and without the trait, ended so or not) says how far to doubt it. Traits that are too rare or too common to be
significant whatever the outcomes are left out first (Tarone), for they would cost others their significance; how common
a trait is says nothing about outcomes, so this is fair. Benjamini and Hochberg's procedure decides on the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, log, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

LEVEL: Final = 0.05
"""The share of false discoveries that is accepted among all that are made."""

PRIOR: Final = 2.0
"""Executions that the prior of a log odds ratio weighs as much as, on either side, ended as the family does."""

SURE: Final = 1.645
"""Standard deviations below the estimate at which its lower 5 % bound lies."""

_ROUNDING: Final = 1e-7


@dataclass(frozen=True, slots=True)
class Counts:
    """How executions with and without a trait ended: those that ended so, and all."""

    hits: int
    seen: int
    other_hits: int
    other_seen: int

    def shrunk(self, by: float) -> "Counts":
        """The counts of as many independent executions as these are worth."""
        if by == 1:
            return self
        hits, misses = round(self.hits / by), round((self.seen - self.hits) / by)
        other, rest = round(self.other_hits / by), round((self.other_seen - self.other_hits) / by)
        return Counts(hits, hits + misses, other, other + rest)


class Factorials:
    """Logarithms of factorials, computed once as far as they were needed."""

    def __init__(self) -> None:
        self._table: NDArray[np.float64] | None = None

    def upto(self, most: int) -> NDArray[np.float64]:
        """The logarithm of n! for n from 0 to `most` at least."""
        if self._table is None or len(self._table) <= most:
            size = max(1_024, most + 1, 2 * len(self._table) if self._table is not None else 0)
            self._table = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size)))])
        return self._table


_FACTORIALS: Final = Factorials()


def exact_p(counts: Counts) -> float:
    """Fisher's exact test, two-sided: how likely outcomes as uneven as these are if the trait does not matter."""
    low, logs = _log_chances(counts)
    observed = logs[counts.hits - low]
    return float(min(1.0, np.exp(logs[logs <= observed + _ROUNDING]).sum()))


def least_p(counts: Counts) -> float:
    """The smallest p that a trait so common could get, whatever the outcomes of the executions that have it."""
    _, logs = _log_chances(counts)
    return min(1.0, exp(min(float(logs[0]), float(logs[-1]))))


def _log_chances(counts: Counts) -> tuple[int, NDArray[np.float64]]:
    """For each possible number of hits with the trait, from the least on: the logarithm of its chance."""
    whole, hits = counts.seen + counts.other_seen, counts.hits + counts.other_hits
    table = _FACTORIALS.upto(whole)
    low, high = max(0, counts.seen + hits - whole), min(counts.seen, hits)
    k = np.arange(low, high + 1)
    fixed = table[counts.seen] + table[counts.other_seen] + table[hits] + table[whole - hits] - table[whole]
    return low, fixed - table[k] - table[counts.seen - k] - table[hits - k] - table[counts.other_seen - hits + k]


def bar(least: NDArray[np.float64], *, level: float) -> float:
    """The least p up to which a trait takes part: the others could not be significant, given how many take part.

    Tarone's correction. It looks at what each trait could reach at best, never at what it did.
    """
    k = np.arange(1, len(least) + 1)
    able = np.searchsorted(np.sort(least), level / k, side="right")
    return float(level / k[np.argmax(able <= k)])


def q_values(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each p, the smallest level at which Benjamini and Hochberg's procedure would accept it."""
    order = np.argsort(p, kind="stable")
    raised = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return adjusted


def strength(counts: Counts) -> float:
    """How much the odds differ at least: the lower 5 % bound of the log odds ratio's size, with an informative prior.

    The prior adds executions to both sides that ended as the whole family did, so that small counts say little. Below
    zero when the direction is not sure.
    """
    rate = (counts.hits + counts.other_hits + 0.5) / (counts.seen + counts.other_seen + 1)
    cells = (
        counts.hits + PRIOR * rate,
        counts.seen - counts.hits + PRIOR * (1 - rate),
        counts.other_hits + PRIOR * rate,
        counts.other_seen - counts.other_hits + PRIOR * (1 - rate),
    )
    ratio = log(cells[0]) - log(cells[1]) - log(cells[2]) + log(cells[3])
    return abs(ratio) - SURE * sqrt(sum(1 / cell for cell in cells))


def design_effect(groups: Sequence[tuple[int, int]]) -> float:
    """How many executions are worth one independent execution: attempts at one task tend to end alike.

    `groups` are the tasks: their attempts, and how many of these ended so. 1 when every task was tried once, or when
    attempts at a task are no more alike than others.
    """
    many, whole = len(groups), sum(size for size, _ in groups)
    if many < 2 or whole <= many:
        return 1.0
    rate = sum(hits for _, hits in groups) / whole
    squares = sum(size * size for size, _ in groups)
    between = sum(size * (hits / size - rate) ** 2 for size, hits in groups) / (many - 1)
    within = sum(hits * (size - hits) / size for size, hits in groups) / (whole - many)
    usual = (whole - squares / whole) / (many - 1)
    alike = (between - within) / (between + (usual - 1) * within) if between > 0 else 0.0
    return 1 + (squares / whole - 1) * min(1.0, max(0.0, alike))


def explained_p(tables: Sequence[Counts], *, by: float = 1.0) -> float:
    """Whether a trait still matters among executions that are alike in another one (Cochran, Mantel and Haenszel).

    One table for those with the other trait and one for those without it. A large p: the other trait explains it.
    """
    surplus = variance = 0.0
    for counts in tables:
        whole, hits = counts.seen + counts.other_seen, counts.hits + counts.other_hits
        if whole < 2:
            continue
        surplus += counts.hits - counts.seen * hits / whole
        variance += counts.seen * counts.other_seen * hits * (whole - hits) / (whole * whole * (whole - 1))
    return erfc(sqrt(surplus * surplus / variance / by / 2)) if variance > 0 else 1.0
