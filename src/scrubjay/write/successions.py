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
        self._passed_on: dict[UUID, UUID] = {}
        """What some wait for in place of what replaced them, which was replaced in its turn."""

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, id: UUID) -> bool:
        return id in self._waiting

    def __iter__(self) -> Iterator[Memory]:
        """All that wait, oldest first."""
        return iter(list(self._waiting.values()))

    def wait(self, closed: Memory) -> None:
        """Let this one wait: for the id that replaced it, or for whatever has its key or its words."""
        if closed.id in self._waiting:
            return
        self._waiting[closed.id] = closed
        for mark in self._awaited(closed):
            self._marks[mark].append(closed.id)

    def due(self, arriving: Iterable[Memory]) -> list[Memory]:
        """Those that need not wait any longer once these are stored, oldest first. They wait until `let_go`."""
        found: set[UUID] = set()
        for memory in arriving:
            if memory.superseded_at is None:
                found.update(self._replaced_by(memory))
            elif memory.superseded_by is not None:
                self._pass_on(memory.id, memory.superseded_by)
            else:  # It was forgotten, and nothing comes after it.
                found.update(self._marks.get(memory.id, ()))
        return [memory for memory in self if memory.id in found or len(self) > MOST]

    def _replaced_by(self, memory: Memory) -> Iterator[UUID]:
        """Those in whose place it comes. The others that have its key or its words wait on."""
        for mark in (memory.id, *_slots(memory)):
            yield from (one for one in self._marks.get(mark, ()) if _takes_the_place(memory, self._waiting[one]))

    def _pass_on(self, id: UUID, to: UUID) -> None:
        """Let those that wait for one wait for another."""
        waiting = self._marks.pop(id, [])
        if waiting:
            self._marks[to] += waiting
            self._passed_on |= dict.fromkeys(waiting, to)

    def let_go(self, closed: Iterable[Memory]) -> None:
        """Let these wait no longer: they are closed."""
        for memory in closed:
            del self._waiting[memory.id]
            for mark in self._awaited(memory):
                if left := [one for one in self._marks.pop(mark, ()) if one != memory.id]:
                    self._marks[mark] = left
            self._passed_on.pop(memory.id, None)

    def _awaited(self, closed: Memory) -> Iterator[_Mark]:
        heir = self._passed_on.get(closed.id, closed.superseded_by)
        if heir is not None:
            yield heir
        yield from _slots(closed)


def _takes_the_place(new: Memory, old: Memory) -> bool:
    """Whether something holds from then on. Of a key, what holds after one that has ended is a row of its own."""
    if new.valid_to is None or old.valid_to is not None:
        return True
    return old.key is None and old.superseded_by == new.id


def _slots(memory: Memory) -> Iterator[_Mark]:
    yield memory.scope, memory.fingerprint
    if memory.key is not None:
        yield memory.scope, memory.key
