"""Give a vector engine what it lacks: as its mirror holds it, and only the rest is embedded."""

from collections.abc import Sequence
from uuid import UUID

from scrubjay.model import Memory
from scrubjay.ports import UNSURE, Embedder, Entry, PortableVectors, Vectors
from scrubjay.ports.mirror import Mirrored
from scrubjay.write.embed import embed
from scrubjay.write.together import Together


async def fill(
    vectors: Vectors, generation: int, embedder: Embedder, waiting: Sequence[Memory], *, together: Together
) -> None:
    """Store the vectors of these, and mark them as indexed."""
    # One that carries another generation's mark may have vectors here from before, and then needs only the mark.
    marked = [memory.id for memory in waiting if memory.generation is not None]
    missing = set(await vectors.missing(generation, marked)) if marked else set()
    stored = set(marked) - missing
    doubted = [memory for memory in waiting if memory.generation == UNSURE and memory.id in stored]
    stored -= {memory.id for memory in doubted} - await _renewed(vectors, generation, doubted)
    lacking = [memory for memory in waiting if memory.id not in stored]
    await together.store(generation, await embed(await lend(vectors, generation, lacking), embedder))
    await together.mark(generation, {memory.id: memory.superseded_at is None for memory in waiting})


async def _renewed(vectors: Vectors, generation: int, doubted: Sequence[Memory]) -> set[UUID]:
    """Bring what a search filters by up to date; the vectors themselves hold, since a new text is a new memory."""
    if not doubted or not isinstance(vectors, PortableVectors):
        return set()
    by_id = {memory.id: memory for memory in doubted}
    stored = await vectors.entries(generation, list(by_id))
    await vectors.upsert(generation, [Entry.of(by_id[one.id], one.spans, one.vectors) for one in stored])
    return {one.id for one in stored}


async def lend(vectors: Vectors, generation: int, lacking: Sequence[Memory]) -> list[Memory]:
    """Give the engine what its mirror holds of these; return those that have to be embedded after all.

    The vectors hold, since a new text is a new memory. What a search filters by is as the records say now, also in the
    mirror, which may not have been kept up while another engine was configured.
    """
    if not lacking or not isinstance(vectors, Mirrored):
        return list(lacking)
    by_id = {memory.id: memory for memory in lacking}
    held = await vectors.mirror.entries(generation, list(by_id))
    renewed = [Entry.of(by_id[one.id], one.spans, one.vectors) for one in held]
    # Entries are equal when all but their vectors is.
    if stale := [new for old, new in zip(held, renewed, strict=True) if new != old]:
        await vectors.mirror.upsert(generation, stale)
    if renewed:
        await vectors.engine.upsert(generation, renewed)
    lent = {one.id for one in renewed}
    return [memory for memory in lacking if memory.id not in lent]
