"""Carry a whole installation into an empty store, vectors included, and prove that it arrived.

A source is read in the order of storing: rows, blobs, sessions, and the audit log. Each load is a piece of that, rows
with all their vectors; the vectors are stored first, then the piece together with the place that it ends at. So
whatever the place says has arrived, has arrived whole, and a run that was killed goes on from there.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final, Protocol, TypeAlias

from scrubjay.errors import Conflict
from scrubjay.jobs.lines import digest_of
from scrubjay.model import Memory
from scrubjay.model.access import AuditEntry
from scrubjay.ports import (
    Entry,
    Outline,
    Piece,
    Portable,
    PortableVectors,
    Still,
    Vectors,
    WholeBlob,
    WholeSession,
)

BATCH: Final = 500
"""Rows in one load: with their vectors about a megabyte."""

ROUNDING: Final = 2e-3
"""How far a number of a vector may be off on the other side: an engine may keep half floats."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many steps are done and how many there are in all. Each item is carried, and then compared."""

Item: TypeAlias = Memory | WholeBlob | WholeSession | AuditEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A piece of a source, and the vectors that each generation has of the rows in it."""

    piece: Piece
    entries: dict[int, list[Entry]] = field(default_factory=dict)


class Source(Protocol):
    """A whole installation that can be read again and again, and is the same each time."""

    @property
    def name(self) -> str:
        """What tells it from others, also in a later run."""

    async def outline(self) -> Outline:
        """Return what is in it."""

    def loads(self, *, after: int = 0) -> AsyncIterator[Load]:
        """Stream all of it in the order of storing, from behind the place named."""


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
        async for piece in self.still.pieces(after=after, batch=BATCH):
            ids = [memory.id for memory in piece.memories]
            found = {number: await self.vectors.entries(number, ids) for number in numbers if ids}
            yield _fitted(piece, found)


def _fitted(piece: Piece, found: dict[int, list[Entry]]) -> Load:
    """Rows and vectors that agree: the vectors may have been read a little later than the rows."""
    by_id = {memory.id: memory for memory in piece.memories}
    # What a search filters by is the record's to say. The vectors themselves never change: a new text is a new id.
    entries = {
        number: [Entry.of(by_id[one.id], one.spans, one.vectors) for one in some] for number, some in found.items()
    }
    vectored = {number: {one.id for one in some} for number, some in entries.items()}
    # A mark without its vectors, as of one that was purged meanwhile, would promise what is not there.
    kept = [
        memory if memory.id in vectored.get(memory.generation or 0, {memory.id}) else replace(memory, generation=None)
        for memory in piece.memories
    ]
    return Load(piece=replace(piece, memories=kept), entries=entries)


@dataclass(kw_only=True)
class Carried:
    """What arrived: counted and compared on both sides."""

    tenants: Counter[str] = field(default_factory=Counter)
    """Rows of each tenant."""
    blobs: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    audit: Counter[str] = field(default_factory=Counter)
    vectors: Counter[int] = field(default_factory=Counter)
    """Memories with vectors, in each generation."""
    before: int = 0
    """Rows that an earlier run had carried already."""
    sha256: str = ""
    """Over the content hashes of everything, in its order."""

    @property
    def memories(self) -> int:
        """All rows of all tenants."""
        return self.tenants.total()

    @property
    def items(self) -> int:
        """All rows, blobs, sessions and entries of the audit log."""
        return self.memories + self.blobs.total() + self.sessions.total() + self.audit.total()

    def count(self, piece: Piece) -> None:
        """Count what is in this piece too."""
        self.tenants.update(memory.scope.tenant for memory in piece.memories)
        self.blobs.update(whole.tenant for whole in piece.blobs)
        self.sessions.update(whole.scope.tenant for whole in piece.sessions)
        self.audit.update(entry.tenant for entry in piece.audit)


async def carry(
    source: Source, records: Portable, vectors: EngineOfVectors, progress: Progress = lambda _done, _total: None
) -> Carried:
    """Fill an empty store from the source, compare everything on both sides, and say what arrived.

    Killed half-way and run again, it goes on where it was. Raises Conflict when the store holds anything else, and when
    the two sides differ in the end.
    """
    outline = await source.outline()
    place = await records.begun(source.name)
    if place is None:
        await _refuse_other_vectors(vectors, outline)
    await records.begin(source.name, outline)
    async with records.still() as there:
        before = await there.outline()
    steps = 2 * outline.items
    done = before.items
    progress(done, steps)
    async for load in source.loads(after=place or 0):
        for number, entries in load.entries.items():
            await vectors.upsert(number, entries)
        await records.fill(source.name, load.piece)
        done += len(load.piece)
        progress(done, steps)
    async with records.still() as there:
        arrived = await _compare(source, there, vectors, lambda seen: progress(outline.items + seen, steps))
    await records.finish(source.name)
    arrived.before = before.memories
    return arrived


async def _refuse_other_vectors(vectors: Vectors, outline: Outline) -> None:
    for generation in outline.generations:
        number = generation.number
        if count := await vectors.count(number):
            raise Conflict(f"the vector engine holds {count:,} memories in generation {number}: name an empty one")


async def _compare(source: Source, there: Still, vectors: EngineOfVectors, progress: Callable[[int], None]) -> Carried:
    """Count and hash everything on both sides, and compare every vector."""
    arrived = Carried()
    hashes = sha256()
    stored = _items(there)
    async for load in source.loads():
        for item in _items_of(load.piece):
            digest = digest_of(item)
            other = await anext(stored, None)
            if other is None or digest_of(other) != digest:
                raise _differs(f"{_named(item)} is not the same on both sides")
            hashes.update(digest)
        arrived.count(load.piece)
        ids = [memory.id for memory in load.piece.memories]
        for number, entries in load.entries.items():
            _compare_vectors(number, entries, await vectors.entries(number, ids))
            arrived.vectors[number] += len(entries)
        progress(arrived.items)
    if (more := await anext(stored, None)) is not None:
        raise _differs(f"{_named(more)} is in the target and not in the source")
    for number, count in arrived.vectors.items():
        if (found := await vectors.count(number)) != count:
            raise _differs(
                f"the source has vectors of {count:,} memories in generation {number}, the target of {found:,}"
            )
    arrived.sha256 = hashes.hexdigest()
    return arrived


async def _items(still: Still) -> AsyncIterator[Item]:
    async for piece in still.pieces(batch=BATCH):
        for item in _items_of(piece):
            yield item


def _items_of(piece: Piece) -> Iterator[Item]:
    yield from piece.memories
    yield from piece.blobs
    yield from piece.sessions
    yield from piece.audit


def _named(item: Item) -> str:
    match item:
        case Memory():
            return f"memory {item.id} of tenant {item.scope.tenant}"
        case WholeBlob():
            return f"file {item.blob.hash} of tenant {item.tenant}"
        case AuditEntry():
            return f"entry {item.number} of the audit log"
        case _:
            return f"session {item.scope.session!r} of tenant {item.scope.tenant}"


def _compare_vectors(number: int, entries: Sequence[Entry], stored: Sequence[Entry]) -> None:
    if list(entries) != list(stored):
        raise _differs(f"the vectors of generation {number} are not of the same memories on both sides")
    for one, other in zip(entries, stored, strict=True):
        if one.vectors.shape != other.vectors.shape or abs(one.vectors - other.vectors).max(initial=0) > ROUNDING:
            raise _differs(f"the vectors of memory {one.id} in generation {number} are not the same on both sides")


def _differs(what: str) -> Conflict:
    return Conflict(f"{what}: stop what writes to either, empty the target, and begin again")
