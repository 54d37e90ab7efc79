"""The client has every verb of the library, with the same parameters, and the server serves each of them there."""

import inspect
import re
import typing

import pytest

from scrubjay.client.service import RemoteScrubjay
from scrubjay.client.verb import ROUTES
from scrubjay.doors.http.app import application
from scrubjay.model import PLACE_NAMES
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings

FOR_MEMORIES = {"scoped", "filtered"}
"""What the memories that are made of the core use of it, and callers do not."""

HERE = {
    *("start", "close", "health", "workspace.record_completion", "workspace.capture", "workspace.flush"),
    *("for_tenant", "for_caller", "narrowed", "check", "examine", "reindex", "rollback", "sweep", "work.run"),
    *("workspace.watch", "access.authenticate", "access.wants_keys", "access.spend"),
    *("vectors.status", "vectors.rebuild", "vectors.mirror"),
    *("encryption.status", "encryption.rotate", "encryption.destroy"),
}
"""What a client does by itself, or leaves to whoever runs the server. All others are asked of a route."""

NEVER_SENT = {"progress", "handler", "lines"}
"""Who hears how far it is, or what happens, hears it from the client; and lines are the body itself."""


def owners():
    """The class of the core and of each memory, by the prefix of its verbs, in the library and in the client."""
    yield "", Scrubjay, RemoteScrubjay
    for name, kind in inspect.getmembers(Scrubjay, lambda one: isinstance(one, property)):
        if name != "tenant":
            theirs = typing.get_type_hints(getattr(RemoteScrubjay, name).fget)["return"]
            yield f"{name}.", typing.get_type_hints(kind.fget)["return"], theirs


def verbs_of(owner) -> set[str]:
    return {name for name, verb in inspect.getmembers(owner, inspect.isfunction) if name[0] != "_"} - FOR_MEMORIES


OWNERS = list(owners())
VERBS = [(f"{prefix}{name}", ours, theirs) for prefix, ours, theirs in OWNERS for name in sorted(verbs_of(ours))]


@pytest.mark.parametrize(("ours", "theirs"), [pair[1:] for pair in OWNERS], ids=lambda owner: owner.__name__)
def test_every_verb_is_there_and_no_other(ours, theirs):
    assert verbs_of(theirs) == verbs_of(ours)


@pytest.mark.parametrize(("name", "ours", "theirs"), VERBS, ids=[verb[0] for verb in VERBS])
def test_a_verb_takes_and_promises_the_same(name, ours, theirs):
    verb = name.rpartition(".")[2]
    ours, theirs = getattr(ours, verb), getattr(theirs, verb)
    assert list(inspect.signature(theirs).parameters) == list(inspect.signature(ours).parameters)
    assert theirs.__name__ == verb
    if verb not in ("start", "close"):
        assert theirs.__doc__ == ours.__doc__


@pytest.fixture(scope="module")
def operations(tmp_path_factory) -> dict[tuple[str, str], dict]:
    """What the server serves, by method and path without `/v1`."""
    document = application(read_settings(home=tmp_path_factory.mktemp("home"))).openapi()
    return {
        (method.upper(), path.removeprefix("/v1")): {**operation, "document": document}
        for path, offered in document["paths"].items()
        for method, operation in offered.items()
    }


def test_every_verb_has_a_route_or_a_reason():
    asked = {name for name, routes in ROUTES.items() if routes}
    assert {name for name, *_ in VERBS} == asked | HERE
    assert not asked & HERE


@pytest.mark.parametrize("name", sorted(name for name, routes in ROUTES.items() if routes))
def test_a_route_is_served_and_takes_what_the_verb_does(operations, name):
    ours = next(one for full, one, _ in VERBS if full == name)
    wanted = parameters_of(getattr(ours, name.rpartition(".")[2]))
    told = set()
    for route in ROUTES[name]:
        operation = operations[route.method, route.path]
        served = operation["x-verb"]
        assert served in (name, SERVED_TOGETHER.get(name)), f"{route.method} {route.path} serves {served}"
        names = dict(route.names)
        placed, given = in_query(operation), in_body(operation)
        for one in wanted:
            spoken = names.get(one, one).rstrip("_")
            if f"{{{spoken}}}" in route.path or one == route.many or one in NEVER_SENT:
                told.add(one)
            elif spoken in placed | given:
                told.add(one)
                has_body = route.method in ("POST", "PUT", "PATCH") and one not in route.query
                assert spoken in (given if has_body else placed), f"{one} belongs elsewhere"
    assert set(wanted) == told, "the library takes what no route does"


SERVED_TOGETHER = {
    "remember": "remember_many",
    "facts.store": "facts.store_many",
    "tasks.store_execution": "tasks.store_many",
    "episodes.store_episode": "episodes.store_many",
}
"""One thing or many: one route takes both."""


def parameters_of(verb) -> list[str]:
    """The names that a verb takes; keywords of a TypedDict are names, too."""
    names: list[str] = []
    for one in list(inspect.signature(verb).parameters.values())[1:]:
        if one.kind is one.VAR_KEYWORD:
            [keywords] = typing.get_args(one.annotation)
            names += [name for base in keywords.__mro__[:-1] for name in getattr(base, "__annotations__", {})]
        else:
            names.append(one.name)
    return list(dict.fromkeys(names))


def in_query(operation: dict) -> set[str]:
    return {one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"}


def in_body(operation: dict) -> set[str]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return set(_properties(content.get("schema", {}), operation["document"]["components"]["schemas"]))


def _properties(schema: dict, schemas: dict):
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    yield from schema.get("properties", {})
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), schema.get("items", {})):
        if one:
            yield from _properties(one, schemas)


def test_every_operation_has_a_verb_in_the_client(operations):
    served = {operation["x-verb"] for operation in operations.values() if "x-verb" in operation}
    assert served <= set(ROUTES)
    assert len(served) > 80


def test_places_are_never_forgotten(operations):
    """A verb that takes a place is told it, in the query or in the body: nothing is asked of a wider one by mistake."""
    for name, routes in ROUTES.items():
        ours = next((one for full, one, _ in VERBS if full == name), None)
        if ours is None or not {*PLACE_NAMES} <= set(parameters_of(getattr(ours, name.rpartition(".")[2]))):
            continue
        for route in routes:
            operation = operations[route.method, route.path]
            found = in_query(operation) | in_body(operation) | set(re.findall(r"{(\w+)}", route.path))
            assert {*PLACE_NAMES} <= found, f"{route.method} {route.path}"
