"""Bad requests get one clear answer: a problem that names the field, the value and the remedy."""

import re

import httpx
import pytest

from scrubjay.doors.http.problems import MOST_FAULTS, Problem
from scrubjay.settings import Settings

MOST_BYTES = Settings.model_fields["request_bytes"].default
CHUNK = b" " * 65_536


def problem_of(answer: httpx.Response) -> Problem:
    assert answer.headers["content-type"] == "application/problem+json"
    found = Problem.model_validate(answer.json())
    assert found.status == answer.status_code
    assert found.instance == answer.request.url.path
    return found


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "content is missing"),
        ({"content": ""}, "content is ''"),
        ({"content": 7}, "content is 7: use text"),
        ({"content": "x", "usr": "y"}, "usr is not known here"),
        ({"content": "x", "tenant": "other"}, "tenant is not known here"),
        ({"content": "x", "importance": "high"}, "importance is 'high': use a number, such as 0.5"),
        ({"content": "x", "importance": 7}, "importance is 7"),
        ({"content": "x", "kind": "No Kind"}, "kind is 'No Kind'"),
        ({"content": "x", "trust": "blind"}, "trust is 'blind': use one of told"),
        ({"content": "x", "user": ""}, "user is ''"),
        ({"content": "x", "user": "\ud800"}, "user holds half of a surrogate pair"),
        ({"content": "\x00"}, "NUL"),
        ({"content": "x", "data": [1]}, "data is [1]: use a JSON object"),
        (
            {"content": "x", "valid_from": "2026-03-01T12:00:00"},
            "without a time zone: write it with one, such as 2026-03",
        ),
        (
            {"content": "x", "valid_from": "yesterday"},
            "valid_from is 'yesterday': use a moment with its zone, such as 2026-",
        ),
        ({"content": "x", "derived_from": ["nothing-known"]}, "derived_from names"),
        ([{"content": "x"}, {"contents": "y"}], "1.content is missing"),
        ({"content": "x", "encrypt": True}, "encrypt is true"),
        ({"content": "x", "kind": "checkpoint"}, "kind is 'checkpoint', which only LangGraph's checkpointer keeps"),
        ("just text", "body is 'just text': use a JSON object"),
        (None, "body is None: use a JSON object"),
    ],
)
def test_a_wrong_memory(client, body, says):
    import json

    answer = client.post("/v1/memory", content=json.dumps(body), headers={"content-type": "application/json"})
    assert answer.status_code == 400
    found = problem_of(answer)
    assert says in found.detail
    assert found.type == "urn:scrubjay:error:invalid-input"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"query": "x", "limit": 0}, "limit is 0"),
        ({"query": "x", "limit": 1001}, "limit is 1001"),
        ({"query": "x", "mode": "magic"}, "mode is 'magic'"),
        ({"query": "x", "kinds": ["Not A Kind"]}, "kind is 'Not A Kind'"),
        ({"query": "x", "as_of": "2026-03-01"}, "without a time zone: write it with one, such as 2026-03-01T00:00:00Z"),
        ({"query": "x", "as_of": "nope"}, "as_of is 'nope': use a moment with its zone"),
        ({"query": "x", "as_of": "2026"}, "as_of is '2026': write it out, such as 2026-03-01T12:00:00Z"),
        ({"query": "x", "as_of": 7}, "as_of is 7: write it out, such as"),
        ({"query": "x", "as_of": []}, "as_of is []: use a JSON object, or a moment with its zone"),
        ({"query": "x", "as_of": {"known": "nope"}}, "as_of.known is not known here"),
        ({"query": "x", "data": {"a..b": 1}}, "a..b"),
        ({"query": "x", "least_similarity": 2}, "least_similarity is 2"),
        ({"query": 3}, "query is 3"),
    ],
)
def test_a_wrong_question(client, body, says):
    answer = client.post("/v1/memory/recall", json=body)
    assert answer.status_code == 400
    assert says in problem_of(answer).detail


@pytest.mark.parametrize("query", ["", " ", "🐦", '"', "a AND OR NOT (", "' OR 1=1 --", "日本語", "x" * 100_000, "*"])
def test_every_question_is_safe(client, query):
    assert client.post("/v1/memory/recall", json={"query": query}).status_code == 200
    assert client.post("/v1/memory/context", json={"query": query}).status_code == 200


def test_a_field_is_named_as_it_was_written_and_once(client):
    """Whatever can be written in several ways: pydantic tells of each, under names of its own."""
    wrong = {"as_of": {"known_at": "nope", "valid_at": 7}, "limit": "many"}
    found = problem_of(client.post("/v1/memory/recall", json={"query": "x", **wrong}))
    assert sorted(fault.field for fault in found.errors) == ["as_of.known_at", "as_of.valid_at", "limit"]
    for messages, says in (
        (["Hello", 7], "messages.1 is 7: use text, or a JSON object"),
        (["Hello", {"x": 1}], "messages.1.x is not known here: remove it, or check its spelling"),
    ):
        found = problem_of(client.post("/v1/working/messages", json={"session": "s", "messages": messages}))
        assert [fault.message for fault in found.errors] == [says]


