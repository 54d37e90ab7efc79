"""Work under a lease: it is renewed while the work lasts, given back after, and lapses with its worker."""

import asyncio
import contextlib
import time
from datetime import timedelta

import pytest

from scrubjay import elapsed
from scrubjay.backends.memory.leases import MemoryLeases
from scrubjay.errors import StoreUnavailable, Unavailable
from scrubjay.jobs.leasing import BEATS, leased, still_leased
from scrubjay.testing import Ticking

SHORT = timedelta(milliseconds=150)
BEAT = SHORT / BEATS


class Away(MemoryLeases):
    """A store that can be away, with a clock of its own that moves from beat to beat."""

    away = False

    def __init__(self):
        self.clock = Ticking()
        self._beats = asyncio.Semaphore(0)
        super().__init__(self.clock)

    async def beat(self):
        """Let the time of a beat pass, and wait for somebody who asks for longer."""
        self.clock.advance(BEAT)
        await self._beats.acquire()

    async def renew(self, lease, *, ttl):
        self._beats.release()
        if self.away:
            raise StoreUnavailable
        return await super().renew(lease, ttl=ttl)

    async def release(self, lease):
        if self.away:
            raise StoreUnavailable
        await super().release(lease)


@pytest.fixture
def leases():
    return Away()


async def test_it_is_kept_as_long_as_the_work_lasts(leases):
    async with leased(leases, "drain", "one", ttl=SHORT) as lease:
        assert lease is not None
        for _ in range(2 * BEATS):
            await leases.beat()
            assert await leases.take("drain", "two", ttl=SHORT) is None
    assert await leases.held() == []


async def test_who_comes_second_is_told(leases):
    async with leased(leases, "drain", "one") as first, leased(leases, "drain", "two") as second:
        assert first is not None
        assert second is None
    assert await leases.held() == []


async def test_work_that_fails_gives_it_back(leases):
    with pytest.raises(ValueError, match="broken"):
        async with leased(leases, "drain", "one"):
            raise ValueError("broken")
    assert await leases.held() == []


async def test_work_that_is_cancelled_gives_it_back(leases):
    begun = asyncio.Event()

    async def work():
        async with leased(leases, "drain", "one"):
            begun.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await begun.wait()
    assert len(await leases.held()) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await leases.held() == []


async def test_a_store_that_is_away_for_a_beat_costs_nothing(leases):
    async with leased(leases, "drain", "one", ttl=SHORT):
        leases.away = True
        await leases.beat()
        leases.away = False
        for _ in range(BEATS):
            await leases.beat()
        assert await leases.take("drain", "two", ttl=SHORT) is None


async def test_a_store_that_is_gone_lets_it_lapse(leases):
    async with leased(leases, "drain", "one", ttl=SHORT):
        leases.away = True
    assert await leases.take("drain", "two", ttl=SHORT) is None
    leases.clock.advance(SHORT)
    assert await leases.take("drain", "two", ttl=SHORT) is not None


class Slow(MemoryLeases):
    """A store that takes its time, and does what it was asked to only at the end of it."""

    async def take(self, name, worker, *, ttl):
        await asyncio.sleep(0.02)
        return await super().take(name, worker, ttl=ttl)

    async def release(self, lease):
        await asyncio.sleep(0.02)
        await super().release(lease)


@pytest.mark.parametrize("after", [0.0, 0.01, 0.03, 0.05, 0.07])
async def test_cancelled_at_any_moment_it_is_given_back(after):
    leases = Slow()

    async def work():
        async with leased(leases, "drain", "one"):
            await asyncio.sleep(0.02)

    working = asyncio.create_task(work())
    await asyncio.sleep(after)
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    assert await leases.held() == []


async def test_who_was_silent_for_too_long_asks_before_it_goes_on(leases):
    async with leased(leases, "drain", "one", ttl=SHORT):
        await still_leased()
        time.sleep(2 * SHORT.total_seconds())  # noqa: ASYNC251 -- no sign of life comes from a loop that is blocked
        leases.clock.advance(SHORT)
        await still_leased()
        time.sleep(2 * SHORT.total_seconds())  # noqa: ASYNC251 -- the same
        leases.clock.advance(2 * SHORT)
        assert await leases.take("drain", "two", ttl=SHORT) is not None
        with pytest.raises(Unavailable, match="another worker has taken over 'drain'"):
            await still_leased()
    await still_leased()


async def test_who_slept_asks_before_it_goes_on(leases, monkeypatch):
    stood = time.monotonic()
    async with leased(leases, "drain", "one", ttl=SHORT):
        leases.clock.advance(2 * SHORT)
        assert await leases.take("drain", "two", ttl=SHORT) is not None
        # As after a night: the monotonic clock stood still, and the loop with it.
        later = time.clock_gettime(time.CLOCK_BOOTTIME) + 3_600
        monkeypatch.setattr(time, "monotonic", lambda: stood)
        monkeypatch.setattr(elapsed, "moment", lambda: later)
        with pytest.raises(Unavailable, match="another worker has taken over 'drain'"):
            await still_leased()
        monkeypatch.undo()


async def test_who_was_paused_with_its_machine_asks_before_it_goes_on(leases, monkeypatch):
    async with leased(leases, "drain", "one", ttl=SHORT):
        leases.clock.advance(2 * SHORT)
        assert await leases.take("drain", "two", ttl=SHORT) is not None
        # No clock of the machine went on; the one on the wall was put right since.
        stood, right = elapsed.moment(), time.time() + 3_600
        monkeypatch.setattr(elapsed, "moment", lambda: stood)
        monkeypatch.setattr(elapsed.time, "time", lambda: right)
        with pytest.raises(Unavailable, match="another worker has taken over 'drain'"):
            await still_leased()
        monkeypatch.undo()


async def test_who_is_told_that_it_was_lost_is_not_sure_of_it_any_more(leases):
    async with leased(leases, "drain", "one", ttl=SHORT):
        leases.clock.advance(2 * SHORT)
        assert await leases.take("drain", "two", ttl=SHORT) is not None
        await leases.beat()
        with pytest.raises(Unavailable, match="another worker has taken over 'drain'"):
            await still_leased()


async def test_who_slept_while_it_was_given_has_it_for_that_much_less(leases, monkeypatch):
    take, night = leases.take, 3_600

    async def taken(name, worker, *, ttl):
        lease = await take(name, worker, ttl=ttl)
        later = time.clock_gettime(time.CLOCK_BOOTTIME) + night
        monkeypatch.setattr(elapsed, "moment", lambda: later)
        leases.clock.advance(2 * SHORT)
        assert await take("drain", "two", ttl=SHORT) is not None
        return lease

    monkeypatch.setattr(leases, "take", taken)
    async with leased(leases, "drain", "one", ttl=SHORT):
        with pytest.raises(Unavailable, match="another worker has taken over 'drain'"):
            await still_leased()
