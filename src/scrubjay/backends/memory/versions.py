"""How one version of a memory leads to another, for the store that keeps them in dicts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from uuid import UUID

from scrubjay.errors import Conflict
from scrubjay.model import Memory, Scope
from scrubjay.ports.records import overlap

Slot: TypeAlias = tuple[Scope, str | bytes]
"""A scope with a key or with a fingerprint: what only one believed, open-ended memory may have."""


def slots_of(memory: Memory) -> Iterator[Slot]:
    """What it has, or would have if it were believed."""
    yield memory.scope, memory.fingerprint
    if memory.key is not None:
        yield memory.scope, memory.key


def thread_of(id: UUID, seen: Sequence[Memory]) -> list[Memory]:
    """Those that lead to this id, or from it, by one having replaced the other."""
    found: set[UUID] = set()
    linked: set[UUID | None] = {id}
    while more := [one for one in seen if one.id not in found and (one.id in linked or one.superseded_by in linked)]:
        found |= {one.id for one in more}
        linked |= {name for one in more for name in (one.id, one.superseded_by) if name is not None}
    return [one for one in seen if one.id in found]


def check_unchanged(stored: Memory | None, seen: Memory) -> None:
    """Raise Conflict unless what is stored is believed, and kept as it was seen."""
    if stored is None or stored.superseded_at is not None or not stored.is_kept_as(seen):
        raise Conflict(f"memory {seen.id} was changed or deleted meanwhile: read it again, then decide")


def overlaps(memories: Iterable[Memory]) -> list[str]:
    """Say that some keys have two values at one moment, both believed, with the first pair of them."""
    by_key: dict[tuple[Scope, str], list[Memory]] = defaultdict(list)
    for memory in memories:
        if memory.key is not None and memory.superseded_at is None:
            by_key[memory.scope, memory.key].append(memory)
    found: list[tuple[Memory, Memory]] = []
    for same in by_key.values():
        same.sort(key=lambda one: one.valid_from)
        for place, one in enumerate(same):
            found += [(one, other) for other in same[:place] if other.overlaps(one)][:1]
    return [overlap(len(found), found[0][0].id, found[0][1].id)] if found else []
