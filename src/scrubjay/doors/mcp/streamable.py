"""Streamable HTTP: many clients, each with its own key, through the same entrance as the REST service."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Final

import uvicorn
from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.doors.http.access import Needs, is_ours, visit_of
from scrubjay.doors.http.connection import Connection
from scrubjay.doors.http.entrance import add_entrance
from scrubjay.doors.http.idempotency import once_more, whole
from scrubjay.doors.http.logs import log_as_json
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.problems import problem, told, translate_errors
from scrubjay.doors.http.server import GRACE, Server
from scrubjay.doors.http.shown import shown_to
from scrubjay.doors.http.sizes import TOO_MANY, is_too_much
from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.doors.shown import Showing
from scrubjay.errors import ScrubjayError
from scrubjay.model import Where
from scrubjay.service import Scrubjay
from scrubjay.settings import Settings
from scrubjay.wiring import counter, wire

PATH: Final = "/mcp"

_READING: Final = Needs("read", "read")
_WRITING: Final = Needs("write", "write")


def application(settings: Settings, where: Where) -> FastAPI:
    """Build the service for these settings. The memory opens when it starts and closes when it stops."""
    # A request names its key, and so its memory: no session is kept between two of them, and any process may answer.
    door = Door(memory_of, where=where, shares_files=False, count=counter(settings), said=said, showing=showing)
    sessions = StreamableHTTPSessionManager(
        server_of(door, _nothing),
        json_response=True,
        stateless=True,
        max_request_body_size=settings.request_bytes,
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.opening = opening = Opening(wire(settings), settings)
        app.state.leaving = asyncio.Event()
        async with opening.kept(), sessions.run():
            yield

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    # The server never speaks first, so there is no stream to listen to.
    tools = Measured(StreamableHTTPASGIApp(sessions))
    app.router.routes.append(Route(PATH, endpoint=SameOrigin(tools), methods=["POST"]))
    add_entrance(app, settings)
    translate_errors(app)
    return app


async def memory_of(request: object, *, writes: bool) -> Scrubjay:
    """The memory that this request may use: that of its key. Raises Forbidden and TooManyRequests."""
    assert isinstance(request, Request)  # noqa: S101 -- this transport has one for every message
    return await (_WRITING if writes else _READING).admit(request)


def said(error: ScrubjayError, request: object) -> str:
    """What an error says to whoever made this request."""
    return str(error) if isinstance(request, Request) and visit_of(request).is_operator else told(error)


def showing(request: object) -> Showing:
    """What a write shows whoever made this request of what others told."""
    assert isinstance(request, Request)  # noqa: S101 -- this transport has one for every message
    return shown_to(request)


class Measured:
    """Reads what was sent as a whole, refuses what nobody could read in time, and lets each tenant have its turns."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        visit = visit_of(Request(scope))
        async with visit.received(Headers(scope=scope), partial(whole, receive)) as body:
            if is_too_much(body):
                detail, path = f"the body holds {TOO_MANY}", scope["path"]
                await problem(kind="ContentTooLarge", status=413, detail=detail, path=path)(scope, receive, send)
                return
            async with visit.turns.taken(visit.key.tenant, "read") if visit.key is not None else nullcontext():
                # Whoever listens to a stream wants to hear when the other end hangs up.
                await self._app(scope, once_more(body, then=receive), send)


class SameOrigin:
    """Refuses what a page of somebody else makes a browser send. Programs that are no browsers name no origin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        headers = Headers(scope=scope)
        if not is_ours(headers):
            detail = (
                f"the origin is {headers['origin'][:80]!r}: only pages of this server and of this machine are served"
            )
            await problem(kind="Forbidden", status=403, detail=detail, path=scope["path"])(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def _nothing() -> None:
    """The memory closes with the application, not with a session."""


def run(settings: Settings, where: Where, listener: socket.socket, *, wants_keys: bool) -> None:
    """Serve on this socket until a signal says stop."""
    log_as_json(settings.log_level)
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    config = uvicorn.Config(
        application(settings, where),
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        http=Connection,
        ws="none",
    )
    Server(config, _greeter(f"{url}{PATH}", wants_keys=wants_keys)).run(sockets=[listener])


def _greeter(url: str, *, wants_keys: bool) -> Callable[[], None]:
    who = (
        "Every request needs a key: `scrubjay keys create NAME` makes one."
        if wants_keys
        else "No key is needed: only this machine can reach it."
    )

    def greet() -> None:
        print(f"Scrubjay serves MCP on {url}\n{who} Ctrl-C stops it.", flush=True)  # noqa: T201 -- a person waits for it

    return greet
