"""Hydrate: fetch what the indexes found from the records, and drop what the truth no longer holds."""

from collections.abc import Sequence
from datetime import datetime

from scrubjay.model import Filter, Memory
from scrubjay.ports import Records
from scrubjay.read.fuse import Candidate


async def hydrate(
    candidates: Sequence[Candidate], *, filter: Filter, records: Records, now: datetime
) -> list[tuple[Candidate, Memory]]:
    """Return the candidates that are still there and that the filter admits, in their order, with their memories."""
    found = await records.get(filter.scope, [candidate.id for candidate in candidates])
    memories = {memory.id: memory for memory in found if filter.matches(memory, now)}
    return [(candidate, memories[candidate.id]) for candidate in candidates if candidate.id in memories]
