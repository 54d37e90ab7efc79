"""Embed: the text of a memory becomes parts that the model reads whole, and a vector for each part."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from scrubjay.model import Memory
from scrubjay.model.tasks import read_apart
from scrubjay.model.workspace import COMPLETION_KIND, stretches
from scrubjay.ports import Embedder, Entry
from scrubjay.write.split import Count, Span, split

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

_FEW: Final = 64
"""So many are cut at once on the event loop. To count the tokens of more takes a while, in which others want to run."""


async def embed(memories: Sequence[Memory], embedder: Embedder) -> list[Entry]:
    """Return the entries of these memories, in order. All parts of all of them go to the model together."""
    parts = await embed_parts(memories, embedder)
    return [Entry.of(memory, *cut) for memory, cut in zip(memories, parts, strict=True)]


async def embed_parts(memories: Sequence[Memory], embedder: Embedder) -> "list[tuple[tuple[Span, ...], Matrix]]":
    """Return how each memory is cut, and a vector for each part, in order. All parts go to the model together.

    What somebody said is embedded with the name before it: among turns of a conversation, it tells whose they are.
    """
    if not memories:
        return []
    if len(memories) <= _FEW:
        spans, parts = parts_of(memories, embedder)
    else:
        spans, parts = await asyncio.to_thread(parts_of, memories, embedder)
    vectors = await embedder.embed(parts)
    if len(parts) == len(memories):  # Each is one part, as nearly all are.
        return [(cuts, vectors[place : place + 1]) for place, cuts in enumerate(spans)]
    found: list[tuple[tuple[Span, ...], Matrix]] = []
    first = 0
    for cuts in spans:
        found.append((cuts, vectors[first : first + len(cuts)]))
        first += len(cuts)
    return found


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
