"""A job leaves what it made and goes on: nothing that happens to it afterwards reaches the job."""

import asyncio
import threading
from pathlib import Path

import pytest

from scrubjay.testing.workspace.repositories import SESSION, Jay, a_job, a_repository


class Queueing:
    """What `record_completion`, `capture` and `flush` promise."""

    async def test_what_is_recorded_is_written_beside_the_job(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        assert jay.workspace.record_completion(**a_job(repo))
        assert (await jay.workspace.stats()).waiting <= 1
        await jay.workspace.flush()
        [hit] = await jay.workspace.search_memories(repo, query="logged out")
        assert hit.completion.files[0].kept == "whole"
        counts = (await jay.workspace.stats()).counts
        assert (counts["queued"], counts["written"], counts["failed"]) == (1, 1, 0)

    async def test_content_that_is_given_is_kept_as_it_was_then(self, jay: Jay, tmp_path: Path) -> None:
        files = {"a.py": "first\n"}
        jay.workspace.record_completion(**a_job(tmp_path, files=files))
        files["a.py"] = "second\n"
        await jay.workspace.flush()
        [hit] = await jay.workspace.search_memories(tmp_path)
        assert (await jay.workspace.get(hit.id)).files[0].text == "first\n"

    async def test_many_threads_record_at_once(self, jay: Jay, tmp_path: Path) -> None:
        def work(number: int) -> None:
            for step in range(5):
                jay.workspace.record_completion(goal="do it", repo_path=tmp_path, task_id=f"{number}-{step}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        await jay.workspace.flush()
        assert await jay.count(kinds=["completion"]) == 20

    async def test_what_cannot_be_written_is_counted_and_breaks_nothing(self, jay: Jay, tmp_path: Path) -> None:
        record = jay.workspace.record_completion
        assert record(goal="", repo_path=tmp_path)
        assert record(goal="x", repo_path=None)
        assert record(goal="x", repo_path=" ")
        assert record(goal="x", repo_path=tmp_path, files=7)
        assert record(goal="x", repo_path=tmp_path, colour="blue")
        assert not record(goal="x", repo_path=tmp_path, status="great")
        for status in ("failed", "cancelled", "rejected"):
            assert not record(goal="x", repo_path=tmp_path, status=status)
        assert record(goal="fine", repo_path=tmp_path)
        await jay.workspace.flush()
        counts = (await jay.workspace.stats()).counts
        assert (counts["failed"], counts["skipped"], counts["written"]) == (6, 3, 1)
        assert await jay.count() == 1

    async def test_a_capture_records_what_ends_well(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        with jay.workspace.capture(goal="Keep sessions", repo=repo, model="m", project="shop") as job:
            job.file("shop/session.py")
            job.file("notes.md", "# Notes\n")
            job.summary = "Kept"
            job.tests = {"passed": 2}
        async with jay.workspace.capture(goal="Count prices", repo=repo, files=["cart.py"], project="shop") as job:
            job.task_id = "cart"
        await jay.workspace.flush()
        first, second = await jay.list(kinds=["completion"], project="shop", order="oldest")
        assert [file["path"] for file in first.data["files"]] == ["shop/session.py", "notes.md"]
        assert (first.data["summary"], first.data["tests"], first.data["model"]) == ("Kept", {"passed": 2}, "m")
        assert (second.data["task_id"], [file["path"] for file in second.data["files"]]) == ("cart", ["cart.py"])

    async def test_an_error_passes_through_a_capture(self, jay: Jay, tmp_path: Path) -> None:
        for error in (KeyError("x"), asyncio.CancelledError()):
            with pytest.raises(type(error)):
                async with jay.workspace.capture(goal="x", repo=tmp_path):
                    raise error
        with jay.workspace.capture(goal="x", repo=tmp_path) as job:
            job.cancel()
        with jay.workspace.capture(goal="x", repo=tmp_path) as job:
            job.reject()
        await jay.workspace.flush()
        assert await jay.count() == 0
        assert (await jay.workspace.stats()).counts["skipped"] == 4

    async def test_a_decorator_makes_every_call_a_job(self, jay: Jay, tmp_path: Path) -> None:
        @jay.workspace.capture(goal=lambda number: f"job {number}", repo=tmp_path)  # type: ignore[untyped-decorator]  # jay is of any type
        def plain(number: int) -> int:
            return number + 1

        @jay.workspace.capture(goal="told", repo=tmp_path)  # type: ignore[untyped-decorator]  # jay is of any type
        async def told(job: object = None) -> str:
            await asyncio.sleep(0)
            job.file("a.py", SESSION)  # type: ignore[attr-defined]  # a Job, given by the decorator
            return "done"

        assert (plain(1), plain(number=2), await told()) == (2, 3, "done")
        await jay.workspace.flush()
        found = await jay.list(kinds=["completion"])
        assert {memory.data["goal"] for memory in found} == {"job 1", "job 2", "told"}
