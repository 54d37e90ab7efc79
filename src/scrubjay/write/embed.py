"""Embed: the text of a memory becomes parts that the model reads whole, and a vector for each part."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrubjay.model import Memory
from scrubjay.ports import Embedder, Entry
from scrubjay.write.split import Span, split

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


async def embed(memories: Sequence[Memory], embedder: Embedder) -> list[Entry]:
    """Return the entries of these memories, in order. All parts of all of them go to the model together."""
    if not memories:
        return []
    spans = [tuple(split(memory.content, window=embedder.window, count=embedder.count)) for memory in memories]
    parts = [memory.content[start:stop] for memory, cuts in zip(memories, spans, strict=True) for start, stop in cuts]
    vectors = await embedder.embed(parts)
    entries: list[Entry] = []
    first = 0
    for memory, cuts in zip(memories, spans, strict=True):
        entries.append(entry(memory, cuts, vectors[first : first + len(cuts)]))
        first += len(cuts)
    return entries


def entry(memory: Memory, spans: tuple[Span, ...], vectors: "Matrix") -> Entry:
    """The entry of one memory, with what a search filters by."""
    ends = [end for end in (memory.valid_to, memory.expires_at) if end is not None]
    return Entry(
        id=memory.id,
        scope=memory.scope,
        kind=memory.kind,
        live=memory.superseded_at is None,
        since=memory.valid_from,
        until=min(ends, default=None),
        spans=spans,
        vectors=vectors,
    )
