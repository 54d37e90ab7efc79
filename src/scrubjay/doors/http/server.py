"""Uvicorn around the application, and what it says when it is ready."""

import socket
import sys

import structlog
import uvicorn

from scrubjay.doors.http.app import application
from scrubjay.settings import Settings

GRACE = 10
"""Seconds that requests under way get to finish."""


class Server(uvicorn.Server):
    """Says where to look as soon as it answers, not before."""

    def __init__(self, config: uvicorn.Config, greeting: str) -> None:
        super().__init__(config)
        self._greeting = greeting

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then greet."""
        await super().startup(sockets)
        if self.started:
            print(self._greeting, flush=True)  # noqa: T201 -- a person waits for it


def run(settings: Settings, listener: socket.socket) -> None:
    """Serve on this socket until a signal says stop."""
    log_as_json()
    host, port = listener.getsockname()[:2]
    config = uvicorn.Config(
        application(settings),
        lifespan="on",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
    )
    Server(config, greeting(settings, f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")).run(
        sockets=[listener]
    )


def log_as_json() -> None:
    """One JSON object per line on stderr; a traceback without the values of its variables, which may be memories."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def greeting(settings: Settings, url: str) -> str:
    """What a person needs to know to begin."""
    records = settings.records_url
    where = records.removeprefix("sqlite:///") if records.startswith("sqlite:") else records.rsplit("@")[-1]
    told = '{"content": "Prefers tabs over spaces", "user": "u-42"}'
    return "\n".join(
        [
            f"Scrubjay is listening on {url}",
            f"  look     {url}/",
            f"  docs     {url}/docs",
            f"  data     {where}",
            f"  try      curl {url}/v1/memory -H content-type:application/json -d '{told}'",
            "No key is needed: only this machine can reach it. Ctrl-C stops it.",
        ]
    )
