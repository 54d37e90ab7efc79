"""What every carrier of events has to do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope
from scrubjay.model.checks import Json
from scrubjay.ports import Event, Events, Replayed
from scrubjay.testing.values import NOW, a_scope

PATIENCE: Final = 60.0
"""Seconds until an event counts as lost."""


def an_event(name: str = "memory.stored", *, scope: Scope | None = None, **data: int | str) -> Event:
    """An event of `a_scope()`, that happened at `NOW`."""
    return Event(name=name, scope=scope or a_scope(), at=NOW, data={**data})


class Heard:
    """A handler that notes what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event) -> None:
        """Note the event."""
        self.events.append(event)

    @property
    def numbers(self) -> list[object]:
        """The number that each event was given by the test."""
        return [event.data["number"] for event in self.events]

    async def until(self, many: int) -> list[Event]:
        """Wait until so many were heard, and return them all."""
        await eventually(lambda: len(self.events) >= many)
        return self.events


async def eventually(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until it holds; fail when it does not for too long."""
    async with asyncio.timeout(PATIENCE):
        # What is waited for may be at a server, which tells nobody.
        while not (answer if isinstance(answer := holds(), bool) else await answer):  # noqa: ASYNC110 -- see above
            await asyncio.sleep(0.002)


class EventsSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `bus` that yields one on which nothing happened."""

    async def test_an_event_arrives_as_it_was_published(self, bus: Events) -> None:
        heard = Heard()
        bus.subscribe("memory.stored", heard)
        scope = Scope(tenant="acmé: {x}", user="anna", session="s 1")
        event = Event(name="memory.stored", scope=scope, at=NOW, data={"ids": ["a", "b"], "outcome": "stored", "n": 1})
        await bus.publish([event])
        [arrived] = await heard.until(1)
        assert (arrived.name, arrived.scope, arrived.at, arrived.data) == (event.name, scope, NOW, event.data)
        assert arrived.id

    async def test_order_is_kept_and_ids_grow(self, bus: Events) -> None:
        heard = Heard()
        bus.subscribe("*", heard)
        for start in range(0, 300, 30):
            await bus.publish([an_event(number=start + step) for step in range(30)])
        events = await heard.until(300)
        assert heard.numbers == list(range(300))
        assert [event.id for event in events] == sorted({event.id for event in events})

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("*", [0, 1, 2, 3]),
            ("memory.*", [0, 1]),
            ("memory.stored", [0]),
            ("memory.pattern.*", [1]),
            ("memories.*", [3]),
            ("generation.switched", [2]),
        ],
    )
    async def test_a_name_means_one_event_or_all_below(self, bus: Events, name: str, expected: list[int]) -> None:
        heard, everything = Heard(), Heard()
        bus.subscribe(name, heard)
        bus.subscribe("*", everything)
        names = ("memory.stored", "memory.pattern.learned", "generation.switched", "memories.counted")
        await bus.publish([an_event(name, number=number) for number, name in enumerate(names)])
        await everything.until(4)
        await eventually(lambda: heard.numbers == expected)

    @pytest.mark.parametrize("name", ["", "memory.", ".stored", "mem*", "memory.*.stored", "a b", "memory stored"])
    async def test_a_name_that_no_event_has_is_refused(self, bus: Events, name: str) -> None:
        with pytest.raises(InvalidInput, match="event name"):
            bus.subscribe(name, Heard())

    async def test_who_names_kinds_hears_of_those_and_of_nothing_else(self, bus: Events) -> None:
        heard, everything = Heard(), Heard()
        bus.subscribe("memory.*", heard, kinds=("task", "rule"))
        bus.subscribe("*", everything)
        named: list[dict[str, Json]] = [{"kinds": ["note", "task"]}, {"kinds": ["note"]}, {}, {"kinds": ["rule"]}]
        await bus.publish(
            [
                Event(name="memory.stored", scope=a_scope(), at=NOW, data={"number": number, **data})
                for number, data in enumerate(named)
            ]
        )
        await everything.until(4)
        await eventually(lambda: heard.numbers == [0, 3])

    async def test_a_scope_hears_of_what_it_sees_and_of_nothing_else(self, bus: Events) -> None:
        heard, whole, everything = Heard(), Heard(), Heard()
        bus.subscribe("*", heard, scope=Scope(tenant="acme", user="anna"))
        bus.subscribe("*", whole, scope=Scope(tenant="acme"))
        bus.subscribe("*", everything)
        scopes = [
            Scope(tenant="acme", user="anna", session="s"),
            Scope(tenant="acme", user="bob"),
            Scope(tenant="acme"),
            Scope(tenant="other", user="anna"),
        ]
        await bus.publish([an_event(scope=scope, number=number) for number, scope in enumerate(scopes)])
        await bus.publish([Event(name="generation.switched", scope=None, at=NOW, data={"number": 4})])
        await everything.until(5)
        await eventually(lambda: len(heard.events) == 3 and len(whole.events) == 4)
        assert heard.numbers == [0, 2, 4]
        assert whole.numbers == [0, 1, 2, 4]

    async def test_a_failing_handler_disturbs_nobody_and_is_called_again(self, bus: Events) -> None:
        heard, told = Heard(), []

        def failing(event: Event) -> None:
            told.append(event)
            raise LookupError("handlers may raise what they like")

        bus.subscribe("*", failing)
        bus.subscribe("*", heard)
        await bus.publish([an_event(number=1)])
        await bus.publish([an_event(number=2)])
        await heard.until(2)
        await eventually(lambda: len(told) == 2)

    async def test_publishing_waits_for_no_handler(self, bus: Events) -> None:
        free, heard = asyncio.Event(), Heard()

        async def slow(event: Event) -> None:
            await free.wait()
            await heard(event)

        bus.subscribe("*", slow)
        async with asyncio.timeout(PATIENCE):
            await bus.publish([an_event(number=1)])
        await asyncio.sleep(0.05)
        assert heard.events == []
        free.set()
        await heard.until(1)

    async def test_a_slow_handler_misses_the_oldest_and_never_the_newest(self, bus: Events) -> None:
        free, heard, other = asyncio.Event(), Heard(), Heard()

        async def slow(event: Event) -> None:
            await free.wait()
            await heard(event)

        bus.subscribe("*", slow)
        bus.subscribe("memory.last", other)
        await bus.publish([an_event(number=number) for number in range(5_000)])
        await bus.publish([an_event("memory.last", number=5_000)])
        await other.until(1)
        free.set()
        await eventually(lambda: bool(heard.events) and heard.events[-1].name == "memory.last")
        under_way = int(heard.numbers[0] == 0)
        waited = heard.numbers[under_way:]
        assert waited == list(range(5_001 - len(waited), 5_001))
        assert len(waited) < 5_000

    async def test_one_handler_gets_one_event_at_a_time(self, bus: Events) -> None:
        under_way, most, done = 0, 0, 0

        async def handler(_event: Event) -> None:
            nonlocal under_way, most, done
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            done += 1

        bus.subscribe("*", handler)
        await bus.publish([an_event() for _ in range(20)])
        await eventually(lambda: done == 20)
        assert most == 1

    async def test_who_stopped_hears_no_more(self, bus: Events) -> None:
        heard, other = Heard(), Heard()
        stop = bus.subscribe("*", heard)
        bus.subscribe("*", other)
        await bus.publish([an_event(number=1)])
        await heard.until(1)
        stop()
        stop()
        await bus.publish([an_event(number=2)])
        await other.until(2)
        assert heard.numbers == [1]

    async def test_a_handler_may_publish(self, bus: Events) -> None:
        heard = Heard()

        async def answering(event: Event) -> None:
            await bus.publish([an_event("memory.answered", number=2, to=event.id)])

        bus.subscribe("memory.stored", answering)
        bus.subscribe("*", heard)
        await bus.publish([an_event(number=1)])
        first, second = await heard.until(2)
        assert second.data["to"] == first.id
        assert second.id > first.id

    async def test_shutting_lets_handlers_finish(self, bus: Events) -> None:
        heard = Heard()

        async def slow(event: Event) -> None:
            await asyncio.sleep(0.001)
            await heard(event)

        bus.subscribe("*", slow)
        await bus.publish([an_event(number=number) for number in range(5)])
        await bus.shut()
        assert heard.numbers == [0, 1, 2, 3, 4]

    async def test_a_handler_may_shut_the_bus(self, bus: Events) -> None:
        done = asyncio.Event()

        async def last(_event: Event) -> None:
            await bus.shut()
            done.set()

        bus.subscribe("*", last)
        await bus.publish([an_event()])
        async with asyncio.timeout(PATIENCE):
            await done.wait()

    async def test_shutting_does_not_wait_for_ever_and_can_be_repeated(self, bus: Events) -> None:
        async def endless(_event: Event) -> None:
            await asyncio.sleep(3_600)

        bus.subscribe("*", endless)
        await bus.publish([an_event()])
        await asyncio.sleep(0.02)
        async with asyncio.timeout(PATIENCE):
            await bus.shut()
            await bus.shut()
        await bus.publish([an_event()])