def test_every_fault_is_listed(client):
    answer = client.post("/v1/memory", json={"importance": "high", "usr": "y"})
    found = problem_of(answer)
    assert [fault.field for fault in found.errors] == ["content", "importance", "usr"]


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/memory", [{}] * 10_000, "0.content is missing: give it"),
        ("/v1/memory/recall", {"kinds": [1] * 90_000}, "kinds.0 is 1: use text"),
        ("/v1/memory/recall", dict.fromkeys(map(str, range(90_000)), 1), "an object has 90,000 names"),
        ("/v1/working/messages", {"session": "s", "messages": [7] * 90_000}, "messages.0 is 7: use text"),
    ],
    ids=["objects", "texts", "names", "either"],
)
def test_very_many_faults_are_not_all_told(client, path, body, says):
    """Nobody else is answered while faults are written down, and each takes a kilobyte."""
    [fault] = problem_of(client.post(path, json=body)).errors
    assert says in fault.message


def test_of_many_faults_the_first_are_told(client):
    found = problem_of(client.post("/v1/memory/recall", json=dict.fromkeys((f"x{number}" for number in range(900)), 1)))
    assert len(found.errors) == MOST_FAULTS
    assert found.detail.endswith("; 800 more were found: mend these first")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/v1/memory?limit=0", None, 400, "limit is 0"),
        ("GET", "/v1/memory?kidns=fact", None, 400, "kidns is not known here"),
        ("GET", "/v1/memory?since=2026", None, 400, "since is '2026': write it out, such as"),
        ("GET", "/v1/memory/history?key=nothing", None, 404, "there is no memory with the key 'nothing' in global"),
        ("GET", "/v1/memory?order=random", None, 400, "order is 'random'"),
        ("GET", "/v1/memory/nothing-here", None, 404, "there is no memory nothing-here"),
        ("GET", "/v1/memory/nothing-here/history", None, 404, "there is no memory nothing-here"),
        ("DELETE", "/v1/memory/nothing-here", None, 404, "there is nothing to forget"),
        ("DELETE", "/v1/memory/nothing-here?purge=perhaps", None, 400, "purge is 'perhaps'"),
        ("PATCH", "/v1/memory/nothing-here", {"content": "x"}, 404, "there is no memory"),
        ("PATCH", "/v1/memory/nothing-here", {}, 400, "update got nothing"),
        ("PATCH", "/v1/memory/nothing-here", {"id": "x"}, 400, "id is not known here"),
        ("POST", "/v1/memory/context", {"budget": 0}, 400, "budget is 0"),
        ("PUT", "/v1/memory", {}, 405, "does not take PUT: use "),
        ("GET", "/v1/memory/recall?query=tabs", None, 405, "/v1/memory/recall does not take GET: use POST"),
        ("GET", "/v1/memory/context", None, 405, "does not take GET: use POST"),
        ("GET", "/v1/memory/no-such-id", None, 404, "there is no memory no-such-id"),
        ("GET", "/v2/memory", None, 404, "there is nothing at /v2/memory"),
    ],
)
def test_a_wrong_request(client, method, path, body, status, says):
    answer = client.request(method, path, json=body)
    assert answer.status_code == status
    assert says in problem_of(answer).detail


def test_an_id_that_is_taken(client, user, remember):
    remember("The first", id=f"own-{user}")
    answer = client.post("/v1/memory", json={"content": "The second", "user": user, "id": f"own-{user}"})
    assert answer.status_code == 409
    assert problem_of(answer).type == "urn:scrubjay:error:id-taken"


def test_what_is_not_json(client):
    broken = client.post("/v1/memory", content='{"content": ', headers={"content-type": "application/json"})
    assert broken.status_code == 400
    assert re.search(r"the body is not JSON: .* at character 12", problem_of(broken).detail)
    nothing = client.post("/v1/memory", headers={"content-type": "application/json"})
    assert "body is missing: send a JSON object" in problem_of(nothing).detail
    form = client.post("/v1/memory", content='{"content": "x"}', headers={"content-type": "text/plain"})
    assert form.status_code == 400
    assert "Content-Type: application/json" in problem_of(form).detail


@pytest.mark.parametrize("depth", [500, 90_000])
def test_nesting_without_end(client, depth):
    body = '{"content": "x", "data": ' + '{"a":' * depth + "1" + "}" * depth + "}"
    answer = client.post("/v1/memory", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert len(problem_of(answer).detail) < 500


def test_a_body_that_is_too_large(client):
    declared = client.post("/v1/memory", content=b" " * (MOST_BYTES + 1), headers={"content-type": "application/json"})
    assert declared.status_code == 413
    problem_of(declared)


def test_a_body_that_never_ends(client):
    chunks = (CHUNK for _ in range(MOST_BYTES // len(CHUNK) + 2))
    answer = client.post("/v1/memory", content=chunks, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert problem_of(answer).type == "urn:scrubjay:error:content-too-large"


@pytest.mark.parametrize("host", ["attacker.example", "attacker.example:80", "192.168.1.7", ""])
def test_a_foreign_host_is_refused(client, host):
    answer = client.get("/v1/memory", headers={"host": host})
    assert answer.status_code == 421
    problem_of(answer)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:7285"])
def test_this_machine_has_several_names(client, host):
    assert client.get("/healthz", headers={"host": host}).status_code == 200
