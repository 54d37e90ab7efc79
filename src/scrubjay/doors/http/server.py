"""Uvicorn around the application, in one process or several, and what it says when it is ready."""

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from scrubjay.doors.http.app import application
from scrubjay.doors.http.crew import Crew
from scrubjay.doors.http.logs import log_as_json
from scrubjay.settings import Settings

GRACE = 10
"""Seconds that requests under way get to finish."""

FLUSH = 10
"""Seconds after that for what is queued to be stored, and for connections to be closed."""


class Server(uvicorn.Server):
    """Tells whoever waits for it as soon as it answers, not before."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let those who listen to events go first: they would stay for ever."""
        self.config.app.state.leaving.set()  # type: ignore[union-attr]  # it is our application
        await super().shutdown(sockets)


def run(settings: Settings, listener: socket.socket, *, wants_keys: bool) -> None:
    """Serve on this socket until a signal says stop. Raises Misconfigured when a process cannot start."""
    log_as_json(settings.log_level)
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def greet() -> None:
        print(greeting(settings, url, wants_keys=wants_keys), flush=True)  # noqa: T201 -- a person waits for it

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
    )
    Server(config, tell).run(sockets=[listener])


def greeting(settings: Settings, url: str, *, wants_keys: bool) -> str:
    """What a person needs to know to begin."""
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
            f"Scrubjay is listening on {url}",
            f"  look     {url}/",
            f"  docs     {url}/docs",
            f"  data     {where}",
            f"  try      curl {url}/v1/memory -H content-type:application/json{key} -d '{told}'",
            who,
        ]
    )
