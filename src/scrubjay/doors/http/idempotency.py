"""Idempotency-Key: a write that is sent again, because its answer was lost, is done once and answered alike."""

from functools import partial
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.doors.http.access import Visit
from scrubjay.doors.http.problems import problem, problem_of
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.access import Answer
from scrubjay.model.checks import shown
from scrubjay.off_loop import off_loop

HEADER: Final = "idempotency-key"

MOST_CHARACTERS: Final = 255

_WRITES: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_KEPT_HEADERS: Final = ("content-type", "etag", "location")
_STREAMED: Final = "application/x-ndjson"
"""The type of a body that is read line by line. Importing the same lines twice stores them once by itself."""

_MOST_BYTES: Final = 1024 * 1024
"""Of an answer that is held to be kept; a larger one is only known to have been given."""


class Idempotency:
    """Gives the answer of the first request to every later one with the same Idempotency-Key and the same body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        visit: Visit | None = scope.get("state", {}).get("visit")
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        name = headers.get(HEADER)
        streamed = headers.get("content-type", "").startswith(_STREAMED)
        if name is None or visit is None or streamed or scope["method"] not in _WRITES:
            await self._app(scope, receive, send)
            return
        try:
            _check(name)
            async with visit.received(headers, partial(whole, receive)) as body:
                # Whoever sends a large answer in pieces wants to hear when the other end hangs up.
                await self._once(scope, once_more(body, then=receive), send, visit, name, body)
        except ScrubjayError as error:
            await problem_of(error, scope["path"])(scope, receive, send)
        except HTTPException as error:
            refused = problem(kind="ContentTooLarge", status=error.status_code, detail=error.detail, path=scope["path"])
            await refused(scope, receive, send)

    async def _once(self, scope: Scope, receive: Receive, send: Send, visit: Visit, name: str, body: bytes) -> None:
        once = visit.jay.access.once
        claim = await off_loop(len(body), once.claim, name, _said(scope, body))
        before = await once.begin(claim)
        if before is not None:
            given = Response(before.body, status_code=before.status, headers=dict(before.headers))
            given.headers["Idempotency-Replayed"] = "true"
            await given(scope, receive, send)
            return
        heard = _Heard(send)
        try:
            async with once.held(claim):
                await self._app(scope, receive, heard)
        except Exception:
            await once.abandon(claim)
            raise
        # What only reads is not kept, whatever its method; nor is what came to nothing: it may be tried again.
        if heard.is_success and visit.needs in ("write", "admin"):
            await once.finish(claim, heard.answer if not visit.is_secret else None)
        else:
            await once.abandon(claim)


class _Heard:
    """Passes an answer on, and remembers what it said."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 500
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            found = Headers(raw=message["headers"])
            self._headers = {name: found[name] for name in _KEPT_HEADERS if name in found}
        elif len(self._body) <= _MOST_BYTES:
            self._body += message.get("body", b"")
        await self._send(message)

    @property
    def is_success(self) -> bool:
        return 200 <= self._status < 300

    @property
    def answer(self) -> Answer:
        return Answer(status=self._status, headers=self._headers, body=bytes(self._body))


def _check(name: str) -> None:
    if not 1 <= len(name) <= MOST_CHARACTERS or not name.isascii() or not name.isprintable():
        raise InvalidInput(
            f"Idempotency-Key is {shown(name)}: use 1 to {MOST_CHARACTERS} printable ASCII characters, such as a UUID"
        )


def _said(scope: Scope, body: bytes) -> bytes:
    """All that makes a request another one: what is asked for, and what is sent."""
    return b"\n".join((scope["method"].encode(), scope["path"].encode(), scope["query_string"], body))


async def whole(receive: Receive) -> bytes:
    """All that is sent. One that breaks off ends there."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def once_more(body: bytes, then: Receive | None = None) -> Receive:
    """A body that was read already, given once more; after it what comes `then`, or nothing."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        return {"type": "http.disconnect"} if then is None else await then()

    return receive
