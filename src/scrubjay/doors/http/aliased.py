"""The same routes under a second name: /api/v1 is /v1."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

ALIAS: Final = "/api"
ROUTES: Final = "/v1/"


class Aliased:
    """Takes the alias off a path before anybody looks at it, so that both names are one route to all of them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on under the name that the routes have."""
        if scope["type"] == "http" and scope["path"].startswith(ALIAS + ROUTES):
            raw = scope.get("raw_path") or scope["path"].encode()
            scope = {**scope, "path": scope["path"][len(ALIAS) :], "raw_path": raw[len(ALIAS) :]}
        await self._app(scope, receive, send)
