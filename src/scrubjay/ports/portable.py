"""Whole stores that can be carried elsewhere as they are."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from uuid import UUID

from scrubjay.model import Generation, Memory
from scrubjay.ports.indexes import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a whole store holds, before its rows are read."""

    tenants: dict[str, int]
    """How many rows each tenant has, with every version, by name."""
    generations: tuple[Generation, ...] = ()
    last_number: int = 0
    """The highest number that a generation ever had. It is not used again."""

    @property
    def memories(self) -> int:
        """All rows of all tenants."""
        return sum(self.tenants.values())


class Still(Protocol):
    """A whole record store as it was at one moment, whatever others write meanwhile."""

    async def outline(self) -> Outline:
        """Return what is in it."""

    def rows(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[tuple[int, list[Memory]]]:
        """Stream every row of every tenant in the order of storing, a full batch at a time, each with its place.

        The place is where the batch ends, larger than the one before. Given as `after`, the stream begins behind it.
        """


@runtime_checkable
class Portable(Protocol):
    """A record store that can be carried elsewhere as it is, and filled with what is carried from elsewhere."""

    def still(self) -> AbstractAsyncContextManager[Still]:
        """Hold the store still for reading, as it is now. Others go on writing."""

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun.

        Raises Conflict when the store holds anything that did not come from there.
        """

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source, and give it exactly the outline's generations.

        Safe to repeat: what was filled already stays.
        """

    async def fill(self, source: str, memories: Sequence[Memory], *, place: int) -> None:
        """Store exactly these rows and note that the source is here up to this place, both or none. Safe to repeat.

        Durable on return. Raises Conflict when it was not begun with this source.
        """

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here, and this is a store like any other."""


@runtime_checkable
class PortableVectors(Protocol):
    """A vector engine that gives back what it was given."""

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out.

        Upserted into an empty engine of the same kind, they are the same there to the last bit.
        """
