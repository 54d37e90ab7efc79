"""Patterns: what went with success and failure in past executions, with the counts that say so."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_content, check_fraction, check_moment, check_name, check_whole, shown
from scrubjay.model.scope import Scope

PATTERN_KIND: Final = "pattern"
"""The kind of a memory that holds a pattern."""

PatternType: TypeAlias = Literal["success", "failure", "optimization"]
PATTERN_TYPES: Final[tuple[PatternType, ...]] = get_args(PatternType)

TraitKind: TypeAlias = Literal[
    "tool", "again", "order", "next", "error", "file", "folder", "model", "errors", "phrase", "word"
]
"""What an indicator is about: a tool, a tool used again, one tool before another, one right after another, an error
(without what differs between two of them), a file, a folder, a model, any error at all, two words of a summary, one."""
TRAIT_KINDS: Final[tuple[TraitKind, ...]] = get_args(TraitKind)

Advice: TypeAlias = Literal["do", "avoid"]
Stage: TypeAlias = Literal["before", "during"]

_MOST: Final = 10**12
_ENDINGS: Final = {"success": "succeeded", "failure": "failed", "optimization": "were among the cheaper half"}
_SAID: Final = {
    "tool": "used {0}",
    "again": "used {0} more than once",
    "order": "ran {0} before {1}",
    "next": "ran {1} right after {0}",
    "error": "met the error “{0}”",
    "file": "touched {0}",
    "folder": "touched files in {0}",
    "model": "ran on {0}",
    "errors": "met any error",
    "phrase": "say “{0} {1}” in the summary",
    "word": "say “{0}” in the summary",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Indicator:
    """Something that executions of one family have or lack, and how those with it and those without it ended."""

    kind: TraitKind
    what: tuple[str, ...]
    """The tool, the two tools in order, the file, the words, …"""
    ending: PatternType = "success"
    """What is counted: executions that succeeded, that failed, or that succeeded and cost less than most."""
    hits: int
    """Executions with it that ended so …"""
    seen: int
    """… of all with it."""
    other_hits: int
    """Executions without it that ended so …"""
    other_seen: int
    """… of all without it."""
    q_value: float
    """The share of false discoveries one accepts by believing this and everything stronger."""
    strength: float
    """The lower 5 % bound of the log odds ratio, drawn to 0 while counts are small. Greater is stronger."""
    among_errors: bool = False
    """True where the others are executions that met other errors: errors are recorded for failures only."""

    def __post_init__(self) -> None:
        if self.kind not in TRAIT_KINDS:
            raise InvalidInput(f"kind is {shown(self.kind)}: use one of {', '.join(TRAIT_KINDS)}")
        check_pattern_type("ending", self.ending)
        check_whole("seen", self.seen, least=1, most=_MOST)
        check_whole("hits", self.hits, least=0, most=self.seen)
        check_whole("other_seen", self.other_seen, least=0, most=_MOST)
        check_whole("other_hits", self.other_hits, least=0, most=self.other_seen)
        check_fraction("q_value", self.q_value)
        if isinstance(self.strength, bool) or not isinstance(self.strength, int | float):
            raise InvalidInput(f"strength is {shown(self.strength)}: use a number")

    @property
    def rate(self) -> float:
        """The share of executions with it that ended so."""
        return self.hits / self.seen

    @property
    def other_rate(self) -> float | None:
        """The share of executions without it that ended so; None when all have it."""
        return self.other_hits / self.other_seen if self.other_seen else None

    @property
    def said(self) -> str:
        """What it is, to stand behind "tasks that"."""
        return _SAID[self.kind].format(*self.what)

    @property
    def evidence(self) -> str:
        """The counts as a sentence."""
        sentence = f"{self.hits} of {self.seen} similar tasks that {self.said} {_ENDINGS[self.ending]}"
        others = "that met other errors" if self.among_errors else "that did not"
        return f"{sentence}; {self.other_hits} of {self.other_seen} {others}" if self.other_seen else sentence

    def __str__(self) -> str:
        return self.evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPattern:
    """What was learned from the executions of one family of tasks. Every change is a new version."""

    id: str
    """The same for every version."""
    pattern_type: PatternType
    task_type_pattern: str
    """A regular expression (RE2) that is searched for, in any case, in task types and descriptions."""
    name: str
    """The family in a few words."""
    words: tuple[str, ...] = ()
    """The telling words of the family's descriptions; none when the pattern was asked for by its expression."""
    success_indicators: tuple[Indicator, ...] = ()
    """What went with success (of an optimization: with lower cost): actions, then errors, then words, surest first."""
    failure_indicators: tuple[Indicator, ...] = ()
    """What went with failure (of an optimization: with higher cost), in the same order."""
    recommended_context: str = ""
    confidence: float
    """The lower 5 % bound of the posterior that a task with the first indicator ends as the pattern says."""
    samples: int
    """All similar tasks, however they ended …"""
    successes: int
    """… and those of them that succeeded."""
    helpful: float = 0.0
    unhelpful: float = 0.0
    """Feedback, in executions that it weighs as much as."""
    usage_count: int = 0
    evidence: tuple[UUID, ...] = ()
    """Executions that it was learned from: the newest ones."""
    version: int = 1
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime
    """When the newest execution ended that it was learned from. Confidence fades from here on."""
    scope: Scope

    def __post_init__(self) -> None:
        check_name("id", self.id)
        check_pattern_type("pattern_type", self.pattern_type)
        if not isinstance(self.task_type_pattern, str) or not self.task_type_pattern:
            raise InvalidInput(f"task_type_pattern is {shown(self.task_type_pattern)}: use a regular expression")
        check_content(self.name, "name")
        if not all(isinstance(word, str) for word in self.words):
            raise InvalidInput(f"words is {shown(self.words)}: use words")
        check_fraction("confidence", self.confidence)
        check_whole("samples", self.samples, least=1, most=_MOST)
        check_whole("successes", self.successes, least=0, most=self.samples)
        check_whole("version", self.version, least=1, most=_MOST)
        for name in ("created_at", "updated_at", "last_seen_at"):
            check_moment(name, getattr(self, name))

    @property
    def indicators(self) -> tuple[Indicator, ...]:
        """Those that the type is named after first."""
        pair = (self.success_indicators, self.failure_indicators)
        first, second = reversed(pair) if self.pattern_type == "failure" else pair
        return first + second

    @property
    def success_rate(self) -> float:
        """The share of all similar tasks that succeeded."""
        return self.successes / self.samples

    @property
    def pattern_id(self) -> str:
        """The id, as verbs take it."""
        return self.id

    @property
    def confidence_score(self) -> float:
        """The confidence."""
        return self.confidence

    def __repr__(self) -> str:
        return f"<TaskPattern {self.id} {self.pattern_type} {self.name!r} {self.confidence:.2f} version {self.version}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternMatch:
    """A pattern that concerns the task at hand, and why."""

    pattern: TaskPattern
    why: str
    similarity: float | None = None
    """Calibrated likeness in meaning, 0 to 1; None when the regular expression matched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """One thing to do or to avoid, with the executions that say so."""

    advice: Advice
    text: str
    """What, and its evidence, in one sentence each."""
    indicator: Indicator
    confidence: float
    """The lower 5 % bound of the posterior that tasks with it end so."""
    pattern_id: str | None = None
    evidence: tuple[UUID, ...] = ()
    """The newest executions with it that ended so."""

    def __post_init__(self) -> None:
        check_fraction("confidence", self.confidence)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How likely a task is to succeed, or that there is no basis to say so."""

    probability: float | None
    """None when no prediction has shown skill on past tasks here."""
    basis: str
    """What the number rests on, with the skill that was measured; or why there is none."""
    stage: Stage
    """`before` the run, from its description; or `during` it, from the tools and errors so far too."""
    base_rate: float | None = None
    """The share of all past tasks here that succeeded."""
    evaluated: int = 0
    """Past tasks that were predicted from the tasks before them, to measure the skill."""
    skill: float | None = None
    """The part of the base rate's Brier score that predicting takes away: 0 is none, 1 is a perfect forecast."""
    similar: tuple[UUID, ...] = field(default=(), repr=False)
    """The past executions that were compared with."""

    def __post_init__(self) -> None:
        for name in ("probability", "base_rate"):
            if getattr(self, name) is not None:
                check_fraction(name, getattr(self, name))

    @property
    def has_basis(self) -> bool:
        """Whether there is a number."""
        return self.probability is not None

    def __str__(self) -> str:
        return f"no basis: {self.basis}" if self.probability is None else f"{self.probability:.0%}: {self.basis}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Tasks that are described alike."""

    id: str
    name: str
    """Its telling words, in the order in which descriptions say them."""
    regex: str
    """A regular expression that finds most of its descriptions and few others."""
    size: int
    successes: int
    parent: str | None = None
    """The wider family that it is part of; None when it is the widest itself."""
    examples: tuple[str, ...] = ()
    precision: float
    """Of the descriptions that the regular expression finds, the share that belongs here."""
    recall: float
    """Of the descriptions that belong here, the share that the regular expression finds."""

    def __post_init__(self) -> None:
        check_whole("size", self.size, least=1, most=_MOST)
        check_whole("successes", self.successes, least=0, most=self.size)
        check_fraction("precision", self.precision)
        check_fraction("recall", self.recall)

    @property
    def success_rate(self) -> float:
        """The share of its executions that succeeded."""
        return self.successes / self.size


def check_pattern_type(field: str, value: object) -> None:
    """One of the pattern types."""
    if value not in PATTERN_TYPES:
        raise InvalidInput(f"{field} is {shown(value)}: use one of {', '.join(PATTERN_TYPES)}")
