"""The command line in three ways: in this process, as a real process, and on a terminal. Each in a home of its own."""

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """A home that nobody else has, in a folder without a `.env`. Search is by words, which needs no model."""
    for name in list(os.environ):
        if name.startswith("SCRUBJAY_") or name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


class Done:
    """What a command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def rows(self) -> list[list[str]]:
        """Lines of a pipe, by their tabs."""
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


@pytest.fixture
def run(home):
    """Run a command in this process. Fails unless it exits as expected."""
    from scrubjay.doors.cli import app

    def run(*args: str, input: str | bytes | None = None, code: int = 0) -> Done:
        result = CliRunner().invoke(app, args, input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        done = Done(result.exit_code, result.stdout, result.stderr)
        assert done.code == code, done
        return done

    return run


@pytest.fixture
def through_a_pipe(tmp_path):
    """Call something with the name of a pipe; what it wrote there."""

    def through(write: Callable[[str], object]) -> bytes:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with (
            (tmp_path / "received").open("w+b") as received,
            subprocess.Popen(["cat", pipe], stdout=received) as reader,
        ):
            try:
                write(str(pipe))
                assert pipe.is_fifo()
                reader.wait(60)
            finally:
                reader.kill()
            received.seek(0)
            return received.read()

    return through


@pytest.fixture
def process(home, warm):
    """Run a command as a real process."""

    def process(*args: str, input: str = "", code: int = 0) -> Done:
        result = subprocess.run(
            [warm / "scrubjay", *args], input=input, capture_output=True, text=True, timeout=180, check=False
        )
        done = Done(result.returncode, result.stdout, result.stderr)
        assert done.code == code, done
        return done

    return process


@pytest.fixture
def terminal(home, warm):
    """Run a command on a terminal of 100 columns, where `typed` is typed."""

    def terminal(*args: str, typed: str = "", code: int = 0) -> Done:
        leader, follower = pty.openpty()
        environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm-256color"}
        child = subprocess.Popen(
            [warm / "scrubjay", *args],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env=environment,
            close_fds=True,
        )
        os.close(follower)
        os.write(leader, typed.encode())
        shown = _all_of(leader, until=time.monotonic() + 120)
        os.close(leader)
        done = Done(child.wait(120), shown, "")
        assert done.code == code, done
        return done

    return terminal


def _all_of(leader: int, *, until: float) -> str:
    """What is shown until the other end is closed."""
    shown = b""
    while time.monotonic() < until:
        if not select.select([leader], [], [], 1)[0]:
            continue
        try:
            shown += (read := os.read(leader, 65536))
        except OSError:  # Linux says so when the other end is closed
            break
        if not read:
            break
    return shown.decode().replace("\r\n", "\n")
