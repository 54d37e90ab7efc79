"""Sessions while Redis is killed, frozen, full, empty or not there, PostgreSQL frozen: what is acknowledged stays."""

import asyncio
import signal
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
import redis as redis_client
from faulty_servers import Faulty, FaultyPostgres, Stopwatch, eventually, running

from lengths import sized
from patience import LONG
from scrubjay import Misconfigured, StoreUnavailable, open_async
from services import Redis

KILLS = sized(short=20, long=100)
BOUND = 20
"""Seconds that a call may take while a server is away, on a slow machine: deadlines are a half, and a few seconds."""

BACK = 60
HERE = {"user": "anna", "session": "s-1"}


class ForgetfulRedis(Faulty, Redis):
    """A Redis that keeps nothing on disk: when it comes back, it is empty."""


class DurableRedis(Faulty, Redis):
    """A Redis that keeps what it has acknowledged."""

    def command(self):
        return [word if word != "no" else "yes" for word in super().command()]


@pytest.fixture(scope="module")
def redis():
    with running(ForgetfulRedis) as server:
        yield server


@pytest.fixture(scope="module")
def durable_redis():
    with running(DurableRedis) as server:
        yield server


@pytest.fixture(scope="module")
def postgres():
    with running(FaultyPostgres) as server:
        yield server


def mended(server):
    """It runs, and is empty."""
    server.mend()
    give_room(server)
    empty(server)
    return f"{server.url}/0?timeout=0.5"


@pytest.fixture
def stores(tmp_path, redis):
    return {"home": tmp_path, "embedder": "none", "working": mended(redis), "background": False}


@pytest.fixture
def in_redis(tmp_path, durable_redis):
    """Settings by which sessions are in Redis until they are drained."""
    # Who is killed refuses at once. Nobody is frozen, so that a machine that stands still is waited for.
    url = mended(durable_redis).replace("timeout=0.5", f"timeout={LONG}")
    return {"home": tmp_path, "embedder": "none", "working": url, "working_durability": "redis", "background": False}


def texts(found):
    return [message.content for message in found]


class Writers:
    """Three who speak in one session, two of them in one process, and what each was told is stored."""

    def __init__(self, *processes):
        self.acknowledged = {f"w{number}": [] for number in range(3)}
        self._processes = [processes[0], processes[0], processes[1]]
        self._stop = asyncio.Event()

    async def __aenter__(self):
        names = zip(self._processes, self.acknowledged, strict=True)
        self._tasks = [asyncio.create_task(self._write(process, name)) for process, name in names]
        return self

    async def __aexit__(self, *_):
        self._stop.set()
        await asyncio.gather(*self._tasks)

    async def _write(self, process, name):
        while not self._stop.is_set():
            content = f"{name} {len(self.acknowledged[name])}"
            await process.working.append(content, **HERE)
            self.acknowledged[name].append(content)
            assert content in texts(await process.working.recent(20, **HERE)), "one reads one's own writes"
            await asyncio.sleep(0.005)

    async def said_more(self, count=5):
        """Wait until each has said so much more."""
        goals = {name: len(told) + count for name, told in self.acknowledged.items()}

        async def said():
            return all(len(self.acknowledged[name]) >= goal for name, goal in goals.items())

        await eventually(said, within=BACK)


async def test_a_redis_without_persistence_is_killed_again_and_again_and_nothing_is_lost(stores, redis):
    async with open_async(**stores) as one, open_async(**stores) as other:
        async with Writers(one, other) as writers:
            for _ in range(KILLS):
                await writers.said_more()
                redis.fall(signal.SIGKILL)
                await writers.said_more()
                redis.rise()
        for process in (one, other):
            found = await process.working.recent(10_000, source="working", **HERE)
            assert (found.degraded, [message.position for message in found]) == ((), list(range(len(found))))
            for name, told in writers.acknowledged.items():
                assert [text for text in texts(found) if text.startswith(f"{name} ")] == told
            assert len(found) == sum(map(len, writers.acknowledged.values()))


def freeze(redis):
    redis.freeze()


def fill(redis):
    with redis_client.Redis.from_url(redis.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)


def give_room(redis):
    with redis_client.Redis.from_url(redis.url) as client:
        client.config_set("maxmemory", 0)


