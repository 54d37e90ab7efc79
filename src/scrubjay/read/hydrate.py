"""Hydrate: fetch what the indexes found from the records, and drop what the truth no longer holds."""

from collections.abc import Sequence
from datetime import datetime

from scrubjay.model import Filter, Memory
from scrubjay.model.query import UNASKED_KINDS
from scrubjay.ports import Records
from scrubjay.read.fuse import Candidate


async def hydrate(
    candidates: Sequence[Candidate], *, filter: Filter, records: Records, now: datetime
) -> list[tuple[Candidate, Memory]]:
    """Return the candidates that are still there and that the filter admits, in their order, with their memories."""
    memories = await records.get(filter.scope, [candidate.id for candidate in candidates])
    if len(memories) < len(candidates):
        # They come in the order asked, and those that are gone are left out.
        found = {memory.id: memory for memory in memories}
        candidates = [candidate for candidate in candidates if candidate.id in found]
    plain = filter.is_plain and filter.reach == "sees" and not filter.kinds
    return [
        (candidate, memory)
        for candidate, memory in zip(candidates, memories, strict=True)
        if (plain and is_ordinary(memory, now)) or filter.matches(memory, now)
    ]


def is_ordinary(memory: Memory, now: datetime) -> bool:
    """Whether any plain filter whose scope sees it admits it, as is so for nearly all, and is quickly said."""
    return (
        memory.superseded_at is None
        and memory.valid_to is None
        and memory.expires_at is None
        and memory.valid_from <= now
        and memory.created_at <= now
        and memory.kind not in UNASKED_KINDS
    )
