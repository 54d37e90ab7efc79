"""What every request passes before all else: it gets an id, and whoever watches the service gets to know of it."""

import re
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay.doors.http.access import Visit
from scrubjay.model import new_id
from scrubjay.wiring.telemetry import Telemetry

REQUEST_ID: Final = "x-request-id"

_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""An id that a caller or a proxy may choose: nothing that could be taken for another line of a log."""

_PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines ask every few seconds: they are counted, and not logged."""

UNMATCHED: Final = "unmatched"
"""The route of a request that reached none: there is nothing at its path, or it was refused before."""

_GONE: Final = 499
"""The status of a request whose caller went away before there was an answer."""


class Watched:
    """Names each request, and tells the answer's route, status and time to whoever watches."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through. Its id is in the answer, and in every line that is logged meanwhile."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _ID.fullmatch(given) else str(new_id())
        carried = {name: headers.get(name) for name in ("traceparent", "tracestate")}
        status = _GONE

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        with (
            structlog.contextvars.bound_contextvars(request_id=request_id),
            self._telemetry.request(method=scope["method"], request_id=request_id, **carried) as request,
        ):
            try:
                await self._app(scope, receive, noted)
            finally:
                route, is_shed = route_of(scope), bool(scope.get("state", {}).get("is_shed"))
                request.note(route=route, status=status, key=_key_of(scope), is_probe=route in _PROBES, is_shed=is_shed)


def _key_of(scope: Scope) -> str | None:
    """The id of the key that the request came with, which is not the key; None without one that is known."""
    visit = scope.get("state", {}).get("visit")
    return visit.key.id if isinstance(visit, Visit) and visit.key is not None else None


def route_of(scope: Scope) -> str:
    """The template of the route that was found, such as /v1/memory/{id}: a path would name what it is about."""
    # A route of an included router knows its own part only; FastAPI keeps the whole beside it, in newer versions.
    whole = scope.get("fastapi", {}).get("effective_route_context") or scope.get("route")
    return getattr(whole, "path_format", None) or getattr(whole, "path", None) or UNMATCHED
