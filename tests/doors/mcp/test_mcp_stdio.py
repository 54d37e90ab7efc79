"""`scrubjay mcp` as Claude Code and others start it: a process of its own, over standard input and output."""

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from scrubjay.doors.mcp import greeting, serve_http, serve_stdio
from scrubjay.doors.mcp.memory import LazyMemory, opener
from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.errors import Misconfigured, ScrubjayError
from scrubjay.settings import read_settings

HEAVY = ("numpy", "onnxruntime", "sqlalchemy", "scrubjay.service", "scrubjay.backends", "tokenizers", "httpx")
"""What a handshake must not wait for: it takes longer to load than a person should notice."""


def loaded(logged) -> set[str]:
    return set(re.findall(r"import time:.*\| +(\S+)$", logged.read_text(), re.MULTILINE))


async def test_a_client_starts_it_and_nothing_heavy_is_loaded_before_the_first_call(tmp_path):
    (tmp_path / ".git").mkdir()
    logged = tmp_path / "log"
    started = StdioServerParameters(
        command=sys.executable,
        # Names every module on standard error as soon as it is loaded.
        args=["-X", "importtime", "-m", "scrubjay", "mcp", "--user", "anna"],
        env={"SCRUBJAY_HOME": str(tmp_path), "SCRUBJAY_EMBEDDER": "static", "SCRUBJAY_MCP_PROJECT": "."},
        cwd=tmp_path,
    )
    with logged.open("w") as log:
        async with Client(stdio_client(started, errlog=log)) as client:
            await client.list_tools()
            await client.list_prompts()
            before = loaded(logged)
            # All at once: the memory is opened by the first, and the others wait for it.
            calls = [client.call_tool("remember", {"content": f"Number {place}"}) for place in range(8)]
            told = [answer.structured_content["memory"] for answer in await asyncio.gather(*calls)]
            assert {(one["user"], one["project"]) for one in told} == {("anna", tmp_path.name)}
            found = await client.call_tool("recall", {"query": "number", "limit": 20})
            assert len(found.structured_content["hits"]) == 8
    assert "mcp.server" in before
    assert not before & set(HEAVY)
    assert {"numpy", "sqlalchemy"} <= loaded(logged)


def initialize(**changed) -> dict:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "editor", "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params | changed}


@contextmanager
def started(tmp_path, *options: str) -> Iterator[subprocess.Popen]:
    """A server in a process of its own. It stops when this ends."""
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, *options, "-m", "scrubjay", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,
            env={**os.environ, "SCRUBJAY_HOME": str(tmp_path), "SCRUBJAY_EMBEDDER": "none"},
        ) as server,
    ):
        try:
            yield server
            # Only now: whoever hangs up does not wait for answers.
            assert server.communicate(timeout=180)[0] == b""
        finally:
            # Shown when the test fails: what went wrong there is said there.
            sys.stdout.write((tmp_path / "log").read_text())


def say(server: subprocess.Popen, *said: object) -> None:
    for one in said:
        server.stdin.write((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n")


def hear(server: subprocess.Popen) -> dict:
    line = server.stdout.readline()
    assert line, f"the server ended by itself, with {server.wait(60)}"
    return json.loads(line)


def loaded_while_it_waits(log) -> set[str]:
    """What a server has loaded when it loads nothing more: it waits for its client."""
    before: set[str] = set()
    for _ in range(300):
        time.sleep(0.1)
        now = loaded(log)
        if now == before and "scrubjay.doors.mcp.greeting" in now:
            return now
        before = now
    raise AssertionError("it never waits")


def test_a_client_is_greeted_before_the_library_loads_and_only_once(tmp_path):
    asked = json.dumps(initialize()).encode()
    with started(tmp_path, "-X", "importtime") as server:
        server.stdin.write(asked)
        before = loaded_while_it_waits(tmp_path / "log")
        server.stdin.write(b"\n")
        assert hear(server) == greeting.answer_to(asked)
        say(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        say(server, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        listed = hear(server)
    assert not {one for one in before if one.partition(".")[0] in ("mcp", "mcp_types")}
    assert listed["id"] == 2
    assert "remember" in {tool["name"] for tool in listed["result"]["tools"]}


async def test_the_greeting_is_what_the_library_would_say(tmp_path):
    assert greeting.VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    memory = LazyMemory(opener(read_settings(home=tmp_path)))
    server = server_of(Door(memory.get, where={}, shares_files=True, count=len), memory.close)
    for version in greeting.VERSIONS:
        asked = SessionMessage(JSONRPCRequest.model_validate(initialize(protocolVersion=version)))
        there, reads = anyio.create_memory_object_stream(1)
        writes, here = anyio.create_memory_object_stream(1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run, reads, writes, server.create_initialization_options())
            await there.send(asked)
            said = (await here.receive()).message.model_dump(by_alias=True, exclude_unset=True)
            await there.aclose()
        await here.aclose()
        assert greeting.answer_to(json.dumps(initialize(protocolVersion=version)).encode()) == said


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no JSON",
        "[" * 100_000,
        "[]",
        json.dumps({**initialize(), "id": True}),
        json.dumps({**initialize(), "id": None}),
        json.dumps({**initialize(), "method": "ping"}),
        json.dumps(initialize(protocolVersion="1999-12-31")),
        json.dumps(initialize(capabilities={"sampling": 5})),
        json.dumps(initialize(clientInfo={"name": "editor"})),
    ],
)
def test_what_is_not_just_that_request_is_left_to_the_library(line):
    assert greeting.answer_to(line.encode()) is None


def test_what_the_library_has_to_refuse_is_refused_once(tmp_path):
    with started(tmp_path) as server:
        say(
            server, initialize(clientInfo={"name": "editor"}), b"no JSON", {"jsonrpc": "2.0", "id": 7, "method": "ping"}
        )
        answers = [hear(server), hear(server)]
    assert {one["id"]: "error" in one for one in answers} == {1: True, 7: False}


async def test_a_memory_that_cannot_be_opened_is_tried_again(tmp_path):
    (tmp_path / "home").write_text("not a folder")
    memory = LazyMemory(opener(read_settings(home=tmp_path / "home", embedder="none", background=False)))
    for _ in range(2):
        with pytest.raises(ScrubjayError, match="cannot be made"):
            await memory.get()
    (tmp_path / "home").unlink()
    jay = await memory.get()
    assert await memory.get() is jay
    await memory.close()
    assert not jay.parts.is_open.is_set()


async def test_a_memory_that_nobody_asked_for_is_never_opened(tmp_path):
    memory = LazyMemory(opener(read_settings(home=tmp_path / "home")))
    await memory.close()
    assert not (tmp_path / "home").exists()


async def test_a_call_that_is_cancelled_leaves_the_others_their_memory(tmp_path):
    memory = LazyMemory(opener(read_settings(home=tmp_path, embedder="none", background=False)))
    first, second = (asyncio.create_task(memory.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await (await second).count() == 0
    await memory.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": "http://127.0.0.1:1"}, "SCRUBJAY_URL is 'http://127.0.0.1:1'"),
        ({"host": "0.0.0.0", "port": 0}, "there is no key yet"),
    ],
)
def test_what_cannot_work_is_said_at_once(tmp_path, given, said):
    with pytest.raises(Misconfigured, match=said):
        serve_http(read_settings(home=tmp_path, embedder="none", **given), {})


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    monkeypatch.delitem(sys.modules, "scrubjay.doors.mcp.stdio", raising=False)
    with pytest.raises(Misconfigured, match=r"pip install 'scrubjay\[mcp\]'"):
        serve_stdio(read_settings(home=tmp_path), {})
    assert gc.isenabled()
