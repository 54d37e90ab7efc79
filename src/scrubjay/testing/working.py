"""What every working memory has to do."""

import asyncio
from datetime import timedelta

import pytest

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import Json, Scope, new_id
from scrubjay.model.working import ABSENT, Message, Scratch
from scrubjay.ports import Working
from scrubjay.ports.working import Met
from scrubjay.testing.draining import DrainingSuite
from scrubjay.testing.sessions import HERE, LIMITS, a_message, a_value, contents, due, noted, said, some_messages
from scrubjay.testing.values import HOUR, NOW, SECOND, a_scope

__all__ = [
    "HERE",
    "LIMITS",
    "WorkingSuite",
    "a_message",
    "a_value",
    "contents",
    "due",
    "noted",
    "said",
    "some_messages",
]


class WorkingSuite(DrainingSuite):
    """Derive from it, name the class `Test…`, and give it a fixture `store` that yields an empty one with `LIMITS`."""

    # Messages

    async def test_messages_come_back_as_they_were(self, store: Working) -> None:
        call: dict[str, Json] = {"id": "c-1", "function": {"name": "search", "arguments": '{"q": "naïve 🦉"}'}}
        told = [
            a_message("Find it", name="Anna", at=NOW - timedelta(microseconds=1)),
            a_message("", role="assistant", tool_calls=(call,)),
            a_message("", role="tool", tool_call_id="c-1"),
            a_message("line\nbreak\t\\ \" ' {} €", role="assistant", redacted=("aws-key",)),
        ]
        placed = await said(store, *told)
        assert placed == [message.placed(place) for place, message in enumerate(told)]
        assert list(await store.recent(HERE, limit=10, now=NOW)) == placed

    async def test_positions_go_on_from_call_to_call(self, store: Working) -> None:
        first, second = some_messages(2), some_messages(3)
        assert [one.position for one in await said(store, *first)] == [0, 1]
        assert [one.position for one in await said(store, *second)] == [2, 3, 4]
        assert [one.id for one in await store.recent(HERE, limit=9, now=NOW)] == [one.id for one in first + second]

    async def test_the_newest_are_returned_in_order(self, store: Working) -> None:
        await said(store, *some_messages(5))
        assert await contents(store, limit=2) == ["Message number 3", "Message number 4"]

    async def test_appending_nothing_opens_a_session(self, store: Working) -> None:
        assert await said(store) == []
        session = await store.session(HERE, now=NOW)
        assert session is not None
        assert (session.messages, session.state(NOW)) == (0, "live")

    async def test_a_message_is_stored_once(self, store: Working) -> None:
        first, second = some_messages(2)
        await said(store, first)
        again = await said(store, second, first, second)
        assert [one.position for one in again] == [1, 0, 1]
        assert await contents(store) == [first.content, second.content]

    async def test_nothing_is_stored_when_an_id_is_there_that_was_taken_for_new(self, store: Working) -> None:
        first, second, third = some_messages(3)
        await said(store, first)
        with pytest.raises(Met):
            await said(store, second, first, new=[second.id, first.id], now=NOW + SECOND)
        session = await store.session(HERE, now=NOW)
        assert session is not None
        assert (await contents(store), session.messages, session.expires_at) == ([first.content], 1, NOW + HOUR)
        again = await said(store, second, first, second, third, new=[second.id, third.id, new_id()])
        assert [one.position for one in again] == [1, 0, 1, 2]

    async def test_what_is_known_is_found_by_its_id(self, store: Working) -> None:
        placed = await said(store, *some_messages(5))
        asked = [placed[3].id, new_id(), placed[0].id, placed[3].id]
        assert await store.known(HERE, [], now=NOW) == []

        def found(known: list[Message]) -> list[Message]:
            return sorted(known, key=lambda one: one.position or 0)

        assert found(await store.known(HERE, asked, now=NOW)) == [placed[0], placed[3]]
        assert await store.known(a_scope(session="s-2"), asked, now=NOW) == []
        assert await store.drained(HERE, [placed[0].id], now=NOW) == 1
        await store.end(HERE, now=NOW)
        assert found(await store.known(HERE, asked, now=NOW)) == [placed[3]]

    async def test_concurrent_writers_leave_no_gap(self, store: Working) -> None:
        pairs = [[a_message(f"{writer} {step}") for step in range(2)] for writer in range(12)]
        placed = await asyncio.gather(*(said(store, *pair) for pair in pairs))
        assert sorted(one.position or 0 for pair in placed for one in pair) == list(range(24))
        assert all(one.position == (other.position or 0) + 1 for other, one in placed)
        stored = await store.recent(HERE, limit=100, now=NOW)
        assert [one.position for one in stored] == list(range(24))

    async def test_a_scope_without_a_session_is_refused(self, store: Working) -> None:
        with pytest.raises(InvalidInput, match="session"):
            await said(store, a_message(), scope=a_scope())
        with pytest.raises(InvalidInput, match="session"):
            await store.recent(a_scope(), limit=1, now=NOW)

    async def test_a_session_has_room_for_so_much(self, store: Working) -> None:
        await said(store, *(a_message("x" * 700) for _ in range(5)))
        with pytest.raises(Conflict, match="5,000 is the most"):
            await said(store, a_message("small"), a_message("x" * 900))
        assert len(await contents(store)) == 5

    # Isolation

    async def test_sessions_are_apart(self, store: Working) -> None:
        places = [
            HERE,
            a_scope(session="s-2"),
            a_scope(session="S-1"),
            Scope(session="s-1"),
            Scope(user="bob", session="s-1"),
            Scope(user="anna", project="p", session="s-1"),
            Scope(user="anna", agent="p", session="s-1"),
            Scope(user="anna", session="s-1", workflow="p"),
            Scope(tenant="acme", user="anna", session="s-1"),
            Scope(tenant="ac:me}", user="anna", session="s-1"),
            Scope(tenant="naïve 🦉", user='an"na', session="s-1"),
        ]
        for number, place in enumerate(places):
            await said(store, a_message(f"of {number}"), scope=place)
            await noted(store, a_value(number), scope=place)
        for number, place in enumerate(places):
            assert await contents(store, place) == [f"of {number}"]
            value = await store.get(place, "plan", now=NOW)
            assert value is not None
            assert value.value == number
        await store.delete(HERE, "plan", now=NOW)
        await store.end(HERE, now=NOW)
        taken = await store.take(HERE, limit=10)
        await store.drained(HERE, [one.id for one in taken], now=NOW)
        for number, place in enumerate(places[1:], 1):
            assert await contents(store, place) == [f"of {number}"]
            assert [one.value for one in await store.scratch(place, now=NOW)] == [number]

    async def test_the_same_id_in_two_sessions_is_two_messages(self, store: Working) -> None:
        message = a_message()
        other = Scope(tenant="acme", session="s-1")
        await said(store, message)
        await said(store, message, scope=other)
        assert await contents(store) == await contents(store, other) == ["Hello"]

    async def test_a_listing_keeps_to_its_scope(self, store: Working) -> None:
        places = [HERE, a_scope(session="s-2"), Scope(user="bob", session="s-1"), Scope(tenant="acme", session="s-1")]
        for hours, place in enumerate(places, 1):
            await said(store, a_message(), scope=place, ttl=hours * HOUR)
        listed = await store.sessions(Scope(), now=NOW, limit=10)
        assert [one.scope for one in listed] == [places[2], places[1], places[0]]
        assert [one.scope for one in await store.sessions(Scope(), now=NOW, limit=1)] == [places[2]]
        assert [one.scope for one in await store.sessions(a_scope(), now=NOW, limit=10)] == [places[1], places[0]]
        assert [one.scope for one in await store.sessions(Scope(tenant="acme"), now=NOW, limit=10)] == [places[3]]
        assert await store.sessions(Scope(tenant="other"), now=NOW, limit=10) == []

    # The scratchpad

    @pytest.mark.parametrize(
        "value", [None, False, 0, -1.5, 1e22, "", "naïve 🦉\n", [], {}, [1, [None]], {"a": {"b": [True, {}]}}]
    )
    async def test_values_come_back_as_they_were(self, store: Working, value: Json) -> None:
        scratch = a_value(value, name="naïve: {name}")
        assert await noted(store, scratch) == scratch
        found = await store.get(HERE, "naïve: {name}", now=NOW)
        assert found == scratch
        assert found is not None
        assert type(found.value) is type(value)

    async def test_a_value_replaces_the_one_with_its_name(self, store: Working) -> None:
        await noted(store, a_value("one"))
        second = await noted(store, a_value("two"))
        assert await store.get(HERE, "plan", now=NOW) == second
        assert await store.get(HERE, "other", now=NOW) is None

    async def test_the_scratchpad_is_listed_by_name(self, store: Working) -> None:
        for name in ("b", "C", "a"):
            await noted(store, a_value(name, name=name))
        assert [one.name for one in await store.scratch(HERE, now=NOW)] == ["C", "a", "b"]
        assert await store.scratch(a_scope(session="s-2"), now=NOW) == []

    async def test_a_change_may_expect_a_version(self, store: Working) -> None:
        first = await noted(store, a_value("one"), expect=ABSENT)
        second = await noted(store, a_value("two"), expect=first.version)
        for expect in (first.version, ABSENT):
            with pytest.raises(Conflict, match=second.version):
                await noted(store, a_value("three"), expect=expect)
        with pytest.raises(Conflict, match=rf"{second.version}.*{first.version}"):
            await store.delete(HERE, "plan", now=NOW, expect=first.version)
        assert await store.get(HERE, "plan", now=NOW) == second
        assert await store.delete(HERE, "plan", now=NOW, expect=second.version)
        with pytest.raises(Conflict, match="not there"):
            await noted(store, a_value("four"), expect=second.version)

    async def test_one_of_those_who_expect_the_same_wins(self, store: Working) -> None:
        first = await noted(store, a_value(0))
        tries = [noted(store, a_value(number), expect=first.version) for number in range(1, 9)]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        [won] = [one for one in outcomes if isinstance(one, Scratch)]
        assert sum(isinstance(one, Conflict) for one in outcomes) == 7
        assert await store.get(HERE, "plan", now=NOW) == won

    async def test_a_change_can_be_repeated(self, store: Working) -> None:
        first = await noted(store, a_value("one"))
        second = a_value("two")
        assert await noted(store, second, expect=first.version) == second
        assert await noted(store, second, expect=first.version) == second

    async def test_delete_says_whether_it_was_there(self, store: Working) -> None:
        assert not await store.delete(HERE, "plan", now=NOW)
        await noted(store, a_value())
        assert await store.delete(HERE, "plan", now=NOW)
        assert not await store.delete(HERE, "plan", now=NOW)
        assert await store.scratch(HERE, now=NOW) == []

    async def test_the_scratchpad_has_room_for_so_many(self, store: Working) -> None:
        for name in ("a", "b", "c"):
            await noted(store, a_value(name=name))
        with pytest.raises(Conflict, match="3 values"):
            await noted(store, a_value(name="d"))
        await noted(store, a_value("changed", name="c"))
        await store.delete(HERE, "a", now=NOW)
        await noted(store, a_value(name="d"))
        assert [one.name for one in await store.scratch(HERE, now=NOW)] == ["b", "c", "d"]

    # Its life

    async def test_every_change_renews_its_life(self, store: Working) -> None:
        await said(store, a_message())
        later = NOW + 0.5 * HOUR
        await noted(store, a_value(), now=later)
        session = await store.session(HERE, now=later)
        assert session is not None
        assert (session.started_at, session.expires_at) == (NOW, later + HOUR)
        await said(store, a_message("again"), now=later, ttl=2 * HOUR)
        extended = await store.extend(HERE, ttl=3 * HOUR, now=later)
        assert extended == await store.session(HERE, now=later)
        assert extended is not None
        assert extended.expires_at == later + 3 * HOUR
        assert await contents(store, now=later + 2.9 * HOUR) == ["Hello", "again"]

    async def test_what_was_not_renewed_is_over(self, store: Working) -> None:
        await said(store, a_message())
        await noted(store, a_value())
        over = NOW + HOUR
        assert await contents(store, now=over - SECOND) == ["Hello"]
        assert await contents(store, now=over) == []
        assert await contents(store, now=over, over=True) == ["Hello"]
        assert await store.get(HERE, "plan", now=over) is None
        assert await store.scratch(HERE, now=over) == []
        assert not await store.delete(HERE, "plan", now=over)
        assert await store.extend(HERE, ttl=HOUR, now=over) is None
        session = await store.session(HERE, now=over)
        assert session is not None
        assert session.state(over) == "expired"
        assert [one.content for one in await store.take(HERE, limit=10)] == ["Hello"]

    async def test_an_ended_session_is_over_at_once(self, store: Working) -> None:
        assert await store.end(HERE, now=NOW) is None
        await said(store, a_message())
        await noted(store, a_value())
        ended = await store.end(HERE, now=NOW + SECOND)
        assert ended is not None
        assert (ended.ended_at, ended.state(NOW)) == (NOW + SECOND, "ended")
        assert await contents(store) == []
        assert await store.scratch(HERE, now=NOW) == []
        again = await store.end(HERE, now=NOW + HOUR / 2)
        assert again == ended

    async def test_a_session_that_ends_with_nothing_said_is_gone(self, store: Working) -> None:
        await noted(store, a_value())
        assert await store.end(HERE, now=NOW) is not None
        assert await store.session(HERE, now=NOW) is None
        assert await store.sessions(Scope(), now=NOW, limit=10) == []

    @pytest.mark.parametrize("how", ["ended", "expired"])
    async def test_speaking_opens_it_again(self, store: Working, how: str) -> None:
        await said(store, a_message())
        await noted(store, a_value())
        if how == "ended":
            await store.end(HERE, now=NOW)
        later = NOW + 2 * HOUR
        [placed] = await said(store, a_message("I am back"), now=later)
        assert placed.position == 1
        assert await contents(store, now=later) == ["Hello", "I am back"]
        assert await store.scratch(HERE, now=later) == []
        session = await store.session(HERE, now=later)
        assert session is not None
        assert (session.started_at, session.ended_at, session.state(later)) == (later, None, "live")

    # Draining

    async def test_nothing_waits_in_a_session_that_goes_on(self, store: Working) -> None:
        await said(store, *some_messages(4))
        assert await due(store) == {}

    async def test_shutting_twice_is_fine(self, store: Working) -> None:
        await store.shut()
        await store.shut()
