"""Rerank: relevance meets what the record knows: the turns around it, who said it, its importance, age and use."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import exp, exp2, log2, sqrt
from typing import Final, NamedTuple

from scrubjay.model import Memory
from scrubjay.model.answers import PARTS
from scrubjay.model.memory import EVENT_KINDS
from scrubjay.ports import Calibrated
from scrubjay.read.confidence import MIDDLE as ABOUT_IT
from scrubjay.read.forms import words_found
from scrubjay.read.fuse import MEANING, WORDS, Candidate
from scrubjay.read.latest import latest
from scrubjay.read.named_times import asks_only_when, times_in
from scrubjay.read.namesakes import NAMESAKE, namesakes
from scrubjay.read.sessions import by_assistant, sessions_of
from scrubjay.read.standing import STANDING, standing
from scrubjay.read.supporting import Asked, sort_of_memory
from scrubjay.read.talk import NOTHING, talk
from scrubjay.read.times import Time, happened, is_inside, nearness, says_when
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

DATED: Final = 4.0
"""Added to a turn of a time that the question names, and half of it for every four days that lie between.

To an event too, in a session or not, and half of it for every half a day. An event says itself when it was, so that
counts as much among few.

Measured on the 51 dated questions of the dev part of LoCoMo: R@5 0.536 → 0.758, R@10 0.654 → 0.784.
"""

IN_PASSING: Final = 0.5
"""The share of it that an event gets from a question that asks for more than what happened then.

"Who is on call this week?" is answered by a fact. With all of it, twelve events of a week stood before that.
"""

ASSISTANT: Final = -4.5
"""Added to what an assistant said, unless the question asks for just that: people ask for what people told.

Measured on the dev part of BEAM, R@5 and R@10: with -3 0.568 and 0.695, with -4.5 0.586 and 0.701, with -5 the same.
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

_FADING: Final = {**HALF_LIVES, **dict.fromkeys(EVENT_KINDS, EVENT_HALF_LIFE)}
"""The half-life of each kind that has another one than facts."""

USE: Final = 0.1
"""Added for every doubling of its uses. Not measured either, and smaller still."""

MOST_USE: Final = 0.3
"""Uses never add more than this, or what is found would be found because it was found before."""

MIDDLE: Final = 4.0
"""The total that scores 0.5.

On the dev part of the sets, the median of the best right answer is 4 to 7, on past tasks 3, and on LoCoMo, whose turns
tell and lend most, 13; that of the tenth hit is 1 to 3, on LoCoMo 5.
"""

SCALE: Final = 2.0
"""The total that lies between a score of 0.5 and one of 0.73."""

NOTABLE: Final = 0.2
"""A part that adds this much is named in `why`."""

_REASONS: Final = {
    "standing": "meant for always",
    "namesake": "titled alike",
    "importance": "important",
    "use": "recalled before",
}
"""How `why` names what else added to the total."""

WORDS_SHOWN: Final = 5
"""Words of the question that `why` names."""

_INSIDE, _NEWEST = "inside", "newest"
_NOTHING_NOTED: Final[frozenset[str]] = frozenset()
_NOBODY: Final = (0.0, False)
_NO_TALK: Final = (0.0,) * (PARTS.index("time") - 1)
_NO_STANDING: Final = (0.0,) * (PARTS.index("namesake") - PARTS.index("time") - 1)
"""What the parts before and behind `time` are where nothing stands in a session."""


