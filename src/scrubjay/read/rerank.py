"""Rerank: relevance meets what the record knows: the turns around it, who said it, its importance, age and use."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from heapq import nlargest
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

BACKWARDS: Final = 0.7
"""The share of it that is lent against the way in which people answer each other.

A person's answer comes after what it answers, so a turn lends fully to what follows. What an assistant says is about
the turn before it, so that is where it lends fully. Measured on the dev part of the sets, against lending fully both
ways: R@1 on LoCoMo 0.278 → 0.295, R@10 on BEAM 0.681 → 0.695.
"""

SESSION: Final = 0.15
SESSION_TURNS: Final = 2
"""What a turn gets of the relevance of each of the two best other turns of its session, near or far.

Measured on the dev part of the sets, R@10: on LoCoMo 0.722 → 0.739, on BEAM 0.682 → 0.695.
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

_NOBODY: Final = (0.0, False)

PARTS: Final = ("relevance", "neighbours", "session", "role", "importance", "recency", "use")
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
        if not reasons and "recency_rank" in signals:
            reasons.append("recent")
        # What no search found came with the turn that it follows.
        if signals["neighbours"] >= NOTABLE or not reasons:
            reasons.append("beside other matches")
        elif signals["session"] >= NOTABLE:
            reasons.append("in a session of other matches")
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
    sessions = _sessions(found)
    ranked = [
        _ranked(memory, candidate, _parts(candidate, memory, sessions, question, now), question, middle)
        for candidate, memory in found
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


class _Session:
    """The turns of one session that were found."""

    __slots__ = ("best", "turns")

    def __init__(self) -> None:
        self.turns: dict[int, tuple[float, bool]] = {}
        """By position: how relevant it is, and whether an assistant said it."""
        self.best: list[float] = []
        """The highest relevances, one more than a turn gets something of: it may be among them itself."""


def _sessions(found: Sequence[tuple[Candidate, Memory]]) -> dict[Scope, _Session]:
    sessions: dict[Scope, _Session] = {}
    for candidate, memory in found:
        if memory.position is not None and memory.scope.session is not None:
            session = sessions.setdefault(memory.scope, _Session())
            session.turns[memory.position] = (max(0.0, candidate.relevance), by_assistant(memory))
    for session in sessions.values():
        session.best = nlargest(SESSION_TURNS + 1, (relevance for relevance, _ in session.turns.values()))
    return sessions


def by_assistant(memory: Memory) -> bool:
    """Whether an assistant said it."""
    return memory.data.get("role") == "assistant"


def _parts(
    candidate: Candidate, memory: Memory, sessions: Mapping[Scope, _Session], question: Question, now: datetime
) -> tuple[float, ...]:
    neighbours = company = 0.0
    if memory.position is not None and (session := sessions.get(memory.scope)) and len(session.turns) > 1:
        neighbours = _neighbours(memory.position, session.turns)
        company = _company(candidate.relevance, session.best)
    return (
        candidate.relevance,
        neighbours,
        company,
        ASSISTANT if by_assistant(memory) and not question.asks_assistant else 0.0,
        IMPORTANCE * (memory.importance - 0.5),
        _recency(memory, now),
        familiarity(memory),
    )


def _neighbours(position: int, turns: Mapping[int, tuple[float, bool]]) -> float:
    """What the turn that lends more does at each distance. A poor one lends nothing, and takes nothing away."""
    lent = 0.0
    for distance, part in enumerate(NEIGHBOURS, 1):
        before, answered = turns.get(position - distance, _NOBODY)
        after, answers = turns.get(position + distance, _NOBODY)
        lent += part * max(before * BACKWARDS if answered else before, after if answers else after * BACKWARDS)
    return lent


def _company(relevance: float, best: Sequence[float]) -> float:
    """What the best other turns of its session add."""
    others = list(best)
    if relevance in others:
        others.remove(relevance)
    return SESSION * sum(others[:SESSION_TURNS])


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
