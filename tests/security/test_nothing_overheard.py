"""No answer holds what its key may not read: every operation, with every sort of key, and canaries in every field.

The operations are those of the OpenAPI document and the tools of MCP, and each is asked with all that a caller may have
got hold of: ids, keys, receipts, versions and names. So a route that is added later is walked as well.
"""

import json
from uuid import uuid4

import pytest
from fastapi.testclient import TestClient

from keyed import bearing, service
from lengths import sized
from openapi_walk import ANNA, MARK, SESSION, Owner, lines_with, operations
from scrubjay.doors.mcp import streamable
from scrubjay.settings import read_settings

STREAMS = {"events_listen"}
"""What never ends: it needs the right to read, which is asked for before it begins."""

KEYS = {
    "may only write": {"rights": ["write"]},
    "may only write for the user": {"rights": ["write"], "users": ["anna"]},
    "may only write in the project": {"rights": ["write"], "projects": ["shop"]},
    "may only write in both": {"rights": ["write"], "users": ["anna"], "projects": ["shop"]},
    "may only write as the agent": {"rights": ["write"], "agents": ["planner"]},
    "is another user's": {"rights": ["read", "write"], "users": ["bob"]},
    "is several other users'": {"rights": ["read", "write"], "users": ["bob", "carl"]},
    "reads for another user": {"rights": ["read"], "users": ["bob"]},
    "is another project's": {"rights": ["read", "write"], "projects": ["blog"]},
    "reads in another project": {"rights": ["read"], "projects": ["blog"]},
    "is another agent's": {"rights": ["read", "write"], "agents": ["other"]},
    "is another agent's in the project": {"rights": ["read", "write"], "agents": ["other"], "projects": ["shop"]},
    "is another user's in the project": {"rights": ["read", "write"], "users": ["bob"], "projects": ["shop"]},
    "is another tenant's": {"rights": ["read", "write", "admin"], "is_elsewhere": True},
}
"""What is granted to keys that may read nothing of what Anna keeps."""

IN_SHORT = {"may only write", "may only write for the user", "may only write as the agent", "is another user's"}
IN_SHORT |= {"reads in another project", "is another agent's in the project", "is another tenant's"}

PLACES = sized(short=({}, ANNA), long=({}, ANNA, {"user": "anna"}, {"project": "shop"}, {"user": "bob"}))

TRIED = {"id", "key", "session", "auto_extract_patterns"}
TRIED |= sized(
    short=set(),
    long={"task_id", "agent", "receipt", "name", "messages", "derived_from", "keep", "status", "everything", "purge"},
)

DESTROYING = ("delete", "forget", "purge", "prune", "archive", "end", "consolidate", "cleanup", "update", "restore")
"""Words in the names of what changes much: it comes last, when everything else was asked."""


def canaries(owner):
    """Memories with the mark in every field, in every place that a key may be bound to, and names of places with it."""
    told = {name: f"{MARK} {name}" for name in ("content", "author", "source", "reason", "key")}
    told |= {
        "content": f"{MARK} says: deploy the port, host and shop",
        "data": {MARK: {"deep": [MARK]}},
        "importance": 0.123,
        "expires_at": "2091-05-05T00:00:00Z",
    }
    places = [ANNA, {"user": "anna"}, {"user": "anna", "agent": "planner"}, {**ANNA, "agent": "planner"}]
    for place in [*places, {**ANNA, "session": f"s-{MARK}", "workflow": f"w-{MARK}"}]:
        yield owner.tell("POST", "/v1/memory", {**told, **place})["memory"]["id"]
        fact = {**told, **place, "content": f"{MARK} fact in {place}", "key": None}
        yield owner.tell("POST", "/v1/facts", fact)["fact"]["memory"]["id"]
    calls = [{"id": MARK, "type": "function", "function": {"name": MARK, "arguments": json.dumps({MARK: MARK})}}]
    said = [{"role": "assistant", "content": MARK, "name": MARK, "tool_calls": calls}]
    owner.tell("POST", "/v1/working/messages", {"messages": said, "session": SESSION, **ANNA})
    owner.tell("PUT", "/v1/working/scratch", {"name": MARK, "value": {MARK: [MARK]}, "session": SESSION, **ANNA})
    owner.tell("POST", "/v1/agents/planner/results", {"output": MARK, "error": MARK, **ANNA})
    proposal = {"tool": MARK, "arguments": {MARK: MARK}, "reasoning": MARK, **ANNA}
    owner.tell("POST", "/v1/agents/planner/proposals", proposal)


