"""Probes that ask with HEAD, as monitors and `wget --spider` do, are told what GET would be told, without a body."""

from starlette.types import ASGIApp, Receive, Scope, Send

from scrubjay.doors.http.access import OPEN


class Probed:
    """Hands HEAD on as GET, for what says how the service is doing. The server itself leaves the body out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on under the method that the routes have."""
        if scope["type"] == "http" and scope["method"] == "HEAD" and scope["path"] in OPEN:
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