class ReplayedSuite:
    """For a bus that keeps events for a while. The fixture is the same as for `EventsSuite`."""

    async def _published(self, bus: Events, *scopes: Scope) -> list[Event]:
        heard = Heard()
        stop = bus.subscribe("*", heard)
        await bus.publish([an_event(scope=scope, number=number) for number, scope in enumerate(scopes)])
        events = await heard.until(len(scopes))
        stop()
        return events

    async def test_what_came_after_an_id_is_told_again(self, bus: Events) -> None:
        assert isinstance(bus, Replayed)
        events = await self._published(bus, *[a_scope()] * 5)
        assert await bus.since(a_scope(), events[1].id) == events[2:]
        assert await bus.since(a_scope(), events[4].id) == []
        assert await bus.since(a_scope(), "") == events
        assert await bus.since(a_scope(), events[0].id, limit=2) == events[1:3]

    async def test_only_what_the_scope_sees_is_told_again(self, bus: Events) -> None:
        assert isinstance(bus, Replayed)
        anna, bob, other = Scope(user="anna"), Scope(user="bob"), Scope(tenant="other", user="anna")
        events = await self._published(bus, anna, bob, other, Scope())
        assert await bus.since(anna, "") == [events[0], events[3]]
        assert await bus.since(other, "") == [events[2]]

    @pytest.mark.parametrize("id", ["x", "1", "1-1-1", "-", "99999999999999999999"])
    async def test_an_id_of_another_form_is_refused(self, bus: Events, id: str) -> None:
        assert isinstance(bus, Replayed)
        with pytest.raises(InvalidInput, match="event id"):
            await bus.since(a_scope(), id)
