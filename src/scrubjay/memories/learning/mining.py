"""Mining: all traits of all families are tested together, and what is found is cut down to what explains the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.memories.learning.contrast import LEVEL, Counts, bar, exact_p, explained_p, q_values, strength
from scrubjay.memories.learning.ledger import Chosen, Ledger, Run, Sheet, Traits
from scrubjay.memories.learning.traits import ERROR_TIER, Trait
from scrubjay.model.patterns import TRAIT_KINDS, Indicator, PatternType

EXPLAINED: Final = 0.01
"""A trait that is no more significant than this, given a stronger one, says the same again."""

MOST_COMPARED: Final = 60
"""Traits of one tier that are compared with each other, most significant first."""

MOST_INDICATORS: Final = 8
"""Indicators of one tier that a pattern keeps."""

SHARES: Final = (0.5, 0.2, 0.3)
"""How much of the level each tier has: actions, errors, words."""

ENDINGS: Final[tuple[PatternType, ...]] = ("success", "optimization")


@dataclass(frozen=True, slots=True)
class Finding:
    """A trait of one family that goes with an outcome, or against it."""

    trait: int
    counts: Counts
    p: float
    q: float
    among_errors: bool = False
    """Whether it was compared only with executions that met an error, too."""

    @property
    def is_for(self) -> bool:
        """Whether executions with it ended so more often than those without it."""
        counts = self.counts
        return counts.hits * counts.other_seen > counts.other_hits * counts.seen


Mined = dict[tuple[int, PatternType], list[Finding]]
"""By family and ending (success, or optimization): what was found, strongest first."""


def mine(
    ledgers: Mapping[int, Ledger],
    *,
    parents: Mapping[int, int | None] | None = None,
    level: float = LEVEL,
    endings: Sequence[PatternType] = ENDINGS,
) -> Mined:
    """Test everything, keep what explains the rest, and hold the level for all that is kept together.

    Every tier has its share of the level, so that thousands of words leave a few dozen tools their chance. `parents`
    says which wide family a narrow one is part of: what both show is told of one of them.
    """
    sheets = [
        (family, ending, sheet)
        for family, ledger in ledgers.items()
        for ending in endings
        if (sheet := ledger.sheet(ending)) is not None and len(sheet.traits)
    ]
    mined: Mined = {}
    for tier, share in enumerate(SHARES):
        for key, findings in _mine_tier(tier, share * level, sheets, ledgers, parents or {}).items():
            told = [replace(one, q=one.q / share) for one in findings]
            mined[key] = mined.get(key, []) + told
    return mined


def _mine_tier(
    tier: int,
    level: float,
    sheets: Sequence[tuple[int, PatternType, Sheet]],
    ledgers: Mapping[int, Ledger],
    parents: Mapping[int, int | None],
) -> Mined:
    """What one tier shows at this level."""
    members = [np.flatnonzero(sheet.tiers == tier) for *_, sheet in sheets]
    at_best = [sheet.least[places] for (*_, sheet), places in zip(sheets, members, strict=True)]
    if not sum(map(len, at_best)):
        return {}
    least = bar(np.concatenate(at_best), level=level)
    able = [places[best <= least] for places, best in zip(members, at_best, strict=True)]
    p = [ledgers[family].p(ending, sheet, places) for (family, ending, sheet), places in zip(sheets, able, strict=True)]
    q = q_values(np.concatenate(p))
    mined: Mined = {}
    start = 0
    for (family, ending, sheet), places, own in zip(sheets, able, p, strict=True):
        found = [
            Finding(
                trait=int(sheet.traits[places[row]]),
                counts=sheet.counts(int(places[row])),
                p=float(own[row]),
                q=1.0,
                among_errors=tier == ERROR_TIER and sheet.error_runs < sheet.runs,
            )
            for row in np.flatnonzero(q[start : start + len(places)] <= level)
        ]
        start += len(places)
        if found:
            mined[family, ending] = _chosen(found, ledgers[family], ending, tier, sheet)
    return _held_to(level, _told_once(mined, parents), tests=len(q))


def _told_once(mined: Mined, parents: Mapping[int, int | None]) -> Mined:
    """Tell what a wide family and narrow ones inside it both show of the narrow ones, if it shows in no other.

    And else of the wide one.
    """
    left = {key: {(one.trait, one.is_for): one for one in findings} for key, findings in mined.items()}
    for (wide, ending), findings in left.items():
        inside = [key for key in left if parents.get(key[0]) == wide and key[1] == ending]
        for name, finding in list(findings.items()):
            telling = [key for key in inside if name in left[key]]
            if not telling:
                continue
            if _is_left(finding.counts, [left[key][name].counts for key in telling]):
                for key in telling:
                    del left[key][name]
            else:
                del findings[name]
    return {key: list(findings.values()) for key, findings in left.items() if findings}


def _is_left(whole: Counts, parts: Sequence[Counts]) -> bool:
    """Whether a trait still matters in what is left of a family without parts of it."""
    rest = Counts(
        max(0, whole.hits - sum(part.hits for part in parts)),
        max(0, whole.seen - sum(part.seen for part in parts)),
        max(0, whole.other_hits - sum(part.other_hits for part in parts)),
        max(0, whole.other_seen - sum(part.other_seen for part in parts)),
    )
    if rest.hits > rest.seen or rest.other_hits > rest.other_seen or not rest.seen or not rest.other_seen:
        return False
    return exact_p(rest) <= EXPLAINED


def _held_to(level: float, mined: Mined, *, tests: int) -> Mined:
    """Hold the level once more for what is kept, ranked among itself but counted against all tests.

    One true effect shows in many traits. As long as they all counted as discoveries, they made room for false ones,
    which stay when the many become one.
    """
    every = [(key, one) for key, findings in mined.items() for one in findings]
    if not every:
        return {}
    p = np.array([one.p for _, one in every])
    q = np.minimum(1.0, q_values(p) * tests / len(p))
    kept: Mined = {}
    for (key, one), own in zip(every, q, strict=True):
        if own <= level:
            kept.setdefault(key, []).append(replace(one, q=float(own)))
    return kept


def _chosen(found: Sequence[Finding], ledger: Ledger, ending: PatternType, tier: int, sheet: Sheet) -> list[Finding]:
    """`_telling`, unless the same was found on the same sheet before."""
    names = frozenset(one.trait for one in found)
    known = ledger.chosen.get((ending, tier))
    if known is None or known.sheet is not sheet or known.found != names:
        kept = _telling(found, ledger.compared(ending, tier), sheet, ledger.traits)
        known = ledger.chosen[ending, tier] = Chosen(sheet, names, tuple(one.trait for one in kept))
    by_trait = {one.trait: one for one in found}
    return [by_trait[trait] for trait in known.traits]


def _telling(
    found: Sequence[Finding], labelled: Sequence[tuple[Run, bool]], sheet: Sheet, traits: Traits
) -> list[Finding]:
    """Those that no stronger one of their direction explains, most significant first.

    Doing one thing and doing its opposite are told both: what worked, and what did not.
    """

    def order(one: Finding) -> tuple[float, int, Trait]:
        trait = traits.names[one.trait]
        return one.p, TRAIT_KINDS.index(trait.kind), trait

    outcomes = np.array([hit for _, hit in labelled])
    ordered = sorted(found, key=order)[:MOST_COMPARED]
    having = _having([one.trait for one in ordered], [run for run, _ in labelled])
    chosen: list[int] = []
    for row in range(len(ordered)):
        if len(chosen) < MOST_INDICATORS and all(
            _adds(having[row], having[other], outcomes, sheet.effect)
            for other in chosen
            if ordered[other].is_for == ordered[row].is_for
        ):
            chosen.append(row)
    return [ordered[row] for row in chosen]


def _having(wanted: Sequence[int], runs: Sequence[Run]) -> NDArray[np.bool_]:
    """A row for each trait: which executions have it."""
    rows = {trait: row for row, trait in enumerate(wanted)}
    having = np.zeros((len(wanted), len(runs)), np.bool_)
    for place, run in enumerate(runs):
        for trait in run.traits:
            if trait in rows:
                having[rows[trait], place] = True
    return having


def _adds(trait: NDArray[np.bool_], other: NDArray[np.bool_], outcomes: NDArray[np.bool_], effect: float) -> bool:
    """Whether a trait matters among executions that are alike in the other one."""
    tables = []
    for side in (other, ~other):
        with_it, without = trait & side, ~trait & side
        tables.append(
            Counts(
                int((with_it & outcomes).sum()),
                int(with_it.sum()),
                int((without & outcomes).sum()),
                int(without.sum()),
            )
        )
    return explained_p(tables, by=effect) <= EXPLAINED


def indicator(finding: Finding, traits: Traits, ending: PatternType) -> Indicator:
    """The finding as a value. Against success it is told as being for failure."""
    trait, counts = traits.names[finding.trait], finding.counts
    if ending == "failure":
        counts = Counts(
            counts.seen - counts.hits, counts.seen, counts.other_seen - counts.other_hits, counts.other_seen
        )
    return Indicator(
        kind=trait.kind,
        what=trait.what,
        ending=ending,
        hits=counts.hits,
        seen=counts.seen,
        other_hits=counts.other_hits,
        other_seen=counts.other_seen,
        q_value=finding.q,
        strength=strength(counts),
        among_errors=finding.among_errors,
    )
