"""A real Redis that falls, freezes or is not there: sessions go on, in their order, and nothing is lost or doubled."""

import asyncio
import signal

import pytest
import redis as redis_client
from faulty_servers import Faulty, Stopwatch, eventually, running

from scrubjay import StoreUnavailable, open_async
from services import Redis

# Redis has half a second of the real clock to answer: a machine that stands still for longer makes it look away.
pytestmark = pytest.mark.flaky(reruns=2)

BOUND = 20
"""Seconds that an append may take, whatever Redis does: a timeout of half a second, on a slow machine."""

BACK = 60
HERE = {"user": "anna", "session": "s-1"}


class DurableRedis(Faulty, Redis):
    """A Redis that keeps what it has acknowledged, as one should that holds sessions."""

    def command(self):
        return [word if word != "no" else "yes" for word in super().command()]


@pytest.fixture(scope="module")
def redis():
    with running(DurableRedis) as server:
        yield server


@pytest.fixture
def stores(tmp_path, redis):
    redis.mend()
    return {"home": tmp_path, "embedder": "none", "working": f"{redis.url}/0?timeout=0.5", "background": False}


@pytest.fixture
async def jay(stores):
    emptied(stores)
    async with open_async(**stores) as jay:
        yield jay


def emptied(stores):
    with redis_client.Redis.from_url(stores["working"].partition("?")[0]) as client:
        client.flushall()


@pytest.fixture
def away(redis):
    """Ways to be away, and to come back."""
    return {
        "killed": (lambda: redis.fall(signal.SIGKILL), redis.rise),
        "frozen": (redis.freeze, redis.thaw),
    }


async def is_back(jay):
    async def back():
        return not (await jay.working.recent(session="another")).degraded

    await eventually(back, within=BACK)


def texts(found):
    return [message.content for message in found]


@pytest.mark.parametrize("how", ["killed", "frozen"])
async def test_a_session_goes_on(jay, away, how):
    leave, come_back = away[how]
    await jay.working.append([f"before {place}" for place in range(3)], **HERE)
    leave()
    try:
        for place in range(5):
            with Stopwatch() as watch:
                [said] = await jay.working.append(f"during {place}", **HERE)
            assert watch.seconds < BOUND
            assert said.position is None
        found = await jay.working.recent(**HERE)
        assert found.degraded == ("working",)
        assert texts(found) == [f"during {place}" for place in range(5)]
    finally:
        come_back()
    await is_back(jay)
    await jay.working.append("after", **HERE)
    found = await jay.working.recent(**HERE)
    expected = [f"before {place}" for place in range(3)] + [f"during {place}" for place in range(5)] + ["after"]
    assert (texts(found), found.degraded) == (expected, ())
    assert [one.position for one in found] == list(range(9))


@pytest.mark.parametrize("how", ["killed", "frozen"])
async def test_nothing_is_lost_or_doubled_in_the_middle_of_writing(jay, stores, away, how):
    leave, come_back = away[how]
    stop = asyncio.Event()
    acknowledged = {f"w{number}": [] for number in range(3)}

    async def write(one, name):
        while not stop.is_set():
            content = f"{name} {len(acknowledged[name])}"
            with Stopwatch() as watch:
                await one.working.append(content, **HERE)
            assert watch.seconds < BOUND
            acknowledged[name].append(content)
            await asyncio.sleep(0.02)

    def more_said(count):
        """Whether each has said so much more than by now."""
        goals = {name: len(told) + count for name, told in acknowledged.items()}

        async def said():
            return all(len(acknowledged[name]) >= goal for name, goal in goals.items())

        return said

    async with open_async(**stores) as other:
        writers = [asyncio.create_task(write(one, f"w{number}")) for number, one in enumerate([jay, jay, other])]
        for _ in range(2):
            await eventually(more_said(8), within=BACK)
            leave()
            await asyncio.sleep(1.5)
            await eventually(more_said(1), within=BACK)
            come_back()
        await eventually(more_said(8), within=BACK)
        stop.set()
        await asyncio.gather(*writers)
        await is_back(jay)
        await is_back(other)
    found = await jay.working.recent(10_000, source="working", **HERE)
    assert [one.position for one in found] == list(range(len(found)))
    for name, told in acknowledged.items():
        assert [text for text in texts(found) if text.startswith(f"{name} ")] == told
    assert len(found) == sum(map(len, acknowledged.values()))


