"""What is believed here and was replaced elsewhere since: closed together with the arrival of what took its place."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.model import Memory, Scope

MOST: Final = 10_000
"""How many wait at a time. Beyond that all of them are closed, so that a file of any size fits through."""

_Mark: TypeAlias = UUID | tuple[Scope, str | bytes]


class Successions:
    """Memories of a file that are to be closed here, each until something of the file takes its place.

    A file is stored in batches. Were one closed in an earlier batch than its successor is stored in, nothing would hold
    in between, and for good if the import ended there.
    """

    def __init__(self) -> None:
        self._waiting: dict[UUID, Memory] = {}
        self._marks: defaultdict[_Mark, list[UUID]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, id: UUID) -> bool:
        return id in self._waiting

    def wait(self, closed: Memory) -> None:
        """Let this one wait: for the id that replaced it, or for whatever has its key or its words."""
        self._waiting[closed.id] = closed
        for mark in _awaited(closed):
            self._marks[mark].append(closed.id)

    def due(self, arriving: Iterable[Memory]) -> list[Memory]:
        """Those that need not wait any longer once these are stored, oldest first."""
        found: dict[UUID, None] = {}
        for memory in arriving:
            if memory.superseded_at is None:
                found |= dict.fromkeys(self._replaced_by(memory))
            elif memory.id in self._marks:
                self._pass_on(self._marks.pop(memory.id), memory.superseded_by, found)
        if len(self._waiting) > MOST:
            return self.rest()
        return [self._let_go(one) for one in found if one in self._waiting]

    def _replaced_by(self, memory: Memory) -> list[UUID]:
        """Those in whose place it comes. The others that have its key or its words wait on."""
        replaced: list[UUID] = []
        for mark in (memory.id, *_slots(memory)):
            waiting = [one for one in self._marks.pop(mark, ()) if one in self._waiting]
            replaced += [one for one in waiting if _takes_the_place(memory, self._waiting[one])]
            if left := [one for one in waiting if one not in replaced]:
                self._marks[mark] = left
        return replaced

    def _pass_on(self, waiting: list[UUID], to: UUID | None, found: dict[UUID, None]) -> None:
        """What they wait for was replaced in its turn: they wait on. If it was forgotten, there is nothing to come."""
        if to is None:
            found |= dict.fromkeys(waiting)
        else:
            self._marks[to] += waiting

    def _let_go(self, id: UUID) -> Memory:
        memory = self._waiting.pop(id)
        for mark in _awaited(memory):
            if left := [one for one in self._marks.pop(mark, ()) if one != id]:
                self._marks[mark] = left
        return memory

    def rest(self) -> list[Memory]:
        """All that still wait, oldest first. After that, none do."""
        left = list(self._waiting.values())
        self._waiting.clear()
        self._marks.clear()
        return left


def _takes_the_place(new: Memory, old: Memory) -> bool:
    """Whether something holds from then on. Of a key, what holds after one that has ended is a row of its own."""
    if new.valid_to is None or old.valid_to is not None:
        return True
    return old.key is None and old.superseded_by == new.id


def _awaited(closed: Memory) -> Iterator[_Mark]:
    if closed.superseded_by is not None:
        yield closed.superseded_by
    yield from _slots(closed)


def _slots(memory: Memory) -> Iterator[_Mark]:
    yield memory.scope, memory.fingerprint
    if memory.key is not None:
        yield memory.scope, memory.key
