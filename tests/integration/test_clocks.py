"""Clocks that differ: what a machine whose clock is ahead tells or closes is so for everybody at once."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

from scrubjay import AsOf
from scrubjay.model import new_id
from scrubjay.settings import read_settings
from scrubjay.wiring import wire

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
AHEAD = 5 * MINUTE


@pytest.fixture
async def behind(setup, clock):
    """A memory that another machine has just told something, whose clock is ahead of ours."""
    jay = await setup.open()
    await jay.remember("The shop sells tea", key="shop")
    clock.advance(AHEAD)
    await jay.remember("The bakery sells rye bread")
    await jay.remember("The shop sells coffee", key="shop")
    await jay.remember("The bakery moves", valid_from=clock.now + timedelta(seconds=1))
    clock.advance(-AHEAD)
    return jay


async def test_what_it_told_is_found(behind):
    for mode in ("hybrid", "words", "meaning"):
        assert (await behind.recall("rye bread", mode=mode))[0].memory.content == "The bakery sells rye bread"
    assert {one.content for one in await behind.list()} == {"The bakery sells rye bread", "The shop sells coffee"}
    assert [one.state(one.created_at - AHEAD) for one in await behind.list()] == ["current", "current"]


async def test_what_it_replaced_is_gone(behind):
    assert [hit.memory.content for hit in await behind.recall("shop", mode="words")] == ["The shop sells coffee"]
    assert len(await behind.list(key="shop")) == 1


async def test_what_we_knew_at_a_moment_still_goes_by_the_clocks(behind, clock):
    [then] = await behind.list(as_of=clock.now)
    assert then.content == "The shop sells tea"


async def test_what_is_told_after_it_is_so_at_once_and_stays(behind, clock):
    await behind.remember("The shop sells cocoa", key="shop")
    for wait in (timedelta(0), AHEAD, AHEAD):
        clock.advance(wait)
        assert [one.content for one in await behind.list(key="shop")] == ["The shop sells cocoa"]
        assert (await behind.recall("shop"))[0].memory.content == "The shop sells cocoa"
    assert await behind.check() == []


@pytest.mark.parametrize("told", ["expires_at", "valid_to", "both"])
async def test_what_is_told_after_it_for_a_short_time_is_so_for_that_time(behind, clock, told):
    ends = ("valid_to", "expires_at") if told == "both" else (told,)
    await behind.remember("The shop sells milk", key="shop", **dict.fromkeys(ends, clock.now + MINUTE))
    for wait in (timedelta(0), MINUTE / 2):
        clock.advance(wait)
        assert [one.content for one in await behind.list(key="shop")] == ["The shop sells milk"]
    clock.advance(AHEAD + MINUTE)
    # What it took the place of is so again, if only its own time is over.
    now = ["The shop sells coffee"] if "valid_to" in ends else []
    assert [one.content for one in await behind.list(key="shop")] == now
    assert await behind.check() == []


async def test_what_is_corrected_for_a_short_time_is_so_for_that_time(behind, clock):
    [bread] = [one for one in await behind.list() if one.key is None]
    await behind.update(bread.id, content="The bakery sells white bread", expires_at=clock.now + MINUTE)
    assert [one.content for one in await behind.list() if one.key is None] == ["The bakery sells white bread"]
    clock.advance(AHEAD + 2 * MINUTE)
    assert [one.content for one in await behind.list() if one.content.endswith("bread")] == []


async def test_whoever_told_last_at_the_end_of_time_can_be_told_anything(behind, clock):
    there = clock.now
    clock.now = datetime.max.replace(tzinfo=UTC)
    await behind.remember("The shop sells time", key="shop")
    clock.now = there
    for content in ("The shop sells milk", "The shop sells rum"):
        assert (await behind.remember(content, key="shop")).outcome == "superseded"
        assert [one.content for one in await behind.list(key="shop")] == [content]
    assert (await behind.remember("The shop sells gin", key="shop", expires_at=there + MINUTE)).replaced


async def test_what_it_told_can_be_corrected(behind):
    [bread] = [one for one in await behind.list() if one.key is None]
    await behind.update(bread.id, content="The bakery sells white bread")
    for mode in ("hybrid", "words", "meaning"):
        found = await behind.recall("the bakery sells bread", mode=mode)
        assert found[0].memory.content == "The bakery sells white bread"


async def test_what_it_forgets_and_what_is_told_then_stand_in_their_order(setup, clock):
    """What was acknowledged at each moment is what we say that we knew then: two clocks take turns at one key."""
    jay, moments = await setup.open(), []
    for ahead in (10 * MINUTE, timedelta(0), 10 * MINUTE, timedelta(0)):
        clock.advance(ahead)
        stored = await jay.remember(f"The shop sells tea of {len(moments)} sorts", key="shop")
        moments.append((stored.memory.created_at, stored.memory.content))
        await jay.forget(key="shop")
        moments.append(((await jay.history(key="shop"))[-1].superseded_at, None))
        clock.advance(-ahead)
    assert sorted(moments) == moments
    for moment, content in moments:
        assert [one.content for one in await jay.list(key="shop", as_of=moment)] == ([content] if content else [])


async def test_what_ends_later_by_one_clock_has_ended_when_another_tells_what_is_so_now(setup, clock):
    jay = await setup.open()
    await jay.remember("The shop sells ice", key="shop", valid_to=clock.now + MINUTE)
    clock.advance(AHEAD)
    replacing = await jay.remember("The shop sells tea", key="shop")
    assert (replacing.outcome, replacing.replaced) == ("stored", None)
    clock.advance(-AHEAD)
    assert [one.content for one in await jay.list(key="shop")] == ["The shop sells tea"]
    in_between = clock.now + MINUTE / 2
    [then] = await jay.list(key="shop", as_of=AsOf(valid_at=in_between))
    assert then.content == "The shop sells ice"


async def test_hosts_whose_clocks_are_wrong_go_by_that_of_their_server(tmp_path, postgres_database, monkeypatch):
    url, began = postgres_database(), datetime.now(UTC)
    async with AsyncExitStack() as opened:
        jays = []
        for off in (timedelta(0), HOUR, -HOUR, timedelta(milliseconds=300)):
            monkeypatch.setattr("scrubjay.wiring.memory.utc_now", lambda off=off: datetime.now(UTC) + off)
            given = read_settings(home=tmp_path / str(off), records=url, embedder="none", background=False)
            jays.append(await opened.enter_async_context(wire(given)))
        for jay in (*jays, *reversed(jays)):
            told = await jay.remember("The shop sells tea", user=str(new_id()))
            # Exact to the microsecond where the host is right, and else to what the server says.
            assert began - HOUR / 60 < told.memory.created_at < datetime.now(UTC) + HOUR / 60


async def test_who_saw_no_keys_asks_again_after_the_clock_is_set_back(setup, clock):
    here, there = await setup.open(), await setup.open()
    assert not await here.access.wants_keys(within=MINUTE)
    clock.advance(-3 * HOUR)
    await there.access.create_key("laptop")
    assert await here.access.wants_keys(within=MINUTE)


async def test_what_it_told_can_be_deleted_and_restored(setup, clock):
    jay = await setup.open()
    clock.advance(AHEAD)
    stored = await jay.facts.store_project_fact("atlas", "db", "PostgreSQL 18")
    clock.advance(-AHEAD)
    await jay.facts.delete(stored.id, project="atlas")
    await jay.facts.restore(stored.id, project="atlas")
    assert (await jay.facts.get_by_key("fact:db", project="atlas")).content == "PostgreSQL 18"
