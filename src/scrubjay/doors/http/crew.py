"""Several processes that serve one socket: each takes the next connection when it has time."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType
from typing import Final, TypeAlias

import structlog

from scrubjay.errors import Misconfigured
from scrubjay.settings import Settings
from scrubjay.wiring.telemetry import count_in, has_ended

log = structlog.get_logger("scrubjay.http")

GLANCE: Final = 0.2
"""Seconds between two looks whether a signal came."""

SOON: Final = 5.0
"""A process that ends within so many seconds is replaced after a pause of one: what is in its way is still there."""

PREFIX: Final = "scrubjay-metrics-"
"""How the folder begins that a crew counts in; after it comes the process that made it."""

_READY: Final = "ready"

Serving: TypeAlias = Callable[[Settings, socket.socket, Path, Callable[[], None]], None]
"""Serve until a signal says stop: the settings, the socket, the folder to count in, and whom to tell when it answers.

It runs in a process of its own, so it has to be a function of a module.
"""


@dataclass(slots=True)
class _Member:
    """One process, and the line to it. The process ends when the line is cut: nobody is left behind."""

    process: SpawnProcess
    line: Connection
    began: float = field(default_factory=time.monotonic)
    is_ready: bool = False


class Crew:
    """Starts the processes, replaces those that end, and stops all of them when a signal says so.

    Requests under way are finished first: each process gets `grace` seconds for it, and is killed after that.
    """

    def __init__(self, settings: Settings, listener: socket.socket, serving: Serving, *, grace: float) -> None:
        self._settings = settings
        self._listener = listener
        self._serving = serving
        self._grace = grace
        self._context = multiprocessing.get_context("spawn")
        self._members: list[_Member] = []
        self._is_stopping = False

    def run(self, greet: Callable[[], None]) -> None:
        """Serve until a signal says stop; greet once every process answers. Raises Misconfigured when one cannot."""
        remove_leftovers()
        folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        try:
            with self._signals():
                self._members = [self._start(folder) for _ in range(self._settings.workers)]
                self._watch(folder, greet)
        finally:
            self._stop()
            shutil.rmtree(folder, ignore_errors=True)

    def _start(self, folder: Path) -> _Member:
        ours, theirs = self._context.Pipe()
        given = (self._settings, self._listener, folder, self._serving, theirs)
        process = self._context.Process(target=_serve_one, args=given, name="scrubjay-server")
        process.start()
        theirs.close()
        return _Member(process, ours)

    def _watch(self, folder: Path, greet: Callable[[], None]) -> None:
        greeted = False
        while not self._is_stopping:
            wait([*(one.process.sentinel for one in self._members), *self._silent_lines()], GLANCE)
            for place, member in enumerate(self._members):
                if not member.is_ready and member.process.is_alive() and member.line.poll():
                    with contextlib.suppress(EOFError):  # It ends just now: seen at the next look.
                        member.is_ready = member.line.recv() == _READY
                if not member.process.is_alive() and not self._is_stopping:
                    if not greeted:
                        raise Misconfigured(
                            f"a server process ended with {member.process.exitcode} while it started: the log says why"
                        )
                    self._members[place] = self._replaced(member, folder)
            if not greeted and all(member.is_ready for member in self._members):
                greeted = True
                greet()

    def _silent_lines(self) -> list[Connection]:
        return [one.line for one in self._members if not one.is_ready]

    def _replaced(self, member: _Member, folder: Path) -> _Member:
        process = member.process
        log.error("a server process ended and is replaced", process=process.pid, code=process.exitcode)
        member.line.close()
        if process.pid is not None:
            has_ended(folder, process.pid)
        if time.monotonic() - member.began < SOON:
            time.sleep(1.0)
        return self._start(folder)

    def _stop(self) -> None:
        # Ours as well: who comes now is refused, and does not wait for somebody who takes no more.
        self._listener.close()
        for member in self._members:
            member.process.terminate()
        until = time.monotonic() + self._grace
        for member in self._members:
            member.process.join(max(0.0, until - time.monotonic()))
            if member.process.is_alive():
                log.error("a server process did not stop in time and is killed", process=member.process.pid)
                member.process.kill()
                member.process.join()
            member.line.close()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def stop(_number: int, _frame: FrameType | None) -> None:
            self._is_stopping = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def remove_leftovers() -> None:
    """Remove the folders of crews that were killed before they could do it themselves."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdecimal() and not _is_running(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # Somebody else's.
    return True


def _serve_one(settings: Settings, listener: socket.socket, folder: Path, serving: Serving, line: Connection) -> None:
    """The whole life of one process."""
    # Ctrl-C reaches every process of the terminal; the one that started us passes on what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    count_in(folder)
    threading.Thread(target=_end_with, args=(line,), name="scrubjay-line", daemon=True).start()
    serving(settings, listener, folder, lambda: line.send(_READY))


def _end_with(line: Connection) -> None:
    """Stop this process when the one that started it is gone, however that ended."""
    with contextlib.suppress(EOFError, OSError):
        line.recv()
    os.kill(os.getpid(), signal.SIGTERM)
