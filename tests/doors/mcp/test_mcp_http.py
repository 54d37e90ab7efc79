"""MCP over streamable HTTP: the key decides whose memory it is, and no page of a stranger gets in."""

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

import scrubjay
from scrubjay.doors.http.access import Visit
from scrubjay.doors.http.sizes import MOST_VALUES
from scrubjay.doors.http.turns import Turns
from scrubjay.doors.mcp.streamable import PATH, application, said
from scrubjay.errors import NotFound, StoreUnavailable
from scrubjay.model.access import ApiKey
from scrubjay.settings import read_settings

GIVEN = {"embedder": "static", "background": False}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def url(home) -> Iterator[str]:
    """A real server on a free port, in a thread of this process."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        app = application(read_settings(home=home, **GIVEN), {})
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="on"))
        started = threading.Event()
        begin = server.startup

        async def startup(sockets=None):
            await begin(sockets)
            started.set()

        server.startup = startup
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert started.wait(60)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}"
        server.should_exit = True
        thread.join(60)


@asynccontextmanager
async def client_of(url: str, key: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def test_without_keys_this_machine_is_served_and_nobody_else(url):
    async with client_of(url) as client:
        assert not (await client.call_tool("remember", {"content": "Likes tea"})).is_error
    foreign = [
        ({"Origin": "http://evil.example"}, 403, "the origin is 'http://evil.example'"),
        ({"Origin": "null"}, 403, "the origin is 'null'"),
        ({"Host": "evil.example"}, 421, "the host is 'evil.example'"),
    ]
    async with httpx.AsyncClient(timeout=60) as http:
        for headers, status, said in foreign:
            answer = await http.post(url, json=LIST, headers={**ACCEPT, **headers})
            assert (answer.status_code, said in answer.json()["detail"]) == (status, True)
        page = {**ACCEPT, "Origin": "http://localhost:6274"}
        assert (await http.post(url, json=LIST, headers=page)).status_code == 200
        assert (await http.get(url, headers={"Accept": "text/event-stream"})).status_code == 405


@pytest.fixture(scope="module")
def keys(home, url) -> dict[str, str]:
    """Keys of two tenants, and narrower ones. From here on nobody gets in without one."""
    with scrubjay.open(home=home, **GIVEN) as jay:
        ours, theirs = jay.for_tenant("ours").access, jay.for_tenant("theirs").access
        return {
            "ours": ours.create_key("ours").text,
            "theirs": theirs.create_key("theirs").text,
            "reader": ours.create_key("reader", rights=["read"]).text,
            "writer": ours.create_key("writer", rights=["write"]).text,
            "anna": ours.create_key("anna", users=["anna"]).text,
        }


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_two_tenants_never_meet(url, keys, mode):
    async with client_of(url, keys["ours"], mode) as ours, client_of(url, keys["theirs"], mode) as theirs:
        told = (await ours.call_tool("remember", {"content": f"Our secret {mode}", "key": "k"})).structured_content
        known = told["memory"]["id"]
        for name, arguments in [
            ("recall", {"query": "secret"}),
            ("recall", {"query": "", "limit": 1000}),
            ("context", {"query": "secret"}),
            ("similar_tasks", {"description": "secret"}),
        ]:
            answer = await theirs.call_tool(name, arguments)
            assert not answer.is_error
            assert "secret" not in str(answer.structured_content)
        for name, arguments in [
            ("history", {"id": known}),
            ("history", {"key": "k"}),
            ("forget", {"id": known}),
            ("forget", {"key": "k", "purge": True}),
        ]:
            answer = await theirs.call_tool(name, arguments)
            assert answer.is_error
            assert "secret" not in answer.content[0].text
        with pytest.raises(MCPError, match="there is no memory"):
            await theirs.read_resource(f"scrubjay://memory/{known}")
        assert "secret" not in (await theirs.read_resource("scrubjay://context")).contents[0].text
        assert "secret" not in (await theirs.get_prompt("begin", {"task": "something"})).messages[0].content.text
        assert "secret" in (await ours.call_tool("recall", {"query": "secret"})).content[0].text


async def test_a_key_does_what_it_may(url, keys):
    async with client_of(url, keys["reader"]) as reader:
        assert not (await reader.call_tool("recall", {"query": "x"})).is_error
        for name, arguments in [
            ("remember", {"content": "x"}),
            ("forget", {"key": "k"}),
            ("task_done", {"task_id": "t", "summary": "s", "success": True}),
            ("remember_job", {"goal": "g", "repo_path": "/r"}),
        ]:
            refused = await reader.call_tool(name, arguments)
            assert refused.is_error
            assert "this needs the right to write" in refused.content[0].text
    async with client_of(url, keys["anna"]) as anna:
        told = await anna.call_tool("remember", {"content": "Mine"})
        assert told.structured_content["memory"]["user"] == "anna"
        refused = await anna.call_tool("recall", {"query": "x", "user": "bob"})
        assert "this key is bound to user 'anna'" in refused.content[0].text


async def test_who_may_not_read_is_shown_what_they_told(url, keys):
    beside = {"source": "board", "reason": "a takeover", "importance": 0.9}
    moment = datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    told = {"content": "Tea is at four", "key": "tea", "data": {"cups": 2}}
    async with client_of(url, keys["ours"]) as ours, client_of(url, keys["writer"]) as writer:
        await ours.call_tool("remember", told | beside | {"valid_from": moment, "trust": "foreign"})
        for outcome, trust in (("unchanged", "foreign"), ("superseded", "told"), ("unchanged", "told")):
            if outcome == "superseded":
                shown = await ours.call_tool("remember", told | beside | {"trust": "observed"})
                assert shown.structured_content["memory"]["valid_from"][:4] == "2020", "whoever may read is shown it"
            done = (await writer.call_tool("remember", told | {"trust": trust})).structured_content
            memory = done["memory"]
            assert (done["outcome"], memory["valid_from"]) == (outcome, memory["created_at"])
            assert (memory["data"], memory["importance"]) == ({"cups": 2}, 0.5)
            assert {"source", "reason", "author"} & memory.keys() == set()
        shown = (await writer.call_tool("remember", told | beside)).structured_content["memory"]
        assert {"source", "reason"} & shown.keys() == set(), "it is not so"
        assert (await writer.call_tool("recall", {"query": "tea"})).is_error


def test_without_a_key_or_with_a_wrong_one_nothing_is_said(url, keys):
    for headers in ({}, {"Authorization": "Bearer sj_no"}, {"X-API-Key": f"{keys['ours']}x"}):
        answer = httpx.post(url, json=LIST, headers={**ACCEPT, **headers}, timeout=60)
        assert answer.status_code == 401
        assert answer.json()["type"] == "urn:scrubjay:error:unauthenticated"


def test_a_key_that_only_reads_makes_the_store_keep_nothing(url, keys):
    headers = {**ACCEPT, "Authorization": f"Bearer {keys['reader']}", "Idempotency-Key": "once"}
    for _ in range(2):
        answer = httpx.post(url, json=LIST, headers=headers, timeout=60)
        assert (answer.status_code, "idempotency-replayed" in answer.headers) == (200, False)


def test_what_nobody_could_read_in_time_is_refused(url, keys):
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": [' + b"[]," * MOST_VALUES + b"1]}"
    headers = {**ACCEPT, "Authorization": f"Bearer {keys['ours']}", "Content-Type": "application/json"}
    answer = httpx.post(url, content=body, headers=headers, timeout=60)
    assert (answer.status_code, "more than 100,000 values" in answer.json()["detail"]) == (413, True)


def test_a_method_that_would_stream_and_is_not_known_is_answered(url, keys):
    """The SDK hangs up on who hangs up before it has answered, so it must not hear that they did."""
    version, method = "2026-07-28", "subscriptions/listen"
    headers = {"Authorization": f"Bearer {keys['ours']}", "MCP-Protocol-Version": version, "Mcp-Method": method}
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, "notifications": {}}}
    answer = httpx.post(url, json=asked, headers=ACCEPT | headers, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


def test_a_fault_names_no_place_to_strangers():
    fault, at = StoreUnavailable("postgresql://db.example:5432 cannot be used"), datetime.now(UTC)
    for tenant, rights, told in [
        ("acme", ("admin",), False),
        ("default", ("read",), False),
        ("default", ("admin",), True),
    ]:
        key = ApiKey(id="0" * 16, tenant=tenant, name="k", rights=rights, created_at=at)
        visit = Visit(key=key, jay=None, home="default", turns=Turns())
        request = Request({"type": "http", "headers": [], "state": {"visit": visit}})
        assert ("db.example" in said(fault, request)) is told
    assert said(NotFound("there is no memory x in acme"), request) == "there is no memory x in acme"
