"""Probes that ask with HEAD, as monitors and `wget --spider` do, are told what GET would be told, without a body."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.doors.http.access import OPEN

_PROBED: Final = OPEN | {"/"}
"""The first page is what many ask for who only want to know whether anybody is there."""


class Probed:
    """Hands HEAD on as GET, for what says how the service is doing. The server itself leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on under the method that the routes have."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"] in _PROBED:
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
