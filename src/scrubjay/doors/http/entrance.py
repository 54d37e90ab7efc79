"""What stands before the routes, in the order in which a request meets it: bounds, key, allowance, once."""

from fastapi import FastAPI, Request, Response
from starlette.middleware.gzip import GZipMiddleware

from scrubjay.doors.http.access import Doorkeeper
from scrubjay.doors.http.conditional import NotModified
from scrubjay.doors.http.guard import Guard
from scrubjay.doors.http.idempotency import Idempotency
from scrubjay.settings import Settings

_SMALL = 1_024
"""Bytes of an answer that are sent as they are: packing them saves nothing."""

_EFFORT = 4
"""Of packing: nobody else is answered meanwhile. The most would take seven times as long, and save 4 % of the bytes."""


def add_entrance(app: FastAPI, settings: Settings) -> None:
    """Let no request through to the routes but by this way."""
    # The one that is added last is met first.
    app.add_middleware(Idempotency)
    app.add_middleware(Doorkeeper, host=settings.host, turns=settings.turns, longest_wait=settings.longest_wait)
    app.add_middleware(GZipMiddleware, minimum_size=_SMALL, compresslevel=_EFFORT)
    app.add_middleware(Guard, most_bytes=settings.request_bytes, seconds=settings.request_seconds)
    app.add_exception_handler(NotModified, _not_modified)


async def _not_modified(_request: Request, error: Exception) -> Response:
    assert isinstance(error, NotModified)  # noqa: S101 -- what it is registered for
    return Response(status_code=304, headers={"ETag": error.etag})
