"""From a pattern to what to do and what to avoid, each with its evidence."""

from collections.abc import Iterable
from typing import Final

from scrubjay.memories.learning.posterior import confidence
from scrubjay.memories.learning.traits import ACTIONS, ERRORS
from scrubjay.model.patterns import Advice, Indicator, PatternMatch, Recommendation, TaskPattern

LEAST_CONFIDENCE: Final = 0.3
MOST_ADVICE: Final = 5


def advice_of(
    matched: Iterable[PatternMatch], *, min_confidence: float = LEAST_CONFIDENCE, limit: int = MOST_ADVICE
) -> list[Recommendation]:
    """What these patterns say to do and to avoid, each once, surest first."""
    told: dict[tuple[object, ...], Recommendation] = {}
    for match in matched:
        for one in recommendations(match.pattern):
            told.setdefault((one.advice, one.indicator.kind, one.indicator.what), one)
    ordered = sorted(told.values(), key=lambda one: (-one.confidence, -one.indicator.strength, one.text))
    return [one for one in ordered if one.confidence >= min_confidence][:limit]


def recommendations(pattern: TaskPattern) -> list[Recommendation]:
    """What can be done or avoided. How a summary was worded is no advice."""
    sides: tuple[tuple[Advice, tuple[Indicator, ...]], ...] = (
        ("do", pattern.success_indicators),
        ("avoid", pattern.failure_indicators),
    )
    return [
        Recommendation(
            advice=advice,
            text=f"{_headline(advice, one)}: {one.evidence}.",
            indicator=one,
            confidence=confidence(one.hits, one.seen),
            pattern_id=pattern.id,
            evidence=pattern.evidence,
        )
        for advice, indicators in sides
        for one in indicators
        if one.kind in ACTIONS or (one.kind in ERRORS and advice == "avoid")
    ]


_DONE: Final = {
    "tool": "use {0}",
    "again": "use {0} more than once",
    "order": "run {0} before {1}",
    "next": "run {1} right after {0}",
    "file": "touch {0}",
    "folder": "touch files in {0}",
    "model": "run on {0}",
    "error": "the error “{0}”",
    "errors": "errors",
}


def _headline(advice: Advice, one: Indicator) -> str:
    told = _DONE[one.kind].format(*one.what)
    if one.kind in ERRORS:
        return f"Watch for {told}"
    return f"{told[0].upper()}{told[1:]}" if advice == "do" else f"Avoid: {told}"
