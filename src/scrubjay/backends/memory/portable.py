"""The reference store, carried: as it was at one moment, or filled with what comes from elsewhere."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from scrubjay.backends.memory.store import MemoryStore
from scrubjay.errors import Conflict
from scrubjay.model import Generation, Memory
from scrubjay.ports import Outline


class PortableMemoryStore(MemoryStore):
    """The Portable port beside the others, on the same dicts."""

    def __init__(self) -> None:
        super().__init__()
        self._filled: dict[str, int] = {}

    @asynccontextmanager
    async def still(self) -> AsyncIterator["MemoryStill"]:
        """Hold the store still for reading, as it is now."""
        generations = tuple(self._generations.values())
        yield MemoryStill(memories=tuple(self._memories.values()), generations=generations, last_number=self._last)

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun."""
        if source not in self._filled and self._memories:
            raise Conflict(f"this store holds memories and is not being filled from {source}: name an empty one")
        return self._filled.get(source)

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source, and give it exactly the outline's generations."""
        self._filled = {source: self._filled.get(source, 0)}
        self._generations = {generation.number: generation for generation in outline.generations}
        self._last = outline.last_number

    async def fill(self, source: str, memories: Sequence[Memory], *, place: int) -> None:
        """Store exactly these rows and note that the source is here up to this place, both or none."""
        if source not in self._filled:
            raise Conflict(f"this store is not being filled from {source} any more: begin again")
        await self.load(memories)
        self._filled[source] = place

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here."""
        self._filled.pop(source, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStill:
    """The Still port: memories are frozen, so naming them is enough."""

    memories: tuple[Memory, ...]
    generations: tuple[Generation, ...]
    last_number: int

    async def outline(self) -> Outline:
        """Return what is in it."""
        tenants = Counter(memory.scope.tenant for memory in self.memories)
        return Outline(
            tenants=dict(sorted(tenants.items())), generations=self.generations, last_number=self.last_number
        )

    async def rows(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[tuple[int, list[Memory]]]:
        """Stream every row of every tenant in the order of storing, each batch with the place where it ends."""
        for start in range(after, len(self.memories), batch):
            page = list(self.memories[start : start + batch])
            yield start + len(page), page
