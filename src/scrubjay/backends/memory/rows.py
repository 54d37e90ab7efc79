"""The memories of the store that keeps them in dicts, and what is derived from them to save looking at all."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from scrubjay.backends.memory.bm25 import terms_in
from scrubjay.backends.memory.versions import Slot, slots_of
from scrubjay.model import Memory, Scope
from scrubjay.model.memory import moment_after

Before: TypeAlias = list[tuple[UUID, Memory | None]]
"""What each changed row was before, in the order of the changes: None where there was none."""


class MemoryRows:
    """One dict, whose order is the order of storing: a changed memory keeps its place."""

    def __init__(self) -> None:
        super().__init__()
        self._memories: dict[UUID, Memory] = {}
        # These are derived from the memories and only save looking at all of them.
        self._believed: dict[Slot, dict[UUID, None]] = {}
        self._keyed: dict[tuple[Scope, str], dict[UUID, None]] = {}
        self._positions: dict[Scope, dict[UUID, int]] = {}
        self._terms: dict[UUID, Counter[str]] = {}

    async def count_marked(self, generation: int) -> int:
        """Count the memories of every tenant that are marked with this generation."""
        return sum(memory.generation == generation for memory in self._memories.values())

    async def marked_of(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are marked with this generation, in the order asked."""
        return [memory.id for memory in self._named(ids) if memory.generation == generation]

    async def sample_marked(self, generation: int, *, limit: int) -> list[UUID]:
        """Return some of the memories that are marked with this generation, at random and at most so many."""
        marked = [memory.id for memory in self._memories.values() if memory.generation == generation]
        return random.sample(marked, min(limit, len(marked)))

    def _named(self, ids: Iterable[UUID]) -> list[Memory]:
        return [self._memories[one] for one in ids if one in self._memories]

    def _held(self, scope: Scope, ids: Iterable[UUID]) -> list[Memory]:
        return [memory for memory in self._named(dict.fromkeys(ids)) if scope.holds(memory.scope)]

    def _closed_since(self, draft: Memory) -> datetime | None:
        """When the last version under the key of this one was closed, if that is not before it was told."""
        versions = self._named(self._keyed.get((draft.scope, draft.key), ())) if draft.key is not None else []
        closed = [memory.superseded_at for memory in versions if memory.superseded_at is not None]
        return max((at for at in closed if at >= draft.created_at), default=None)

    def _closed(self, memories: Sequence[Memory], at: datetime, because: str) -> list[Memory]:
        """Close each at this moment, or after all that was told or closed under its key where that is later."""
        moments = [moment_after(self._last_of(memory), at) for memory in memories]
        return [self._put(one.closed(when, because=because)) for one, when in zip(memories, moments, strict=True)]

    def _last_of(self, memory: Memory) -> datetime:
        versions = self._named(self._keyed[memory.scope, memory.key]) if memory.key is not None else [memory]
        return max(max(one.created_at, one.superseded_at or one.created_at) for one in versions)

    @contextmanager
    def _all_or_none(self) -> Iterator[Before]:
        before: Before = []
        try:
            yield before
        except BaseException:
            # Whatever went wrong, also inside `decide`, nothing of this call may stay.
            for one, memory in reversed(before):
                if memory is None:
                    self._delete(one)
                else:
                    self._put(memory)
            raise

    def _put(self, memory: Memory) -> Memory:
        old = self._memories.get(memory.id)
        if old is not None:
            self._forget(old)
        if old is None or (old.key, old.content) != (memory.key, memory.content):
            self._terms[memory.id] = terms_in(memory)
        self._memories[memory.id] = memory
        if memory.position is not None:
            self._positions.setdefault(memory.scope, {})[memory.id] = memory.position
        if memory.key is not None:
            self._keyed.setdefault((memory.scope, memory.key), {})[memory.id] = None
        if memory.superseded_at is None:
            for slot in slots_of(memory):
                self._believed.setdefault(slot, {})[memory.id] = None
        return memory

    def _delete(self, id: UUID) -> None:
        self._forget(self._memories.pop(id))
        del self._terms[id]

    def _forget(self, memory: Memory) -> None:
        self._positions.get(memory.scope, {}).pop(memory.id, None)
        if memory.key is not None:
            self._keyed[memory.scope, memory.key].pop(memory.id)
        for slot in slots_of(memory):
            self._believed.get(slot, {}).pop(memory.id, None)
