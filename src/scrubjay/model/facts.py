"""Facts: memories that hold. A fact is a view of a memory, and these are the words that people use for it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Literal, TypeAlias, get_args
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.answers import Context
from scrubjay.model.checks import Json, shown
from scrubjay.model.memory import Memory
from scrubjay.model.scope import Scope


class FactType(StrEnum):
    """What sort of fact it is. The value is the kind of its memory."""

    USER_PREFERENCE = "preference"
    """What somebody likes: how to answer, how to indent."""
    USER_INSTRUCTION = "instruction"
    """What somebody told the agent to do, always."""
    PROJECT_FACT = "fact"
    """What is so: ports, deadlines, who leads."""
    PROJECT_CONVENTION = "convention"
    """How things are done here."""
    PROJECT_TECH_STACK = "tech_stack"
    """What it is built with."""
    LEARNED_PATTERN = "pattern"
    """What turned out to work, again and again."""
    FEEDBACK = "feedback"
    """What somebody said about the work."""
    SKILL = "skill"
    """How to do something."""
    RULE = "rule"
    """What must or must not be done, whoever asks."""

    @classmethod
    def of(cls, value: "FactType | str") -> "FactType":
        """The type that this word means: its name, or the kind of its memory."""
        if isinstance(value, str):
            for one in cls:
                if value.lower() in (one.value, one.name.lower()):
                    return one
        raise InvalidInput(f"type is {shown(value)}: use one of {', '.join(one.name for one in cls)}")

    @property
    def category(self) -> str:
        """What a group of them is called in a context."""
        return CATEGORIES[self]


CATEGORIES: Final = {
    FactType.USER_INSTRUCTION: "instructions",
    FactType.RULE: "rules",
    FactType.USER_PREFERENCE: "preferences",
    FactType.PROJECT_CONVENTION: "conventions",
    FactType.PROJECT_TECH_STACK: "tech_stack",
    FactType.PROJECT_FACT: "facts",
    FactType.SKILL: "skills",
    FactType.LEARNED_PATTERN: "patterns",
    FactType.FEEDBACK: "feedback",
}
"""The types, in the order a context writes them, and what a group of each is called there."""

FACT_KINDS: Final = tuple(one.value for one in FactType)

CONFLICT_KIND: Final = "conflict"
"""The kind of the memory that keeps a flag on two facts."""

_EXECUTION: Final = "execution:"


class Level(StrEnum):
    """How far a fact reaches: the narrowest of what its scope names."""

    GLOBAL = "GLOBAL"
    USER = "USER"
    PROJECT = "PROJECT"
    AGENT = "AGENT"
    WORKFLOW = "WORKFLOW"
    SESSION = "SESSION"

    @classmethod
    def of(cls, value: "Level | str") -> "Level":
        """The level that this word means."""
        if isinstance(value, str) and value.upper() in cls.__members__:
            return cls[value.upper()]
        raise InvalidInput(f"level is {shown(value)}: use one of {', '.join(cls)}")

    def check(self, scope: Scope) -> None:
        """Refuse a scope that lacks the id this level needs, or that is narrower than the level."""
        needed = self.value.lower()
        if self is not Level.GLOBAL and getattr(scope, needed) is None:
            raise InvalidInput(f"level is {self}, but no {needed} is named: add {needed}=…")
        if scope.level != self:
            raise InvalidInput(
                f"level is {self}, but the scope ({scope}) reaches only {scope.level}: "
                f"leave out what is narrower, or the level"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A memory that holds: what is true, for whom, and since when."""

    memory: Memory

    def __post_init__(self) -> None:
        if self.memory.kind not in FACT_KINDS:
            raise InvalidInput(
                f"memory {self.memory.id} is a {self.memory.kind}, not a fact: facts are {', '.join(FACT_KINDS)}"
            )

    @property
    def id(self) -> UUID:
        """The id of this version."""
        return self.memory.id

    @property
    def type(self) -> FactType:
        """What sort of fact it is."""
        return FactType(self.memory.kind)

    @property
    def level(self) -> Level:
        """How far it reaches."""
        return Level(self.memory.scope.level)

    @property
    def scope(self) -> Scope:
        """Where it holds."""
        return self.memory.scope

    @property
    def key(self) -> str | None:
        """Its name: among the current facts of one scope there is one for each key."""
        return self.memory.key

    @property
    def content(self) -> str:
        """What it says."""
        return self.memory.content

    @property
    def data(self) -> dict[str, Json]:
        """What else is kept with it."""
        return self.memory.data

    @property
    def importance(self) -> float:
        """From 0 to 1."""
        return self.memory.importance

    @property
    def access_count(self) -> int:
        """How often it was read or told again. Counted aside: it may lag a few seconds behind."""
        return self.memory.uses

    @property
    def last_accessed_at(self) -> datetime | None:
        """When it was read or told last."""
        return self.memory.used_at

    @property
    def execution(self) -> str | None:
        """The id of the execution that it was learned in."""
        source = self.memory.source or ""
        return source.removeprefix(_EXECUTION) if source.startswith(_EXECUTION) else None

    @property
    def valid_from(self) -> datetime:
        """Since when it holds in the world."""
        return self.memory.valid_from

    @property
    def valid_to(self) -> datetime | None:
        """Until when it held; None: it still does."""
        return self.memory.valid_to

    @property
    def known_from(self) -> datetime:
        """Since when we believe it."""
        return self.memory.created_at

    @property
    def known_to(self) -> datetime | None:
        """Until when we believed it; None: we still do."""
        return self.memory.superseded_at

    @property
    def expires_at(self) -> datetime | None:
        """When it stops being recalled."""
        return self.memory.expires_at

    @property
    def is_deleted(self) -> bool:
        """Whether it was deleted, and can be restored."""
        return self.memory.superseded_at is not None and self.memory.superseded_by is None

    def state(self, now: datetime) -> str:
        """`current`, `superseded`, `forgotten`, `expired`, `past` or `future`."""
        return self.memory.state(now)

    def __str__(self) -> str:
        return f"{self.key}: {self.content}" if self.key else self.content

    def __repr__(self) -> str:
        return f"<Fact {self.id} {self.type.name} {str(self)[:60]!r} ({self.scope})>"


