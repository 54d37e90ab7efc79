"""What every request passes first: who may ask, how much may be sent, and what happens when we are wrong."""

from typing import Final

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.doors.http import is_loopback
from scrubjay.doors.http.problems import ProblemResponse, problem

log = structlog.get_logger("scrubjay.http")

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of one request: sixteen of the longest memories, or many thousand ordinary ones."""

TOO_LARGE: Final = f"the body is larger than {MOST_BYTES:,} bytes: send it in several requests"


class Guard:
    """Refuses foreign hosts and large bodies, and turns what nobody expected into a logged problem."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if (refusal := _refusal(request)) is not None:
            await refusal(scope, receive, send)
            return
        left = MOST_BYTES
        answering = False

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, TOO_LARGE)
            return message

        async def noted(message: Message) -> None:
            nonlocal answering
            answering = True
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except Exception:
            log.exception("request failed", method=request.method, path=request.url.path)
            if answering:
                raise
            failure = problem(
                kind="InternalServerError",
                status=500,
                detail="something went wrong inside Scrubjay: the server's log has the details. Please report it",
                path=request.url.path,
            )
            await failure(scope, receive, send)


def _refusal(request: Request) -> ProblemResponse | None:
    # A web page can make a browser send requests here under a name of its own that resolves to this machine. Without
    # keys, the name is what tells such a request from one that was meant for us.
    path, host = request.url.path, request.headers.get("host", "")
    if not is_loopback(_name(host)):
        detail = f"the host is {host[:80]!r}: without keys, only localhost and 127.0.0.1 are served"
        return problem(kind="MisdirectedRequest", status=421, detail=detail, path=path)
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > MOST_BYTES:
        return problem(kind="ContentTooLarge", status=413, detail=TOO_LARGE, path=path)
    return None


def _name(host: str) -> str:
    """The host without its port."""
    return host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
