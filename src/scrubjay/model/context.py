"""Contexts: the sections they are made of, the forms they are written in, and the shape that an agent prefers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self, TypeAlias, get_args

from scrubjay.errors import InvalidInput
from scrubjay.model.agents import BOOKKEEPING_KINDS
from scrubjay.model.checks import Json, check_whole, shown
from scrubjay.model.facts import CONFLICT_KIND
from scrubjay.model.memory import EVENT_KINDS, STANDING_KINDS, Memory, Trust
from scrubjay.model.scope import PLACE_NAMES, Scope
from scrubjay.model.workspace import REJECTED_KIND

Section: TypeAlias = Literal["facts", "tasks", "workspace", "episodes", "notes", "working"]
"""What a context can be made of: one name for each memory, and `notes` for every kind that belongs to none."""

SECTIONS: Final[tuple[Section, ...]] = get_args(Section)

Form: TypeAlias = Literal["markdown", "xml", "messages"]
"""How a context is written."""

FORMS: Final[tuple[Form, ...]] = get_args(Form)

DEFAULT_BUDGET: Final = 1_000
MOST_BUDGET: Final = 1_000_000

SHAPE_KIND: Final = "context_shape"
SHAPE_KEY: Final = "context:shape"
"""The kind and the key of the memory that keeps a shape."""

SHAPE_PLACE: Final = "place"
"""Where its data names its scope, so that a store can leave out the shapes of others."""

ABOUT_MEMORIES: Final = frozenset({CONFLICT_KIND, "outcome", SHAPE_KIND, REJECTED_KIND, *BOOKKEEPING_KINDS})
"""Kinds that are notes about memories and how to use them, what was tried and rejected, and the bookkeeping of agents.
They are kept with the memories, and no agent reads them unasked."""

KINDS_OF_SECTION: Final[dict[Section, tuple[str, ...]]] = {
    "facts": (*STANDING_KINDS, "fact", "tech_stack", "skill", "feedback"),
    "tasks": ("task", "pattern"),
    "workspace": ("completion", "code", "file", "commit", "repository"),
    "episodes": (*sorted(EVENT_KINDS), "summary"),
}

_SECTION_OF_KIND: Final = {kind: section for section, kinds in KINDS_OF_SECTION.items() for kind in kinds}


def section_of(kind: str) -> Section:
    """The section that memories of this kind stand in."""
    return _SECTION_OF_KIND.get(kind, "notes")


def check_sections(sections: object) -> tuple[Section, ...]:
    """The sections in the order they are written, each once. One that does not exist is refused."""
    given = [sections] if isinstance(sections, str) else sections
    if not isinstance(given, Iterable) or not (named := list(given)):
        raise InvalidInput(f"sections is {shown(sections)}: name one or more of {', '.join(SECTIONS)}")
    for one in named:
        if one not in SECTIONS:
            raise InvalidInput(f"sections holds {shown(one)}: use {', '.join(SECTIONS)}")
    return tuple(section for section in SECTIONS if section in named)


def kinds_of(sections: Sequence[Section]) -> tuple[str, ...] | None:
    """The kinds of memory that can stand in these sections; None when that is any kind."""
    if "notes" in sections:
        return None
    return tuple(kind for section in sections for kind in KINDS_OF_SECTION.get(section, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextShape:
    """How large a context should be, what it is made of, and how it is written. What is None is not decided here."""

    budget: int | None = None
    sections: tuple[Section, ...] | None = None
    as_: Form | None = None

    def __post_init__(self) -> None:
        if self.budget is not None:
            check_whole("budget", self.budget, least=1, most=MOST_BUDGET)
        if self.sections is not None:
            object.__setattr__(self, "sections", check_sections(self.sections))
        if self.as_ is not None and self.as_ not in FORMS:
            raise InvalidInput(f"as_ is {shown(self.as_)}: use one of {', '.join(FORMS)}")

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The shape that a memory keeps."""
        kept = memory.data
        return cls(budget=kept.get("budget"), sections=kept.get("sections"), as_=kept.get("as"))  # type: ignore[arg-type]  # checked when the value is born

    @classmethod
    def among(cls, kept: "Iterable[tuple[Memory, ContextShape]]") -> Self:
        """The shape that these together decide: each part by the narrowest scope that says something about it."""
        # What a stranger could have written decides nothing.
        trusted = [one for one in kept if one[0].trust is not Trust.FOREIGN]
        trusted.sort(key=lambda one: one[0].created_at, reverse=True)
        trusted.sort(key=lambda one: (one[0].scope.breadth, one[0].scope.agent is None))
        shape = cls()
        for _, kept_shape in trusted:
            shape = shape.over(kept_shape)
        return shape

    @property
    def is_complete(self) -> bool:
        """Whether it leaves nothing open."""
        return None not in (self.budget, self.sections, self.as_)

    def over(self, other: "ContextShape") -> Self:
        """This shape, with what it leaves open taken from the other."""
        return type(self)(
            budget=self.budget if self.budget is not None else other.budget,
            sections=self.sections if self.sections is not None else other.sections,
            as_=self.as_ if self.as_ is not None else other.as_,
        )

    @property
    def data(self) -> dict[str, Json]:
        """What it decides, by name."""
        kept: dict[str, Json] = {
            "budget": self.budget,
            "sections": list(self.sections) if self.sections is not None else None,
            "as": self.as_,
        }
        return {name: value for name, value in kept.items() if value is not None}

    def kept_in(self, scope: Scope) -> dict[str, Json]:
        """The data of the memory that keeps it for this scope."""
        named = zip(PLACE_NAMES, scope.names(), strict=True)
        return {**self.data, SHAPE_PLACE: {name: value for name, value in named if value is not None}}

    def __str__(self) -> str:
        budget = f"at most {self.budget:,} tokens" if self.budget is not None else "as many tokens as asked for"
        sections = f" of {', '.join(self.sections)}" if self.sections is not None else ""
        return f"A context has {budget}{sections}{f', as {self.as_}' if self.as_ is not None else ''}."


def shape_from(budget: int | None, sections: Iterable[Section] | None, as_: Form | None) -> ContextShape:
    """The shape that the keywords of a verb spell. One section may be given as a word."""
    return ContextShape(budget=budget, sections=check_sections(sections) if sections is not None else None, as_=as_)
