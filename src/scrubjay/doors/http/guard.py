"""What every request passes first: how much may be sent, how long it may take, and what happens when we are wrong."""

import asyncio
from typing import Final

import structlog
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.doors.http.problems import problem, problem_of
from scrubjay.errors import TookTooLong, Unavailable
from scrubjay.model.access import HELD

log = structlog.get_logger("scrubjay.http")

HEAVY: Final = 10
"""How much longer a request may take that works through much of the memory."""

_DIGITS: Final = 18
"""Of a length that may be true: no server hands on a request with more."""

IN_BROWSERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer tells a browser: it loads nothing from elsewhere, and no other page may show it in a frame, where a
click that was meant for something else would send a form. The pages' own scripts and styles stand in them."""

STREAMED: Final = 1024 * 1024 * 1024
"""Bytes of a body that is read line by line, and never held as a whole."""


class Allowance:
    """What one request may still send, and until when it has to be answered. A route may ask for more of both."""

    def __init__(self, most_bytes: int, seconds: float, deadline: asyncio.Timeout) -> None:
        self.most_bytes = most_bytes
        self._seconds = seconds
        self._deadline = deadline

    def widen(self) -> None:
        """More time, for what works through much of the memory."""
        self._deadline.reschedule(asyncio.get_running_loop().time() + HEAVY * self._seconds)

    def stream(self) -> None:
        """More bytes, for a body that is read line by line."""
        self.most_bytes = max(self.most_bytes, STREAMED)

    def answering(self) -> None:
        """The answer has begun: however long it streams, it is being given."""
        self._deadline.reschedule(None)


class Guard:
    """Refuses large bodies, gives up on what takes too long, and turns what nobody expected into a logged problem.

    A request that is cut short because the service stops is answered with a 503: it may be sent again.
    """

    def __init__(self, app: ASGIApp, *, most_bytes: int, seconds: float) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, answering, told = Request(scope), False, _safe_in_browsers(send)

        async def noted(message: Message) -> None:
            nonlocal answering
            if not answering:
                answering = True
                allowance.answering()
            await told(message)

        try:
            async with asyncio.timeout(self._seconds) as deadline:
                allowance = Allowance(self._most_bytes, self._seconds, deadline)
                scope.setdefault("state", {})["allowance"] = allowance
                await self._app(scope, _counted(request, receive, allowance), noted)
        except asyncio.CancelledError:
            if answering or not scope["app"].state.leaving.is_set():
                raise
            log.warning("request was cut short: the service stops", method=request.method, path=request.url.path)
            await problem_of(_cut_short(request), request.url.path)(scope, receive, told)
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired() and not answering:
                log.warning("request took too long", method=request.method, path=request.url.path)
                await problem_of(TookTooLong(), request.url.path)(scope, receive, told)
                return
            log.exception("request failed", method=request.method, path=request.url.path)
            if answering:
                raise
            failure = problem(
                kind="InternalServerError",
                status=500,
                detail="something went wrong inside Scrubjay: the server's log has the details. Please report it",
                path=request.url.path,
            )
            await failure(scope, receive, told)


def _safe_in_browsers(send: Send) -> Send:
    """The same, with what every answer tells a browser."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(IN_BROWSERS)
        await send(message)

    return told


def _cut_short(request: Request) -> Unavailable:
    # Nobody knows how much was done, so nothing lets go of the name before its time is over.
    held = f", and its Idempotency-Key is held for {HELD.total_seconds():g} seconds"
    return Unavailable(
        "the service is being stopped, and this request was not done in time: send it again in a moment. What of it "
        f"was stored already is kept{held if 'idempotency-key' in request.headers else ''}"
    )


def _counted(request: Request, receive: Receive, allowance: Allowance) -> Receive:
    """The same, up to what is allowed. Nothing is refused before somebody wants the body: a route may allow more."""
    declared = request.headers.get("content-length", "0")
    announced = int(declared) if declared.isascii() and declared.isdecimal() and len(declared) <= _DIGITS else 0
    came = 0

    async def counted() -> Message:
        nonlocal came
        if announced > allowance.most_bytes:
            raise _too_large(allowance)
        message = await receive()
        came += len(message.get("body", b""))
        if came > allowance.most_bytes:
            raise _too_large(allowance)
        return message

    return counted


def _too_large(allowance: Allowance) -> HTTPException:
    detail = f"the body is larger than {allowance.most_bytes:,} bytes: send it in several requests"
    return HTTPException(413, detail)
