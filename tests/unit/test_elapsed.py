"""How long ago something was, for machines that slept, were paused, or whose clock was set."""

import time
from types import SimpleNamespace

import pytest

from scrubjay import elapsed


@pytest.fixture
def clocks(monkeypatch):
    """The clock of the machine and the one on the wall, to be set."""
    found = SimpleNamespace(machine=100.0, wall=1_000.0)
    monkeypatch.setattr(elapsed, "moment", lambda: found.machine)
    monkeypatch.setattr(elapsed, "time", SimpleNamespace(time=lambda: found.wall))
    return found


@pytest.mark.parametrize(
    ("machine", "wall", "seconds"),
    [
        (5.0, 5.0, 5.0),
        (0.0, 3_600.0, 3_600.0),  # It stood still.
        (5.0, -3_600.0, 5.0),  # The clock on the wall was set back,
        (5.0, 3_600.0, 3_600.0),  # or forward: then it may have been as long.
    ],
)
def test_it_is_never_less_than_it_was(clocks, machine, wall, seconds):
    since = elapsed.Since()
    clocks.machine += machine
    clocks.wall += wall
    assert since.seconds == seconds


def test_the_clock_goes_on_while_the_machine_sleeps():
    assert abs(elapsed.moment() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 60


@pytest.mark.parametrize(
    ("platform", "clock"), [("linux", "CLOCK_BOOTTIME"), ("darwin", "CLOCK_MONOTONIC"), ("other", None)]
)
def test_each_system_has_its_own(monkeypatch, platform, clock):
    asked = []
    clocks = {"CLOCK_BOOTTIME": 7, "CLOCK_MONOTONIC": 1} if clock else {}
    there = SimpleNamespace(**clocks, clock_gettime=lambda which: asked.append(which) or 1.0, monotonic=lambda: 2.0)
    monkeypatch.setattr(elapsed, "time", there)
    monkeypatch.setattr(elapsed.sys, "platform", platform)
    assert elapsed._awake_or_not()() == (1.0 if clock else 2.0)
    assert asked == ([clocks[clock]] if clock else [])
