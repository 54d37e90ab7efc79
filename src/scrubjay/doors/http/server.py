"""Uvicorn around the application, in one process or several, and what it says when it is ready."""

import gc
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvicorn

from scrubjay.doors.http.app import application
from scrubjay.doors.http.connection import Connection
from scrubjay.doors.http.crew import Crew
from scrubjay.doors.http.logs import log_as_json
from scrubjay.settings import Settings

SWITCH: Final = 0.0005
"""Seconds until a thread that computes lets another one go on; Python's own are ten times as many."""

GRACE = 10
"""Seconds that requests under way get to finish."""

FLUSH = 10
"""Seconds after that for what is queued to be stored, and for connections to be closed."""


_OPENED: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- nothing listens on it here
"""What to open on this machine when the service listens on every address: that itself is no place to go to."""


class Server(uvicorn.Server):
    """Tells whoever waits for it as soon as it answers, not before."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            # What is there by now stays. To look through it for garbage takes a tenth of a second, each time.
            gc.freeze()
            # A thread that computes lets the event loop wait for so long before it gives way, each time it has been
            # waiting for something itself.
            sys.setswitchinterval(SWITCH)
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let those who listen to events go first: they would stay for ever."""
        self.config.app.state.leaving.set()  # type: ignore[union-attr]  # it is our application
        await super().shutdown(sockets)


def run(settings: Settings, listener: socket.socket, *, wants_keys: bool) -> None:
    """Serve on this socket until a signal says stop. Raises Misconfigured when a process cannot start."""
    log_as_json(settings.log_level)
    host, port = listener.getsockname()[:2]

    def greet() -> None:
        print(greeting(settings, host, port, wants_keys=wants_keys), flush=True)  # noqa: T201 -- a person waits for it

    if settings.workers > 1:
        Crew(settings, listener, serve_one, grace=GRACE + FLUSH).run(greet)
    else:
        serve_one(settings, listener, None, greet)


def serve_one(settings: Settings, listener: socket.socket, folder: Path | None, tell: Callable[[], None]) -> None:
    """Serve in this process. With a folder, it counts together with others that serve the same socket."""
    log_as_json(settings.log_level)
    config = uvicorn.Config(
        application(settings, counted=folder),
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        http=Connection,
        ws="none",
    )
    Server(config, tell).run(sockets=[listener])


def greeting(settings: Settings, host: str, port: int, *, wants_keys: bool) -> str:
    """What a person needs to know to begin."""
    url = _url(_OPENED.get(host, host), port)
    records = settings.records_url
    where = records.removeprefix("sqlite:///") if records.startswith("sqlite:") else records.rsplit("@")[-1]
    told = '{"content": "Prefers tabs over spaces", "user": "u-42"}'
    key = " -H 'authorization: Bearer sj_…'" if wants_keys else ""
    who = (
        "Every request needs a key: `scrubjay keys create NAME` makes one. Ctrl-C stops it."
        if wants_keys
        else "No key is needed: only this machine can reach it. Ctrl-C stops it."
    )
    return "\n".join(
        [
            f"Scrubjay is listening on {_url(host, port)}",
            f"  look     {url}/",
            f"  docs     {url}/docs",
            f"  data     {where}",
            f"  try      curl {url}/v1/memory -H content-type:application/json{key} -d '{told}'",
            who,
        ]
    )


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
