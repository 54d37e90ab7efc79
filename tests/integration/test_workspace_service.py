"""Workspace memory in an open service: off without a trace, quiet without embeddings, written out when it closes."""

import asyncio
import sqlite3
import threading

import pytest

from scrubjay.errors import NotFound, StoreUnavailable
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


def opened(home, **settings):
    return wire(read_settings(home=home, background=False, **settings), embedder=ToyEmbedder())


def rows(home):
    """How many rows each table of the store has."""
    with sqlite3.connect(home / "scrubjay.db") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables}


async def test_off_has_no_side_effects_at_all(tmp_path, monkeypatch):
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    async with opened(home, workspace_enabled=False) as jay:
        before, threads, tasks = rows(home), threading.active_count(), len(asyncio.all_tasks())
        # No table is touched, not even to read: whoever asks the database now fails.
        # Both lie behind encryption.
        monkeypatch.setattr(jay.parts.stores.records._records, "_database", None)
        monkeypatch.setattr(jay.parts.stores.blobs._blobs, "_database", None)
        workspace = jay.workspace
        assert not workspace.record_completion(goal="x", repo_path=repo)
        with workspace.capture(goal="x", repo=repo) as job:
            job.file("a.py", "text")
        for verb in (
            workspace.store_completion(goal="x", repo_path=repo),
            workspace.search_memories(repo, query="x"),
            workspace.get("x"),
            workspace.backfill(repo),
            workspace.seed(repo),
            workspace.prune(repo),
            workspace.stats(repo),
        ):
            with pytest.raises(NotFound, match="SCRUBJAY_WORKSPACE_ENABLED"):
                await verb
        await workspace.flush()
        assert (threading.active_count(), len(asyncio.all_tasks())) == (threads, tasks)
        assert (jay.parts.later.counts, jay.parts.grown) == ({}, {})
        monkeypatch.undo()
        assert rows(home) == before


async def test_without_embeddings_no_text_of_the_workspace_is_embedded(tmp_path):
    home = tmp_path / "home"
    async with opened(home, workspace_embeddings=False) as jay:
        asked = []
        embed = jay.parts.index.embedder.embed
        jay.parts.index.embedder.embed = lambda texts, **how: (asked.extend(texts), embed(texts, **how))[1]
        await jay.workspace.seed(tmp_path)
        await jay.remember("a note about sessions")
        assert asked == ["a note about sessions"]
        found = await jay.workspace.search_memories(tmp_path, query="logged out customers")
        assert found[0].completion.task_id == "sample-1"
        assert (found.degraded, asked) == ((), ["a note about sessions"])
        corrected = await jay.workspace.store_completion(goal="Better", repo_path=tmp_path, task_id="sample-1")
        assert corrected.outcome == "superseded"
        stats = await jay.stats()
        assert (stats.pending, stats.vectors) == (0, 1)
        assert await jay.reindex() == 0
        assert await jay.check() == []
    async with opened(home) as jay:
        # Switched on again, what was stored meanwhile gets its vectors.
        assert await jay.reindex() == 5
        assert (await jay.stats()).vectors == 6
        found = await jay.workspace.search_memories(tmp_path, query="the cart page takes seconds")
        assert found[0].similarity is not None


async def test_closing_writes_what_was_recorded(tmp_path):
    home = tmp_path / "home"
    async with opened(home) as jay:
        for number in range(30):
            jay.workspace.record_completion(goal=f"job {number}", repo_path=tmp_path)
        assert jay.parts.later.waiting > 0
    assert not jay.workspace.record_completion(goal="too late", repo_path=tmp_path)
    async with opened(home) as jay:
        assert await jay.count(kinds=["completion"]) == 30


def test_without_await_from_threads_and_when_closed(tmp_path):
    jay = SyncScrubjay(opened(tmp_path / "home")).start()

    def work(number):
        with jay.workspace.capture(goal=f"job {number}", repo=tmp_path) as job:
            job.file("a.py", f"def job_{number}(): ...\n")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    jay.workspace.flush()
    assert jay.workspace.search_memories(tmp_path, query="job_3")[0].completion.goal == "job 3"
    assert jay.workspace.stats().counts["written"] == 8
    workspace = jay.workspace
    jay.close()
    assert not workspace.record_completion(goal="too late", repo_path=tmp_path)
    work(9)


async def test_a_store_that_is_away_for_a_while_loses_nothing(tmp_path, monkeypatch):
    async with opened(tmp_path / "home") as jay:
        write, failures = jay.parts.stores.records.write, [StoreUnavailable("away"), StoreUnavailable("away")]

        async def sometimes(*args):
            if failures:
                raise failures.pop()
            return await write(*args)

        monkeypatch.setattr(jay.parts.stores.records, "write", sometimes)
        jay.parts.later._pauses = (0.0, 0.0)
        jay.workspace.record_completion(goal="it", repo_path=tmp_path, files={"a.py": "text"})
        await jay.workspace.flush()
        assert jay.parts.later.counts["written"] == 1
        [hit] = await jay.workspace.search_memories(tmp_path)
        # Texts that were kept for an attempt that failed are not left behind.
        room = await jay.parts.stores.blobs.room((await jay.get(hit.id)).scope)
        assert room.blobs == 1


async def test_a_context_offers_completed_jobs_under_their_own_heading(tmp_path):
    async with opened(tmp_path / "home") as jay:
        await jay.workspace.seed(tmp_path, project="shop")
        context = await jay.context("customers are logged out", project="shop", sections=["workspace"])
        assert "Customers are logged out" in context.text
        assert context.items[0].section == "Workspace"
