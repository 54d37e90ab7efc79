"""Several processes on one socket: they share the work and the counting, and end together."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import idle_crew
import psutil
import pytest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families

import scrubjay
from scrubjay.doors.http.crew import PREFIX, Crew, remove_leftovers
from scrubjay.errors import Misconfigured
from scrubjay.settings import read_settings

SETTINGS = {"SCRUBJAY_WORKERS": "2", "SCRUBJAY_EMBEDDER": "none"}


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def counters(server) -> dict[int, Path]:
    """The file that each process of the server counts in."""
    found: dict[int, Path] = {}
    for child in psutil.Process(server.process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):
            for file in child.open_files():
                if "/counter_" in file.path:
                    found[child.pid] = Path(file.path)
    return found


def answered(file: Path) -> float:
    """How many requests one process has answered."""
    families = MultiProcessCollector.merge([str(file)])
    return sum(one.value for family in families if "http_requests" in family.name for one in family.samples)


def counted(url: str, name: str, **labels: str) -> float:
    families = text_string_to_metric_families(httpx.get(f"{url}/metrics", timeout=60).text)
    samples = [one for family in families for one in family.samples if one.name == name]
    return sum(one.value for one in samples if labels.items() <= one.labels.items())


async def ask_at_once(url: str, many: int) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=httpx.Limits(max_keepalive_connections=0)) as client:
        answers = await asyncio.gather(*(client.get("/version") for _ in range(many)))
    assert all(answer.status_code == 200 for answer in answers)


def test_two_processes_share_the_work_and_one_that_ends_is_replaced(start, tmp_path):
    with start(tmp_path, **SETTINGS) as server:
        first = counters(server)
        assert len(first) == 2
        folder = next(iter(first.values())).parent

        # Both take connections, and whoever is asked knows what both have counted.
        asked = 0
        while not all(answered(file) for file in first.values()):
            assert asked < 2_000, "one of the two took every connection"
            asyncio.run(ask_at_once(server.url, 50))
            asked += 50
        # A request is counted once it is answered, and whoever has the answer may be quicker.
        until(lambda: counted(server.url, "scrubjay_http_requests_in_flight") == 1)
        assert counted(server.url, "scrubjay_http_requests_total", route="/version") == asked

        # One ends: its counts stay, another takes its place, and nobody is turned away.
        gone = next(iter(first))
        os.kill(gone, signal.SIGKILL)
        until(lambda: len(set(counters(server)) - {gone}) == 2)
        assert counted(server.url, "scrubjay_http_requests_total", route="/version") == asked
        until(lambda: counted(server.url, "scrubjay_http_requests_in_flight") == 1)

        # Told to stop, it finishes what is under way, stores what is queued, and leaves nothing behind.
        told = httpx.post(f"{server.url}/v1/memory", json={"content": "Used before the end"}, timeout=60).json()[
            "memory"
        ]
        assert httpx.post(f"{server.url}/v1/memory/recall", json={"query": "used before the end"}, timeout=60).json()[
            "hits"
        ]

        async def write_and_stop() -> httpx.Response:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                many = [{"content": f"Thing number {number} of many"} for number in range(500)]
                writing = asyncio.create_task(client.post("/v1/memory", json=many))
                await asyncio.to_thread(server.wait_until_busy, writing.done)
                server.process.send_signal(signal.SIGTERM)
                return await writing

        assert asyncio.run(write_and_stop()).status_code == 201
        server.process.wait(timeout=60)
        logged = server.log.read_text()
        assert server.process.returncode == 0
        assert "a server process ended and is replaced" in logged
        assert "Traceback" not in logged
        assert not folder.exists()
    with scrubjay.open(tmp_path, embedder="none") as jay:
        assert jay.get(told["id"]).uses == 1
        assert jay.stats().memories == 501


def test_they_end_when_the_one_that_started_them_is_killed(tmp_path, monkeypatch):
    # A place of their own: a crew of another test removes what it finds left over in the usual one.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen([sys.executable, idle_crew.__file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        children = psutil.Process(process.pid).children(recursive=True)
        assert len(children) >= 2
        process.kill()
        _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    [folder] = tmp_path.glob(f"{PREFIX}{process.pid}-*")
    remove_leftovers()  # As the next crew does before it starts.
    assert not folder.exists()


def test_a_process_that_cannot_start_is_one_clear_error(tmp_path):
    greeted = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        crew = Crew(read_settings(home=tmp_path, workers=2), listener, idle_crew.give_up, grace=5)
        with pytest.raises(Misconfigured, match="a server process ended with 3 while it started: the log says why"):
            crew.run(lambda: greeted.append(1))
    assert not greeted


@pytest.mark.parametrize("workers", [0, 65])
def test_a_number_of_workers_that_makes_no_sense(tmp_path, workers):
    with pytest.raises(Misconfigured, match="SCRUBJAY_WORKERS"):
        read_settings(home=tmp_path, workers=workers)
