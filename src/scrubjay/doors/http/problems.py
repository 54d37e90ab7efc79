"""Errors as problem details (RFC 9457): which field, its value, and the remedy."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from scrubjay.errors import (
    ChatUnavailable,
    EmbedderUnavailable,
    InvalidInput,
    Misconfigured,
    Overloaded,
    RerankerUnavailable,
    ScrubjayError,
    StoreUnavailable,
    TooManyRequests,
    Unauthenticated,
    UnderWay,
)
from scrubjay.model.access import HELD
from scrubjay.model.checks import shown, zoned
from scrubjay.model.remedies import wanted

log = structlog.get_logger("scrubjay.http")

MEDIA_TYPE = "application/problem+json"

_FIELD_SHOWN = 80
"""Characters of a field's path that a message shows; `data` may be nested deeply."""

MOST_FAULTS: Final = 100
"""Of one request that are told. A small body can hold thousands, and everybody else would wait for the last of them."""


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    field: str = Field(examples=["importance"])
    value: str | None = Field(default=None, description="As it was given, cut when it is long.", examples=["7"])
    message: str = Field(examples=["importance is 7: use a number from 0 to 1"])


class Problem(BaseModel):
    """What went wrong and what to do, for a program and for a person."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:scrubjay:error:invalid-input",
                    "title": "Invalid input",
                    "status": 400,
                    "detail": "importance is 7.0: use a number from 0 to 1",
                    "instance": "/v1/memory",
                }
            ]
        }
    )

    type: str = Field(description="Names the kind of error; it never changes.")
    title: str = Field(description="The kind of error, in words.")
    status: int
    detail: str = Field(description="What was wrong, with the value, and what to do.")
    instance: str | None = Field(default=None, description="The path that was asked for.")
    errors: list[Fault] | None = Field(
        default=None, description="Each fault by itself, when several fields may be wrong."
    )


class ProblemResponse(JSONResponse):
    """A problem as the answer to a request."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:  # noqa: ANN401 -- Starlette's own signature
        """Write it in ASCII: a message may quote characters that UTF-8 cannot hold."""
        return json.dumps(content).encode()


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem: what was wrong, with the value, and what to do.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""For the OpenAPI document: every route may answer with a problem."""


def problem(
    *, kind: str, status: int, detail: str, path: str | None = None, errors: Sequence[Fault] = ()
) -> ProblemResponse:
    """Build the answer. `kind` is an error's name, such as NotFound."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()
    content = Problem(
        type=f"urn:scrubjay:error:{words.replace(' ', '-')}",
        title=words.capitalize(),
        status=status,
        detail=detail,
        instance=path,
        errors=list(errors) or None,
    )
    return ProblemResponse(content.model_dump(exclude_none=True), status_code=status)


def translate_errors(app: FastAPI) -> None:
    """Make every error of this application a problem."""
    app.add_exception_handler(ScrubjayError, _from_scrubjay)
    app.add_exception_handler(RequestValidationError, _from_validation)
    app.add_exception_handler(HTTPException, _from_http)


def problem_of(error: ScrubjayError, path: str, *, to_operator: bool = False) -> ProblemResponse:
    """The answer that says what the error says, as far as whoever asks may know it."""
    detail = str(error) if to_operator else told(error)
    answer = problem(kind=type(error).__name__, status=error.status, detail=detail, path=path)
    answer.headers.update(_HEADERS.get(type(error), {}))
    return answer


def told(error: ScrubjayError) -> str:
    """What the error says to strangers: nothing of where the stores are and what they answered. The log has that."""
    if not isinstance(error, _OF_THE_HOUSE):
        return str(error)
    log.warning("a request met a fault of the installation", kind=type(error).__name__, error=str(error))
    # The docstring is the message of an error of which no more is known.
    return f"{type(error)()} Whoever runs the service finds the details in its log."


_OF_THE_HOUSE: Final = (
    StoreUnavailable,
    EmbedderUnavailable,
    ChatUnavailable,
    RerankerUnavailable,
    Misconfigured,
)
"""Errors that speak of addresses, files and settings."""

_HEADERS: Final[dict[type[ScrubjayError], dict[str, str]]] = {
    Unauthenticated: {"WWW-Authenticate": 'Bearer realm="scrubjay"'},
    UnderWay: {"Retry-After": f"{HELD.total_seconds() / 4:.0f}"},
    TooManyRequests: {"Retry-After": "1"},
    Overloaded: {"Retry-After": "1"},
}