def empty(redis):
    with redis_client.Redis.from_url(redis.url) as client:
        client.flushall()


def kill(redis):
    redis.fall(signal.SIGKILL)


@pytest.mark.parametrize("trouble", [freeze, fill, empty, kill])
async def test_every_verb_goes_on_without_redis(stores, redis, trouble):
    async with open_async(**stores) as jay:
        await jay.working.append(["before", "it"], **HERE)
        plan = await jay.working.set("plan", 1, **HERE)
        trouble(redis)
        try:
            with Stopwatch() as watch:
                [said] = await jay.working.append("during", **HERE)
                found = await jay.working.recent(**HERE)
                changed = await jay.working.set("plan", 2, expect=plan.version, **HERE)
                assert await jay.working.get("plan", **HERE) == changed
                assert await jay.working.delete("plan", **HERE)
                assert [one.scope.session for one in await jay.working.sessions(user="anna")] == ["s-1"]
                assert (await jay.working.end(**HERE)).messages == 3
            assert (said.position, texts(found), found.degraded) == (2, ["before", "it", "during"], ())
            assert watch.seconds < BOUND
        finally:
            redis.mend()
        await jay.consolidate(steps="drain")
        assert texts(await jay.working.recent(**HERE)) == ["before", "it", "during"]


async def test_who_cannot_reach_redis_and_who_can_see_the_same_at_once(stores):
    cut_off = {**stores, "working": "redis://127.0.0.1:1/0?timeout=0.5"}
    async with open_async(**cut_off) as one, open_async(**stores) as other:
        for number, process in enumerate([one, other] * 5):
            await process.working.append(f"message {number}", **HERE)
            for reader in (one, other):
                assert texts(await reader.working.recent(1, **HERE)) == [f"message {number}"]
        version = (await one.working.set("plan", "mine", **HERE)).version
        assert (await other.working.get("plan", **HERE)).version == version


# Sessions in Redis, by choice


async def test_without_redis_sessions_that_are_kept_there_say_so(in_redis, durable_redis):
    async with open_async(**in_redis) as jay:
        await jay.working.append("before", **HERE)
        durable_redis.fall(signal.SIGKILL)
        try:
            calls = (jay.working.append("lost", **HERE), jay.working.recent(**HERE), jay.working.get("plan", **HERE))
            for call in calls:
                with Stopwatch() as watch, pytest.raises(StoreUnavailable, match="redis"):
                    await call
                assert watch.seconds < BOUND
        finally:
            durable_redis.rise()

        async def back():
            try:
                return texts(await jay.working.recent(**HERE)) == ["before"]
            except StoreUnavailable:
                return False

        await eventually(back, within=BACK)
        assert [one.position for one in await jay.working.append("after", **HERE)] == [1]


async def test_a_full_redis_that_keeps_sessions_refuses_and_forgets_nothing(in_redis, durable_redis):
    async with open_async(**in_redis) as jay:
        await jay.working.append("before", **HERE)
        fill(durable_redis)
        with pytest.raises(StoreUnavailable, match="is full"):
            await jay.working.append("lost", **HERE)
        assert texts(await jay.working.recent(**HERE)) == ["before"]
        give_room(durable_redis)
        assert [one.position for one in await jay.working.append("after", **HERE)] == [1]


async def test_with_postgresql_frozen_sessions_in_redis_go_on(in_redis, postgres):
    postgres.mend()
    url = f"{postgres.url}?connect_timeout=2"
    async with open_async(**in_redis, records=url) as jay:
        await jay.working.append("drained", **HERE)
        await jay.working.end(**HERE)
        await jay.consolidate(steps="drain")
        await jay.working.append("before", **HERE)
        assert texts(await jay.working.recent(**HERE)) == ["drained", "before"]
        with postgres.frozen():
            for number in range(3):
                with Stopwatch() as watch:
                    [said] = await jay.working.append(f"during {number}", **HERE)
                    found = await jay.working.recent(**HERE)
                    assert (await jay.working.recent(budget=1_000, **HERE)).degraded == ("records",)
                assert (said.position, watch.seconds < BOUND) == (number + 1, True)
                assert texts(found) == ["before", *(f"during {each}" for each in range(number + 1))]
                assert found.degraded == ("records",), "what was drained is missing, and it says so"
            assert (await jay.working.recent(2, **HERE)).degraded == (), "nothing is missing of so few"
            await jay.working.set("plan", 1, **HERE)
            assert (await jay.working.get("plan", **HERE)).value == 1

        async def whole():
            return not (await jay.working.recent(**HERE)).degraded

        await eventually(whole, within=BACK)
        assert texts(await jay.working.recent(**HERE))[:2] == ["drained", "before"]


