"""Say what happened once it is committed: one event for each place, with ids and never with content."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.model import Generation, Memory, Remembered, Scope
from scrubjay.model.checks import Json
from scrubjay.ports import Event

BATCH: Final = 100
"""Ids in one event: a bulk write makes several events, and none of them is large."""


def stored(done: Sequence[Remembered], at: datetime) -> list[Event]:
    """What a write changed. Nothing is said of what was known already."""
    return [
        event
        for outcome in ("stored", "superseded")
        for event in _events("memory.stored", [one.memory for one in done if one.outcome == outcome], at, outcome)
    ]


def imported(memories: Sequence[Memory], at: datetime) -> list[Event]:
    """What came from an export."""
    return _events("memory.stored", memories, at, "imported")


def forgotten(memories: Sequence[Memory], at: datetime) -> list[Event]:
    """What was closed."""
    return _events("memory.forgotten", memories, at)


def purged(memories: Sequence[Memory], at: datetime) -> list[Event]:
    """What was deleted for good."""
    return _events("memory.purged", memories, at)


def offered(
    name: str, asked: Scope, ids: Iterable[tuple[str, Scope]], at: datetime, *, called: str, **more: Json
) -> list[Event]:
    """What somebody was shown who asked here: by id, each with where it lies. `called` is what the ids are in the data.

    A listener hears of what it sees itself, and only when it sees whoever asked. What is a user's is not made a
    project's or an agent's by being asked for there.
    """
    places: dict[Scope, list[Json]] = {}
    for one, scope in ids:
        place = asked.together(scope)
        if scope.user is not None:
            place = replace(place, project=scope.project, agent=scope.agent)
        places.setdefault(place, []).append(one)
    return [Event(name=name, scope=place, at=at, data={called: held, **more}) for place, held in places.items()]


def switched(generation: Generation, at: datetime) -> list[Event]:
    """Another generation answers. It is the same one for every tenant."""
    data: dict[str, Json] = {"generation": generation.number, "model": str(generation.identity)}
    return [Event(name="generation.switched", scope=None, at=at, data=data)]


def _events(name: str, memories: Iterable[Memory], at: datetime, outcome: str | None = None) -> list[Event]:
    """One event for each scope, since a listener may know of what it sees and of nothing else."""
    scopes: dict[Scope, list[Memory]] = {}
    for memory in memories:
        scopes.setdefault(memory.scope, []).append(memory)
    events: list[Event] = []
    for scope, held in scopes.items():
        for start in range(0, len(held), BATCH):
            some = held[start : start + BATCH]
            data: dict[str, Json] = {
                "ids": [str(memory.id) for memory in some],
                "kinds": [memory.kind for memory in some],
            }
            if outcome is not None:
                data["outcome"] = outcome
            events.append(Event(name=name, scope=scope, at=at, data=data))
    return events
