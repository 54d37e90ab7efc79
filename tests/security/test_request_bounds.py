"""Every list that a request carries has a bound, which the OpenAPI document says and the service keeps."""

import httpx
import pytest

from scrubjay.doors.http.app import application
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter, Scope
from scrubjay.model.query import MOST_KINDS
from scrubjay.settings import read_settings

ITEMS = "[]"
"""Stands for the items of a list in the place of a list inside it."""


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    return application(read_settings(home=tmp_path_factory.mktemp("home"), embedder="none", background=False))


@pytest.fixture(scope="module")
def document(app):
    return app.openapi()


def resolved(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def lists_in(document, schema, place=()):
    """Where lists are in what a request carries, each with its schema."""
    schema = resolved(document, schema)
    for choice in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(choice, ()):
            yield from lists_in(document, one, place)
    if schema.get("type") == "array":
        yield place, schema
        yield from lists_in(document, schema["items"], (*place, ITEMS))
    for name, inner in schema.get("properties", {}).items():
        yield from lists_in(document, inner, (*place, name))


def requests_of(document):
    """Each list of each request: the method, the path, where it is, and its schema."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                for _, schema in lists_in(document, parameter["schema"]):
                    yield method, path, "query", (parameter["name"],), schema
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for place, schema in lists_in(document, content["schema"]):
                    yield method, path, "body", place, schema


def sound(document, schema):
    """The smallest value that a schema takes."""
    schema = resolved(document, schema)
    if "enum" in schema or "const" in schema:
        return schema.get("enum", [schema.get("const")])[0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return sound(document, schema[choice][0])
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        return {name: sound(document, properties[name]) for name in schema.get("required", ())}
    return {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "array": []}.get(schema.get("type"), "x")


def holding(value, place):
    """What has this value in this place, and nothing else."""
    for step in reversed(place):
        value = [value] if step == ITEMS else {step: value}
    return value


def test_the_document_says_the_bound_of_every_list(document):
    found = list(requests_of(document))
    assert len(found) > 50
    assert [(method, path, place) for method, path, _, place, schema in found if "maxItems" not in schema] == []


async def test_a_list_that_is_too_long_is_refused_by_name(app, document):
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        for method, path, where, place, schema in requests_of(document):
            if where == "query" and schema["maxItems"] > 1_000:
                continue  # No URL is as long: the head of a request has a bound of its own.
            too_long = [sound(document, schema["items"])] * (schema["maxItems"] + 1)
            said = f"{schema['maxItems'] + 1:,}"
            sent = {"params": {place[0]: too_long}} if where == "query" else {"json": holding(too_long, place)}
            answer = await client.request(method, path, **sent)
            assert answer.status_code == 400, (method, path, place, answer.text[:500])
            assert said in answer.json()["detail"], (method, path, place, answer.text[:500])
            named = [name for name in place if name != ITEMS][-1:] or ["body"]
            assert named[0] in answer.json()["detail"]


def test_a_filter_takes_so_many_kinds_also_in_the_library():
    kinds = tuple(f"kind_{number}" for number in range(MOST_KINDS + 1))
    assert Filter(scope=Scope(), kinds=kinds[1:])
    with pytest.raises(InvalidInput, match="kinds has 101 words: use at most 100, or leave it out for all"):
        Filter(scope=Scope(), kinds=kinds)
