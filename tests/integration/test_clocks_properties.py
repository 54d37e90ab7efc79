"""Hosts whose clocks differ and step back and forth take turns at one key: what was acknowledged last is current.

Each example has a place of its own in one store, and a host is a memory with a clock of its own.
"""

import itertools
from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lengths import sized
from scrubjay.errors import Conflict, NotFound
from scrubjay.testing import NOW, Ticking

HOSTS = 3
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
hosts = st.integers(0, HOSTS - 1)
minutes = st.integers(-180, 180)
turns = st.one_of(
    st.tuples(st.just("tell"), hosts),
    st.tuples(st.sampled_from(["update", "forget", "restore", "same"]), hosts),
    st.tuples(st.just("tell for"), hosts, st.integers(1, 20)),
    st.tuples(st.sampled_from(["tell of the past", "tell of the future"]), hosts),
    st.tuples(st.just("tell of about now"), hosts, st.integers(-15, 15)),
    st.tuples(st.just("step"), hosts, minutes),
    st.tuples(st.just("time passes"), st.integers(0, 30)),
)
UNKNOWN = object()
"""Where what is current depends on whose clock is right, and may be one value on one host and another on the next."""


class Turns:
    """What was acknowledged under one key, in its order."""

    numbers = itertools.count()

    def __init__(self, jays, clocks):
        self.jays, self.clocks = jays, clocks
        self.place = {"project": f"p{next(self.numbers)}"}
        self.values = itertools.count()
        self.current = None
        self.future = None
        self.is_of_the_past = self.is_loose = False
        self.acknowledged = []

    async def take(self, name, *given):
        if name == "step":
            self.clocks[given[0]].advance(given[1] * MINUTE)
        elif name == "time passes":
            for clock in self.clocks:
                clock.advance(given[0] * MINUTE + timedelta(microseconds=1))
        else:
            host, *given = given
            await getattr(self, name.replace(" ", "_"))(self.jays[host], self.clocks[host], *given)
        await self.check()

    async def _told(self, jay, current, **told):
        value = f"value {next(self.values)}"
        done = await jay.remember(value, key="k", kind="fact", **self.place, **told)
        if current == "it":
            self.current, self.is_of_the_past = value, False
        self._acknowledge(done.memory.created_at)
        return value

    def _acknowledge(self, moment):
        assert not self.acknowledged or moment > self.acknowledged[-1][0]
        self.acknowledged.append((moment, UNKNOWN if self.is_loose else self.current))

    async def tell(self, jay, _):
        await self._told(jay, "it")

    async def tell_for(self, jay, clock, length):
        # Where it is over depends on the clock of whoever reads it, and what held before it holds again then.
        self.is_loose = True
        await self._told(jay, "same", valid_to=clock.now + length * MINUTE)

    async def tell_of_the_past(self, jay, _):
        # Where nothing holds now that was told of a later time, it does.
        is_it = self.current is None or self.is_of_the_past
        await self._told(jay, "it" if is_it else "same", valid_from=NOW - 30 * DAY)
        self.is_of_the_past = is_it

    async def tell_of_the_future(self, jay, _):
        self.future = await self._told(jay, "same", valid_from=NOW + 30 * DAY)

    async def tell_of_about_now(self, jay, clock, after):
        self.is_loose = True
        await self._told(jay, "same", valid_from=clock.now + after * MINUTE)

    async def same(self, jay, _):
        if self.current is not None and self.future is None and not self.is_loose:
            done = await jay.remember(self.current, key="k", kind="fact", **self.place)
            assert done.outcome == "unchanged"

    async def update(self, jay, _):
        if found := await jay.list(key="k", **self.place):
            value = f"value {next(self.values)}"
            done = await jay.update(found[0].id, content=value, **self.place)
            self.current = value
            self._acknowledge(done.memory.created_at)

    async def forget(self, jay, _):
        try:
            await jay.forget(key="k", **self.place)
        except NotFound:
            return
        self.current, self.future, self.is_loose, self.is_of_the_past = None, None, False, False
        versions = await jay.history(key="k", **self.place)
        self._acknowledge(max(one.superseded_at for one in versions))

    async def restore(self, jay, _):
        if self.current is None and self.acknowledged and not self.is_loose:
            self.is_loose = True
            versions = await jay.history(key="k", **self.place)
            forgotten = [one for one in versions if one.state(NOW) == "forgotten"]
            if forgotten:
                with suppress(Conflict):  # Something else holds then.
                    [done] = await jay.facts.restore(forgotten[-1].id, **self.place)
                    self._acknowledge(done.memory.created_at)

    async def check(self):
        """On every host at once: one current value, which was acknowledged last; what was, stays as it was."""
        for jay in self.jays:
            there = [one.content for one in await jay.list(key="k", **self.place)]
            assert len(there) <= 1
            if not self.is_loose:
                assert there == ([self.current] if self.current else [])
        jay = self.jays[0]
        for moment, value in self.acknowledged:
            then = [one.content for one in await jay.list(key="k", as_of=moment, **self.place)]
            assert len(then) <= 1
            if value is not UNKNOWN:
                assert then == ([value] if value else []), f"as of {moment}"
        if self.acknowledged:
            versions = await jay.history(key="k", **self.place)
            assert [one.created_at for one in versions] == sorted(one.created_at for one in versions)
            assert all(one.superseded_at is None or one.superseded_at > one.created_at for one in versions)

    async def end(self):
        """A month later, what was told of the future is so."""
        for clock in self.clocks:
            clock.advance(60 * DAY)
        if self.future is not None and not self.is_loose:
            self.current = self.future
        await self.check()
        assert await self.jays[0].check() == []


@pytest.fixture
async def several(setup):
    """A memory on each host, and their clocks."""
    clocks = [Ticking() for _ in range(HOSTS)]
    jays = []
    for clock in clocks:
        setup.clock = clock
        jays.append(await setup.open(words_only=True))
    return jays, clocks


@settings(max_examples=sized(short=20, long=500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offsets=st.tuples(*[st.integers(-10, 10)] * HOSTS), taken=st.lists(turns, min_size=1, max_size=12))
@example(offsets=(0, 10, 0), taken=[("tell", 1), ("tell", 0), ("update", 0), ("update", 1), ("tell", 0)])
@example(offsets=(0, 10, 0), taken=[("tell", 1), ("forget", 1), ("tell", 0), ("forget", 0), ("tell", 0)])
@example(offsets=(0, 10, 0), taken=[("tell for", 0, 5), ("tell", 1)])
async def test_hosts_take_turns_at_one_key(several, offsets, taken):
    jays, clocks = several
    for clock, offset in zip(clocks, offsets, strict=True):
        clock.now = NOW + offset * MINUTE
    life = Turns(jays, clocks)
    for turn in taken:
        await life.take(*turn)
    await life.end()
