"""The circuit breaker, on a clock of its own: when it opens, whom it lets through, and what it says."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.backends.breaker import Breaker
from scrubjay.errors import Closed, Conflict, EmbedderUnavailable, InvalidInput, StoreUnavailable, Unavailable

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Time:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def now(self):
        return NOON + timedelta(seconds=self.seconds)


class Store:
    """Something behind a breaker, which counts who gets through to it."""

    def __init__(self, **options):
        self.time = Time()
        self.asked = 0
        self.trouble = None
        self.breaker = Breaker(
            "qdrant://there", **{"chance": lambda: 0.0, **options}, clock=self.time.monotonic, now=self.time.now
        )

    async def work(self):
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble
        return "answer"

    async def ask(self):
        return await self.breaker.call(self.work)

    async def fail(self, times=1):
        self.trouble = StoreUnavailable("it cannot be reached. Check that it runs")
        for _ in range(times):
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                await self.ask()


async def test_it_opens_after_so_many_failures_in_a_row():
    store = Store(failures=3)
    await store.fail(2)
    store.trouble = None
    assert await store.ask() == "answer"
    await store.fail(2)
    assert not store.breaker.is_open
    await store.fail()
    assert store.breaker.is_open
    asked = store.asked
    with pytest.raises(StoreUnavailable) as raised:
        await store.ask()
    assert store.asked == asked, "whoever comes now does not wait for an answer"
    assert str(raised.value) == (
        "qdrant://there is down since 2026-11-15 12:00:00 UTC: it cannot be reached. Check that it runs. "
        "It is tried again in 1.0 s"
    )


async def test_the_error_is_of_the_kind_that_opened_it():
    store = Store(failures=1)
    store.trouble = EmbedderUnavailable()
    with pytest.raises(EmbedderUnavailable):
        await store.ask()
    with pytest.raises(EmbedderUnavailable, match="is down since"):
        await store.ask()


async def test_pauses_double_up_to_the_longest_and_end_with_an_answer():
    store = Store(failures=1, pause=1.0, most_pause=5.0)
    await store.fail()
    for pause in (1.0, 2.0, 4.0, 5.0, 5.0):
        store.time.seconds += pause - 0.01
        asked = store.asked
        with pytest.raises(StoreUnavailable, match="is down since"):
            await store.ask()
        assert store.asked == asked
        store.time.seconds += 0.01
        with pytest.raises(StoreUnavailable, match=r"^it cannot be reached"):
            await store.ask()
    store.time.seconds += 5.0
    store.trouble = None
    assert await store.ask() == "answer"
    await store.fail()
    store.time.seconds += 1.0
    store.trouble = None
    assert await store.ask() == "answer", "the pauses begin anew"


@given(chance=st.floats(0, 1, exclude_max=True), failures=st.integers(1, 40))
def test_a_pause_is_between_half_of_what_is_due_and_all_of_it(chance, failures):
    store = Store(failures=1, pause=1.0, most_pause=30.0, chance=lambda: chance)

    async def outage():
        for number in range(failures):
            await store.fail()
            pause = (store.breaker.health.retry - store.time.now()).total_seconds()
            due = min(30.0, 2.0**number)
            assert due / 2 - 1e-6 <= pause <= due + 1e-6
            store.time.seconds += pause + 1e-6

    asyncio.run(outage())


async def test_after_the_pause_exactly_one_is_let_through():
    store = Store(failures=1)
    await store.fail()
    store.time.seconds += 1.0
    gate = asyncio.Event()

    async def slow():
        store.asked += 1
        await gate.wait()
        return "answer"

    store.asked = 0
    trial = asyncio.create_task(store.breaker.call(slow))
    await asyncio.sleep(0)
    for _ in range(20):
        with pytest.raises(StoreUnavailable, match="being tried right now"):
            await store.breaker.call(slow)
    gate.set()
    assert await trial == "answer"
    assert store.asked == 1
    assert await asyncio.gather(*(store.breaker.call(slow) for _ in range(20))) == ["answer"] * 20


async def test_a_trial_that_is_cancelled_leaves_its_place_to_the_next():
    store = Store(failures=1)
    await store.fail()
    store.time.seconds += 1.0
    trial = asyncio.create_task(store.breaker.call(asyncio.Event().wait))
    await asyncio.sleep(0)
    trial.cancel()
    with pytest.raises(asyncio.CancelledError):
        await trial
    assert store.breaker.is_open
    store.trouble = None
    assert await store.ask() == "answer"


async def test_calls_that_fail_together_make_one_pause():
    store = Store(failures=1, pause=1.0)
    gate = asyncio.Event()

    async def frozen():
        await gate.wait()
        raise StoreUnavailable("no answer")

    calls = [asyncio.create_task(store.breaker.call(frozen)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    assert all(isinstance(one, StoreUnavailable) for one in await asyncio.gather(*calls, return_exceptions=True))
    assert store.breaker.health.retry == store.time.now() + timedelta(seconds=1)


async def test_an_answer_that_comes_late_is_an_answer():
    store = Store(failures=1)
    gate = asyncio.Event()
    late = asyncio.create_task(store.breaker.call(gate.wait))
    await asyncio.sleep(0)
    await store.fail()
    assert store.breaker.is_open
    gate.set()
    await late
    assert not store.breaker.is_open


@pytest.mark.parametrize("trouble", [InvalidInput("no"), Conflict("no"), Closed()])
async def test_whoever_refuses_is_up(trouble):
    store = Store(failures=1)
    store.trouble = trouble
    for _ in range(5):
        with pytest.raises(type(trouble)):
            await store.ask()
    assert store.asked == 5
    assert store.breaker.health.state == "up"


async def test_which_errors_count_can_be_said():
    store = Store(failures=1, is_outage=lambda error: "busy" not in str(error))
    store.trouble = Unavailable("busy")
    with pytest.raises(Unavailable):
        await store.ask()
    assert not store.breaker.is_open
    await store.fail()
    assert store.breaker.is_open


async def test_a_mistake_of_ours_says_nothing_about_the_store():
    store = Store(failures=1)
    await store.fail()
    store.time.seconds += 1.0
    store.trouble = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        await store.ask()
    assert store.breaker.health.state == "down"
    store.trouble = None
    assert await store.ask() == "answer"


async def test_health_says_since_when_why_and_when_again():
    store = Store(failures=1)
    assert (store.breaker.health.state, store.breaker.health.since) == ("unknown", None)
    await store.ask()
    store.time.seconds = 10
    await store.ask()
    assert (store.breaker.health.state, store.breaker.health.since) == ("up", NOON)
    await store.fail()
    store.time.seconds = 10.25
    health = store.breaker.health
    assert (health.name, health.state) == ("qdrant://there", "down")
    assert health.since == NOON + timedelta(seconds=10)
    assert health.retry == NOON + timedelta(seconds=11)
    assert "cannot be reached" in health.error
    store.time.seconds = 11
    store.trouble = None
    await store.ask()
    health = store.breaker.health
    assert (health.state, health.since, health.error, health.retry) == ("up", NOON + timedelta(seconds=11), "", None)


@given(steps=st.lists(st.tuples(st.booleans(), st.floats(0, 60)), max_size=60), failures=st.integers(1, 4))
def test_it_is_open_exactly_when_the_last_calls_that_got_through_failed(steps, failures):
    store = Store(failures=failures)
    reached = []

    async def story():
        for works, wait in steps:
            store.time.seconds += wait
            store.trouble = None if works else StoreUnavailable("down")
            before = store.asked
            with contextlib.suppress(StoreUnavailable):
                await store.ask()
            if store.asked > before:
                reached.append(works)
            tail = reached[::-1].index(True) if True in reached else len(reached)
            assert store.breaker.is_open == (tail >= failures)
            assert store.asked > before or not works or store.breaker.is_open

    asyncio.run(story())
