"""What a file tells before it tells that the one whose place it takes is closed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict
from scrubjay.model import Memory

MOST: Final = 10_000
"""How many are held back at a time."""


@dataclass(frozen=True, slots=True)
class _Held:
    memory: Memory
    behind: UUID
    """The believed one that it contradicts."""


class Heirs:
    """Memories of a file that are held back, each until what stands in its way is closed."""

    def __init__(self) -> None:
        self._held: dict[UUID, _Held] = {}
        self._lines: dict[UUID, int] = {}
        """Of those that are held and those of the batch, the numbers of their lines."""

    def read(self, told: Sequence[tuple[int, Memory]]) -> None:
        """Take note of a batch. What it tells again is judged again."""
        for _, memory in told:
            self._held.pop(memory.id, None)
        kept = {one: number for one, number in self._lines.items() if one in self._held}
        self._lines = {memory.id: number for number, memory in told} | kept

    def hold(self, memories: Sequence[Memory], behind: Mapping[UUID, UUID]) -> None:
        """Hold these back, each behind the one that is named for it. Raises Conflict when they are too many."""
        for memory in memories:
            self._held[memory.id] = _Held(memory, behind[memory.id])
        if len(self._held) > MOST:
            first = next(iter(self._held))
            raise Conflict(
                f"line {self._lines[first]}: more than {MOST:,} memories, of which {first} is the first, stand in the "
                "file before what they replaced. Put the lines in the order of `created_at`, or export them anew"
            )

    def of(self, is_meant: Callable[[UUID], bool]) -> list[Memory]:
        """Those that are held back behind one that is meant, in the order of the file."""
        return [one.memory for one in self._held.values() if is_meant(one.behind)]

    def let_go(self, is_free: Callable[[UUID], bool]) -> list[Memory]:
        """The same, and they are held back no longer."""
        free = self.of(is_free)
        for memory in free:
            del self._held[memory.id]
        return free

    @contextmanager
    def naming_lines(self) -> Iterator[None]:
        """In the block, a contradiction is raised with the number of the line that it is about."""
        try:
            yield
        except Conflict as error:
            line = next((self._lines[one] for one in error.rivals if one in self._lines), None)
            if line is None:
                raise
            raise Conflict(f"line {line}: {error}", rivals=error.rivals) from error
