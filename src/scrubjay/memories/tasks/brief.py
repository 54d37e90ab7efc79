"""Brief: what is known about a task, written as Markdown that fits its token budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.model.layout import indented
from scrubjay.model.patterns import PatternMatch, Prediction, Recommendation
from scrubjay.model.similar import SimilarTask
from scrubjay.ports import Tokens
from scrubjay.read.likes import Alike

CHANCES: Final = "Chances"
WORKED: Final = "What worked"
FAILED: Final = "What failed"
SIMILAR: Final = "Similar tasks"
PATTERNS: Final = "Patterns"

SECTIONS: Final = (CHANCES, WORKED, FAILED, SIMILAR, PATTERNS)
"""The headings, in the order they are written."""

LONG: Final = 400
SHORT: Final = 120
"""Characters of a past task's summary that are written where there is room, and where there is little. The whole is in
the task itself."""

Item: TypeAlias = SimilarTask | PatternMatch | Recommendation | Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What was written, and what it is about."""

    text: str
    tokens: int
    prediction: Prediction
    recommendations: tuple[Recommendation, ...]
    similar: tuple[SimilarTask, ...]
    patterns: tuple[PatternMatch, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    section: str
    line: str
    item: Item | None = None
    """What is told of; None for a sentence about several."""
    shorter: str = ""
    """What to write where the line does not fit; empty: nothing."""


def write_brief(
    *,
    prediction: Prediction,
    rate: str = "",
    recommendations: Sequence[Recommendation],
    similar: Sequence[SimilarTask],
    patterns: Sequence[PatternMatch],
    budget: int,
    tokens: Tokens,
    likes: Mapping[UUID, Alike] | None = None,
) -> Brief:
    """Write as much as fits, what is worth most first. The whole text never counts more tokens than the budget.

    `rate` is a sentence on how similar tasks ended. `likes` says, by the memory of a similar task, for how
    many more it stands.
    """
    more = {memory_id: f"\n({alike})" for memory_id, alike in (likes or {}).items()}
    offered = [
        *([_Entry(section=CHANCES, line=_chances(prediction), item=prediction)] if prediction.has_basis else []),
        *([_Entry(section=CHANCES, line=rate)] if rate else []),
        *(_Entry(section=_advice(one), line=one.text, item=one) for one in recommendations),
        *(_past_task(one, more.get(one.memory_id, "")) for one in similar),
        *(_Entry(section=PATTERNS, line=_pattern(one), item=one) for one in patterns),
    ]
    written: list[_Entry] = []
    text, used = "", 0
    for entry in offered:
        for line in filter(None, (entry.line, entry.shorter)):
            fitting = replace(entry, line=line)
            # The whole is counted each time: parts counted one by one may count less than the same parts together.
            longer = _page([*written, fitting])
            if (cost := tokens.count(longer)) <= budget:
                written.append(fitting)
                text, used = longer, cost
                break
    items = [entry.item for entry in written]
    return Brief(
        text=text,
        tokens=used,
        prediction=prediction,
        recommendations=tuple(item for item in items if isinstance(item, Recommendation)),
        similar=tuple(item for item in items if isinstance(item, SimilarTask)),
        patterns=tuple(item for item in items if isinstance(item, PatternMatch)),
        left_out=sum(entry.item is not None for entry in offered) - sum(item is not None for item in items),
    )


def _page(entries: Sequence[_Entry]) -> str:
    blocks = []
    for section in SECTIONS:
        lines = [_listed(entry.line) for entry in entries if entry.section == section]
        if lines:
            blocks.append("\n".join([f"## {section}", *lines]))
    return "\n\n".join(blocks)


def _listed(text: str) -> str:
    """One entry of a list. Every line is indented, so that no text of a task can pose as a heading."""
    return indented(f"- {text.strip()}", by="  ")


def _chances(prediction: Prediction) -> str:
    return f"Success is {prediction.probability:.0%} likely, by {prediction.basis}"


def _advice(recommendation: Recommendation) -> str:
    return WORKED if recommendation.advice == "do" else FAILED


def _past_task(task: SimilarTask, more: str) -> _Entry:
    return _Entry(section=SIMILAR, line=_past(task) + more, shorter=_past_in_short(task) + more, item=task)


def _past(task: SimilarTask) -> str:
    told = task.execution
    files = f"\nfiles: {', '.join(told.files[:10])}" if told.files else ""
    errors = f"\nerrors: {'; '.join(_cut(error, SHORT) for error in told.errors[:3])}" if told.errors else ""
    return f"{_ended(task)}: {_cut(task.summary, LONG)}{files}{errors}"


def _past_in_short(task: SimilarTask) -> str:
    return f"{_ended(task)}: {_cut(task.summary, SHORT)}"


def _ended(task: SimilarTask) -> str:
    attempt = f", attempt {task.attempt}" if task.attempt > 1 else ""
    return f"{task.task_id}{attempt} {'succeeded' if task.success else 'failed'}"


def _cut(text: str, longest: int) -> str:
    """The text on one line, cut between words when it is long."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    return f"{line[: longest + 1].rpartition(' ')[0] or line[:longest]} …"


def _pattern(match: PatternMatch) -> str:
    pattern = match.pattern
    if pattern.pattern_type == "failure":
        return f"{pattern.name}: {pattern.samples - pattern.successes} of {pattern.samples} such tasks failed"
    return f"{pattern.name}: {pattern.successes} of {pattern.samples} such tasks succeeded"
