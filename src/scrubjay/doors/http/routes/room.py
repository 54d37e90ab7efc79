"""How a verb of the library becomes a route: what it answers with follows from what it returns."""

from collections.abc import Awaitable, Callable
from functools import wraps
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar, get_type_hints

from fastapi import APIRouter
from pydantic import TypeAdapter

from scrubjay.doors.http.admitted import Admitted
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.doors.http.routes.parameters import read_as_text
from scrubjay.doors.http.streams import in_pieces
from scrubjay.doors.http.values import answer, plain, written
from scrubjay.off_loop import LARGE, off_loop, weight
from scrubjay.service import Scrubjay

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[object]])


def verb_of(name: str) -> FunctionType:
    """The verb of this dotted name, such as `recall` or `tasks.search_similar`, of whichever memory has it."""
    memory, _, verb = name.rpartition(".")
    owner = get_type_hints(getattr(Scrubjay, memory).fget)["return"] if memory else Scrubjay
    found: FunctionType = getattr(owner, verb)
    return found


def returned_by(name: str) -> Any:  # noqa: ANN401 -- a type, as `typing` writes it
    """What this verb returns. What it takes is not looked at: that may be named by words of other modules."""
    verb = verb_of(name)
    return get_type_hints(
        SimpleNamespace(__annotations__={"return": verb.__annotations__["return"]}), globalns=verb.__globals__
    )["return"]


class Room:
    """The routes of one memory. Each is a verb, named by what follows the memory's own name."""

    def __init__(self, prefix: str, *, tag: str, memory: str = "") -> None:
        self.router = APIRouter(prefix=prefix, tags=[tag], responses=RESPONSES, route_class=Admitted)
        self._tag = tag
        self._memory = memory

    def get(self, path: str, verb: str, **details: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 -- FastAPI's
        """Serve a verb that only reads."""
        return self._serve("GET", path, verb, **details)

    def post(self, path: str, verb: str, **details: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 -- FastAPI's
        """Serve a verb that is told or asked something in a body."""
        return self._serve("POST", path, verb, **details)

    def put(self, path: str, verb: str, **details: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 -- FastAPI's
        """Serve a verb that puts something in the place of what was there."""
        return self._serve("PUT", path, verb, **details)

    def patch(self, path: str, verb: str, **details: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 -- FastAPI's
        """Serve a verb that changes something."""
        return self._serve("PATCH", path, verb, **details)

    def delete(self, path: str, verb: str, **details: Any) -> Callable[[Endpoint], Endpoint]:  # noqa: ANN401 -- FastAPI's
        """Serve a verb that takes something away."""
        return self._serve("DELETE", path, verb, **details)

    def _serve(
        self,
        method: str,
        path: str,
        verb: str,
        *,
        summary: str,
        answers: Any = None,  # noqa: ANN401 -- a type, as `typing` writes it
        **details: Any,  # noqa: ANN401 -- FastAPI's own
    ) -> Callable[[Endpoint], Endpoint]:
        """Serve a verb here. `answers` is the type of the answer where it is not the one that the verb returns."""
        name = f"{self._memory}.{verb}" if self._memory else verb
        described = {"x-verb": name, **details.pop("openapi_extra", {})}
        returned = answers if answers is not None else answer(returned_by(name))
        adapter: TypeAdapter[Any] = TypeAdapter(returned)
        status = details.get("status_code", 200)

        def serve(endpoint: Endpoint) -> Endpoint:
            @wraps(read_as_text(endpoint))
            async def answered(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401 -- the endpoint's own
                found = await endpoint(*args, **kwargs)
                if (size := weight(found)) <= LARGE:
                    return plain(found)
                return in_pieces(await off_loop(size, written, adapter, found), kwargs.get("response"), status=status)

            self.router.add_api_route(
                path,
                answered,
                methods=[method],
                summary=summary,
                operation_id=f"{self._tag}_{endpoint.__name__}",
                openapi_extra=described,
                response_model=returned,
                response_model_exclude_unset=True,
                **details,
            )
            return endpoint

        return serve