class Reread(NamedTuple):
    """What a model says of a memory that read it together with the question."""

    score: float
    """On the model's own scale."""
    rank: int
    """Among those that it read, from 1."""
    deviations: float
    """How many standard deviations its score lies above their mean."""
    added: float
    """To the total."""


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
    share: float = 1.0
    """Of what is known of talk and of times, how much counts among so few candidates."""
    noted: frozenset[str] = _NOTHING_NOTED
    """What `why` says of when it was: that it is `inside` of a time that the question names, or the `newest`."""
    reread: Reread | None = None
    """What a reranker said, if one read it."""
    scale: Calibrated | None = None
    """On which the cosines of the model that answered are read; None where there is none."""

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
        signals = {**self.candidate.signals, **dict(zip(PARTS, self.parts, strict=True)), "total": sum(self.parts)}
        if (said := self.reread) is not None:
            signals |= {"reranker": said.score, "reranker_rank": said.rank, "reranker_z": said.deviations}
            signals |= {"reread": said.added, "total": signals["total"] + said.added}
        return signals

    @property
    def similarity(self) -> float | None:
        """The cosine of its meaning and the question's; None when it was not compared."""
        return self.candidate.similarity

    @property
    def likeness(self) -> float | None:
        """How close in meaning it is, 0 to 1, on the scale of the model; None when it was not compared."""
        cosine = self.similarity
        return cosine if cosine is None else self.scale.calibrate(cosine) if self.scale else max(0.0, cosine)

    @property
    def why(self) -> str:
        """The reasons that matter, in a few words."""
        signals = self.signals
        reasons: list[str] = []
        if "meaning" in signals and (likeness := round(self.likeness or 0.0, 2)) > 0:
            reasons.append(f"{self._nearness(likeness)} in meaning ({likeness:.2f})")
        if "words" in signals:
            found = words_found(self.terms, self.memory.content)
            reasons.append(f"words: {', '.join(found[:WORDS_SHOWN])}" if found else "words of the question")
        if not reasons and "clause" in signals:
            reasons.append("close to a part of the question")
        if not reasons and "recency_rank" in signals:
            reasons.append("recent")
        # What no search found came with the turn that it follows.
        when = self._when(signals)
        if signals["neighbours"] >= NOTABLE or not (reasons or when or "meaning" in signals):
            reasons.append("beside other matches")
        elif signals["session"] >= NOTABLE:
            reasons.append("in a session of other matches")
        reasons += when
        reasons += [reason for part, reason in _REASONS.items() if signals[part] >= NOTABLE]
        if signals["role"] < 0:
            sort = sort_of_memory(self.memory)
            reasons.append(f"stands back: {sort} code" if sort else "stands back: said by an assistant")
        if self.reread is not None and self.reread.added >= NOTABLE:
            reasons.append("fits when read again")
        # Where there is little, what is near to nothing in the question is among the nearest all the same.
        return " · ".join(reasons) or "nothing nearer is left"

    def _when(self, signals: Mapping[str, float]) -> list[str]:
        """What speaks for it in when it was."""
        reasons = ["the newest that was found"] if _NEWEST in self.noted else []
        if signals["time"] >= NOTABLE:
            reasons.append("of that time" if _INSIDE in self.noted else "near that time")
        return reasons

    def _nearness(self, likeness: float) -> str:
        """Close is what is as likely as not about the question; without a scale, what is not behind the mean."""
        if self.scale is not None:
            return "close" if likeness >= ABOUT_IT else "a little alike"
        return "close" if self.signals.get("meaning_z", 0.0) >= 0 else "less close"


def rerank(
    found: Sequence[tuple[Candidate, Memory]], *, question: Question, now: datetime, left: int = 0
) -> list[Ranked]:
    """Order the memories by all that is known of them, best first; equal ones stay as they came.

    When nothing in particular is asked for, they stay as they came altogether: newest first. `left` is how many
    candidates were found beside these and not fetched.
    """
    middle = _middle(len(found) + left)
    if question.is_empty:
        rest = (0.0,) * (len(PARTS) - 1)
        return [_ranked(memory, one, (one.relevance, *rest), question, middle) for one, memory in found]
    seen = _Seen(found, question, now, middle)
    ranked = [
        _ranked(memory, candidate, seen.parts(place, candidate, memory), question, middle, seen.noted(memory))
        for place, (candidate, memory) in enumerate(found)
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
    memory: Memory,
    candidate: Candidate,
    parts: tuple[float, ...],
    question: Question,
    middle: float,
    noted: frozenset[str] = _NOTHING_NOTED,
) -> Ranked:
    score = 1 / (1 + exp((middle - sum(parts)) / SCALE))
    return Ranked(memory, candidate, score, parts, question.terms, middle / MIDDLE, noted)


