"""Sessions: what was found, put back into the conversations that it comes from."""

from collections.abc import Sequence
from heapq import nlargest
from typing import Final

from scrubjay.model import Memory, Scope
from scrubjay.read.fuse import Candidate

_NOT_PEOPLE: Final = frozenset({"assistant", "system", "tool"})


class Session:
    """The turns of one session that were found."""

    __slots__ = ("best", "between_people", "turns", "words")

    def __init__(self) -> None:
        self.turns: dict[int, tuple[float, bool]] = {}
        """By position: how relevant it is, and whether an assistant said it."""
        self.best: list[float] = []
        """The highest relevances among them."""
        self.words: dict[int, int] = {}
        """By position: which words of the question it has, as the bits of a number."""
        self.between_people = True
        """Whether people talk to each other: who speaks is named or has no role, and no assistant was found."""


def sessions_of(found: Sequence[tuple[Candidate, Memory]], *, best: int) -> list[Session | None]:
    """For each memory its session, which knows as many of its best relevances; None when it is no turn of one."""
    sessions: dict[Scope, Session] = {}
    placed: list[Session | None] = []
    for candidate, memory in found:
        if memory.position is None or memory.scope.session is None:
            placed.append(None)
            continue
        session = sessions.get(memory.scope)
        if session is None:
            session = sessions[memory.scope] = Session()
        placed.append(session)
        session.turns[memory.position] = (max(0.0, candidate.relevance), by_assistant(memory))
        if session.between_people:
            session.between_people = _by_a_person(memory)
    for session in sessions.values():
        session.best = nlargest(best, (relevance for relevance, _ in session.turns.values()))
    return placed


def by_assistant(memory: Memory) -> bool:
    """Whether an assistant said it."""
    return memory.data.get("role") == "assistant"


def _by_a_person(memory: Memory) -> bool:
    role = memory.data.get("role")
    return memory.kind == "message" and role not in _NOT_PEOPLE and (role is None or memory.author is not None)
