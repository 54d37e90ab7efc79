"""Likes: of tasks that were nearly the same, one stands for all, and says how many there were and how they ended."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from scrubjay.model import Memory, Scope, Trust
from scrubjay.model.tasks import TASK_KIND
from scrubjay.model.words import words_of

ALIKE: Final = 0.8
"""The share of common words from which two descriptions are of nearly the same task."""

COMPARED: Final = 400
"""Characters of a description that are compared: what it is about is said at the beginning."""

_TURNING: Final = frozenset({"no", "not", "never", "without", "dont", "don't"})
"""Words with which a task is another one, however much the rest is alike."""

One = TypeVar("One")


class Done(NamedTuple):
    """What is compared of a task, and how it ended."""

    task_id: str
    asked: str
    """What was to be done."""
    success: bool
    place: Scope
    """Where its id counts: another project or agent may count from 1 as well. Not which session it was done in."""
    foreign: bool = False
    """Whether a stranger told of it, who stands for nobody else."""


class Alike(NamedTuple):
    """How many more there were like one, and how many of these failed."""

    more: int
    failed: int

    def __str__(self) -> str:
        ended = "" if not self.failed else ", all failed" if self.failed == self.more > 1 else f", {self.failed} failed"
        return f"and {self.more} more like it{ended}"


def done_in(memory: Memory) -> Done | None:
    """What there is to compare of a memory; None when it holds no task."""
    name, asked, success = (memory.data.get(one) for one in ("task_id", "task_description", "success"))
    if memory.kind != TASK_KIND or not isinstance(name, str) or not isinstance(success, bool):
        return None
    told = asked if isinstance(asked, str) and asked.strip() else memory.content
    return Done(name, told, success, replace(memory.scope, session=None), memory.trust is Trust.FOREIGN)


def gathered(
    found: Sequence[One], done: Callable[[One], Done | None], *, by_outcome: bool = False
) -> list[tuple[One, list[One]]]:
    """All that was found in its order, best first, and behind the one that stands for its likes, these.

    The best of them that succeeded stands for them, or the best if none did, in the place of the best. `by_outcome`
    keeps what worked and what failed apart.
    """
    groups: list[tuple[_Compared | None, list[tuple[One, bool]]]] = []
    for one in found:
        task = _Compared.of(done(one))
        known = (group for like, group in groups if task and like and _are_alike(task, like, by_outcome=by_outcome))
        own = next(known, None)
        if own is None:
            groups.append((task, own := []))
        own.append((one, task is not None and task.done.success))
    return [_standing(group) for _, group in groups]


def counted(likes: Sequence[Done | None]) -> Alike:
    """How many these are, and how many of them failed."""
    return Alike(len(likes), sum(1 for one in likes if one is not None and not one.success))


def _standing(group: Sequence[tuple[One, bool]]) -> tuple[One, list[One]]:
    chosen = next((one for one, succeeded in group if succeeded), group[0][0])
    return chosen, [one for one, _ in group if one is not chosen]


class _Compared(NamedTuple):
    """A task and the words of its description."""

    done: Done
    first: str
    """What is to be done: a verb, nearly always."""
    words: frozenset[str]

    @classmethod
    def of(cls, done: Done | None) -> "_Compared | None":
        if done is None:
            return None
        words = words_of(done.asked[:COMPARED])
        return cls(done, words[0] if words else "", frozenset(words))


def _are_alike(one: _Compared, other: _Compared, *, by_outcome: bool) -> bool:
    """Whether they are attempts at one task, or two tasks that differ in little: a number, a name, an adjective.

    To enable something is not like to disable it, so both have to begin alike.
    """
    if one.done.foreign != other.done.foreign or (by_outcome and one.done.success != other.done.success):
        return False
    if (one.done.task_id, one.done.place) == (other.done.task_id, other.done.place):
        return True
    if one.first != other.first or one.words & _TURNING != other.words & _TURNING:
        return False
    common = len(one.words & other.words)
    return common > 0 and common >= ALIKE * (len(one.words) + len(other.words) - common)
