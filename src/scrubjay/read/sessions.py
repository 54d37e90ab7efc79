"""Sessions: what was found, put back into the conversations that it comes from."""

from collections.abc import Collection, Sequence
from heapq import nlargest
from typing import Final
from uuid import UUID

from scrubjay.model import Memory, Scope
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.read.fuse import Candidate
from scrubjay.read.spoken import between_people, lectures, noted

_NOT_PEOPLE: Final = frozenset({"assistant", "system", "tool"})

_NOBODY: Final[frozenset[UUID]] = frozenset()


class Session:
    """The turns of one session that were found."""

    __slots__ = ("best", "between_people", "turns", "words")

    def __init__(self, *, between_people: bool) -> None:
        self.turns: dict[int, tuple[float, bool]] = {}
        """By position: how relevant it is, and whether an assistant said it."""
        self.best: list[float] = []
        """The highest relevances among them."""
        self.words: dict[int, int] = {}
        """By position: which words of the question it has, as the bits of a number."""
        self.between_people = between_people
        """Whether people talk to each other: who speaks is named or has no role, and no assistant was found."""


def sessions_of(
    found: Sequence[tuple[Candidate, Memory]], assistants: Collection[UUID], *, best: int
) -> list[Session | None]:
    """For each memory its session, which knows as many of its best relevances; None when it is no turn of one.

    `assistants` are the ids of those that an assistant said. A message outside of any session has one of its own.
    """
    sessions: dict[Scope, Session] = {}
    placed: list[Session | None] = []
    people: frozenset[str] | None = None
    for candidate, memory in found:
        in_session = memory.position is not None and memory.scope.session is not None
        if not in_session and memory.kind != MESSAGE_KIND:
            placed.append(None)
            continue
        if people is None:
            people = between_people([memory for _, memory in found])
        is_talk = memory.kind in people and memory.id not in assistants and _by_a_person(memory)
        if memory.position is None or not in_session:
            placed.append(Session(between_people=is_talk))
            continue
        session = sessions.get(memory.scope)
        if session is None:
            session = sessions[memory.scope] = Session(between_people=is_talk)
        placed.append(session)
        session.turns[memory.position] = (max(0.0, candidate.relevance), memory.id in assistants)
        session.between_people = session.between_people and is_talk
    for session in sessions.values():
        session.best = nlargest(best, (relevance for relevance, _ in session.turns.values()))
    return placed


def by_assistant(found: Sequence[tuple[Candidate, Memory]]) -> frozenset[UUID]:
    """The ids of those that an assistant said."""
    # Most recalls find nothing that anybody said, and are told so at once.
    said = [memory for _, memory in found if memory.data or memory.position is not None or memory.kind == MESSAGE_KIND]
    if not said:
        return _NOBODY
    named = {memory.id for memory in said if memory.role == "assistant"}
    return lectures(said) | (named - noted(said) if named else named)


def _by_a_person(memory: Memory) -> bool:
    """Whether a person said it to others: under a name, or nobody says in which role."""
    role = memory.role
    return role is None or (role not in _NOT_PEOPLE and memory.author is not None and "role" in memory.data)
