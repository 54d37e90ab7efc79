"""Workers are killed between any two calls to their stores. Nothing is lost, and nothing is there twice."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import redis
from kill_consolidator import opened

from scrubjay.jobs.drain import SOON

WORKER = Path(__file__).with_name("kill_consolidator.py")
SESSIONS = 2
MESSAGES = 4


@pytest.fixture(params=["embedded", "production"])
def place(request, tmp_path):
    """Where records, sessions and archives are: one SQLite file, or PostgreSQL and Redis."""
    if request.param == "embedded":
        return [f"sqlite:///{tmp_path}/scrubjay.db", "", str(tmp_path)]
    postgres = request.getfixturevalue("postgres_database")()
    redis = request.getfixturevalue("redis_url")
    return [postgres, redis, str(tmp_path)]


@pytest.fixture
def worker(place):
    command = [sys.executable, str(WORKER), *place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        yield worker
        worker.stdin.close()


def ended(worker, calls):
    """Let a worker make so many calls, and hear how it ended."""
    worker.stdin.write(f"{calls}\n")
    worker.stdin.flush()
    while (line := worker.stdout.readline().strip()) not in ("killed", "finished"):
        assert line, "the consolidator ended by itself"
        pytest.fail(line)
    return line


def session_of(number):
    return {"user": "anna", "project": "shop", "session": f"s-{number}"}


async def talked(jay, number, said):
    """A session with things that are worth a summary and a fact; each message is told once."""
    messages = [f"In session {number} we looked at part {place} of the build server." for place in range(MESSAGES - 1)]
    messages.append(f"I prefer the colour number {number} for session {number}.")
    stored = await jay.working.append(messages, **session_of(number))
    await jay.working.end(**session_of(number))
    said.update({message.id: message.content for message in stored})


async def check(jay, said):
    """All that was said is there once, in its order, as an episode that is believed or archived."""
    rows = await jay.list(history=True, limit=10_000, order="oldest")
    messages = [one for one in rows if one.kind == "message"]
    assert Counter(one.id for one in messages) == Counter(said.keys())
    for archive in await jay.work.archives():
        await jay.work.restore_archive(archive.file)
    rows = await jay.list(history=True, limit=10_000, order="oldest")
    messages = [one for one in rows if one.kind == "message"]
    assert {one.id: one.content for one in messages} == said
    assert all(one.superseded_at is None for one in messages)
    believed = [one for one in rows if one.superseded_at is None]
    for number in range(SESSIONS):
        place = [one for one in messages if one.scope.session == f"s-{number}"]
        assert [one.position for one in place] == list(range(len(place)))
        assert [one.content for one in place] == [said[one.id] for one in place]
        assert len([one for one in believed if one.key == f"summary:s-{number}:0"]) == (1 if place else 0)
    # A preference may have held, been replaced and hold again: then it is there once for each stretch of time.
    facts = Counter((one.content, one.valid_from) for one in believed if one.kind == "preference")
    assert set(facts.values()) <= {1}
    held = sorted((one for one in believed if one.kind == "preference"), key=lambda one: one.valid_from)
    assert [one.valid_to for one in held] == [*(one.valid_from for one in held[1:]), None]
    assert await jay.parts.working.waiting(now=jay.parts.clock(), soon=SOON, limit=100) == []
    assert [fault for fault in await jay.check() if "wait to be indexed" not in fault] == []
    assert await jay.work.parked() == []


async def test_killed_between_any_two_steps(place, worker):
    said = {}
    async with opened(*place) as jay:
        if place[1]:
            with redis.Redis.from_url(place[1]) as client:
                client.flushdb()
        for number in range(SESSIONS):
            await talked(jay, number, said)
    kills = calls = 0
    while True:
        calls += 1
        # One more call than the time before: every boundary between two calls is met.
        if ended(worker, calls) == "finished":
            break
        kills += 1
        if calls % 12 == 0:
            async with opened(*place) as jay:
                await talked(jay, kills % SESSIONS, said)
    assert kills >= 20
    ended(worker, 10_000)
    async with opened(*place) as jay:
        await check(jay, said)
