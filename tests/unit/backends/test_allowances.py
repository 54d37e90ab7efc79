"""What each key may ask for: counted in Redis for all processes together, and in each while Redis is away."""

import time
from uuid import uuid4

import pytest

from scrubjay.backends.allowances import WITHIN, MovingWindows
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.errors import Misconfigured
from scrubjay.settings import read_settings

LIMITS = {"read": "3/minute", "write": "0", "heavy": "1/hour"}
MANY = 100


@pytest.fixture
async def connect(redis_url):
    made = []

    def connect(url=redis_url):
        made.append(RedisConnection(url))
        return made[-1]

    yield connect
    for one in made:
        await one.shut()


async def test_a_process_counts_for_itself():
    windows = MovingWindows(LIMITS)
    spent = [await windows.spend("key", "read") for _ in range(4)]
    assert [(one.left, one.refused) for one in spent] == [(2, False), (1, False), (0, False), (0, True)]
    assert (spent[0].limit, spent[0].window) == (3, 60)
    assert 1 <= spent[-1].reset <= 60
    assert not (await windows.spend("other", "read")).refused
    assert not (await windows.spend("key", "heavy")).refused
    assert await windows.spend("key", "write") is None


async def test_a_clock_that_is_set_back_locks_nobody_out(monkeypatch):
    windows, wall = MovingWindows(LIMITS), time.time
    for _ in range(3):
        await windows.spend("key", "read")
    monkeypatch.setattr(time, "time", lambda: wall() - 3 * 3_600)
    assert [(await windows.spend("key", "read")).refused for _ in range(4)] == [False, False, False, True]


async def test_processes_count_together_in_redis(connect, monkeypatch):
    monkeypatch.setattr("scrubjay.backends.allowances.WITHIN", 60)
    here, there, key = MovingWindows(LIMITS, connect()), MovingWindows(LIMITS, connect()), uuid4().hex
    for windows, refused in ((here, False), (there, False), (here, False), (there, True), (here, True)):
        assert (await windows.spend(key, "read")).refused is refused
    [name] = [name async for name in connect().client.scan_iter(match=f"scrubjay:limits:*{key}*")]
    assert 0 < await connect().client.ttl(name) <= 60


async def test_while_redis_is_away_each_counts_for_itself(connect, caplog):
    windows = MovingWindows(LIMITS, connect("redis://127.0.0.1:1"))
    began = time.monotonic()
    spent = [await windows.spend("key", "read") for _ in range(MANY)]
    assert [one.refused for one in spent] == [False] * 3 + [True] * (MANY - 3)
    assert time.monotonic() - began < MANY * WITHIN / 2, "not everybody waits"
    said = [record for record in caplog.records if "rate limits" in record.getMessage()]
    assert len(said) <= 1


@pytest.mark.parametrize("wrong", ["many", "10", "0/minute", "-1/minute", "5/fortnight", "5 per minute"])
def test_a_limit_is_a_number_for_a_time(wrong):
    with pytest.raises(Misconfigured, match=r"SCRUBJAY_LIMIT_READ is .*"):
        read_settings(limit_read=wrong)
