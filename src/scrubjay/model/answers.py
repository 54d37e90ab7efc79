"""What comes back: what a write did, what a recall found and why, and a context that fits its budget."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, overload
from uuid import UUID

from scrubjay.model.citations import CheckedCitation, warning_of
from scrubjay.model.memory import Memory

Outcome: TypeAlias = Literal["stored", "unchanged", "superseded"]

PARTS: Final = (
    "relevance",
    "neighbours",
    "session",
    "passage",
    "told",
    "speaker",
    "time",
    "standing",
    "namesake",
    "role",
    "importance",
    "recency",
    "use",
)
"""The signals of a hit that are added up to its total, in this order."""

OFF_TOPIC: Final = 0.1
"""The confidence below which it is said. Far below one half: to say it of what is known is the worse mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of one thing that was told."""

    memory: Memory
    outcome: Outcome
    """`stored` as new, `unchanged` because it was known, or `superseded` an earlier version."""
    replaced: UUID | None = None

    @property
    def id(self) -> UUID:
        """The id of the memory."""
        return self.memory.id

    def __repr__(self) -> str:
        return f"<Remembered {self.outcome} {self.memory!r}>"


class _Reasoned:
    """Room beside the fields of a hit, for how to say why it is one."""

    __slots__ = ("_reason",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(_Reasoned):
    """One answer, and why it is one."""

    memory: Memory
    score: float
    """How well it fits, from 0 to 1. It orders the hits of one answer; it is not a probability."""
    similarity: float | None = None
    """How close in meaning, 0 to 1, on the scale of the embedding model; None when it was not compared."""
    why: str = ""
    passage: str | None = None
    """The part of a long memory that was found."""
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    """With `explain`: every number that went into the score."""
    cited: tuple[CheckedCitation, ...] = ()
    """The code that it cites, compared with the working tree; empty when it cites none, or the tree is not here."""

    if not TYPE_CHECKING:  # To a type checker, `why` is there from the beginning.

        def __getattr__(self, name: str) -> str:
            if name != "why":
                raise AttributeError(f"a hit has no {name!r}", name=name, obj=self)
            why = self._reason()
            object.__setattr__(self, "why", why)
            # The reason holds on to all that was found, which whoever keeps hits need not keep with them.
            object.__setattr__(self, "_reason", lambda: why)
            return why

    @property
    def warning(self) -> str:
        """What to say to whoever reads it: that code it speaks of has changed. Empty when there is nothing to say."""
        return warning_of(self.cited)

    def __repr__(self) -> str:
        return f"<Hit {self.score:.2f} {self.memory.content[:60]!r} – {self.why}>"


class _Unchecked(_Reasoned):
    """The same slots: what was put into them becomes a hit when its class is changed, several times as fast."""

    __slots__ = Hit.__slots__


def hit_found(
    memory: Memory,
    score: float,
    similarity: float | None,
    passage: str | None,
    signals: Mapping[str, float],
    reason: Callable[[], str],
) -> Hit:
    """The hit of these values, whose `why` is put into words when somebody first looks: most are never looked at."""
    hit: Any = _Unchecked()
    hit.memory, hit.score, hit.similarity, hit.passage = memory, score, similarity, passage
    hit.signals, hit.cited, hit._reason = signals, (), reason  # noqa: SLF001 -- its own module
    hit.__class__ = Hit
    return cast("Hit", hit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits(Sequence[Hit]):
    """The answers to one question, best first."""

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    """The parts that could not take part, such as `vectors`: what is here is right, but more might be found."""
    confidence: float | None = None
    """The chance that memories about the topic of the question are here at all, 0 to 1; None when it is not known.

    Off the topic it is low. On the topic it is high, also when the one detail that was asked for is missing.
    """
    milliseconds: float = 0.0

    @property
    def is_off_topic(self) -> bool:
        """Whether nothing here seems to be about the question. Not when that is not known."""
        return self.confidence is not None and self.confidence < OFF_TOPIC

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {hit!r}" for hit in self.hits)
        confidence = f", confidence {self.confidence:.2f}" if self.confidence is not None else ""
        degraded = f", degraded: {', '.join(self.degraded)}" if self.degraded else ""
        return f"<{len(self.hits)} hits in {self.milliseconds:.1f} ms{confidence}{degraded}>{lines}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One memory in a context: under which heading, why, and what it costs."""

    memory: Memory
    section: str
    tokens: int
    why: str
    score: float | None = None
    """How well it answers the question, from 0 to 1; None for what is there whatever is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an agent should know before it acts, within its token budget."""

    text: str
    tokens: int
    budget: int
    items: tuple[ContextItem, ...] = ()
    left_out: tuple[ContextItem, ...] = ()
    """What would have come next, what it would have cost, and why it is not there."""
    degraded: tuple[str, ...] = ()
    as_: str = "markdown"
    """How it is written: `markdown`, `xml`, or `messages`, whose text is the list of them as JSON."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The context as chat messages: those it is written as, or one of the system with all of it."""
        if not self.text:
            return []
        if self.as_ != "messages":
            return [{"role": "system", "content": self.text}]
        written: list[dict[str, str]] = json.loads(self.text)
        return written

    @property
    def sections(self) -> dict[str, tuple[ContextItem, ...]]:
        """What is in it under each heading, in the order it is written."""
        headings = dict.fromkeys(item.section for item in self.items)
        return {heading: tuple(item for item in self.items if item.section == heading) for heading in headings}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Context {self.tokens}/{self.budget} tokens, {len(self.items)} items, {len(self.left_out)} left out>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """Proof of what was forgotten."""

    ids: tuple[UUID, ...]
    """What was named and found."""
    derived: tuple[UUID, ...] = ()
    """What went with it: what was made from it, and after a purge also its other versions."""
    purged: bool = False
    """Whether it is gone for good, or only closed."""
    at: datetime
    remaining: Mapping[str, int] = field(default_factory=dict, hash=False)
    """After a purge: how many traces each store still holds, counted again.

    All zero, but for `vectors` while the engine is away: those go as soon as it is back. After a purge of everything,
    `records` and `sessions` count what the scope holds by now: also what others went on telling.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which model made a vector. Vectors of two identities are never compared."""

    provider: str
    model: str
    version: str
    dimensions: int

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}@{self.version}/{self.dimensions}"


GenerationState: TypeAlias = Literal["building", "active", "retired", "undone", "standby"]
"""`standby` holds vectors of a model that stands in while the configured one cannot answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """All vectors of one embedding model. One generation is active; another may be in the making beside it."""

    number: int
    identity: Identity
    state: GenerationState
    created_at: datetime
    switched_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What the memory holds, and how it is doing."""

    memories: int
    """Current ones."""
    versions: int
    """All rows, with what was superseded, forgotten or has expired."""
    kinds: Mapping[str, int] = field(default_factory=dict, hash=False)
    scopes: int = 0
    pending: int = 0
    """Written but not yet indexed by meaning."""
    vectors: int = 0
    """Memories that have vectors in the generation that answers, those of other tenants included."""
    generations: tuple[Generation, ...] = ()
    embedder: str = ""
    records: str = ""
    bytes_on_disk: int | None = None
    texts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """In this process: texts whose vectors were `remembered`, `shared` by another process, or `embedded`."""
