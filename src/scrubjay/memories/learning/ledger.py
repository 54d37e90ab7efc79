"""The ledger of a family: its newest executions with their traits, counted as they come."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median_high
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from scrubjay.memories.learning.contrast import LEVEL, Counts, design_effect, exact_p, least_p
from scrubjay.memories.learning.traits import ANY_ERROR, ERROR_TIER, Trait, tier_of, traits_of
from scrubjay.model.patterns import PatternType
from scrubjay.model.tasks import Execution

MOST_RUNS: Final = 5_000
"""Executions of one family that are compared: the newest. What worked long ago may work no more."""

LEAST_SEEN: Final = 3
"""Executions with a trait, and without it, below which it is not looked at."""

BOTH_SIDES: Final = 0.05
"""The share of the successes that have errors, and of the failures that have none, from which on errors were recorded
whatever the outcome. With less, errors describe failures, and say nothing about what leads to one."""

OFTEN: Final = 200
GROWTH: Final = 1.05
"""Up to 200 executions a family is tested anew with each; then when it has grown by a twentieth."""


class Run(NamedTuple):
    """One execution, as far as mining needs it."""

    id: UUID
    at: datetime
    task: str
    success: bool
    price: float | None
    """What it cost: money, or else tokens, or else seconds."""
    traits: tuple[int, ...]
    """Numbers of `Traits`, each once."""


class Traits:
    """Numbers for traits, in the order they were first met."""

    def __init__(self) -> None:
        self._numbers: dict[Trait, int] = {}
        self.names: list[Trait] = []
        self.tiers: list[int] = []

    def number(self, trait: Trait) -> int:
        """The number of a trait, given to it now if it has none."""
        number = self._numbers.setdefault(trait, len(self.names))
        if number == len(self.names):
            self.names.append(trait)
            self.tiers.append(tier_of(trait))
        return number

    def run(self, id: UUID, execution: Execution, at: datetime) -> Run:
        """An execution with its traits numbered."""
        numbers = tuple(map(self.number, traits_of(execution)))
        prices = (execution.cost, execution.tokens, execution.duration)
        price = next((float(one) for one in prices if one is not None), None)
        return Run(id, at, execution.task_id, execution.success, price, numbers)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The counts of all traits of one family for one ending, with what they could show at best."""

    runs: int
    hits: int
    error_runs: int
    """The executions that traits of errors are compared among: all, or only those with an error …"""
    error_hits: int
    """… and those of them that ended so."""
    effect: float
    """How many executions are worth one independent execution."""
    traits: NDArray[np.int64]
    trait_hits: NDArray[np.int64]
    trait_seen: NDArray[np.int64]
    least: NDArray[np.float64]
    tiers: NDArray[np.int8]

    def counts(self, place: int) -> Counts:
        """The four counts of the trait at this place."""
        hits, seen = int(self.trait_hits[place]), int(self.trait_seen[place])
        is_error = self.tiers[place] == ERROR_TIER
        all_hits, runs = (self.error_hits, self.error_runs) if is_error else (self.hits, self.runs)
        return Counts(hits, seen, all_hits - hits, runs - seen)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which of the traits that were found on a sheet explain the rest. Kept, for choosing takes longer than testing."""

    sheet: Sheet
    found: frozenset[int]
    traits: tuple[int, ...]


class Ledger:
    """What one family has told. Grows by one execution at a time and forgets the oldest."""

    def __init__(self, traits: Traits) -> None:
        self.traits = traits
        self._any_error = traits.number(ANY_ERROR)
        self.runs: deque[Run] = deque()
        self._seen: Counter[int] = Counter()
        self._hits: Counter[int] = Counter()
        self._sheets: dict[PatternType, tuple[int, Sheet | None]] = {}
        self._total = 0
        self._p: dict[PatternType, tuple[Sheet, NDArray[np.float64]]] = {}
        self.chosen: dict[tuple[PatternType, int], Chosen] = {}

    def add(self, run: Run) -> None:
        """Count one more execution."""
        self.runs.append(run)
        self._total += 1
        self._seen.update(run.traits)
        if run.success:
            self._hits.update(run.traits)
        if len(self.runs) > MOST_RUNS:
            oldest = self.runs.popleft()
            self._seen.subtract(oldest.traits)
            if oldest.success:
                self._hits.subtract(oldest.traits)

    @property
    def successes(self) -> int:
        """Executions that succeeded, of those that are kept."""
        return sum(run.success for run in self.runs)

    def labelled(self, ending: PatternType) -> list[tuple[Run, bool]]:
        """The executions to compare, and whether each ended so.

        For an optimization: those that succeeded and whose cost is known, and whether it is below their median.
        """
        if ending != "optimization":
            return [(run, run.success) for run in self.runs]
        priced = [(run, run.price) for run in self.runs if run.success and run.price is not None]
        middle = median_high([price for _, price in priced]) if priced else 0.0
        return [(run, price < middle) for run, price in priced]

    def sheet(self, ending: PatternType) -> Sheet | None:
        """The counts for this ending when the family was last due to be tested; None when it is too small.

        Success and failure are two sides of one sheet, that of success.
        """
        tested, sheet = self._sheets.get(ending, (0, None))
        if tested == 0 or (self._total > tested and (self._total <= OFTEN or self._total >= tested * GROWTH)):
            sheet = self._counted(ending)
            self._sheets[ending] = self._total, sheet
        return sheet

    def _counted(self, ending: PatternType) -> Sheet | None:
        labelled = self.labelled(ending)
        runs, hits = len(labelled), sum(hit for _, hit in labelled)
        if runs < 2 * LEAST_SEEN or hits in (0, runs):
            return None
        seen, hit = (self._seen, self._hits) if ending != "optimization" else _counted(labelled)
        effect = design_effect(_groups(labelled))
        error_runs, error_hits = runs, hits
        if self.is_one_sided(ending):
            error_runs, error_hits = self._seen[self._any_error], self._hits[self._any_error]
        traits = np.fromiter(seen.keys(), np.int64, len(seen))
        counts = np.fromiter(seen.values(), np.int64, len(seen))
        tiers = np.fromiter((self.traits.tiers[one] for one in traits), np.int8, len(traits))
        among = np.where(tiers == ERROR_TIER, error_runs, runs)
        kept = (counts >= LEAST_SEEN) & (among - counts >= LEAST_SEEN)
        traits, counts, tiers = traits[kept], counts[kept], tiers[kept]
        least = np.ones(len(traits))
        for is_error, (whole, wanted) in ((False, (runs, hits)), (True, (error_runs, error_hits))):
            places = np.flatnonzero((tiers == ERROR_TIER) == is_error)
            at_best = {int(one): _at_best(int(one), whole, wanted, effect) for one in np.unique(counts[places])}
            least[places] = [at_best[int(one)] for one in counts[places]]
        able = least <= LEVEL
        trait_hits = np.array([hit[int(one)] for one in traits[able]], np.int64)
        return Sheet(
            runs=runs,
            hits=hits,
            error_runs=error_runs,
            error_hits=error_hits,
            effect=effect,
            traits=traits[able],
            trait_hits=trait_hits,
            trait_seen=counts[able],
            least=least[able],
            tiers=tiers[able],
        )

    def is_one_sided(self, ending: PatternType) -> bool:
        """Whether errors were recorded by the outcome: hardly a success has one, or hardly a failure has none.

        Then one error can only be compared with other errors: that an execution has one at all says how it ended.
        """
        if ending == "optimization":
            return False
        successes, with_error = self.successes, self._hits[self._any_error]
        failures, failed_with = len(self.runs) - successes, self._seen[self._any_error] - with_error
        return not are_told_of_both(successes, with_error, failures, failures - failed_with)

    def compared(self, ending: PatternType, tier: int) -> list[tuple[Run, bool]]:
        """The executions that the traits of a tier are compared among, and whether each ended so."""
        labelled = self.labelled(ending)
        if tier != ERROR_TIER or not self.is_one_sided(ending):
            return labelled
        return [(run, hit) for run, hit in labelled if self._any_error in run.traits]

    def p(self, ending: PatternType, sheet: Sheet, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """The p of the traits at these places of a sheet. What was computed before is kept with it."""
        kept = self._p.get(ending)
        values = kept[1] if kept is not None and kept[0] is sheet else np.full(len(sheet.traits), np.nan)
        self._p[ending] = sheet, values
        same: dict[Counts, float] = {}
        for place in places[np.isnan(values[places])]:
            counts = sheet.counts(int(place)).shrunk(sheet.effect)
            if counts not in same:
                same[counts] = exact_p(counts) if counts.seen and counts.other_seen else 1.0
            values[place] = same[counts]
        return values[places]


def are_told_of_both(successes: int, with_error: int, failures: int, without_error: int) -> bool:
    """Whether errors were recorded whatever the outcome: some successes have one, and some failures have none."""
    return with_error >= max(LEAST_SEEN, BOTH_SIDES * successes) and without_error >= max(
        LEAST_SEEN, BOTH_SIDES * failures
    )


def _counted(labelled: Sequence[tuple[Run, bool]]) -> tuple[Counter[int], Counter[int]]:
    seen: Counter[int] = Counter()
    hits: Counter[int] = Counter()
    for run, hit in labelled:
        seen.update(run.traits)
        if hit:
            hits.update(run.traits)
    return seen, hits


def _groups(labelled: Sequence[tuple[Run, bool]]) -> list[tuple[int, int]]:
    """For each task, its attempts and how many of these ended so."""
    sizes: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for run, hit in labelled:
        sizes[run.task] += 1
        hits[run.task] += hit
    return [(size, hits[task]) for task, size in sizes.items()]


def _at_best(seen: int, runs: int, hits: int, effect: float) -> float:
    """The least p of a trait that so many executions have: when as many or as few as possible of them ended so."""
    most, fewest = min(seen, hits), max(0, seen + hits - runs)
    return min(least_p(Counts(some, seen, hits - some, runs - seen).shrunk(effect)) for some in (most, fewest))
