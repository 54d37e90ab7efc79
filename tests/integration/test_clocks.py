"""Clocks that differ: what a machine whose clock is ahead tells or closes is so for everybody at once."""

from datetime import timedelta

import pytest

AHEAD = timedelta(minutes=5)


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
