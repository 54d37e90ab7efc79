"""`scrubjay mcp` as Claude Code and others start it: a process of its own, over standard input and output."""

import asyncio
import gc
import re
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from scrubjay.doors.mcp import serve_http, serve_stdio
from scrubjay.doors.mcp.memory import LazyMemory, opener
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
