"""Events, in one process and through a real Redis."""

import asyncio
import gc
import logging

import pytest

from patience import LONG, at_once
from scrubjay.backends.events import LocalEvents
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.events import STREAM, RedisEvents
from scrubjay.errors import StoreUnavailable
from scrubjay.ports import Events, Replayed
from scrubjay.testing import EventsSuite, ReplayedSuite, a_scope
from scrubjay.testing.events import Heard, an_event, eventually


class TestLocalEvents(EventsSuite, ReplayedSuite):
    @pytest.fixture
    async def bus(self):
        bus = LocalEvents()
        yield bus
        await bus.shut()


class TestRedisEvents(EventsSuite, ReplayedSuite):
    @pytest.fixture
    async def bus(self, new_bus):
        return new_bus()


@pytest.fixture
async def new_bus(redis_url, monkeypatch):
    """Makes buses on an empty stream, each with a connection of its own, as in another process."""
    # Who is ready has found the end of the stream, however slow the machine is.
    monkeypatch.setattr("scrubjay.backends.redis.events.READY_SECONDS", LONG)
    made = []
    connection = RedisConnection(redis_url)
    await connection.call(lambda client: client.delete(STREAM))
    await connection.shut()

    def make(**options):
        made.append(RedisEvents(RedisConnection(redis_url), **options))
        return made[-1]

    yield make
    for bus in made:
        await bus.shut()


async def test_two_processes_hear_each_other_in_one_order(new_bus):
    one, two = new_bus(), new_bus()
    heard = [Heard(), Heard()]
    for bus, handler in zip((one, two), heard, strict=True):
        bus.subscribe("*", handler)
    for bus in one, two:
        await bus.ready()
    for number in range(50):
        await one.publish([an_event(number=number, by="one")])
        await two.publish([an_event(number=number, by="two")])
    first, second = await heard[0].until(100), await heard[1].until(100)
    assert first == second
    for by in "one", "two":
        assert [event.data["number"] for event in first if event.data["by"] == by] == list(range(50))


async def test_who_comes_later_hears_nothing_old_and_can_ask_for_it(new_bus):
    early, late, heard, early_heard = new_bus(), new_bus(), Heard(), Heard()
    early.subscribe("*", early_heard)
    await early.publish([an_event(number=1)])
    await early_heard.until(1)
    await late.ready()
    late.subscribe("*", heard)
    await early.publish([an_event(number=2)])
    await heard.until(1)
    assert heard.numbers == [2]
    assert [event.data["number"] for event in await late.since(a_scope(), "")] == [1, 2]


async def test_the_stream_is_kept_short(new_bus, redis_url):
    bus, heard = new_bus(kept=100), Heard()
    bus.subscribe("memory.last", heard)
    for _ in range(20):
        await bus.publish([an_event() for _ in range(50)])
    await bus.publish([an_event("memory.last")])
    await heard.until(1)
    connection = RedisConnection(redis_url)
    # The server shortens it by whole nodes of a hundred.
    assert await connection.call(lambda client: client.xlen(STREAM)) <= 250
    await connection.shut()


async def test_the_stream_pages_through_more_than_one_answer_holds(new_bus):
    bus, heard = new_bus(), Heard()
    bus.subscribe("memory.last", heard)
    others = [an_event(scope=a_scope("bob"), number=number) for number in range(700)]
    await bus.publish([*others, an_event(number=700), an_event("memory.last", number=701)])
    await heard.until(1)
    assert [event.data["number"] for event in await bus.since(a_scope(), "")] == [700, 701]
    assert len(await bus.since(a_scope("bob"), "", limit=650)) == 650


async def test_what_another_program_wrote_is_passed_over(new_bus, redis_url, caplog):
    bus, heard = new_bus(), Heard()
    await bus.ready()
    bus.subscribe("*", heard)
    connection = RedisConnection(redis_url)
    for fields in (
        {"colour": "blue"},
        {"event": "no json", "token": "x"},
        {"event": '{"name":"a","scope":{"planet":"mars"},"at":"2026-01-01","data":{}}', "token": "y"},
        {"event": "[]", "token": "z"},
    ):
        await connection.call(lambda client, fields=fields: client.xadd(STREAM, fields))
    await connection.shut()
    await bus.publish([an_event(number=1)])
    await heard.until(1)
    assert heard.numbers == [1]
    assert caplog.text.count("cannot be read") == 4
    assert [event.data["number"] for event in await bus.since(a_scope(), "")] == [1]


async def test_an_event_that_was_sent_twice_is_heard_once(new_bus, redis_url):
    bus, other, heard = new_bus(), new_bus(), Heard()
    await bus.ready()
    bus.subscribe("*", heard)
    await other.publish([an_event(number=1)])
    connection = RedisConnection(redis_url)
    await eventually(lambda: connection.call(lambda client: client.exists(STREAM)))
    [(_, fields)] = await connection.call(lambda client: client.xrange(STREAM))
    await connection.call(lambda client: client.xadd(STREAM, fields))
    await connection.shut()
    await other.publish([an_event(number=2)])
    await eventually(lambda: 2 in heard.numbers)
    assert heard.numbers == [1, 2]
    assert [event.data["number"] for event in await bus.since(a_scope(), "")] == [1, 2]


async def test_without_redis_a_process_hears_itself(caplog):
    caplog.set_level(logging.WARNING)
    bus, heard = RedisEvents(RedisConnection("redis://127.0.0.1:1", timeout=0.2)), Heard()
    bus.subscribe("*", heard)
    await at_once(bus.publish([an_event(number=number) for number in range(3)]))
    events = await heard.until(3)
    assert heard.numbers == [0, 1, 2]
    assert [event.id for event in events] == sorted(event.id for event in events)
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        await bus.since(a_scope(), "")
    async with asyncio.timeout(LONG):
        await bus.shut()


async def test_a_bus_that_was_shut_can_be_used_again(new_bus):
    bus, heard = new_bus(), Heard()
    bus.subscribe("*", heard)
    await bus.shut()
    await bus.publish([an_event(number=1)])
    bus.subscribe("*", heard)
    await bus.publish([an_event(number=2)])
    await heard.until(1)
    assert heard.numbers == [2]


async def test_nothing_is_left_running(new_bus, recwarn):
    bus = new_bus()
    bus.subscribe("*", Heard())
    await bus.publish([an_event()])
    await bus.shut()
    gc.collect()
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "scrubjay-events"] == []
    assert [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


def test_both_satisfy_the_protocols(redis_url):
    buses: list[Events] = [LocalEvents(), RedisEvents(RedisConnection(redis_url))]
    assert all(isinstance(bus, Replayed) for bus in buses)
