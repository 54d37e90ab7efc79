"""Tasks: one execution with its outcome, and what an import of many of them did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import (
    Json,
    check_content,
    check_data,
    check_moment,
    check_name,
    check_named,
    check_storable,
    check_whole,
    in_utc,
    shown,
)
from scrubjay.model.memory import Memory
from scrubjay.model.remedies import instead

TASK_KIND: Final = "task"
"""The kind of a memory that holds an execution."""

MemoryType: TypeAlias = Literal["error_fix", "discovery", "decision", "learning", "warning", "codebase_knowledge"]
MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)

LONGEST_TASK_ID: Final = 200
"""Characters of a task id: with its attempt and what is noted about it, it has to fit into a key."""

MOST_ATTEMPTS: Final = 1_000_000
MOST_AMOUNT: Final = 10**15
"""Seconds or money of one execution."""
MOST_NAMES: Final = 10_000
"""Tools or files of one execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One attempt at a task: what was to be done, what was done, and whether it worked."""

    task_id: str
    execution_summary: str
    success: bool
    attempt: int = 1
    """A task is tried again under the next number. Telling the same attempt again is one execution."""
    task_description: str | None = None
    task_type: str | None = None
    goal: str | None = None
    error_patterns: tuple[Json, ...] = field(default=(), hash=False)
    """The errors that were met, in order: texts, or objects such as `{"type": "KeyError", "message": "…"}`."""
    tools: tuple[str, ...] = ()
    """The tools that were used, in order, each as often as it was used."""
    files: tuple[str, ...] = ()
    """The files that were touched."""
    model: str | None = None
    duration: float | None = None
    """Seconds."""
    tokens: int | None = None
    cost: float | None = None
    parent: str | None = None
    """The ticket that this task is part of."""
    memory_type: MemoryType | None = None
    """What there is to learn from it; None: decided by rule from the other fields, see `learned_as`."""
    at: datetime | None = None
    """When it ended; None: when it is told."""

    def __post_init__(self) -> None:
        check_named("task_id", self.task_id)
        if len(self.task_id) > LONGEST_TASK_ID:
            raise InvalidInput(f"task_id has {len(self.task_id)} characters: use at most {LONGEST_TASK_ID}")
        if not isinstance(self.success, bool):
            raise InvalidInput(f"success is {shown(self.success)}: use true or false")
        check_whole("attempt", self.attempt, least=1, most=MOST_ATTEMPTS)
        check_content(self.execution_summary, "execution_summary")
        for name in ("task_description", "goal"):
            if getattr(self, name) is not None:
                check_content(getattr(self, name), name)
        for name in ("task_type", "model", "parent"):
            check_name(name, getattr(self, name))
        check_names("tools", self.tools)
        check_names("files", self.files)
        if not isinstance(self.error_patterns, tuple):
            raise InvalidInput(f"error_patterns is {shown(self.error_patterns)}: use a list of texts or objects")
        check_data({"error_patterns": list(self.error_patterns)})
        _check_amount("duration", self.duration)
        _check_amount("cost", self.cost)
        if self.tokens is not None:
            check_whole("tokens", self.tokens, least=0, most=2**53)
        if self.memory_type is not None and self.memory_type not in MEMORY_TYPES:
            raise InvalidInput(f"memory_type is {shown(self.memory_type)}: use one of {', '.join(MEMORY_TYPES)}")
        check_moment("at", self.at)

    @property
    def key(self) -> str:
        """What names this attempt among the current memories of a scope."""
        return task_key(self.task_id, self.attempt)

    @property
    def content(self) -> str:
        """What a search should find it by: what was to be done, why, and what was done."""
        goal = f"Goal: {self.goal}" if self.goal else None
        return "\n\n".join(part for part in (self.task_description, goal, self.execution_summary) if part)

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors that were met, each as a text."""
        return tuple(error_text(one) for one in self.error_patterns)

    @property
    def learned_as(self) -> MemoryType:
        """The memory type: as given, or by the first rule that fits.

        A task type that is a memory type → that. It failed → `warning`. It met errors and worked → `error_fix`. It
        worked, but not the first time → `discovery`. It touched files → `codebase_knowledge`. It had a goal and used
        no tools → `decision`. Anything else → `learning`.
        """
        if self.memory_type is not None:
            return self.memory_type
        if self.task_type in MEMORY_TYPES:
            return self.task_type
        if not self.success:
            return "warning"
        if self.error_patterns:
            return "error_fix"
        if self.attempt > 1:
            return "discovery"
        if self.files:
            return "codebase_knowledge"
        return "decision" if self.goal and not self.tools else "learning"

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        told: dict[str, Json] = {
            "task_id": self.task_id,
            "attempt": self.attempt,
            "success": self.success,
            "execution_summary": self.execution_summary,
            "memory_type": self.learned_as,
            "task_description": self.task_description,
            "task_type": self.task_type,
            "goal": self.goal,
            "error_patterns": list(self.error_patterns) or None,
            "tools": list(self.tools) or None,
            "files": list(self.files) or None,
            "model": self.model,
            "duration": self.duration,
            "tokens": self.tokens,
            "cost": self.cost,
            "parent": self.parent,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, memory: Memory) -> "Execution":
        """The execution that a memory of kind `task` holds. Raises InvalidInput when it holds none."""
        return cls.from_fields({**memory.data, "at": memory.valid_from})

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> "Execution":
        """The execution that these fields spell, as JSON or as keywords. A name that it does not have is refused."""
        if unknown := fields.keys() - EXECUTION_NAMES:
            name = min(map(str, unknown))
            raise InvalidInput(f"{name} is not something an execution has: {instead(name, EXECUTION_NAMES)}")
        if missing := [name for name in _REQUIRED if fields.get(name) is None]:
            raise InvalidInput(f"{missing[0]} is missing: an execution has at least {', '.join(_REQUIRED)}")
        given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
        for name in ("tools", "files"):
            if name in given:
                given[name] = _as_tuple(name, given[name])
        if "error_patterns" in given:
            errors = given["error_patterns"]
            given["error_patterns"] = tuple(errors) if isinstance(errors, list | tuple) else (errors,)
        if isinstance(given.get("at"), str):
            given["at"] = _moment(given["at"])
        return cls(**given)

    def __repr__(self) -> str:
        outcome = "success" if self.success else "failure"
        return f"<Execution {self.task_id} attempt {self.attempt} {outcome} {self.execution_summary[:60]!r}>"


