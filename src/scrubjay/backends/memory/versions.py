"""How one version of a memory leads to another, for the store that keeps them in dicts."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias
from uuid import UUID

from scrubjay.errors import Conflict
from scrubjay.model import Memory, Scope

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