# Sessions that another setting, or an older version, has left in Redis


@pytest.mark.parametrize("encrypt", ["none", "all"])
async def test_sessions_that_were_left_in_redis_are_moved(in_redis, encrypt):
    if encrypt == "all":
        in_redis |= {"encrypt": "all", "encryption_key": "A" * 43 + "="}
    over = {**HERE, "session": "over"}
    async with open_async(**in_redis) as jay:
        await jay.working.append(["one", "two"], **HERE)
        plan = await jay.working.set("plan", {"step": 1}, **HERE)
        await jay.working.set("goal", "old", ttl=timedelta(hours=1), **HERE)
        await jay.working.append("three", **over)
        await jay.working.end(**over)
        await jay.working.set("only", "a scratchpad", user="bert", session="s-2")
        await jay.for_tenant("acme").working.append("theirs", **HERE)
    async with AsyncExitStack() as processes:
        now = {**in_redis, "working_durability": "records"}
        jay, other = [await processes.enter_async_context(open_async(**now)) for _ in range(2)]
        [left] = [one for one in await jay.examine() if one.about == "sessions"]
        assert (left.said, "consolidate" in left.remedy) == ("4 are left in Redis, which keeps none", True)
        await jay.working.append("said since", **HERE)
        goal = await jay.working.set("goal", "new", **HERE)
        await asyncio.gather(*(process.consolidate(steps="drain") for process in (jay, other, jay)))
        assert texts(await jay.working.recent(**HERE)) == ["one", "two", "said since"]
        assert texts(await jay.working.recent(**over)) == ["three"]
        await jay.for_tenant("acme").consolidate(steps="drain")
        assert texts(await jay.for_tenant("acme").working.recent(**HERE)) == ["theirs"]
        assert await jay.working.scratch(**HERE) == [goal, plan]
        assert (await jay.working.session(**HERE)).expires_at > goal.at + timedelta(hours=23), "as long as before"
        assert (await jay.working.get("only", user="bert", session="s-2")).value == "a scratchpad"
        assert [one for one in await jay.examine() if one.about == "sessions"] == []


async def test_what_was_left_in_redis_is_purged_with_its_scope(in_redis):
    async with open_async(**in_redis) as jay:
        await jay.working.append("about anna", **HERE)
        await jay.working.append("about bert", user="bert", session="s-2")
    async with open_async(**{**in_redis, "working_durability": "records"}) as jay:
        assert (await jay.forget(everything=True, purge=True, user="anna")).remaining["sessions"] == 0
        await jay.consolidate(steps="drain")
        assert [one.content for one in await jay.list(kinds=["message"])] == ["about bert"]


async def test_a_redis_that_is_away_keeps_no_session_from_being_drained(stores, redis):
    redis.fall(signal.SIGKILL)
    async with open_async(**stores) as jay:
        await jay.working.append("hello", **HERE)
        await jay.working.end(**HERE)
        [step] = (await jay.consolidate(steps="drain")).steps
        assert (step.error, step.counts) == ("", {"messages": 1, "sessions": 1})
        assert await jay.working.session(**HERE) is None


async def test_sessions_that_were_in_the_record_store_are_moved_to_episodes_when_redis_keeps_them(in_redis):
    async with open_async(**{**in_redis, "working_durability": "records"}) as jay:
        await jay.working.append("before", **HERE)
    async with open_async(**in_redis) as jay:
        await jay.working.append("after", **HERE)
        await jay.consolidate(steps="drain")
        assert texts(await jay.working.recent(**HERE)) == ["before", "after"]


async def test_who_wants_sessions_in_redis_has_to_name_one(tmp_path):
    with pytest.raises(Misconfigured, match="name the Redis in SCRUBJAY_WORKING"):
        open_async(tmp_path, working_durability="redis")