class _Seen:
    """All that was found, seen together with the question."""

    __slots__ = (
        *(
            "_asked",
            "_assistants",
            "_latest",
            "_namesakes",
            "_newest",
            "_now",
            "_only_when",
            "_question",
            "_sessions",
            "_share",
        ),
        *("_stand_alone", "_standing", "_talk", "_times", "_dated_by"),
    )

    def __init__(
        self, found: Sequence[tuple[Candidate, Memory]], question: Question, now: datetime, middle: float
    ) -> None:
        self._question = question
        self._asked = Asked(question.title or question.text)
        self._now = now
        self._assistants = by_assistant(found)
        # One more than a turn gets something of: it may be among the best itself.
        self._sessions = sessions_of(found, self._assistants, best=SESSION_TURNS + 1)
        in_sessions = self._sessions.count(None) < len(self._sessions)
        self._stand_alone = not in_sessions
        self._talk = talk(found, self._sessions, question) if in_sessions else None
        has_times = in_sessions or not EVENT_KINDS.isdisjoint([memory.kind for _, memory in found])
        self._times: list[Time] = times_in(question.text, now) if has_times else []
        self._only_when = bool(self._times) and asks_only_when(question.text, now)
        self._dated_by = DATED if self._only_when else DATED * IN_PASSING
        self._standing = standing(found, self._sessions, question) if in_sessions else frozenset()
        self._namesakes = namesakes([memory for _, memory in found], question) if question.title else None
        self._latest = latest(found, question)
        self._newest = next(iter(self._latest), None)
        # Among few candidates relevance spreads less, so what is known of talk and of times counts less with it.
        self._share = middle / MIDDLE

    def noted(self, memory: Memory) -> frozenset[str]:
        """What `why` is to say of when it was."""
        if not (self._times or self._latest):
            return _NOTHING_NOTED
        newest = self._newest == memory.id
        inside = bool(self._times) and is_inside(memory, self._times, self._now)
        return frozenset(([_NEWEST] if newest else []) + ([_INSIDE] if inside else []))

    def parts(self, place: int, candidate: Candidate, memory: Memory) -> tuple[float, ...]:
        """What is added up for the memory at this place, in the order of `PARTS`."""
        is_told = memory.id not in self._assistants or self._question.asks_assistant
        own = (
            0.0 if self._namesakes is None else NAMESAKE * self._namesakes[place],
            self._asked.stepped(memory) if is_told else ASSISTANT,
            IMPORTANCE * (memory.importance - 0.5),
            RECENCY * freshness(memory, self._now) + self._latest.get(memory.id, 0.0),
            familiarity(memory),
        )
        session = self._sessions[place]
        time = self._dated(memory, candidate) if self._times and (session is not None or memory.is_event) else 0.0
        if self._stand_alone:
            return (candidate.relevance, *_NO_TALK, time, *_NO_STANDING, *own)
        neighbours = company = 0.0
        if session is not None and memory.position is not None and len(session.turns) > 1:
            neighbours = _neighbours(memory.position, session.turns)
            company = _company(candidate.relevance, session.best)
        passage, told, speaker = NOTHING if self._talk is None else self._talk[place]
        share = self._share
        return (
            candidate.relevance,
            neighbours,
            company,
            passage * share,
            told * share,
            speaker * share,
            time,
            STANDING * share if place in self._standing else 0.0,
            *own,
        )

    def _dated(self, memory: Memory, candidate: Candidate) -> float:
        """What it adds that a turn, or an event, is of a time that the question names.

        To "what happened yesterday?" no event is more relevant than another: one of that time loses nothing by being
        little like these words, and another one gains nothing by being like them.
        """
        if says_when(memory):
            near, relevance = happened(memory.valid_from, self._times, self._now), candidate.relevance
            evened = 0.0 if not self._only_when else max(0.0, -relevance) if near == 1.0 else -max(0.0, relevance)
            return self._dated_by * near + evened
        return DATED * self._share * nearness(memory.valid_from, self._times)


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


def freshness(memory: Memory, now: datetime) -> float:
    """1 for what holds since this moment, half of it after each half-life of its kind."""
    days = max(0.0, (now - memory.valid_from).total_seconds() / 86_400)
    return exp2(-days / _FADING.get(memory.kind, FACT_HALF_LIFE))


def familiarity(memory: Memory) -> float:
    """What its uses add: a little for every doubling, and never much."""
    return min(MOST_USE, USE * log2(1 + memory.uses)) if memory.uses else 0.0
