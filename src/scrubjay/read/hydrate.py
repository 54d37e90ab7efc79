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
    memories = iter(await records.get(filter.scope, [candidate.id for candidate in candidates]))
    hydrated: list[tuple[Candidate, Memory]] = []
    memory = next(memories, None)
    # They come in the order asked, and those that are gone are left out.
    for candidate in candidates:
        if memory is not None and memory.id == candidate.id:
            if filter.matches(memory, now):
                hydrated.append((candidate, memory))
            memory = next(memories, None)
    return hydrated
