"""The stream of events by itself: when it ends, and who is cut off."""

import asyncio

import pytest

from scrubjay.doors.http import streams
from scrubjay.doors.http.streams import Feed, told
from scrubjay.settings import read_settings
from scrubjay.wiring import wire


@pytest.fixture
async def jay(tmp_path):
    async with wire(read_settings(home=tmp_path, embedder="none", background=False)) as opened:
        yield opened


def stream(feed, *, until=None, may_listen=None):
    async def always() -> bool:
        return True

    return told(feed, [], lambda event: event.name, until=until or asyncio.Event(), may_listen=may_listen or always)


async def test_a_quiet_stream_shows_that_it_lives(jay, monkeypatch):
    monkeypatch.setattr(streams, "BEAT", 0.02)
    feed = Feed(jay, "*", {})
    lines = stream(feed)
    assert "listening" in await anext(lines)
    assert await anext(lines) == ": still here\n\n"
    feed.stop()


async def test_who_may_not_listen_any_more_hears_no_more(jay, monkeypatch):
    monkeypatch.setattr(streams, "BEAT", 0.02)
    answers = iter([True, False])

    async def may_listen() -> bool:
        return next(answers)

    feed = Feed(jay, "*", {})
    heard = [line async for line in stream(feed, may_listen=may_listen)]
    assert heard[1:] == [": still here\n\n"]
    feed.stop()


async def test_what_happens_after_a_key_ended_is_not_told(jay, monkeypatch):
    monkeypatch.setattr(streams, "LOOK", 0.0)

    async def may_listen() -> bool:
        return False

    feed = Feed(jay, "*", {})
    lines = stream(feed, may_listen=may_listen)
    await anext(lines)
    await jay.remember("Told when nobody may listen any more")
    async with asyncio.timeout(60):
        assert [line async for line in lines if line.startswith("id:")] == []
    feed.stop()


async def test_it_ends_when_the_service_does(jay):
    leaving = asyncio.Event()
    feed = Feed(jay, "*", {})
    lines = stream(feed, until=leaving)
    await anext(lines)
    asyncio.get_running_loop().call_later(0.02, leaving.set)
    async with asyncio.timeout(60):
        assert [line async for line in lines] in ([], [": still here\n\n"])
    feed.stop()


async def test_who_falls_behind_is_cut_off_after_what_it_can_still_hear(jay, monkeypatch):
    monkeypatch.setattr(streams, "WAITING", 3)
    feed = Feed(jay, "memory.stored", {})
    for number in range(5):
        await jay.remember(f"Thing {number}")
    listeners = [one._task for one in jay.parts.events._listeners if one._task is not None]
    await asyncio.wait(listeners)  # All was handed over.
    heard = [line async for line in stream(feed)]
    assert [line.startswith("id: ") for line in heard] == [False, True, True, True]
    last = heard[-1].splitlines()[0].removeprefix("id: ")
    assert len(await feed.missed(last)) == 2
    feed.stop()
