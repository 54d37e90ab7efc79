"""Workers: they take what is due, share it, survive what fails, and stop when they are told to."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from faulty_servers import eventually

from scrubjay.jobs import runner
from scrubjay.jobs.work import orders_of
from scrubjay.jobs.worker import EVERY, Worker
from scrubjay.model.work import STEPS
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.values import HOUR, SECOND
from scrubjay.wiring import open_async, wire

HERE = {"user": "anna", "session": "s-1"}


async def ended_session(jay, **where):
    place = {**HERE, **where}
    await jay.working.append(["I prefer tabs over spaces.", "The build server was slow today."], **place)
    await jay.working.end(**place)


@pytest.fixture
async def jay(new_setup):
    return await new_setup("sqlite").open()


@pytest.fixture
def clock(jay):
    return jay.parts.clock


def taken(done):
    return [one.step for one in done]


async def test_each_step_is_taken_when_it_is_due(jay, clock):
    worker = Worker(orders_of(jay))
    assert taken(await worker.turn()) == list(STEPS)
    assert await worker.turn() == []
    clock.advance(EVERY["drain"])
    assert taken(await worker.turn()) == ["drain"]
    clock.advance(EVERY["distill"])
    assert taken(await worker.turn()) == ["drain", "distill", "index"]
    clock.advance(6 * HOUR)
    assert taken(await worker.turn()) == list(STEPS)


async def test_what_one_worker_did_is_not_due_for_another(jay):
    assert len(await Worker(orders_of(jay)).turn()) == len(STEPS)
    assert await Worker(orders_of(jay)).turn() == []


async def test_a_clock_that_was_ahead_stops_nobody_for_long(jay, clock):
    clock.advance(10 * HOUR)
    await Worker(orders_of(jay)).turn()
    clock.advance(-10 * HOUR)
    assert taken(await Worker(orders_of(jay)).turn()) == list(STEPS)


async def test_a_step_that_another_worker_has_is_left_to_it(jay):
    orders = orders_of(jay)
    assert await orders.works.leases.take("step expire", "another", ttl=HOUR) is not None
    done = {one.step: one for one in await Worker(orders).turn()}
    assert done["expire"].skipped == "another worker is at it"
    assert "expire" not in await orders.works.log.runs()
    assert (await jay.work.status()).workers == ("another",)


async def test_a_session_that_another_worker_drains_is_left_to_it(jay):
    orders = orders_of(jay)
    await ended_session(jay)
    name = 'drain default ["anna",null,null,"s-1",null]'
    lease = await orders.works.leases.take(name, "another", ttl=HOUR)
    assert (await jay.consolidate(steps="drain"))["drain"].done == 0
    await orders.works.leases.release(lease)
    assert (await jay.consolidate(steps="drain"))["drain"].done == 2


async def test_a_busy_session_is_not_distilled_by_a_worker_yet(jay, clock):
    await ended_session(jay)
    worker = Worker(replace(orders_of(jay), quiet=timedelta(minutes=1)))
    await worker.turn()
    assert await jay.list(kinds=["summary"]) == []
    clock.advance(61 * SECOND)
    await worker.turn()
    assert len(await jay.list(kinds=["summary"])) == 1


async def test_it_works_until_it_is_stopped(jay):
    stop = threading.Event()
    running = asyncio.create_task(jay.work.run(stop))
    await ended_session(jay)
    while await jay.working.session(**HERE) is not None:
        jay.parts.clock.advance()
        await asyncio.sleep(0.05)
    stop.set()
    await asyncio.wait_for(running, 60)
    assert await jay.count(kinds=["message"]) == 2


async def test_an_open_memory_consolidates_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "WORK_DELAY", 0.1)
    settings = read_settings(home=tmp_path)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        await ended_session(jay)

        async def is_drained():
            return await jay.working.session(**HERE) is None

        await eventually(is_drained, within=60)
        assert await jay.count(kinds=["message"]) == 2
    async with wire(replace_background(settings), embedder=ToyEmbedder()) as jay:
        assert await jay.parts.works.leases.held() == []


def replace_background(settings):
    return settings.model_copy(update={"background": False})


def worker_process(home):
    command = [sys.executable, "-m", "scrubjay", "work", "--home", str(home)]
    environment = {**os.environ, "SCRUBJAY_EMBEDDER": "none"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


async def test_processes_share_the_work_and_one_that_is_killed_is_replaced(tmp_path):
    async with open_async(tmp_path, embedder="none", background=False) as jay:
        for number in range(6):
            await ended_session(jay, session=f"s-{number}")
        killed, other = workers = [worker_process(tmp_path) for _ in range(2)]
        try:
            killed.send_signal(signal.SIGKILL)

            async def is_done():
                return await jay.count(kinds=["message"]) == 12

            await eventually(is_done, within=60)
            other.send_signal(signal.SIGTERM)
            _, said = await asyncio.to_thread(other.communicate, None, 60)
            assert other.returncode == 0, said
            assert "what was under way is finished" in said
            logged = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
            assert {"event": "consolidated", "step": "drain"}.items() <= logged[0].items()
        finally:
            for worker in workers:
                worker.kill()
                worker.communicate()
