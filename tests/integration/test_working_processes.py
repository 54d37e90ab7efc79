"""Several processes on one working memory: gapless positions, and draining that may be killed between any two steps."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis as driver
from working_process import HERE, opened

PROGRAM = Path(__file__).with_name("working_process.py")

STEPS = 7
"""Looking, and twice: taking, remembering, noting that it is drained."""


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def place(request, tmp_path):
    """The record store and the working memory."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_database")(), ""
    records = f"sqlite:///{tmp_path}/scrubjay.db"
    if request.param == "sqlite":
        return records, ""
    url = request.getfixturevalue("redis_url")
    driver.Redis.from_url(url).flushdb()
    return records, url


def run(what, place, many):
    subprocess.run([sys.executable, str(PROGRAM), what, *place, str(many)], check=True, timeout=180)


def test_everybody_who_speaks_is_heard_in_order(place):
    with opened(*place):
        run("speak", place, 18)
    with opened(*place) as jay:
        found = jay.working.recent(1_000, source="working", **HERE)
    assert [one.position for one in found] == list(range(72))
    for number in range(4):
        assert [one.content for one in found if one.content.startswith(f"p{number} ")] == [
            f"p{number} {step}" for step in range(18)
        ]


def test_draining_can_be_killed_after_any_step(place):
    said = [f"message {number}" for number in range(5)]
    with opened(*place) as jay:
        for steps in range(1, STEPS + 1):
            tenant = jay.for_tenant(f"tenant-{steps}")
            tenant.working.append(said, **HERE)
            tenant.working.end(**HERE)
    run("drain", place, STEPS)
    with opened(*place) as jay:
        for steps in range(1, STEPS + 1):
            tenant = jay.for_tenant(f"tenant-{steps}")
            episodes = tenant.list(kinds=["message"], order="oldest", **HERE)
            assert [one.content for one in episodes] == said
            assert [one.position for one in episodes] == list(range(5))
            assert [one.content for one in tenant.working.recent(**HERE)] == said
            assert tenant.working.session(**HERE) is None
