"""Carry a whole installation into an empty store, vectors included, and prove that it arrived.

A source is read in the order of storing. Each load is some rows with all their vectors; the vectors are stored first,
then the rows together with the place that they end at. So whatever the place says has arrived, has arrived whole, and
a run that was killed goes on from there.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

from scrubjay.errors import Conflict
from scrubjay.model import Json, Memory
from scrubjay.model.portable import to_json
from scrubjay.ports import Entry, Outline, Portable, PortableVectors, Still, Vectors
from scrubjay.write.embed import entry

BATCH: Final = 500
"""Rows in one load: with their vectors about a megabyte."""

ROUNDING: Final = 2e-3
"""How far a number of a vector may be off on the other side: an engine may keep half floats."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many steps are done and how many there are in all. Each row is carried, and then compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Some rows, the vectors that each generation has of them, and the place where they end in their source."""

    place: int
    memories: list[Memory]
    entries: dict[int, list[Entry]]


class Source(Protocol):
    """A whole installation that can be read again and again, and is the same each time."""

    @property
    def name(self) -> str:
        """What tells it from others, also in a later run."""

    async def outline(self) -> Outline:
        """Return what is in it."""

    def loads(self, *, after: int = 0) -> AsyncIterator[Load]:
        """Stream all of it in the order of storing, from behind the place named. All but the last are `BATCH` rows."""


class EngineOfVectors(Vectors, PortableVectors, Protocol):
    """A vector engine that gives back what it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A record store that is held still, with its vectors."""

    name: str
    still: Still
    vectors: PortableVectors

    async def outline(self) -> Outline:
        """Return what is in it."""
        return await self.still.outline()

    async def loads(self, *, after: int = 0) -> AsyncIterator[Load]:
        """Stream all of it in the order of storing, from behind the place named."""
        numbers = [generation.number for generation in (await self.still.outline()).generations]
        async for place, memories in self.still.rows(after=after, batch=BATCH):
            ids = [memory.id for memory in memories]
            found = {number: await self.vectors.entries(number, ids) for number in numbers}
            yield _fitted(place, memories, found)


def _fitted(place: int, memories: Sequence[Memory], found: dict[int, list[Entry]]) -> Load:
    """Rows and vectors that agree: the vectors may have been read a little later than the rows."""
    by_id = {memory.id: memory for memory in memories}
    # What a search filters by is the record's to say. The vectors themselves never change: a new text is a new id.
    entries = {number: [entry(by_id[one.id], one.spans, one.vectors) for one in some] for number, some in found.items()}
    vectored = {number: {one.id for one in some} for number, some in entries.items()}
    # A mark without its vectors, as of one that was purged meanwhile, would promise what is not there.
    kept = [
        memory if memory.id in vectored.get(memory.generation or 0, {memory.id}) else replace(memory, generation=None)
        for memory in memories
    ]
    return Load(place=place, memories=kept, entries=entries)


@dataclass(kw_only=True)
class Carried:
    """What arrived: counted and compared on both sides."""

    tenants: Counter[str] = field(default_factory=Counter)
    """Rows of each tenant."""
    vectors: Counter[int] = field(default_factory=Counter)
    """Memories with vectors, in each generation."""
    before: int = 0
    """Rows that an earlier run had carried already."""
    sha256: str = ""
    """Over the content hashes of all rows, in their order."""

    @property
    def memories(self) -> int:
        """All rows of all tenants."""
        return self.tenants.total()


async def carry(
    source: Source, records: Portable, vectors: EngineOfVectors, progress: Progress = lambda _done, _total: None
) -> Carried:
    """Fill an empty store from the source, compare every row and every vector, and say what arrived.

    Killed half-way and run again, it goes on where it was. Raises Conflict when the store holds anything else, and when
    the two sides differ in the end.
    """
    outline = await source.outline()
    place = await records.begun(source.name)
    if place is None:
        await _refuse_other_vectors(vectors, outline)
    await records.begin(source.name, outline)
    async with records.still() as there:
        before = (await there.outline()).memories
    steps = 2 * outline.memories
    done = before
    progress(done, steps)
    async for load in source.loads(after=place or 0):
        for number, entries in load.entries.items():
            await vectors.upsert(number, entries)
        await records.fill(source.name, load.memories, place=load.place)
        done += len(load.memories)
        progress(done, steps)
    async with records.still() as there:
        arrived = await _compare(source, there, vectors, lambda seen: progress(outline.memories + seen, steps))
    await records.finish(source.name)
    arrived.before = before
    return arrived


async def _refuse_other_vectors(vectors: Vectors, outline: Outline) -> None:
    for generation in outline.generations:
        number = generation.number
        if count := await vectors.count(number):
            raise Conflict(f"the vector engine holds {count:,} memories in generation {number}: name an empty one")


async def _compare(source: Source, there: Still, vectors: EngineOfVectors, progress: Callable[[int], None]) -> Carried:
    """Count and hash every row on both sides, and compare every vector."""
    arrived = Carried()
    hashes = sha256()
    outline = await there.outline()
    rows = there.rows(batch=BATCH)
    async for load in source.loads():
        _, stored = await anext(rows, (0, []))
        for memory, other in zip(load.memories, stored, strict=False):
            if (digest := digest_of(memory)) != digest_of(other):
                raise _differs(f"memory {memory.id} of tenant {memory.scope.tenant} is not the same on both sides")
            hashes.update(digest)
        arrived.tenants.update(memory.scope.tenant for memory in load.memories)
        ids = [memory.id for memory in load.memories]
        for number, entries in load.entries.items():
            _compare_vectors(number, entries, await vectors.entries(number, ids))
            arrived.vectors[number] += len(entries)
        progress(arrived.memories)
    if dict(arrived.tenants) != outline.tenants:
        raise _differs(f"the source has {dict(arrived.tenants)} memories by tenant, the target {outline.tenants}")
    for number, count in arrived.vectors.items():
        if (found := await vectors.count(number)) != count:
            raise _differs(
                f"the source has vectors of {count:,} memories in generation {number}, the target of {found:,}"
            )
    arrived.sha256 = hashes.hexdigest()
    return arrived


def _compare_vectors(number: int, entries: Sequence[Entry], stored: Sequence[Entry]) -> None:
    if list(entries) != list(stored):
        raise _differs(f"the vectors of generation {number} are not of the same memories on both sides")
    for one, other in zip(entries, stored, strict=True):
        if one.vectors.shape != other.vectors.shape or abs(one.vectors - other.vectors).max(initial=0) > ROUNDING:
            raise _differs(f"the vectors of memory {one.id} in generation {number} are not the same on both sides")


def _differs(what: str) -> Conflict:
    return Conflict(f"{what}: stop what writes to either, empty the target, and begin again")


def row_of(memory: Memory) -> dict[str, Json]:
    """A row as JSON, whole: with its tenant, and with the generation that it is marked with."""
    return {"tenant": memory.scope.tenant, "generation": memory.generation, "memory": to_json(memory)}


def digest_of(memory: Memory) -> bytes:
    """The content hash of a row."""
    return sha256(json.dumps(row_of(memory), separators=(",", ":")).encode()).digest()