async def _from_scrubjay(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, ScrubjayError)  # noqa: S101 -- what it is registered for
    visit = getattr(request.state, "visit", None)
    return problem_of(error, request.url.path, to_operator=visit is not None and visit.is_operator)


async def _from_validation(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- what it is registered for
    faults, more = _faults(error), len(error.errors()) - MOST_FAULTS
    told = [fault.message for fault in faults] + ([f"{more:,} more were found: mend these first"] if more > 0 else [])
    return problem(
        kind="InvalidInput",
        status=InvalidInput.status,
        detail="; ".join(told),
        path=request.url.path,
        errors=faults,
    )


async def _from_http(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 -- what it is registered for
    method, path = request.method, request.url.path
    match error.status_code:
        case 404:
            kind, detail = "NoSuchRoute", f"there is nothing at {path}: see /docs for what there is"
        case 405:
            allowed = (error.headers or {}).get("Allow", "another method")
            kind, detail = "MethodNotAllowed", f"{path} does not take {method}: use {allowed}, as /docs shows"
        case 413:
            kind, detail = "ContentTooLarge", error.detail
        case _:
            kind, detail = "BadRequest", f"the request cannot be read ({error.detail}): send JSON in UTF-8"
    answer = problem(kind=kind, status=error.status_code, detail=detail, path=path)
    answer.headers.update(error.headers or {})
    return answer


def _faults(error: RequestValidationError) -> list[Fault]:
    """What is wrong, each field once: of what can be written in several ways, pydantic tells of every one of them."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in error.errors()[:MOST_FAULTS]:
        found.setdefault(_field(one, error.body), []).append(one)
    # Whatever is wrong inside a value was written in that way; the other ways say only that it was not in theirs.
    inner = [field for field in found if not any(other.startswith(f"{field}.") for other in found)]
    return [_joined([_fault(field, one) for one in _meant(found[field])]) for field in inner]


def _field(error: Mapping[str, Any], body: object) -> str:
    """The field as the caller wrote it."""
    # FastAPI begins with where it looked, and pydantic names the ways to write a value: nothing a reader needs.
    section, *places = error["loc"]
    names: list[str] = []
    for number, place in enumerate(places, 1):
        is_missing = error["type"] == "missing" and number == len(places)
        if section != "body" or is_missing or _holds(body, place):
            names.append(str(place))
            body = body[place] if _holds(body, place) else None  # type: ignore[index]  # it holds it
    return ".".join(names)[:_FIELD_SHOWN] or section


def _holds(value: object, place: object) -> bool:
    return (isinstance(value, Mapping) and place in value) or (
        isinstance(value, list) and isinstance(place, int) and place < len(value)
    )


def _meant(errors: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those of one field that speak of the way in which it was written, as far as that can be told."""
    return [one for one in errors if not one["type"].endswith("_type")] or errors


def _joined(faults: Sequence[Fault]) -> Fault:
    first, *others = faults
    said = f"{first.field} is {first.value}: use "
    remedies = dict.fromkeys(one.message.removeprefix(said) for one in others if one.message != first.message)
    return first.model_copy(update={"message": ", or ".join([first.message, *remedies])})


def _fault(field: str, error: Mapping[str, Any]) -> Fault:
    """One of FastAPI's findings in our words: the field, the value, the remedy."""
    value = shown(error["input"])
    if isinstance(error["input"], bytes):
        return Fault(field="body", message="the body is not declared as JSON: send Content-Type: application/json")
    match error["type"]:
        case "missing":
            remedy = "send a JSON object" if field == "body" else "give it"
            return Fault(field=field, message=f"{field} is missing: {remedy}")
        case "extra_forbidden":
            message = f"{field} is not known here: remove it, or check its spelling"
        case "json_invalid":
            found = f"{error.get('ctx', {}).get('error', '')} at character {error['loc'][-1]}"
            return Fault(field="body", message=f"the body is not JSON: {found}")
        case "timezone_aware":
            message = f"{field} is {value} without a time zone: write it with one, such as {zoned(error['input'])}"
        case "too_long" if isinstance(error["input"], list):
            most = error["ctx"]["max_length"]
            message = f"{field} has {len(error['input']):,} items: send at most {most:,} at once"
        case "value_error":
            message = str(error["ctx"]["error"]).replace("the moment", field)
        case _ if use := wanted(error):
            message = f"{field} is {value}: use {use}"
        case _:
            message = f"{field} is {value}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    return Fault(field=field, value=value, message=message)
