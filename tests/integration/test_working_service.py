"""Working memory as the service offers it, on the reference, on SQLite and on PostgreSQL."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay import Conflict, IdTaken, InvalidInput, Message, NotFound, Recent, open_async
from scrubjay.memories.working import message_of, telling_of
from scrubjay.model import Scope, new_id
from scrubjay.model.working import ABSENT
from scrubjay.models.tokens import tokens_of
from scrubjay.read.tail import tail
from scrubjay.testing.values import HOUR, NOW
from scrubjay.testing.working import a_message

pytestmark = pytest.mark.memory_suite

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6g7H8"
HERE = {"user": "anna", "session": "s-1"}


async def drain(jay, *, at_most=1_000):
    """Move what waits into episodes, as the drain job does."""
    now, store = jay.parts.clock(), jay.parts.working
    for waiting in await store.waiting(now=now, soon=HOUR, limit=100):
        taken = await store.take(waiting.scope, limit=min(at_most, waiting.messages))
        here = dict(zip(("user", "project", "agent", "session", "workflow"), waiting.scope.names(), strict=True))
        await jay.for_tenant(waiting.scope.tenant).remember_many([telling_of(one) for one in taken], **here)
        await store.drained(waiting.scope, [one.id for one in taken], now=now)


def texts(found):
    return [message.content for message in found]


async def test_messages_are_given_in_many_ways(jay):
    [first] = await jay.working.append("Hello", **HERE)
    assert (first.role, first.content, first.position, first.at) == ("user", "Hello", 0, jay.parts.clock())
    call = {"id": "c-1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    placed = await jay.working.append(
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "42", "tool_call_id": "c-1"},
            Message(id=new_id(), role="assistant", content="It is 42", at=NOW),
            "Thanks",
        ],
        name="Anna",
        **HERE,
    )
    assert [one.position for one in placed] == [1, 2, 3, 4]
    assert placed[0].tool_calls == (call,)
    assert [one.role for one in await jay.working.recent(**HERE)] == ["user", "assistant", "tool", "assistant", "user"]
    assert [one.name for one in placed] == ["Anna", "Anna", None, "Anna"]


async def test_an_id_of_ones_own_makes_it_one_message(jay):
    for _ in range(2):
        [said] = await jay.working.append({"id": "webhook-17", "role": "user", "content": "Hello"}, **HERE)
    assert said.position == 0
    assert texts(await jay.working.recent(**HERE)) == ["Hello"]


@pytest.mark.parametrize("own", [{}, {"id": "webhook-17"}])
async def test_a_call_that_holds_tuples_is_said_as_json_gives_it_back(tmp_path, own):
    call = {"name": "look", "arguments": {"range": (1, 2.0), "in": ({"a": ()},)}}
    async with open_async(home=tmp_path, embedder="static", background=False, redact=False) as jay:
        for _ in range(2):
            [said] = await jay.working.append({**own, "role": "assistant", "tool_calls": (call,)}, **HERE)
            assert said.tool_calls == ({"name": "look", "arguments": {"range": [1, 2.0], "in": [{"a": []}]}},)
        found = await jay.working.recent(**HERE)
        assert (len(found), found[0].tool_calls) == (1 if own else 2, said.tool_calls)


async def test_an_id_that_names_something_else_is_refused_and_nothing_is_stored(jay):
    there = {"id": "webhook-17", "role": "user", "content": "The launch code is 7", "name": "Anna"}
    await jay.working.append(there, **HERE)
    for other in ({"content": "guess"}, {"role": "assistant"}, {"name": "Bob"}, {"tool_call_id": "c-1"}):
        with pytest.raises(IdTaken, match="names another message of this session already") as refused:
            await jay.working.append({**there, **other}, **HERE)
        assert "launch" not in str(refused.value)
    with pytest.raises(IdTaken, match="message 1: its id"):
        await jay.working.append(["new", {"id": "webhook-17", "content": "guess"}], **HERE)
    with pytest.raises(IdTaken, match="message 0: its id"):
        await jay.working.append([{"id": "twice", "content": "one"}, {"id": "twice", "content": "two"}], **HERE)
    again = await jay.working.append(["new", {**there, "at": NOW}, {**there, "at": None}], **HERE)
    assert [one.position for one in again] == [1, 0, 0]
    assert texts(await jay.working.recent(**HERE)) == ["The launch code is 7", "new"]
    await jay.working.append({**there, "content": "guess"}, user="bob", session="s-1")


async def test_of_many_who_say_different_things_under_one_id_one_is_kept(jay):
    tries = [jay.working.append({"id": "webhook-17", "content": f"of {number}"}, **HERE) for number in range(6)]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(one, IdTaken) for one in outcomes) == 5
    [[kept]] = [one for one in outcomes if isinstance(one, list)]
    assert texts(await jay.working.recent(**HERE)) == [kept.content]


async def test_of_two_who_share_an_id_nothing_of_the_later_is_stored(jay):
    tries = [
        jay.working.append([{"id": f"own-{who}", "content": who}, "aside", {"id": "shared", "content": who}], **HERE)
        for who in ("A", "B", "C", "D")
    ]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    [kept] = [one for one in outcomes if isinstance(one, list)]
    assert sum(isinstance(one, IdTaken) for one in outcomes) == 3
    assert texts(await jay.working.recent(**HERE)) == texts(kept)


async def test_of_many_who_say_the_same_under_new_ids_all_are_answered(jay):
    told = [{"id": "one", "content": "Hello"}, {"id": "two", "content": "Here I am"}]
    answers = await asyncio.gather(*[jay.working.append(told, **HERE) for _ in range(6)])
    assert [[one.position for one in answer] for answer in answers] == [[0, 1]] * 6


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ("", "content"),
        ({"role": "user"}, "content"),
        ({"role": "User!", "content": "x"}, "role"),
        ({"role": "user", "content": "x", "colour": "blue"}, "colour"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "assistant", "tool_calls": "look"}, "tool_calls"),
        ({"role": "assistant", "tool_calls": [{"x": {1, 2}}]}, "tool_calls"),
        ({"role": "user", "content": "x", "at": "yesterday"}, "at is"),
        ("x\x00y", "NUL"),
        ("x" * 1_000_001, "1,000,000"),
        (7, "a message is 7"),
        (b"said", "a message is b'said'"),
    ],
)
async def test_what_is_wrong_is_named_and_nothing_is_stored(jay, wrong, named):
    with pytest.raises(InvalidInput, match=named):
        await jay.working.append(wrong, **HERE)
    with pytest.raises(InvalidInput, match=f"message 1: .*{named}"):
        await jay.working.append(["fine", wrong], **HERE)
    assert await jay.working.session(**HERE) is None


async def test_a_session_has_to_be_named(jay):
    for verb in (jay.working.append("x"), jay.working.recent(), jay.working.get("x"), jay.working.end(user="anna")):
        with pytest.raises(InvalidInput, match="session is missing"):
            await verb


async def test_secrets_never_reach_the_store(jay):
    [said] = await jay.working.append(
        {
            "role": "assistant",
            "content": f"use {SECRET}",
            "tool_calls": [{"arguments": {"password": "hunter2-hunter2"}}],
        },
        **HERE,
    )
    assert SECRET not in str(said)
    assert "hunter2" not in str(said)
    assert said.redacted == ("credential", "github-token")
    for name, value in (
        ("note", f"it is {SECRET}"),
        ("api_key", "hunter2-hunter2"),
        ("deep", {"password": "hunter2-hunter2"}),
    ):
        kept = await jay.working.set(name, value, **HERE)
        assert SECRET not in str(kept.value)
        assert "hunter2" not in str(kept.value)
        assert kept.redacted
    stored = await jay.working.recent(**HERE), await jay.working.scratch(**HERE)
    assert SECRET not in repr(stored)
    assert "hunter2" not in repr(stored)


async def test_values_are_compared_before_they_are_set(jay):
    first = await jay.working.set("plan", {"step": 1}, expect=ABSENT, **HERE)
    second = await jay.working.set("plan", {"step": 2}, expect=first.version, **HERE)
    with pytest.raises(Conflict, match=rf"{second.version}.*{first.version}"):
        await jay.working.set("plan", {"step": 3}, expect=first.version, **HERE)
    assert await jay.working.get("plan", **HERE) == second
    assert await jay.working.get("other", **HERE) is None
    assert await jay.working.delete("plan", **HERE)
    assert await jay.working.scratch(**HERE) == []


@pytest.mark.parametrize("value", [float("nan"), {"x": object()}, "x" * 200_000])
async def test_a_value_has_to_be_json_of_some_size(jay, value):
    with pytest.raises(InvalidInput):
        await jay.working.set("plan", value, **HERE)


async def test_a_session_lives_as_long_as_something_happens(jay, clock):
    await jay.working.append("Hello", ttl=HOUR, **HERE)
    clock.advance(0.9 * HOUR)
    assert (await jay.working.extend(2 * HOUR, **HERE)).expires_at == clock() + 2 * HOUR
    clock.advance(1.9 * HOUR)
    assert texts(await jay.working.recent(source="working", **HERE)) == ["Hello"]
    clock.advance(HOUR)
    assert texts(await jay.working.recent(source="working", **HERE)) == []
    assert texts(await jay.working.recent(**HERE)) == ["Hello"]
    with pytest.raises(NotFound):
        await jay.working.extend(**HERE)
    with pytest.raises(InvalidInput, match="ttl"):
        await jay.working.append("x", ttl=timedelta(0), **HERE)


async def test_sessions_are_listed_and_ended(jay):
    await jay.working.append("Hello", **HERE)
    await jay.working.append("Hello", user="bob", session="s-2")
    assert [one.scope.session for one in await jay.working.sessions(user="anna")] == ["s-1"]
    assert len(await jay.working.sessions()) == 2
    ended = await jay.working.end(**HERE)
    assert ended.state(jay.parts.clock()) == "ended"
    with pytest.raises(NotFound):
        await jay.working.end(user="anna", session="unknown")


async def test_tenants_do_not_meet(jay):
    other = jay.for_tenant("acme")
    await jay.working.append("ours", **HERE)
    await jay.working.set("plan", "ours", **HERE)
    assert texts(await other.working.recent(**HERE)) == []
    assert await other.working.get("plan", **HERE) is None
    assert await other.working.sessions() == []
    with pytest.raises(NotFound):
        await other.working.end(**HERE)


@pytest.mark.parametrize("source", ["both", "working", "records"])
async def test_what_was_drained_is_read_from_the_records(jay, source):
    said = await jay.working.append([f"message {place}" for place in range(6)], **HERE)
    await jay.working.append("of another", user="anna", session="s-1", workflow="w")
    await jay.working.end(**HERE)
    await drain(jay, at_most=4)
    expected = {"both": said, "working": [], "records": said[:4]}[source]
    found = await jay.working.recent(source=source, **HERE)
    assert [(one.id, one.content, one.role, one.at) for one in found] == [
        (one.id, one.content, one.role, one.at) for one in expected
    ]
    assert len(await jay.working.recent(5, source=source, **HERE)) == min(5, len(expected))


async def test_draining_twice_stores_once(jay):
    said = await jay.working.append([f"message {place}" for place in range(6)], **HERE)
    await jay.working.end(**HERE)
    here = {"user": "anna", "session": "s-1"}
    # As when the job was killed before its last step, or as two of them at once.
    await jay.remember_many([telling_of(one) for one in said[:3]], **here)
    await drain(jay, at_most=2)
    await drain(jay)
    await drain(jay)
    episodes = await jay.list(kinds=["message"], order="oldest", **here)
    assert [one.id for one in episodes] == [one.id for one in said]
    assert [one.position for one in episodes] == list(range(6))
    assert texts(await jay.working.recent(**HERE)) == [f"message {place}" for place in range(6)]


async def test_a_message_survives_being_a_memory(jay):
    call = {"id": "c-1", "function": {"name": "look", "arguments": '{"at": "x"}'}}
    told = [
        a_message("Hello", name="Anna"),
        a_message("", role="assistant", tool_calls=(call,)),
        a_message("Looking", role="assistant", tool_calls=(call,)),
        a_message("", role="tool", tool_call_id="c-1"),
    ]
    stored = await jay.remember_many([telling_of(one) for one in told], **HERE)
    assert [message_of(one.memory) for one in stored] == told


async def test_the_setting_says_where_to_read(tmp_path):
    async with open_async(tmp_path, embedder="none", working_source="working", working_ttl=60) as jay:
        await jay.remember("an episode", kind="message", session="s")
        await jay.working.append("now", session="s")
        assert texts(await jay.working.recent(session="s")) == ["now"]
        assert texts(await jay.working.recent(session="s", source="both")) == ["an episode", "now"]
        session = await jay.working.session(session="s")
        assert session.expires_at - session.started_at == timedelta(seconds=60)
        with pytest.raises(InvalidInput, match="source"):
            await jay.working.recent(session="s", source="elsewhere")


async def test_it_survives_a_restart_and_others_see_it(setup):
    one, other = await setup.open(), await setup.open()
    await one.working.append("Hello", **HERE)
    value = await one.working.set("plan", [1, 2], **HERE)
    assert texts(await other.working.recent(**HERE)) == ["Hello"]
    await one.close()
    third = await setup.open()
    [said] = await third.working.append("again", **HERE)
    assert said.position == 1
    assert await other.working.get("plan", **HERE) == value


async def test_purging_a_scope_takes_its_sessions_and_what_was_parked_of_them(jay):
    await jay.working.append(["one", "two"], session="s", user="anna")
    await jay.working.set("plan", {"step": 1}, session="empty", user="anna")
    await jay.working.append("other", session="s", user="bob")
    log = jay.parts.works.log if jay.parts.works is not None else None
    if log is not None:
        for user in ("anna", "bob"):
            failed = {"error": "broken", "at": NOW, "tries": 1, "pause": timedelta(0)}
            await log.failed("drain", user, Scope(tenant=jay.tenant, user=user), **failed, body="a message")
    receipt = await jay.forget(everything=True, purge=True, user="anna")
    assert receipt.remaining["sessions"] == 0
    assert not await jay.working.recent(session="s", user="anna")
    assert [one.scope.user for one in await jay.working.sessions()] == ["bob"]
    assert [one.content for one in await jay.working.recent(session="s", user="bob")] == ["other"]
    if log is not None:
        assert [one.item for one in await log.troubles(jay.tenant, limit=9)] == ["bob"]
    with pytest.raises(NotFound):
        await jay.forget(everything=True, purge=True, user="anna")


async def test_a_budget_is_kept_exactly(jay):
    tokens = jay.parts.tokens()
    await jay.working.append([f"message {place} says {'word ' * (place % 7)}" for place in range(300)], **HERE)
    everything = await jay.working.recent(300, **HERE)
    for budget in (1, 5, 17, 100, 1_000, 100_000):
        found = await jay.working.recent(budget=budget, **HERE)
        assert tokens.count(str(found)) == found.tokens if found else found.tokens == 0
        assert found.tokens <= budget
        assert list(found) == list(everything)[300 - len(found) :]
        if len(found) < 300:
            longer = Recent(messages=everything[299 - len(found) :])
            assert tokens.count(str(longer)) > budget
    assert len(await jay.working.recent(3, budget=10_000, **HERE)) == 3


TOKENS = tokens_of("wordpiece")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=40).filter(str.strip), max_size=12), st.integers(1, 60))
def test_a_tail_never_costs_more_than_its_budget(contents, budget):
    messages = [a_message(content.replace("\x00", "").strip() or "x") for content in contents]
    kept = tuple(messages[tail([str(one) for one in messages], budget, TOKENS) :])
    assert list(kept) == messages[len(messages) - len(kept) :]
    assert not kept or TOKENS.count(str(Recent(messages=kept))) <= budget
