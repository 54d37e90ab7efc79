"""Embed: the text of a memory becomes parts that the model reads whole, and a vector for each part."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from scrubjay.model import Memory
from scrubjay.model.tasks import TASK_KIND, read_apart
from scrubjay.model.workspace import COMPLETION_KIND, stretches
from scrubjay.off_loop import off_loop
from scrubjay.ports import Embedder, Entry
from scrubjay.ports.joint import Cut
from scrubjay.write.split import Count, Span, split

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

_COUNTED: Final = 300
"""What counting the tokens of one memory weighs beside its characters."""

_APART: Final[dict[str, Callable[[Memory], list[Span]]]] = {COMPLETION_KIND: stretches, TASK_KIND: read_apart}
"""Kinds whose texts have stretches that a model has to read apart, and what tells these."""


async def embed(memories: Sequence[Memory], embedder: Embedder) -> list[Entry]:
    """Return the entries of these memories, in order. All parts of all of them go to the model together."""
    cuts, vectors = await embed_parts(memories, embedder)
    if vectors is None:
        return []
    return [
        Entry.of(memory, spans, vectors[first : first + len(spans)])
        for memory, (spans, first) in zip(memories, cuts, strict=True)
    ]


async def embed_parts(memories: Sequence[Memory], embedder: Embedder) -> "tuple[list[Cut], Matrix | None]":
    """Return how each memory is cut, in order, and a vector for each part. All parts go to the model together.

    What somebody said is embedded with the name before it: among turns of a conversation, it tells whose they are.
    """
    if not memories:
        return [], None
    size = sum(_COUNTED + len(memory.content) for memory in memories)
    spans, parts = await off_loop(size, parts_of, memories, embedder)
    vectors = await embedder.embed(parts)
    if len(parts) == len(memories):  # Each is one part, as nearly all are.
        return list(zip(spans, range(len(spans)), strict=True)), vectors
    firsts = accumulate((len(cuts) for cuts in spans), initial=0)
    return list(zip(spans, firsts, strict=False)), vectors


def parts_of(memories: Sequence[Memory], embedder: Embedder) -> tuple[list[tuple[Span, ...]], list[str]]:
    """How each memory is cut, and the texts of all parts as the model reads them."""
    window, count = embedder.window, embedder.count
    cuts: list[tuple[Span, ...]] = []
    parts: list[str] = []
    for memory in memories:
        content = memory.content
        name = f"{memory.speaker}: " if memory.author is not None and memory.speaker else ""
        spans = _cuts(memory, window=_room(name, embedder) if name else window, count=count)
        cuts.append(spans)
        if len(spans) == 1 and not name and spans[0] == (0, len(content)):
            parts.append(content)
        else:
            parts += [name + content[start:stop] for start, stop in spans]
    return cuts, parts


def _cuts(memory: Memory, *, window: int, count: Count) -> tuple[Span, ...]:
    apart = _APART.get(memory.kind)
    if apart is None:
        return tuple(split(memory.content, window=window, count=count))
    return tuple(
        (start + inner_start, start + inner_stop)
        for start, stop in apart(memory)
        for inner_start, inner_stop in split(memory.content[start:stop], window=window, count=count)
    )


def _room(name: str, embedder: Embedder) -> int:
    """The tokens that are left for a part beside the name, but never less than half of the window."""
    return max(embedder.window // 2, embedder.window - embedder.count([name])[0])
