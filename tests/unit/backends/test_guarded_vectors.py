"""A vector engine that is frozen costs one wait, and one ping for each pause."""

import asyncio
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.vectors.guarded import GuardedVectors
from scrubjay.errors import InvalidInput, StoreUnavailable
from scrubjay.model import Filter, Scope

NOW = datetime(2026, 11, 15, tzinfo=UTC)


class Freezable(MemoryVectors):
    """An engine that can be frozen: then nothing is answered for as long as a test could last."""

    name = "memory://there"

    def __init__(self):
        super().__init__()
        self.frozen = False
        self.calls = []

    async def _answer(self, what):
        self.calls.append(what)
        if self.frozen:
            await asyncio.sleep(60)

    async def load(self):
        """There is no driver."""

    async def ping(self):
        await self._answer("ping")

    async def search(self, *args, **kwargs):
        await self._answer("search")
        return await super().search(*args, **kwargs)

    async def upsert(self, generation, entries):
        await self._answer("upsert")
        await super().upsert(generation, entries)


class Seconds:
    now = 0.0


@pytest.fixture
def clock():
    return Seconds()


@pytest.fixture
def engine():
    return Freezable()


@pytest.fixture
def guarded(engine, clock):
    breaker = Breaker(engine.name, failures=1, clock=lambda: clock.now, chance=lambda: 0.0)
    return GuardedVectors(engine, breaker, search_seconds=0.1, ping_seconds=0.05)


async def search(guarded):
    return await guarded.search(1, np.ones(3, dtype=np.float32), Filter(scope=Scope()), now=NOW, limit=3)


async def test_a_frozen_engine_costs_one_wait(engine, guarded):
    assert await search(guarded) == []
    engine.frozen = True
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"memory://there did not answer within 0.1 seconds"):
        await search(guarded)
    assert 0.1 <= time.monotonic() - began < 30
    asked = len(engine.calls)
    for verb in (search, lambda one: one.upsert(1, []), lambda one: one.count(1), lambda one: one.ping()):
        with pytest.raises(StoreUnavailable, match="is down since"):
            await verb(guarded)
    assert len(engine.calls) == asked
    assert guarded.health.state == "down"


async def test_after_a_pause_it_is_asked_with_a_ping(engine, guarded, clock):
    engine.frozen = True
    with pytest.raises(StoreUnavailable):
        await search(guarded)
    engine.calls.clear()
    clock.now = 1.0
    with pytest.raises(StoreUnavailable, match=r"within 0.05 seconds"):
        await guarded.upsert(1, [])
    with pytest.raises(StoreUnavailable, match="is down since"):
        await guarded.upsert(1, [])
    assert engine.calls == ["ping"], "the work itself, which may take longer, was not tried"
    engine.frozen = False
    clock.now = 3.0
    await guarded.upsert(1, [])
    assert engine.calls == ["ping", "ping", "upsert"]
    assert guarded.health.state == "up"


async def test_bad_input_is_no_outage(engine, guarded):
    async def refused(*args, **kwargs):
        raise InvalidInput("no")

    engine.count = refused
    for _ in range(3):
        with pytest.raises(InvalidInput):
            await guarded.count(1)
    assert guarded.health.state == "up"
