"""Rerank: relevance meets what the record knows: the turns around it, who said it, its importance, age and use."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import exp, exp2, log2, sqrt
from typing import Final, NamedTuple

from scrubjay.model import Memory, Scope
from scrubjay.model.words import words_of
from scrubjay.read.fuse import MEANING, WORDS, Candidate
from scrubjay.read.understand import Question

NEIGHBOURS: Final = (0.5, 0.25)
"""What a turn lends of its relevance to the turns one and two places away in its session: half, and half of that.

Measured on LoCoMo, R@10: nothing lent 0.65, half to the next turn 0.71, a quarter to the one after 0.73.
"""

ASSISTANT: Final = -3.0
"""Added to what an assistant said, unless the question asks for just that: people ask for what people told.

Measured on BEAM, R@10: 0 gives 0.55, -1 0.59, -2 0.63, -3 0.66. Less than that changes nothing.
"""

IMPORTANCE: Final = 1.0
"""The distance between an importance of 0 and of 1. The usual 0.5 adds nothing.

Not measured, for no public data has it. It decides between memories that answer about equally well, and no more.
"""

RECENCY: Final = 0.25
"""Added to a memory of this moment, half of it after one half-life.

Measured on LoCoMo: changes nothing (R@10 0.734 with and without), so it is small and only breaks near-ties.
"""

EVENT_HALF_LIFE: Final = 30.0
"""Days. What happened fades."""

FACT_HALF_LIFE: Final = 365.0
"""Days. What holds fades slowly: when it changes it is superseded, and gone from the answer at once."""

HALF_LIVES: Final = {"feedback": 90.0, "pattern": 180.0, "convention": 730.0, "instruction": 730.0, "rule": 3650.0}
"""Days, for kinds that fade faster or slower. Feedback is about work that moves on; a rule hardly ages."""

USE: Final = 0.1
"""Added for every doubling of its uses. Not measured either, and smaller still."""

MOST_USE: Final = 0.3
"""Uses never add more than this, or what is found would be found because it was found before."""

MIDDLE: Final = 4.0
"""The total that scores 0.5. Half of the right answers in the measured sets reach 6 to 8; the tenth hit has about 3."""

SCALE: Final = 2.0
"""The total that lies between a score of 0.5 and one of 0.73."""

NOTABLE: Final = 0.2
"""A part that adds this much is named in `why`."""

WORDS_SHOWN: Final = 5
"""Words of the question that `why` names."""

READ: Final = 4_000
"""Characters of a memory that are read for them."""

PARTS: Final = ("relevance", "neighbours", "role", "importance", "recency", "use")
"""What is added up to the total, in this order."""


class Ranked(NamedTuple):
    """A memory and how well it answers. Most are never looked at, so what explains one is made when it is asked for."""

    memory: Memory
    candidate: Candidate
    score: float
    """From 0 to 1. It orders the memories of one answer; it is not a probability."""
    parts: tuple[float, ...] = ()
    """What was added up, in the order of `PARTS`."""
    terms: tuple[str, ...] = ()
    """The words that were looked for."""

    @property
    def start(self) -> int:
        """Where the part of the content begins that is closest in meaning."""
        return self.candidate.start

    @property
    def stop(self) -> int | None:
        """Where it ends; None when it is all of the content."""
        return self.candidate.stop

    @property
    def signals(self) -> dict[str, float]:
        """Every number that went into the score."""
        return {
            **self.candidate.signals,
            **dict(zip(PARTS, self.parts, strict=True)),
            "total": sum(self.parts),
        }

    @property
    def similarity(self) -> float | None:
        """The cosine of its meaning and the question's; None when it was not compared."""
        return self.candidate.signals.get("meaning")

    @property
    def why(self) -> str:
        """The reasons that matter, in a few words."""
        signals = self.signals
        reasons: list[str] = []
        if "meaning" in signals:
            reasons.append(f"close in meaning ({signals['meaning']:.2f})")
        if "words" in signals:
            found = words_found(self.terms, self.memory.content)
            reasons.append(f"words: {', '.join(found[:WORDS_SHOWN])}" if found else "words of the question")
        if not reasons:
            reasons.append("recent")
        if signals["neighbours"] >= NOTABLE:
            reasons.append("beside other matches")
        if signals["importance"] >= NOTABLE:
            reasons.append("important")
        if signals["use"] >= NOTABLE:
            reasons.append("often used")
        return " · ".join(reasons)


