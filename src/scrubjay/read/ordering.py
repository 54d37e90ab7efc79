"""Ordering: strands of what happened become one. Inside a strand order is exact; between strands, clocks decide."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from scrubjay.model import Scope


class Placed(Protocol):
    """What knows its session, and its place there."""

    @property
    def scope(self) -> Scope:
        """Where it happened."""

    @property
    def position(self) -> int | None:
        """Its place in its session; None outside one."""


Happened = TypeVar("Happened")
InPlace = TypeVar("InPlace", bound=Placed)


def merged(strands: Iterable[Sequence[Happened]], at: Callable[[Happened], datetime]) -> list[Happened]:
    """Return all of it by time. What stands in one strand keeps its order, whatever its clock said.

    Nothing happened before what stands before it in its strand, so a clock that went back counts as having stood still.
    What happened at the same time stays strand by strand.
    """
    timed: list[tuple[datetime, Happened]] = []
    for strand in strands:
        latest: datetime | None = None
        for one in strand:
            moment = at(one)
            latest = moment if latest is None else max(latest, moment)
            timed.append((latest, one))
    timed.sort(key=lambda pair: pair[0])
    return [one for _, one in timed]


def strands_of(memories: Iterable[InPlace]) -> list[list[InPlace]]:
    """The memories of each session by their positions; one that is in no session is a strand of its own."""
    sessions: dict[Scope, list[InPlace]] = {}
    strands: list[list[InPlace]] = []
    for memory in memories:
        if memory.position is None:
            strands.append([memory])
            continue
        if memory.scope not in sessions:
            strands.append(sessions.setdefault(memory.scope, []))
        sessions[memory.scope].append(memory)
    for strand in sessions.values():
        strand.sort(key=lambda memory: memory.position or 0)
    return strands
