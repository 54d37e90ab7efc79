"""Congruence finds no fault where there is none, and finds it where there is one. The other stores are in test_sql."""

from dataclasses import replace

import pytest

from scrubjay.backends.memory import MemoryStore
from scrubjay.testing import congruence

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
async def test_the_reference_agrees_with_itself(seed):
    await congruence(MemoryStore(), MemoryStore(), seed)


class Unmoved(MemoryStore):
    async def touch(self, uses, *, at):
        pass


class Indiscreet(MemoryStore):
    async def get(self, scope, ids):
        return self._named(ids)


class Timeless(MemoryStore):
    async def find(self, filter, *, now, limit, order="newest", after=None):
        return await super().find(replace(filter, since=None), now=now, limit=limit, order=order, after=after)


class Overlooking(MemoryStore):
    async def match(self, terms, filter, **asked):
        return await super().match(terms[:1], filter, **asked)


class Crowded(MemoryStore):
    def _placed(self, memory):
        return replace(memory, position=0) if memory.scope.session else memory


class Sticky(MemoryStore):
    async def purge(self, scope, ids, **how):
        return self._held(scope, ids)


@pytest.mark.parametrize("faulty", [Unmoved, Indiscreet, Timeless, Overlooking, Crowded, Sticky])
async def test_a_fault_is_noticed(faulty):
    with pytest.raises(AssertionError, match="gives another answer"):
        await congruence(MemoryStore(), faulty(), 0)
