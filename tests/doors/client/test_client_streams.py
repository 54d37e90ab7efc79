"""What streams through the client, and what it does by itself: export, import, events, jobs, health."""

import queue
import time

import pytest
from mcp import Client
from served import GIVEN, serving

import scrubjay
from scrubjay.client import connect, connect_async
from scrubjay.doors.mcp.memory import LazyMemory, opener
from scrubjay.doors.mcp.server import Door, server_of
from scrubjay.doors.mcp.tools import TOOLS
from scrubjay.errors import Forbidden, InvalidInput, NotFound, Unauthenticated, Unsupported
from scrubjay.models.tokens import WordPiece
from scrubjay.settings import read_settings


def test_what_is_exported_can_be_imported(remote, tmp_path):
    remote.remember_many([f"number {place} \u2028 \x85" for place in range(50)], user="exporter")
    lines = list(remote.export(user="exporter"))
    assert len(lines) == 51
    with scrubjay.open(home=tmp_path, **GIVEN) as other:
        assert other.import_lines(lines) == (50, 0)
        assert list(other.export()) == lines
    heard = []
    assert remote.import_lines(iter(lines), progress=heard.append) == (0, 50)
    assert heard == [50]


async def test_lines_may_come_one_by_one(url):
    async with connect_async(url) as jay:
        await jay.remember("one thing", user="streamer")
        assert await jay.import_lines(jay.export(user="streamer")) == (0, 1)


def test_a_faulty_line_is_named(remote):
    with pytest.raises(Unsupported, match="header"):
        remote.import_lines(['{"format": "another"}'])
    with pytest.raises(InvalidInput, match="lines is"):
        remote.import_lines("a text")


def test_events_are_heard(remote):
    heard: queue.Queue = queue.Queue()
    stop = remote.subscribe("memory.*", heard.put, user="listener")
    told, known = None, set()
    until = time.monotonic() + 60
    # The stream opens beside us: what is said before it is open may be missed.
    while told is None and time.monotonic() < until:
        known.add(str(remote.remember(f"at {time.monotonic()}", user="listener").id))
        try:
            told = heard.get(timeout=0.3)
        except queue.Empty:
            continue
    assert told is not None
    assert (told.name, told.scope.user) == ("memory.stored", "listener")
    assert set(told.data["ids"]) <= known
    remote.remember("not for this listener", user="somebody else")
    stop()
    with pytest.raises(InvalidInput, match="event name"):
        remote.subscribe("no such name", heard.put)


def test_a_job_is_recorded_later(remote, tmp_path):
    (tmp_path / "made.py").write_text("def made():\n    pass\n")
    (tmp_path / "picture").write_bytes(b"\xff\xd8\x00")
    (tmp_path / "link").symlink_to("/etc/hostname")
    before = dict(remote.workspace.stats().counts)
    with remote.workspace.capture(goal="Make it", repo=tmp_path, user="worker") as job:
        job.file("made.py")
        job.file("picture")
        job.summary = "It is made"
    remote.workspace.flush()
    [hit] = remote.workspace.search_memories(tmp_path, user="worker")
    assert (hit.completion.goal, hit.completion.summary) == ("Make it", "It is made")
    assert [file.path for file in hit.completion.files] == ["made.py"]
    assert not remote.workspace.record_completion(goal="x", repo_path=tmp_path, status="failed")
    counted = remote.workspace.stats().counts
    assert (counted["written"] - before["written"], counted["skipped"] - before["skipped"]) == (1, 1)
    left_out = ["picture", "../x", "gone.py", "link"]
    stored = remote.workspace.store_completion(goal="Again", repo_path=tmp_path, files=left_out)
    assert [cut.partition(":")[0] for cut in stored.completion.cuts] == left_out


def test_a_job_that_waits_is_written_when_the_client_closes(url, remote, tmp_path):
    with connect(url) as jay:
        assert jay.workspace.record_completion(goal="Last", repo_path=tmp_path, user="closer")
    assert [hit.completion.goal for hit in remote.workspace.search_memories(tmp_path, user="closer")] == ["Last"]


def test_health(remote):
    found = remote.health()
    assert found.state == "ready"
    assert found.stores["records"].state == "up"


def test_a_type_is_as_that_of_the_library(remote, library):
    assert type(remote) is type(library)
    assert type(remote.facts) is type(library.facts)
    assert "http://127.0.0.1" in repr(remote)


async def test_the_mcp_tools_work_with_a_server(url, remote):
    """`scrubjay mcp --url …`: the tools ask the server, and need not know it."""
    memory = LazyMemory(opener(read_settings(url=url)))

    async def memory_of(request, *, writes):
        return await memory.get()

    server = server_of(
        Door(memory_of, where={"user": "agent"}, shares_files=True, count=WordPiece().count), memory.close
    )
    async with Client(server) as client:
        for tool, arguments in [
            ("remember", {"content": "Likes tea", "key": "tea"}),
            ("recall", {"query": "tea"}),
            ("context", {"query": "tea"}),
            ("history", {"key": "tea"}),
            ("task_done", {"task_id": "t", "summary": "Made tea", "success": True}),
            ("similar_tasks", {"description": "make tea"}),
            ("search_code", {"query": "tea"}),
            ("remember_job", {"goal": "Tea", "repo_path": "/nowhere"}),
            ("forget", {"key": "tea"}),
        ]:
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error, answer.content[0].text
        refused = await client.call_tool("recall", {"query": "tea", "limit": 0})
        assert refused.content[0].text == "limit is 0: use a whole number from 1 to 1,000"
    assert set(TOOLS) == {"remember", "recall", "context", "history", "task_done", "similar_tasks", "search_code"} | {
        "remember_job",
        "forget",
    }


def test_keys_decide_whose_memory_it_is(tmp_path):
    with scrubjay.open(home=tmp_path, **GIVEN) as jay:
        ours = jay.for_tenant("ours").access.create_key("ours", rights=["admin"]).text
        theirs = jay.for_tenant("theirs").access.create_key("theirs").text
        reader = jay.for_tenant("ours").access.create_key("reader", rights=["read"]).text
    with serving(tmp_path) as url:
        for wrong in (None, "sj_nothing", f"{ours}x"):
            with pytest.raises(Unauthenticated):
                connect(url, key=wrong)
        with connect(url, key=ours) as mine, connect(url, key=theirs) as other, connect(url, key=reader) as looking:
            told = mine.remember("Ours alone", key="secret")
            assert (other.count(), looking.count()) == (0, 1)
            with pytest.raises(NotFound):
                other.get(told.id)
            with pytest.raises(Forbidden, match="right to write"):
                looking.remember("x")
            mute = mine.access.create_key("mute", rights=["write"]).text
            with connect(url, key=mute) as writing, pytest.raises(Forbidden):
                writing.recall(str(writing.remember("It may write").memory.content))
            made = mine.access.create_key("short", rights=["read"])
            known = mine.access.keys()
            assert [one.name for one in known] == ["ours", "reader", "mute", "short"]
            with connect(url, key=made.text) as short:
                mine.access.revoke(made.key.id)
                with pytest.raises(Unauthenticated, match="revoked"):
                    short.count()
            assert [entry.action for entry in mine.access.audit(limit=2)] == ["key.revoked", "key.created"]
