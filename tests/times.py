"""`pytest --times` prints where the time of a run went: by folder, by fixture, and in tests that start processes."""

import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path

import pytest

MOST_FIXTURES = 20
"""Rows of the table of fixtures."""


@dataclass
class Spent:
    """What some tests, or all set-ups of one fixture, took together."""

    times: int = 0
    setup: float = 0
    call: float = 0

    def add(self, report):
        self.times += report.when == "setup"
        if report.when == "call":
            self.call += report.duration
        else:
            self.setup += report.duration


class Recorder:
    """Runs where the tests run. What it notes goes to the process that prints, with the report of each test."""

    def __init__(self):
        self.fixtures = defaultdict(float)
        self.processes = 0

    def pytest_configure(self):
        start = subprocess.Popen.__init__

        @wraps(start)
        def counted(process, *arguments, **options):
            self.processes += 1
            start(process, *arguments, **options)

        subprocess.Popen.__init__ = counted

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        began = time.perf_counter()
        try:
            return (yield)
        finally:
            self.fixtures[fixturedef.argname] += time.perf_counter() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        if call.when == "teardown":
            item.user_properties.append(("times", {"fixtures": dict(self.fixtures), "processes": self.processes}))
            self.fixtures.clear()
            self.processes = 0
        return (yield)


@dataclass
class Summary:
    """Runs in the process that prints."""

    folders: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    fixtures: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    started: Spent = field(default_factory=Spent)
    processes: int = 0
    _open: defaultdict[str, list] = field(default_factory=lambda: defaultdict(list))

    def pytest_runtest_logreport(self, report):
        self.folders[Path(report.nodeid.partition("::")[0]).parent.as_posix()].add(report)
        phases = self._open[report.nodeid]
        phases.append(report)
        if report.when != "teardown":
            return
        noted = dict(report.user_properties).get("times", {"fixtures": {}, "processes": 0})
        for name, seconds in noted["fixtures"].items():
            self.fixtures[name].times += 1
            self.fixtures[name].setup += seconds
        if noted["processes"]:
            self.processes += noted["processes"]
            for phase in phases:
                self.started.add(phase)
        del self._open[report.nodeid]

    def pytest_terminal_summary(self, terminalreporter):
        write = terminalreporter.write_line
        terminalreporter.section("times")
        write(f"{'folder':32} {'tests':>7} {'set-up':>10} {'call':>10}")
        for name, spent in sorted(self.folders.items(), key=lambda pair: -pair[1].setup - pair[1].call):
            write(f"{name:32} {spent.times:7,} {spent.setup:8.1f} s {spent.call:8.1f} s")
        write(f"{f'start {self.processes:,} processes':32} {self.started.times:7,} "
              f"{self.started.setup:8.1f} s {self.started.call:8.1f} s")  # fmt: skip
        write(f"\n{'fixture':32} {'set-ups':>7} {'in all':>10} {'each':>10}")
        for name, spent in sorted(self.fixtures.items(), key=lambda pair: -pair[1].setup)[:MOST_FIXTURES]:
            write(f"{name:32} {spent.times:7,} {spent.setup:8.1f} s {spent.setup / spent.times * 1000:7.1f} ms")


def note_times(config):
    """Register what notes the times, here or in a worker, and in the first process what prints them."""
    if not config.getoption("--times"):
        return
    config.pluginmanager.register(Recorder())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Summary())
