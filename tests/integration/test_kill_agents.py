"""Who drives an agent is killed between any two steps, and in their middle. The next one goes on where it stopped."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kill_agent import AGENT, STEPS, opened

DRIVER = Path(__file__).with_name("kill_agent.py")
CYCLES = 2
KILLS = {"sqlite": 12, "postgresql": 8}
SEED = 20261115


@pytest.fixture(params=KILLS)
def place(request, tmp_path):
    """The kind of store, and where it is."""
    if request.param == "sqlite":
        return request.param, f"sqlite:///{tmp_path}/scrubjay.db"
    return request.param, request.getfixturevalue("postgres_database")()


@pytest.fixture(scope="module")
def driver():
    with subprocess.Popen(
        [sys.executable, str(DRIVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as driver:
        yield driver
        driver.stdin.close()


def heard(driver, url, *, steps=0, upto=CYCLES, drivers=1, until=None):
    """Let somebody drive the agent, and return what was said. `until`: kill it after so many lines and seconds."""
    driver.stdin.write(f"{url} {steps} {upto} {drivers}\n")
    driver.stdin.flush()
    process, said = None, []
    while (line := driver.stdout.readline().rstrip("\n")) != "ended":
        assert line, "the driver ended by itself"
        if line.startswith("started "):
            process = int(line.removeprefix("started "))
            continue
        said.append(line)
        if until is not None and len(said) == until[0]:
            time.sleep(until[1])
            os.kill(process, signal.SIGKILL)
    return said


def resumptions():
    """Where the agent is found after each step that was taken."""
    yield f"there is no agent '{AGENT}'"
    pending = []
    for cycle in range(1, CYCLES + 1):
        behind = f"; state {{'pages': {cycle - 1}}}" if cycle > 1 else "; state {}"
        yield f"{AGENT} is between cycles: cycle {cycle} is next{behind}; pending {', '.join(pending)}"
        done = f"{AGENT} is in cycle {cycle}, %d steps done: propose the next one, or end the cycle{behind}; pending %s"
        yield done % (0, ", ".join(pending))
        for step in range(1, STEPS + 1):
            path = f"page-{cycle}-{step}.md"
            waits = f'step {step} waits for its result: write(path="{path}")'
            yield f"{AGENT} is in cycle {cycle}, {waits}{behind}; pending {', '.join(pending)}"
            pending.append(path)
            yield done % (step, ", ".join(pending))
        # Once more after the reflection, which is told again and stored once.
        yield done % (STEPS, ", ".join(pending))
    over = f"{AGENT} is between cycles: cycle {CYCLES + 1} is next; state {{'pages': {CYCLES}}}"
    yield f"{over}; pending {', '.join(pending)}"


def life(cycles):
    """All that should be on record, in order."""
    yield ("created", None, None)
    for cycle in range(1, cycles + 1):
        yield ("began", cycle, None)
        for step in range(1, STEPS + 1):
            yield ("proposed", cycle, step)
            yield ("acted", cycle, step)
        yield ("recorded", cycle, None)
        yield ("ended", cycle, None)


async def on_record(url):
    async with opened(url) as jay:
        assert [fault for fault in await jay.check() if "wait to be indexed" not in fault] == []
        return [(one.what, one.cycle, one.step) async for one in jay.agents.replay(AGENT)]


async def test_killed_between_any_two_steps_it_resumes_right_there(place, driver):
    _, url = place
    expected = list(resumptions())
    for where in expected[:-1]:
        assert heard(driver, url, steps=1) == [f"resumed {where}"]
    assert heard(driver, url) == [f"resumed {expected[-1]}", "done"]
    assert await on_record(url) == list(life(CYCLES))


async def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_twice(place, driver):
    kind, url = place
    chance, on_and_on = random.Random(SEED), 1_000
    for _ in range(KILLS[kind]):
        heard(driver, url, upto=on_and_on, until=(chance.randint(1, 4), chance.uniform(0, 0.03)))
    [there] = heard(driver, url, steps=1, upto=on_and_on)
    complete = int(there.partition("cycle ")[2].split()[0].rstrip(","))
    heard(driver, url, upto=complete)
    assert complete > 1, "the drivers were killed before they did anything"
    assert await on_record(url) == list(life(complete))


async def test_several_who_drive_one_agent_take_every_step_once(place, driver):
    _, url = place
    heard(driver, url, steps=1)
    said = heard(driver, url, drivers=3)
    assert said.count("done") == 3
    assert await on_record(url) == list(life(CYCLES))
    refusals = [line for line in said if line.startswith("refused ")]
    assert all("Ask `resume`" in line or "see `resume`" in line or "cycle" in line for line in refusals)
