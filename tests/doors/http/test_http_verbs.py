"""Every verb of the library has a route, and the route takes what the verb takes."""

import inspect
import typing

import pytest

from scrubjay.doors.http.app import application
from scrubjay.doors.http.routes.room import verb_of
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings

OF_THE_INSTALLATION = {
    *("start", "close", "for_tenant", "for_caller", "narrowed", "scoped", "filtered"),
    *("check", "examine", "reindex", "rollback", "sweep", "vectors.status", "vectors.rebuild", "vectors.mirror"),
    *("work.run", "access.authenticate", "access.wants_keys", "access.spend"),
    *("encryption.status", "encryption.rotate", "encryption.destroy"),
}
"""What whoever runs it does on the machine itself, and what the door uses by itself."""

INSIDE_A_PROGRAM = {"workspace.record_completion", "workspace.capture", "workspace.flush", "workspace.watch"}
"""What only means something in the process that does the work: a request waits for what it told to be stored."""

ELSEWHERE = {"health": "/readyz"}

ONE_OR_MANY = {
    "remember_many": "remember",
    "tasks.store_many": "tasks.store_execution",
    "facts.store_many": "facts.store",
    "episodes.store_many": "episodes.store_episode",
}
"""Routes that take one object or a list of them, and the verb that takes one."""

NOT_SENT = {"progress", "handler", "lines", "report", "stop"}
"""Functions and objects of a program; lines come as the body itself."""

RENAMED = {"workspace.search_memories": {"repo_path": "repo", "query": "q"}, "context": {"as_": "as"}}
RENAMED["shape_context"] = RENAMED["context"]


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return application(read_settings(home=tmp_path_factory.mktemp("home"), embedder="none")).openapi()


@pytest.fixture(scope="module")
def served(document) -> dict[str, set[str]]:
    """The names that the routes of each verb take, all of them together."""
    found: dict[str, set[str]] = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            if verb := operation.get("x-verb"):
                found.setdefault(verb, set()).update(names_of(document, operation))
    return found


def names_of(document, operation) -> set[str]:
    names = {one["name"] for one in operation.get("parameters", [])}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        for one in [schema, *schema.get("oneOf", []), *schema.get("anyOf", [])]:
            known = document["components"]["schemas"].get(one.get("$ref", "").rpartition("/")[2], {})
            names |= set(known.get("properties", {}))
    return names


def verbs() -> set[str]:
    """Every verb by its dotted name."""
    found = {name for name, _ in inspect.getmembers(Scrubjay, inspect.isfunction) if not name.startswith("_")}
    for memory, kind in inspect.getmembers(Scrubjay, lambda one: isinstance(one, property)):
        owner = typing.get_type_hints(kind.fget)["return"]
        if owner is not str:
            members = inspect.getmembers(owner, inspect.isfunction)
            found |= {f"{memory}.{name}" for name, _ in members if not name.startswith("_")}
    return found


def parameters_of(verb) -> set[str]:
    names = set()
    for one in list(inspect.signature(verb).parameters.values())[1:]:
        if one.kind is one.VAR_KEYWORD:
            [keywords] = typing.get_args(one.annotation)
            names |= {name for base in keywords.__mro__[:-1] for name in getattr(base, "__annotations__", {})}
        else:
            names.add(one.name)
    return names


def test_no_verb_is_missing(served):
    left = verbs() - served.keys() - set(ONE_OR_MANY.values())
    assert left == OF_THE_INSTALLATION | INSIDE_A_PROGRAM | ELSEWHERE.keys()


def test_every_route_takes_what_its_verb_takes(served):
    missing = {}
    for verb, names in served.items():
        wanted = parameters_of(verb_of(ONE_OR_MANY.get(verb, verb))) - NOT_SENT
        renamed = RENAMED.get(verb, {})
        if left := {renamed.get(name, name) for name in wanted} - names:
            missing[verb] = left
    assert missing == {}


def test_the_document_is_complete(document):
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids)) > 100
    assert [name for name in document["components"]["schemas"] if "__" in name] == [], "every name means one thing"
    bodies = {
        reference["$ref"].rpartition("/")[2]
        for methods in document["paths"].values()
        for operation in methods.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for reference in [content["schema"], *content["schema"].get("oneOf", [])]
        if "$ref" in reference
    }
    without = [name for name in bodies if not document["components"]["schemas"][name].get("examples")]
    assert without == [], "every body has an example"
