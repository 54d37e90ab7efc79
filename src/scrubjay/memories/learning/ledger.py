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
from scrubjay.memories.learning.traits import Trait, tier_of, traits_of
from scrubjay.model.patterns import PatternType
from scrubjay.model.tasks import Execution

MOST_RUNS: Final = 5_000
"""Executions of one family that are compared: the newest. What worked long ago may work no more."""

LEAST_SEEN: Final = 3
"""Executions with a trait, and without it, below which it is not looked at."""

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
        return Counts(hits, seen, self.hits - hits, self.runs - seen)


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
        traits = np.fromiter(seen.keys(), np.int64, len(seen))
        counts = np.fromiter(seen.values(), np.int64, len(seen))
        kept = (counts >= LEAST_SEEN) & (runs - counts >= LEAST_SEEN)
        traits, counts = traits[kept], counts[kept]
        at_best = {int(one): _at_best(int(one), runs, hits, effect) for one in np.unique(counts)}
        least = np.array([at_best[int(one)] for one in counts])
        able = least <= LEVEL
        trait_hits = np.array([hit[int(one)] for one in traits[able]], np.int64)
        tiers = np.array([self.traits.tiers[one] for one in traits[able]], np.int8)
        return Sheet(runs, hits, effect, traits[able], trait_hits, counts[able], least[able], tiers)

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
