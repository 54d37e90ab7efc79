"""How a verb of the library becomes a request: its signature says what it takes, its annotation what comes back."""

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast, get_type_hints
from urllib.parse import quote

from scrubjay.client.connection import Connection, Request
from scrubjay.client.values import read, written
from scrubjay.errors import InvalidInput, ScrubjayError, Unsupported
from scrubjay.model import DEFAULT_TENANT, PLACE_NAMES, id_of
from scrubjay.model.checks import Json, check_several, check_storable, shown
from scrubjay.write.lines import Lines

P = ParamSpec("P")
T = TypeVar("T")

LISTED: Final = frozenset({"kinds", "sections", "steps", "types"})
"""Arguments that may be one word or several, and are always sent as a list."""

PROGRESS: Final = "progress"
"""Taken by verbs that work through many things: the server does all of them in one request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a verb is served, and how it is told there what it takes."""

    method: str
    path: str
    """Under `/v1`; `{id}` is filled with the argument of that name."""
    query: tuple[str, ...] = ()
    """Arguments that stand in the query although there is a body."""
    names: tuple[tuple[str, str], ...] = ()
    """Arguments that have another name in the request."""
    many: str | None = None
    """The argument that lists what is told: it is the whole body, and each of it names its place."""
    inside: bool = False
    """Whether each of that has to lie inside the place that all of it shares."""
    holds: str | None = None
    """The field of the answer that is what the verb returns."""
    reads: bool = False
    """Whether it only reads, although it has a body."""

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.method != "GET" and not self.reads

    def request(self, given: Mapping[str, Any]) -> Request:
        """The request that asks for it with these arguments."""
        names = dict(self.names)
        told = {names.get(name, name).rstrip("_"): _told(name, value) for name, value in given.items()}
        path = self.path
        for name in list(told):
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", _segment(name, told.pop(name)))
        has_body = self.method in ("POST", "PUT", "PATCH")
        in_query = {name: told.pop(name) for name in list(told) if name in self.query or not has_body}
        body = self._listed(told) if self.many is not None else told if has_body else None
        return Request(method=self.method, path=f"/v1{path}", query=in_query, body=body, writes=self.writes)

    def _listed(self, told: dict[str, Json]) -> list[Json]:
        """What is told, each with the place that all of it shares, unless it names one of its own."""
        items = told.pop(self.many or "")
        if not isinstance(items, list):
            raise InvalidInput(f"{self.many} is {shown(items)}: give a list")
        listed: list[Json] = []
        for one in items:
            own = {"content": one} if isinstance(one, str) else _named(self.many or "", one)
            if self.inside and any(name in own and own[name] != value for name, value in told.items()):
                raise InvalidInput(f"{self.many} holds {shown(one)}, which is outside of {shown(told)}")
            listed.append({**told, **own})
        return listed


ROUTES: Final[dict[str, tuple[Route, ...]]] = {}
"""Where each verb is served, by its dotted name, such as `facts.store`. One that is served nowhere has no routes."""


OF_MEMORIES: Final = ("/memory/", "/facts/", "/workspace/completions/", "/workspace/check/")
"""Where the id of a memory stands in a path."""


def _reads_as_route(before: str, own: str) -> bool:
    """Whether a path with this id of one's own is that of something else, such as of `stats`, or of a history."""
    paths = [route.path for routes in ROUTES.values() for route in routes]
    words = {path.removeprefix(before).partition("/")[0] for path in paths if path.startswith(before)}
    endings = {path.rpartition("/")[2] for path in paths if path.startswith(f"{before}{{id}}/")}
    first, *others = own.split("/")
    return first in words or (bool(others) and others[-1] in endings)


