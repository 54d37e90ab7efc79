"""A route that asks for the right, the allowance and a turn before it reads what was sent."""

import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Any, get_args, get_origin

from fastapi import Request, Response
from fastapi._compat import ModelField
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from scrubjay.doors.http.access import Needs, visit_of
from scrubjay.doors.http.sizes import TOO_MANY, is_too_much
from scrubjay.off_loop import LARGE, off_loop


class Admitted(APIRoute):
    """A route whose body is neither held nor read for those who may not send it.

    FastAPI by itself reads a body first, and asks for what the route depends on afterwards.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request: as FastAPI does it, behind what has to come first."""
        answer = super().get_route_handler()
        needs = [one.call for one in self.dependant.dependencies if isinstance(one.call, Needs)]
        body = self.dependant.body_params[0] if self.dependant.body_params else None
        once = frozenset(_taken_once(self.dependant.query_params))

        async def answered(request: Request) -> Response:
            for one in needs:
                await one(request, None, None)
            _check_once(request, once)
            async with _body_of(request) if body is not None else nullcontext(), _turn_of(request):
                if body is not None:
                    await _read(request, body)
                return await answer(request)

        return answered


def _taken_once(fields: Sequence[ModelField]) -> Iterator[str]:
    """The names in a query that have one value: all but lists."""
    for field in fields:
        kind = field.field_info.annotation
        inside = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else None
        for name, info in (inside if inside is not None else {field.alias: field.field_info}).items():
            if not _is_list(info.annotation):
                yield info.alias or name


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list or any(map(_is_list, get_args(kind)))


def _check_once(request: Request, once: AbstractSet[str]) -> None:
    """Refuse a name that was given twice: the one value that is taken may not be the one that was meant."""
    query = request.query_params
    for name in query:
        if name in once and len(given := query.getlist(name)) > 1:
            found = {"type": "repeated", "loc": ("query", name), "input": given, "msg": "give it once"}
            raise RequestValidationError([found])


def _body_of(request: Request) -> AbstractAsyncContextManager[bytes]:
    return visit_of(request).received(request.headers, partial(_checked, request))


async def _checked(request: Request) -> bytes:
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise HTTPException(400, "the body broke off") from error
    if await off_loop(len(body), is_too_much, body):
        raise HTTPException(413, f"the body holds {TOO_MANY}")
    return body


async def _read(request: Request, field: ModelField) -> None:
    """Read a large body on a thread. What it holds is checked there, and FastAPI finds it checked already."""
    body = await request.body()
    if len(body) > LARGE and request.headers.get("content-type", "").partition(";")[0].strip().endswith("json"):
        request._json = await off_loop(len(body), _checked_json, field, body)  # noqa: SLF001 -- where `json` looks first


def _checked_json(field: ModelField, body: bytes) -> object:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        if not isinstance(error, json.JSONDecodeError):
            raise HTTPException(400, "There was an error parsing the body") from error
        found = {"type": "json_invalid", "loc": ("body", error.pos), "input": {}, "ctx": {"error": error.msg}}
        raise RequestValidationError([found]) from error
    checked, errors = field.validate(given, loc=("body",))
    if errors:
        raise RequestValidationError(errors, body=given)
    return checked


def _turn_of(request: Request) -> AbstractAsyncContextManager[None]:
    visit = visit_of(request)
    return visit.turns.taken(visit.key.tenant, visit.kind) if visit.key is not None else nullcontext()
