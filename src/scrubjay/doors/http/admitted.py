"""A route that asks for the right, the allowance and a turn before it reads what was sent."""

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from scrubjay.doors.http.access import Needs, visit_of
from scrubjay.doors.http.sizes import TOO_MANY, is_too_much


class Admitted(APIRoute):
    """A route whose body is neither held nor read for those who may not send it.

    FastAPI by itself reads a body first, and asks for what the route depends on afterwards.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request: as FastAPI does it, behind what has to come first."""
        answer = super().get_route_handler()
        needs = [one.call for one in self.dependant.dependencies if isinstance(one.call, Needs)]
        reads_body = self.body_field is not None

        async def answered(request: Request) -> Response:
            for one in needs:
                await one(request, None, None)
            async with _body_of(request) if reads_body else nullcontext(), _turn_of(request):
                return await answer(request)

        return answered


def _body_of(request: Request) -> AbstractAsyncContextManager[bytes]:
    return visit_of(request).received(request.headers, partial(_checked, request))


async def _checked(request: Request) -> bytes:
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise HTTPException(400, "the body broke off") from error
    if is_too_much(body):
        raise HTTPException(413, f"the body holds {TOO_MANY}")
    return body


def _turn_of(request: Request) -> AbstractAsyncContextManager[None]:
    visit = visit_of(request)
    return visit.turns.taken(visit.key.tenant, visit.kind) if visit.key is not None else nullcontext()
