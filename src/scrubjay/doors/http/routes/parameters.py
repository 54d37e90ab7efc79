"""What routes take from the path and from the query, and the pages that they answer with."""

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar, get_args
from uuid import UUID

from fastapi import Path, Query, params
from pydantic import BaseModel, ConfigDict, Field, create_model

from scrubjay.doors.http.bodies.body import Body, Place
from scrubjay.doors.http.values import answer

Id: TypeAlias = Annotated[str, Path(description="A memory's id, or the id of your own that you gave it.")]
Where: TypeAlias = Annotated[Place, Query()]


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


def read_as_text(endpoint: Endpoint) -> Endpoint:
    """Let the query of this endpoint be read from text: `5` and `true` come as nothing else there, unlike in a body."""
    signature = inspect.signature(endpoint)
    taken = [one.replace(annotation=_from_text(one.annotation)) for one in signature.parameters.values()]
    endpoint.__signature__ = signature.replace(parameters=taken)  # type: ignore[attr-defined]  # what inspect looks for first
    return endpoint


def _from_text(annotation: Any) -> Any:  # noqa: ANN401 -- a type, as `typing` writes it
    kind, *details = get_args(annotation) or (None,)
    is_query = any(isinstance(one, params.Query) for one in details)
    if not (is_query and isinstance(kind, type) and issubclass(kind, Body)):
        return annotation
    return Annotated[(_lenient(kind), *details)]


@cache
def _lenient(kind: type[Body]) -> type[Body]:
    return type(kind.__name__, (kind,), {"__doc__": kind.__doc__, "model_config": ConfigDict(strict=False)})


def page_of(name: str, kind: type) -> type[BaseModel]:
    """The answer that holds a page of such values under this name, and where the next page begins."""
    following = Field(description="Give it as `after` for the next page; null when this was the last.")
    found: Any = {name: (answer(list[kind]), ...), "next": (UUID | None, following)}  # type: ignore[valid-type]  # known when it runs
    made: type[BaseModel] = create_model(
        f"{kind.__name__}Page", __doc__=f"Some {name}, and where the next page begins.", **found
    )
    return made


def page(name: str, found: Sequence[Any], limit: int) -> dict[str, Any]:
    """Such a page. A full one may have another behind it."""
    return {name: list(found), "next": found[-1].id if len(found) == limit else None}