class Remote:
    """Some verbs of a server."""

    def __init_subclass__(cls, memory: str = "") -> None:
        for name, made in vars(cls).items():
            if isinstance(routes := getattr(made, "routes", None), tuple):
                ROUTES[f"{memory}.{name}" if memory else name] = routes

    def __init__(self, connection: Connection, tenant: str = DEFAULT_TENANT) -> None:
        self._connection = connection
        self._tenant = tenant

    async def _ask(self, route: Route, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- whatever JSON it answers
        before, named, _ = route.path.partition("{id}")
        if named and before in OF_MEMORIES and isinstance(own := given.get("id"), str) and _reads_as_route(before, own):
            # Without hyphens it names what the id of one's own does, the newest version: as our own UUID, one version.
            given = {**given, "id": id_of(own, self._tenant).hex}
        return await self._connection.ask(route.request(given))

    async def _send_lines(self, route: Route, lines: Lines, where: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- whatever JSON it answers
        """Send lines as they come, to a route that reads them so."""
        if not isinstance(lines, AsyncIterable):
            check_several("lines", lines)
        asked = replace(route.request(arguments_of(where)), body=None)
        return await self._connection.send_lines(asked, _each(lines))

    def _read(self, kind: Any, value: Any, holds: str | None = None) -> Any:  # noqa: ANN401 -- a type, and its JSON
        """The value that an answer is, or that it holds. Raises Unsupported when it cannot be read."""
        try:
            return read(kind, value[holds] if holds is not None else value, self._tenant)
        except ScrubjayError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Unsupported(
                f"the server answered {shown(value)}, which this version cannot read: use the same on both sides"
            ) from error

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._connection.url}>"


def verb(
    of: Callable[Concatenate[Any, P], Awaitable[T]],
    method: str,
    path: str,
    **details: Any,  # noqa: ANN401 -- the fields of Route
) -> Callable[Concatenate[Remote, P], Coroutine[Any, Any, T]]:
    """The same verb, asked of a server."""
    route = Route(method=method, path=path, **details)
    signature = inspect.signature(of)

    async def asked(self: Remote, /, *args: P.args, **kwargs: P.kwargs) -> T:
        given, progress = arguments(signature, self, args, kwargs)
        found: T = self._read(returned(of), await self._ask(route, given), route.holds)
        if progress is not None:
            progress(len(found) if isinstance(found, Sequence) else 1)
        return found

    return cast("Callable[Concatenate[Remote, P], Coroutine[Any, Any, T]]", like(of, route)(asked))


def elsewhere(of: Callable[Concatenate[Any, P], T], why: str) -> Callable[Concatenate[Remote, P], T]:
    """A verb that no server can do for its caller. Calling it raises Unsupported, which says why and what to do."""

    def refused(self: Remote, /, *_: P.args, **__: P.kwargs) -> T:  # noqa: ARG001 -- it is called as the verb is
        raise Unsupported(f"`{of.__name__}` cannot be asked of a server: {why}")

    return like(of)(refused)


def arguments(
    signature: inspect.Signature, self: object, args: Iterable[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[..., Any] | None]:
    """What a verb was given, by name, without what was left open; and whom to tell how far it is."""
    bound = signature.bind(self, *args, **kwargs)
    given: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        else:
            given[name] = value
    progress = given.pop(PROGRESS, None)
    return arguments_of(given), progress


def arguments_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, without the names of the place that were left open."""
    return {name: value for name, value in given.items() if value is not None or name not in PLACE_NAMES}


def like(
    of: Callable[Concatenate[Any, P], T], *routes: Route
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """Give a function the name, the promise and the signature of the verb that it stands for, and note its routes."""

    def made_like(made: Any) -> Callable[Concatenate[Any, P], T]:  # noqa: ANN401 -- its attributes are set
        made.__name__, made.__doc__ = of.__name__, of.__doc__
        made.__qualname__ = f"Remote{of.__qualname__}"
        made.__wrapped__ = of  # so that help() shows the signature
        made.routes = routes
        return cast("Callable[Concatenate[Any, P], T]", made)

    return made_like


@cache
def returned(of: Callable[..., Any]) -> Any:  # noqa: ANN401 -- a type, as `typing` writes it
    """What a verb returns."""
    # Only this annotation is read: those of the arguments may use names that their module alone has.
    only = type(of.__name__, (), {"__annotations__": {"return": of.__annotations__["return"]}})
    return get_type_hints(only, globalns=of.__globals__, localns={"Json": Any})["return"]


async def _each(lines: Lines) -> AsyncIterator[str]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield _line(line)
    else:
        for line in lines:
            yield _line(line)


def _line(line: object) -> str:
    if not isinstance(line, str):
        raise InvalidInput(f"a line is {shown(line)}: give it as text")
    return line.rstrip("\n")


def _told(name: str, value: object) -> Json:
    return [value] if name in LISTED and isinstance(value, str) else written(name, value)


def _named(many: str, item: Json) -> dict[str, Json]:
    if not isinstance(item, dict):
        raise InvalidInput(f"{many} holds {shown(item)}: give a text, or a dict of what is known of it")
    return {name: value for name, value in item.items() if value is not None or name not in PLACE_NAMES}


def _segment(name: str, value: Json) -> str:
    """A value as one part of a path."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    if not text.strip():
        raise InvalidInput(f"{name} is {shown(value)}: give it text")
    check_storable(name, text)
    # Dots alone are a way through folders to whoever reads a path, unless they are escaped.
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")
