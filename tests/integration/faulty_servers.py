"""Servers of a test's own that can be stopped, frozen and started again on the same port, with their data."""

import asyncio
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from services import Postgres, Qdrant


class Faulty:
    """What can happen to a server."""

    def fall(self, how=None):
        """Stop it; its data stays."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how or self.goodbye)
            process.wait(60)

    def rise(self):
        """Start it again, where it was. On the main thread: it ends with the thread that starts it."""
        if self._process is None:
            self.start_again()

    def freeze(self):
        """Stop it in its tracks: connections stay open, and nobody answers."""
        for pid in self._family():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in self._family():
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def frozen(self):
        self.freeze()
        try:
            yield
        finally:
            self.thaw()

    def mend(self):
        """Bring it back, whatever happened to it."""
        if self._process is not None:
            self.thaw()
        self.rise()

    def _family(self):
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]


class FaultyPostgres(Faulty, Postgres):
    """PostgreSQL ends its clients' transactions when it is told to go."""


class FaultyQdrant(Faulty, Qdrant):
    """Qdrant takes ten seconds to say goodbye, and survives being killed."""

    goodbye = signal.SIGKILL


@contextmanager
def running(kind):
    """A server of this kind, while the tests of one module last."""
    server = kind()
    server.start()
    try:
        yield server
    finally:
        if server._process is not None:
            server.thaw()
            server.fall(signal.SIGKILL)  # Nobody needs its goodbye, which takes Qdrant ten seconds.
        server.stop()


async def eventually(happens, *, within):
    """Wait until it happens, asking often; fail when it takes too long. Returns the seconds that it took."""
    began = time.monotonic()
    while not await happens():
        assert time.monotonic() - began < within, f"not within {within} seconds"
        await asyncio.sleep(0.05)
    return time.monotonic() - began


class Stopwatch:
    """`with Stopwatch() as watch: …` and then `watch.seconds`."""

    def __enter__(self):
        self._began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self._began
