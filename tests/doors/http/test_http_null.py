"""A null in a body is the same as a field left out, in every optional field of every route."""

import httpx
import pytest

from scrubjay.doors.http.app import application
from scrubjay.settings import read_settings


@pytest.fixture
def app(tmp_path):
    return application(read_settings(home=tmp_path, embedder="none", background=False, limit_heavy="0"))


def resolved(document, schema):
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def single(document, schema):
    """The schema of one thing, where a body is one or a list of them."""
    schema = resolved(document, schema)
    return single(document, schema["oneOf"][0]) if "oneOf" in schema else schema


def bodies_of(document):
    """Each operation with a JSON body: its example, and the names of its optional fields."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None or "{" in path:
                continue
            schema = single(document, content["schema"])
            if example := schema.get("examples", [None])[0]:
                optional = schema["properties"].keys() - {*schema.get("required", ())}
                yield method, path, example, optional


def outcome(answer):
    return (answer.status_code, answer.json()["detail"]) if answer.is_error else "done"


async def test_null_means_left_out_in_every_optional_field_of_every_route(app):
    transport, tried = httpx.ASGITransport(app=app), 0
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        # From the first key on, every request needs one.
        key = await client.post("/v1/keys", json={"name": "all", "rights": ["read", "write", "admin"]})
        client.headers["authorization"] = f"Bearer {key.json()['text']}"
        for method, path, example, optional in bodies_of(app.openapi()):
            plain = {name: value for name, value in example.items() if name not in optional}
            expected = await client.request(method, path, json=plain)
            for name in sorted(optional):
                answer = await client.request(method, path, json={**plain, name: None})
                tried += 1
                assert outcome(answer) == outcome(expected), (method, path, name, answer.text[:300])
    assert tried > 200


async def test_a_null_that_is_a_value_stays_one(app):
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        told = {"content": "Here until the end of the year", "expires_at": "2099-12-31T00:00:00Z"}
        memory = (await client.post("/v1/memory", json=told)).json()["memory"]
        changed = (await client.patch(f"/v1/memory/{memory['id']}", json={"expires_at": None})).json()["memory"]
        assert changed.get("expires_at") is None
