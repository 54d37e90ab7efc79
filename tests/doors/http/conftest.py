"""A real server in a process of its own, started the way `scrubjay serve` starts it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

IN_FLIGHT = re.compile(r"^scrubjay_http_requests_in_flight(\{.*\})? ([2-9]|\d\d)", re.MULTILINE)
"""More than one request is being answered."""


class Server:
    """A server that has said where it listens."""

    def __init__(self, process: subprocess.Popen[str], greeting: str, log: Path) -> None:
        self.process = process
        self.greeting = greeting
        self.log = log
        self.url = greeting.splitlines()[0].rpartition(" ")[2]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> str:
        """Stop it as a person or a supervisor would, and return what it logged."""
        self.process.send_signal(how)
        self.process.communicate(timeout=60)
        return self.log.read_text()

    def wait_until_busy(self, is_over: Callable[[], bool]) -> None:
        """Wait until a request is under way, besides the one that asks, or over: nobody can be sure to see it."""
        while not (is_over() or IN_FLIGHT.search(httpx.get(f"{self.url}/metrics", timeout=60).text)):
            time.sleep(0.01)


@contextmanager
def running(home: Path, **settings: str) -> Iterator[Server]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SCRUBJAY_")}
    environment |= {"SCRUBJAY_HOME": str(home), "SCRUBJAY_PORT": "0", "SCRUBJAY_EMBEDDER": "static"}
    # A machine that is slow refuses requests, unless it is told not to.
    environment |= {"SCRUBJAY_LONGEST_WAIT": "0", **settings}
    # Into a file: nobody reads a pipe while the tests run, and a server whose log nobody takes stands still.
    log = home / f"server-{uuid4()}.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrubjay", "serve"],
            env=environment,
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "Ctrl-C" in line:
                break
        else:
            pytest.fail(f"the server did not start: {log.read_text()}")
        yield Server(process, "".join(lines), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def start() -> Callable[..., AbstractContextManager[Server]]:
    """`with start(home) as server:` runs one that nobody else uses."""
    return running


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("home")) as started:
        yield started


@pytest.fixture
def client(server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60) as one:
        yield one


@pytest.fixture
def user(request) -> str:
    """A user of this test's own, so that tests share the server and nothing else."""
    return request.node.name[:200]


@pytest.fixture
def remember(client, user) -> Callable[..., dict]:
    def tell(content: str, **details) -> dict:
        answer = client.post("/v1/memory", json={"content": content, "user": user, **details})
        assert answer.status_code in (200, 201), answer.text
        return answer.json()["memory"]

    return tell
