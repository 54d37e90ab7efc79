"""Embed: the text of a memory becomes parts that the model reads whole, and a vector for each part."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scrubjay.model import Memory
from scrubjay.model.tasks import read_apart
from scrubjay.model.workspace import COMPLETION_KIND, stretches
from scrubjay.ports import Embedder, Entry
from scrubjay.write.split import Count, Span, split

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


async def embed(memories: Sequence[Memory], embedder: Embedder) -> list[Entry]:
    """Return the entries of these memories, in order. All parts of all of them go to the model together.

    What somebody said is embedded with the name before it: among turns of a conversation, it tells whose they are.
    """
    if not memories:
        return []
    spans, parts = parts_of(memories, embedder)
    vectors = await embedder.embed(parts)
    entries: list[Entry] = []
    first = 0
    for memory, cuts in zip(memories, spans, strict=True):
        entries.append(entry(memory, cuts, vectors[first : first + len(cuts)]))
        first += len(cuts)
    return entries


def parts_of(memories: Sequence[Memory], embedder: Embedder) -> tuple[list[tuple[Span, ...]], list[str]]:
    """How each memory is cut, and the texts of all parts as the model reads them."""
    spoken = [f"{memory.speaker}: " if memory.speaker else "" for memory in memories]
    spans = [
        tuple(_cuts(memory, window=_room(name, embedder), count=embedder.count))
        for memory, name in zip(memories, spoken, strict=True)
    ]
    parts = [
        name + memory.content[start:stop]
        for memory, name, cuts in zip(memories, spoken, spans, strict=True)
        for start, stop in cuts
    ]
    return spans, parts


def _cuts(memory: Memory, *, window: int, count: Count) -> Iterator[Span]:
    for start, stop in stretches(memory) if memory.kind == COMPLETION_KIND else read_apart(memory):
        for inner_start, inner_stop in split(memory.content[start:stop], window=window, count=count):
            yield start + inner_start, start + inner_stop


def _room(name: str, embedder: Embedder) -> int:
    """The tokens that are left for a part beside the name, but never less than half of the window."""
    return max(embedder.window // 2, embedder.window - embedder.count([name])[0]) if name else embedder.window


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
