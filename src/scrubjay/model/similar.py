"""Past tasks like the one at hand, what came of using them, and what to know before the next one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args, overload
from uuid import UUID

from scrubjay.model.answers import Remembered
from scrubjay.model.checks import Json, check_fraction, check_whole
from scrubjay.model.patterns import PatternMatch, Prediction, Recommendation, TaskPattern
from scrubjay.model.tasks import Execution, MemoryType

SimilarMode: TypeAlias = Literal["hybrid", "semantic", "keyword"]
SIMILAR_MODES: Final[tuple[SimilarMode, ...]] = get_args(SimilarMode)

ReuseOutcome: TypeAlias = Literal["helped", "hurt", "neutral"]
REUSE_OUTCOMES: Final[tuple[ReuseOutcome, ...]] = get_args(ReuseOutcome)

OUTCOME_KIND: Final = "outcome"
"""The kind of the memory that counts what came of using another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credit:
    """How often a memory was used, and what came of it."""

    helped: int = 0
    hurt: int = 0
    neutral: int = 0

    @property
    def reused_count(self) -> int:
        """All uses that were reported."""
        return self.helped + self.hurt + self.neutral

    @property
    def balance(self) -> float:
        """From -1 to 1: how far help outweighs harm, drawn to 0 while few uses are known."""
        return (self.helped - self.hurt) / (self.helped + self.hurt + 2)

    @classmethod
    def of(cls, data: Mapping[str, Json]) -> "Credit":
        """The counts that a memory's data holds."""
        counts = {name: value for name in REUSE_OUTCOMES if isinstance(value := data.get(name), int)}
        return cls(**counts)

    def plus(self, outcome: ReuseOutcome) -> "Credit":
        """With one use more."""
        counts = {name: getattr(self, name) + (name == outcome) for name in REUSE_OUTCOMES}
        return Credit(**counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarTask:
    """A past execution like the task at hand, why it is one, and the receipt to report what came of using it."""

    task_id: str
    attempt: int
    memory_id: UUID
    summary: str
    success: bool
    memory_type: MemoryType
    score: float
    """How well it fits, from 0 to 1. It orders the results of one search; it is not a probability."""
    similarity: float | None
    """Calibrated likeness in meaning, 0 to 1. None when meanings were not compared: a search by keywords has none."""
    semantic_score: float | None
    """The cosine behind the similarity, on the scale of the embedding model."""
    keyword_score: float | None
    """BM25 of the words in common, on the scale of the corpus. None when it has none of the words."""
    credit: Credit = field(default_factory=Credit)
    receipt: str
    """Give it to `used` when this result was used. Being listed does not count."""
    why: str = ""
    execution: Execution = field(repr=False)

    @property
    def reused_count(self) -> int:
        """How often it was used, as reported with receipts."""
        return self.credit.reused_count

    @property
    def similarity_score(self) -> float | None:
        """The similarity: calibrated likeness in meaning, 0 to 1; None when meanings were not compared."""
        return self.similarity


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarTasks(Sequence[SimilarTask]):
    """Past executions like the task at hand, best first."""

    tasks: tuple[SimilarTask, ...]
    threshold: float | None = None
    """The least similarity that was asked for; None when none applied."""
    degraded: tuple[str, ...] = ()
    """The parts that could not take part, such as `vectors`."""

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_fraction("similarity_threshold", self.threshold)

    @overload
    def __getitem__(self, place: int) -> SimilarTask: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SimilarTask, ...]: ...
    def __getitem__(self, place: int | slice) -> SimilarTask | tuple[SimilarTask, ...]:
        return self.tasks[place]

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[SimilarTask]:
        return iter(self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExecution(Remembered):
    """What became of an execution, and the patterns that were learned at once, if that was asked for."""

    patterns: tuple[TaskPattern, ...] | None = None
    """The patterns of its place that changed; None when learning was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedContext:
    """What past tasks advise for the task at hand."""

    success_rate: str
    """How tasks like it ended, with the counts; or that they are too few to say."""
    similar: int
    """Similar tasks that were counted …"""
    succeeded: int
    """… and those of them that succeeded."""
    do: tuple[str, ...] = ()
    """What went with success, each with its evidence."""
    avoid: tuple[str, ...] = ()
    """What went with failure, each with its evidence."""

    def __str__(self) -> str:
        return "\n".join([self.success_rate, *self.do, *self.avoid])


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What became of a report that a result was used."""

    outcome: ReuseOutcome
    memories: tuple[UUID, ...]
    """The memories that were credited or blamed. What was purged meanwhile is not among them."""
    credits: tuple[Credit, ...]
    """What is known of each of them now, in the same order."""
    counted: bool
    """False when the same receipt was reported before: it counts once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """What to know before a task is begun, within a budget of tokens. Where evidence is thin it is empty, not vague.

    Its fields are read as attributes, or by their names: `context["similar_tasks"]`.
    """

    description: str
    similar_tasks: tuple[SimilarTask, ...] = ()
    matching_patterns: tuple[PatternMatch, ...] = ()
    recommendations: tuple[Recommendation, ...] = ()
    """What to do and what to avoid, each with the counts that say so."""
    recommended_context: RecommendedContext
    """How similar tasks ended, and what they advise."""
    prediction: Prediction
    """How likely it is to succeed, or why that cannot be said."""
    text: str
    """All of this as Markdown, for a prompt."""
    tokens: int
    budget: int
    left_out: int = 0
    """Similar tasks, patterns and recommendations that there was no room for. They are not in the fields above."""
    receipt: str | None = None
    """For all similar tasks together: give it to `used` when the context was used. None when there are none."""
    degraded: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_whole("tokens", self.tokens, least=0, most=self.budget)

    def __getitem__(self, name: str) -> object:
        if name not in self.__dataclass_fields__:
            raise KeyError(f"a task context has no {name!r}: it has {', '.join(self.__dataclass_fields__)}")
        return getattr(self, name)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"<TaskContext {self.tokens}/{self.budget} tokens, {len(self.similar_tasks)} similar tasks, "
            f"{len(self.recommendations)} recommendations, {self.prediction}>"
        )
