"""From the mirror: what it holds is given to the engine as it is, and nothing is embedded twice."""

from collections.abc import Sequence

from scrubjay.model import Memory
from scrubjay.ports import Entry, Vectors
from scrubjay.ports.mirror import Mirrored


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