def execution_source(execution: str) -> str:
    """The source of what was learned in this execution."""
    return f"{_EXECUTION}{execution}"


FactOutcome: TypeAlias = Literal["stored", "refreshed", "superseded", "duplicate_of"]
Relation: TypeAlias = Literal["contradiction", "near_duplicate"]
RELATIONS: Final[tuple[Relation, ...]] = get_args(Relation)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactConflict:
    """Two facts that may not both hold, or that may be one. It stays until somebody resolves it."""

    id: UUID
    relation: Relation
    one: Fact
    """The fact that was there."""
    other: Fact
    """The fact that was told after it."""
    explanation: str
    noticed_at: datetime

    def __repr__(self) -> str:
        return f"<FactConflict {self.id} {self.relation}: {self.one.content[:40]!r} – {self.other.content[:40]!r}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """What became of one fact that was told."""

    fact: Fact
    """The one that now stands for it."""
    outcome: FactOutcome
    """`stored` as new, `refreshed` as known, `superseded` an earlier version, or found to be a `duplicate_of` this."""
    explanation: str
    replaced: UUID | None = None
    conflicts: tuple[FactConflict, ...] = ()
    """What it was flagged with, against facts that were there."""

    @property
    def id(self) -> UUID:
        """The id of the fact."""
        return self.fact.id

    def __repr__(self) -> str:
        return f"<StoredFact {self.outcome} {self.fact!r}: {self.explanation}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedFact:
    """What became of a change in importance."""

    fact: Fact
    before: float
    asked: float
    """What should have been added."""

    @property
    def was_clamped(self) -> bool:
        """Whether a bound was met, so that less was added than asked for."""
        return not 0 <= self.before + self.asked <= 1

    @property
    def explanation(self) -> str:
        """What was done, in words."""
        now = self.fact.importance
        clamped = f", kept within 0 and 1 ({self.before + self.asked:.3g} was asked for)" if self.was_clamped else ""
        return f"importance {self.before:.3g} → {now:.3g}{clamped}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactContext(Context):
    """What an agent should know before it acts, by category, within its token budget."""

    @property
    def categories(self) -> dict[str, list[Fact]]:
        """The facts that were written, by category, the most useful first. Every category is there."""
        found: dict[str, list[Fact]] = {name: [] for name in CATEGORIES.values()}
        for item in self.items:
            fact = Fact(memory=item.memory)
            found[fact.type.category].append(fact)
        return found
