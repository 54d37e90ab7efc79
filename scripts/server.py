"""One server process on a free port of loopback: started, waited for, stopped, and its files removed.

Started by root, a server runs as `nobody`: PostgreSQL refuses root, and the others need no more.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from fetch import ServerError

READY_SECONDS = 120
STOP_SECONDS = 10
ATTEMPTS = 3
FOLDER_PREFIX = "scrubjay-services-"


class Server(ABC):
    """One server process on a free port of loopback, with its files in a folder that goes when it stops."""

    name: ClassVar[str]
    goodbye: ClassVar[signal.Signals] = signal.SIGTERM
    """The signal that makes it stop at once, without waiting for its clients."""

    def __init__(self) -> None:
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients reach it."""

    @abstractmethod
    def command(self) -> list[str]:
        """The command that runs it in the foreground."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers now."""

    @abstractmethod
    def prepare(self) -> None:
        """Find the program and make what it needs, before the first start."""

    def environment(self) -> dict[str, str]:
        """Variables for the command, beside those of this process."""
        return {}

    def user(self) -> dict[str, Any]:
        """The arguments of subprocess that say as whom it runs."""
        return as_server_user()

    @property
    def folder(self) -> Path:
        """The folder of this run; the server can write to `data` in it."""
        if self._folder is None:
            raise ServerError(f"{self.name} was not started")
        return self._folder

    @property
    def data(self) -> Path:
        """Where the server keeps its files."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The process, for those who stop it, freeze it or look at what it takes."""
        if self._process is None:
            raise ServerError(f"{self.name} was not started")
        return self._process.pid

    def start(self) -> str:
        """Start it, wait until it answers, and return its URL. Raises ServerError with the server's log."""
        try:
            self._make_folder()
            self.prepare()
            # Between choosing a port and using it, another process may take it. Anything else fails again.
            if not any(self._attempt() for _ in range(ATTEMPTS)):
                self._fail("ended while starting")
        except BaseException:
            self.stop()
            raise
        return self.url

    def stop(self) -> None:
        """Stop it and remove its files. Safe to call twice, and when it was never started."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(self.goodbye)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def within_reach(self, program: Path, *, tree: Path | None = None, beside: tuple[Path, ...] = ()) -> Path:
        """Return the program where the server's user can run it: where it is, or copied when that is out of reach.

        A program that loads files near it is copied with the `tree` around it, and with folders `beside` that tree.
        """
        reachable = subprocess.run(["test", "-x", program], check=False, **as_server_user()).returncode == 0
        if reachable:
            return program
        tree = tree or program
        for part in (tree, *beside):
            if part.is_dir():
                shutil.copytree(part, self.folder / part.name, symlinks=True)
            elif part.exists():
                shutil.copy2(part, self.folder / part.name)
        return self.folder / tree.name / program.relative_to(tree)

    def run(self, command: list[str]) -> None:
        """Run a command to its end as the server's user. Raises ServerError with what it said."""
        done = subprocess.run(
            command, cwd="/", env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, timeout=60,
            check=False, **as_server_user(),
        )  # fmt: skip
        if done.returncode:
            raise ServerError(f"{command[0]} failed with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())

    def _make_folder(self) -> None:
        self._folder = new_folder(self.name)
        self._folder.chmod(0o755)
        self.data.mkdir(mode=0o700)
        user = self.user()
        if user:
            os.chown(self.data, user["user"], user["group"])

    def _attempt(self) -> bool:
        self.port = free_port()
        self._launch()
        return self._wait_until_ready()

    def start_again(self) -> None:
        """Start it on the port it had, after it has ended. Raises ServerError when it does not come up."""
        deadline = time.monotonic() + READY_SECONDS
        self._launch()
        # Whoever kept calling it may have been given that very port to call from, and has it for a moment.
        while not self._wait_until_ready():
            if time.monotonic() > deadline:
                self._fail("did not start again")
            time.sleep(0.1)
            self._launch()

    def _launch(self) -> None:
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self.command(),
                env={**os.environ, "LC_ALL": "C.UTF-8", **self.environment()},
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal reaches the tests only, which then stop the servers in order.
                start_new_session=True,
                preexec_fn=_follow_parent(self.goodbye),  # noqa: PLW1509 -- one system call, and no locks are taken
                **self.user(),
            )

    def _wait_until_ready(self) -> bool:
        """True when it answers, False when it has ended. Raises ServerError when it does neither for too long."""
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                return False
            if self.is_ready():
                return True
            time.sleep(0.02)
        return self._fail(f"did not answer on {self.url} within {READY_SECONDS} seconds")

    def _fail(self, how: str) -> NoReturn:
        lines = (self.folder / "log").read_text(errors="replace").splitlines()
        shown = "\n".join(lines[-40:]) or "(its log is empty)"
        raise ServerError(f"{self.name} {how}:\n{shown}")


def free_port() -> int:
    """A port of loopback that nobody uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def new_folder(name: str) -> Path:
    """A temporary folder of this process, by whose name the next run knows it when this one is killed."""
    remove_leftovers()
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{os.getpid()}-{name}-"))


def remove_leftovers() -> None:
    """Remove the folders of runs that were killed. Their servers have ended with them."""
    if not Path("/proc/self").exists():
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER_PREFIX}*"):
        owner = folder.name.removeprefix(FOLDER_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path("/proc", owner).exists():
            shutil.rmtree(folder, ignore_errors=True)


def as_server_user() -> dict[str, Any]:
    """The arguments of subprocess that drop from root to `nobody`; none for an ordinary user."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _follow_parent(goodbye: signal.Signals) -> Callable[[], None] | None:
    """What to call in the new process so that it stops when this one is killed, however hard. Linux only."""
    if sys.platform != "linux":
        return None
    set_when_parent_ends = 1
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return lambda: prctl(set_when_parent_ends, int(goodbye))