async def test_one_process_says_it_and_another_one_goes_on(jay, stores, redis):
    """The second has never met the outage: it must still put what the first one noted before its own."""
    await jay.working.append("first", **HERE)
    with redis.frozen():
        await jay.working.append("second", **HERE)
        await jay.working.set("plan", "from the detour", **HERE)
    async with open_async(**stores) as other:
        await other.working.append("third", **HERE)
        assert texts(await other.working.recent(**HERE)) == ["first", "second", "third"]
        assert (await other.working.get("plan", **HERE)).value == "from the detour"


async def test_what_is_said_under_the_id_of_another_message_is_not_lost(jay, stores, redis):
    """While Redis is away nobody can look what an id names, so it is accepted."""
    for own in ("one", "two"):
        await jay.working.append({"id": own, "content": own}, **HERE)
    with redis.frozen():
        told = [
            {"id": "one", "content": "another one"},
            {"id": "two", "content": "two"},
            {"id": "three", "content": "three"},
        ]
        for _ in range(2):
            assert [one.position for one in await jay.working.append(told, **HERE)] == [None] * 3
    async with open_async(**stores) as other:
        await asyncio.gather(is_back(jay), is_back(other))
        for process in (jay, other):
            found = await process.working.recent(**HERE)
            assert texts(found) == ["one", "two", "another one", "three"]
            assert [one.position for one in found] == [0, 1, 2, 3]


async def test_the_scratchpad_says_what_it_knows(jay, redis):
    known = await jay.working.set("known", 1, **HERE)
    with redis.frozen():
        fresh = await jay.working.set("fresh", 2, **HERE)
        assert await jay.working.get("fresh", **HERE) == fresh
        newer = await jay.working.set("fresh", 3, expect=fresh.version, **HERE)
        with pytest.raises(StoreUnavailable, match="away"):
            await jay.working.get("known", **HERE)
        with pytest.raises(StoreUnavailable, match="away"):
            await jay.working.set("known", 2, expect=known.version, **HERE)
        with pytest.raises(StoreUnavailable, match="away"):
            await jay.working.scratch(**HERE)
        await jay.working.set("known", 5, **HERE)
    await is_back(jay)
    values = {one.name: one for one in await jay.working.scratch(**HERE)}
    assert (values["known"].value, values["fresh"]) == (5, newer)


async def test_an_end_during_an_outage_counts(jay, redis):
    await jay.working.append("hello", **HERE)
    redis.fall(signal.SIGKILL)
    try:
        await jay.working.end(**HERE)
    finally:
        redis.rise()
    await is_back(jay)
    assert (await jay.working.session(**HERE)).ended_at is not None


async def test_a_redis_that_is_not_there_stops_nobody(stores, redis):
    redis.fall(signal.SIGKILL)
    try:
        async with open_async(**stores) as jay:
            await jay.working.append("hello", user="anna", session="early")
            found = await jay.working.recent(user="anna", session="early")
            assert (texts(found), found.degraded) == (["hello"], ("working",))
            with pytest.raises(StoreUnavailable):
                await jay.working.sessions()
    finally:
        redis.rise()
    async with open_async(**stores) as jay:
        # Nobody speaks in that session any more: whoever looks for sessions finds it.
        assert "early" in [one.scope.session for one in await jay.working.sessions(user="anna")]
        assert texts(await jay.working.recent(user="anna", session="early")) == ["hello"]


async def test_a_redis_that_lost_everything_goes_on(jay, stores):
    await jay.working.append("forgotten", **HERE)
    emptied(stores)
    [said] = await jay.working.append("remembered", **HERE)
    assert said.position == 0
    now = jay.parts.clock()
    await jay.working.end(**HERE)
    [waiting] = await jay.parts.working.waiting(now=now, soon=jay.parts.working.limits.grace, limit=10)
    assert (waiting.scope.session, waiting.messages) == ("s-1", 1)