EXECUTION_NAMES: Final = tuple(Execution.__dataclass_fields__)
_REQUIRED: Final = ("task_id", "execution_summary", "success")


def task_key(task_id: str, attempt: int | None = None) -> str:
    """The key of one attempt; without one, how the keys of all attempts at a task begin."""
    return f"task:{task_id}:{attempt if attempt is not None else ''}"


def read_apart(memory: Memory) -> list[tuple[int, int]]:
    """The stretches of a memory's content that a model has to read apart: of a task its description, goal and summary.

    A text that says both what was to be done and what was done is like neither: asked in other words, descriptions
    alone had a likeness of 0.86 where description and summary together had 0.36. Anything else is one stretch.
    """
    content, whole = memory.content, [(0, len(memory.content))]
    if memory.kind != TASK_KIND:
        return whole
    description, summary = memory.data.get("task_description"), memory.data.get("execution_summary")
    if not isinstance(description, str) or not isinstance(summary, str):
        return whole
    head, tail = len(description), len(content) - len(summary)
    if tail < head or not content.startswith(description) or not content.endswith(summary):
        return whole
    between = content[head:tail]
    goal = (head + len(between) - len(between.lstrip()), head + len(between.rstrip()))
    return [span for span in ((0, head), goal, (tail, len(content))) if span[0] < span[1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedLine:
    """A line of an import that could not be stored, and why. Lines count from 1."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import of executions did."""

    stored: int = 0
    unchanged: int = 0
    """Known already, exactly so."""
    corrected: int = 0
    """Attempts that were known otherwise; the old versions are in their history."""
    rejected: tuple[RejectedLine, ...] = ()

    @property
    def lines(self) -> int:
        """All lines that were read, but for empty ones."""
        return self.stored + self.unchanged + self.corrected + len(self.rejected)


def check_names(field: str, value: tuple[str, ...]) -> None:
    """Names in their order, such as those of tools or files."""
    if not isinstance(value, tuple):
        raise InvalidInput(f"{field} is {shown(value)}: use a list of names")
    if len(value) > MOST_NAMES:
        raise InvalidInput(f"{field} has {len(value):,} names: keep the first {MOST_NAMES:,}")
    for one in value:
        if not isinstance(one, str) or not one.strip():
            raise InvalidInput(f"{field} holds {shown(one)}: use names, such as 'pytest'")
        check_storable(field, one)


def _check_amount(field: str, value: float | None) -> None:
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MOST_AMOUNT:
        raise InvalidInput(f"{field} is {shown(value)}: use a number from 0 to {MOST_AMOUNT:,}")


def _as_tuple(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{field} is {shown(value)}: use a list of names")
    return tuple(value)


def error_text(error: Json) -> str:
    """A text as it is; of an object, its type and message, or all its values."""
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        told = [error[name] for name in ("type", "message") if error.get(name)] or list(error.values())
        return ": ".join(str(one) for one in told)
    return str(error)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"at is {shown(text)}: use a moment such as 2026-03-01T12:00:00Z") from error
    return cast("datetime", in_utc("at", moment))