LIMITS = {"limit_read": "0", "limit_write": "0", "limit_heavy": "0"}


@pytest.fixture(scope="module")
def house():
    with service(**LIMITS) as house:
        yield house


@pytest.fixture(scope="module")
def walked(house):
    """All operations; what changes much comes last."""
    found = [one for one in operations(house.client.get("/openapi.json").json()) if one.name not in STREAMS]
    return sorted(found, key=lambda one: any(word in one.name for word in DESTROYING))


@pytest.fixture(scope="module")
def tools(house):
    """The service for agents, on the same store."""
    app = streamable.application(read_settings(home=house.home, embedder="none", background=False, **LIMITS), {})
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(params=[one if one in IN_SHORT else pytest.param(one, marks=pytest.mark.long) for one in KEYS])
def keyed(request, house):
    """Somebody who keeps something in every memory, and the key of somebody else, or one that only writes."""
    tenant, granted = f"tenant-{uuid4()}", dict(KEYS[request.param])
    with house.opened(tenant) as jay:
        keys = jay.access.create_key("owner", rights=("read", "write", "admin"))
        if granted.pop("is_elsewhere", False):
            other = jay.for_tenant(f"evil-{uuid4()}").access.create_key("other", **granted)
        else:
            other = jay.access.create_key("other", **granted)
    owner = Owner(house.client, bearing(keys))
    owner.fill()
    owner.ids[:0] = canaries(owner)
    return owner, bearing(other), granted


def checked(answer, asked):
    """The answer, which holds nothing of what Anna keeps."""
    assert answer.status_code != 401
    assert answer.status_code < 500, f"{asked} gets {answer.text[:500]}"
    heads = " ".join(f"{name}: {value}" for name, value in answer.headers.items())
    assert MARK not in answer.text + heads, f"{asked} tells {answer.text[:700]}"
    return answer


@pytest.mark.slow
def test_no_answer_holds_what_its_key_may_not_read(house, walked, tools, keyed, capfd):
    owner, headers, granted = keyed
    before, lines = owner.kept(), lines_with(owner.ids[:2])
    known = owner.known()
    known["id"] = [*owner.ids[:4], *known["id"]]
    answered = forbidden = 0
    for operation in walked:
        for place in PLACES:
            for asked in operation.requests(known, place, lines, TRIED):
                answer = checked(asked.send(house.client, headers), asked)
                answered += answer.is_success
                forbidden += answer.status_code == 403
                if answer.status_code == 403 and ("the right to" in answer.text or "every tenant" in answer.text):
                    break
    answered += walk_tools(tools, headers, known)
    assert (answered > 10, forbidden > 10) == (True, True)
    logged = capfd.readouterr()
    assert MARK not in logged.out + logged.err
    assert MARK not in house.client.get("/metrics").text
    if granted["rights"] != ["write"]:
        [memories, *others], [left, *rest] = before, owner.kept()
        # Another agent may remember something about the user.
        assert [one for one in left if one.get("agent") != "other"] == memories, (
            "what it may not read, it did not change"
        )
        assert rest == others


def walk_tools(client, headers, known):
    """Call every tool with all that is known; return how many calls were answered."""
    heads = {**headers, "accept": "application/json, text/event-stream"}

    def ask(method, **params):
        told = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return checked(client.post("/mcp", json=told, headers=heads), params).json()

    answered, known = 0, {**known, "summary": ["mine"], "question": ["deploy the shop"]}
    for tool in ask("tools/list")["result"]["tools"]:
        names = tool["inputSchema"]["properties"].keys()
        needed = {name: known[name][0] for name in tool["inputSchema"].get("required", ())}
        for name in (name for name in names if name in known and name not in ("everything", "purge")):
            for value in known[name]:
                done = ask("tools/call", name=tool["name"], arguments={**needed, name: value})
                answered += not done["result"].get("isError", False)
    return answered