def rerank(found: Sequence[tuple[Candidate, Memory]], *, question: Question, now: datetime) -> list[Ranked]:
    """Order the memories by all that is known of them, best first; equal ones stay as they came.

    When nothing in particular is asked for, they stay as they came altogether: newest first.
    """
    middle = _middle(len(found))
    if question.is_empty:
        rest = (0.0,) * (len(PARTS) - 1)
        return [_ranked(memory, one, (one.relevance, *rest), question, middle) for one, memory in found]
    sessions: dict[Scope, dict[int, float]] = {}
    beside: list[dict[int, float]] = []
    for candidate, memory in found:
        turns: dict[int, float] = {}
        if memory.position is not None and memory.scope.session is not None:
            turns = sessions.setdefault(memory.scope, turns)
            turns[memory.position] = candidate.relevance
        beside.append(turns)
    ranked = [
        _ranked(memory, candidate, _parts(candidate, memory, turns, question, now), question, middle)
        for (candidate, memory), turns in zip(found, beside, strict=True)
    ]
    ranked.sort(key=_score, reverse=True)
    return ranked


def _score(ranked: Ranked) -> float:
    return ranked.score


def _middle(candidates: int) -> float:
    """The total that scores 0.5: `MIDDLE`, or half of what the best of so few candidates could stand out at most."""
    # The largest of n numbers lies at most √(n - 1) standard deviations above their mean.
    return min(MIDDLE, (MEANING + WORDS) / 2 * sqrt(max(0, candidates - 1)))


def _ranked(
    memory: Memory, candidate: Candidate, parts: tuple[float, ...], question: Question, middle: float
) -> Ranked:
    score = 1 / (1 + exp((middle - sum(parts)) / SCALE))
    return Ranked(memory, candidate, score, parts, question.terms)


def _parts(
    candidate: Candidate, memory: Memory, turns: Mapping[int, float], question: Question, now: datetime
) -> tuple[float, ...]:
    by_assistant = memory.data.get("role") == "assistant" and not question.asks_assistant
    return (
        candidate.relevance,
        _neighbours(memory.position, turns) if len(turns) > 1 else 0.0,
        ASSISTANT if by_assistant else 0.0,
        IMPORTANCE * (memory.importance - 0.5),
        _recency(memory, now),
        familiarity(memory),
    )


def _neighbours(position: int | None, turns: Mapping[int, float]) -> float:
    """What the better turn lends at each distance. A poor one lends nothing, and takes nothing away."""
    if position is None:
        return 0.0
    lent = 0.0
    for distance, part in enumerate(NEIGHBOURS, 1):
        lent += part * max(0.0, turns.get(position - distance, 0.0), turns.get(position + distance, 0.0))
    return lent


def _recency(memory: Memory, now: datetime) -> float:
    return RECENCY * freshness(memory, now)


def freshness(memory: Memory, now: datetime) -> float:
    """1 for what holds since this moment, half of it after each half-life of its kind."""
    days = max(0.0, (now - memory.valid_from).total_seconds() / 86_400)
    half_life = EVENT_HALF_LIFE if memory.is_event else HALF_LIVES.get(memory.kind, FACT_HALF_LIFE)
    return exp2(-days / half_life)


def familiarity(memory: Memory) -> float:
    """What its uses add: a little for every doubling, and never much."""
    return min(MOST_USE, USE * log2(1 + memory.uses)) if memory.uses else 0.0


def words_found(terms: Sequence[str], content: str) -> list[str]:
    """Those of the terms that the content has, in another form of the word perhaps, as a search by words sees it."""
    words = set(words_of(content[:READ]))
    # To look for a beginning in one long string is many times faster than in every word.
    beginnings = f" {' '.join(words)}"
    return [term for term in terms if term in words or _has_form(words, beginnings, _stem(term))]


def _has_form(words: set[str], beginnings: str, stem: str) -> bool:
    return f" {stem}" in beginnings and any(word.startswith(stem) and _stem(word) == stem for word in words)


def _stem(word: str) -> str:
    """The word without its commonest endings. Rougher than the index's own stemmer: good enough to name words."""
    for ending in ("ings", "ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
