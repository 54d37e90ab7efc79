"""What is kept stays within its caps, goes in a known order, and can be filled in from artifacts."""

import json
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.testing.values import DAY, NOW
from scrubjay.testing.workspace.repositories import SESSION, Jay, a_job, a_repository, by_rules


async def five(jay: Jay, repo: Path) -> None:
    """Five jobs of a hundred bytes each, a day between them."""
    for number in range(5):
        text = f"{number}".ljust(99, "x") + "\n"
        await jay.workspace.store_completion(
            goal=f"job {number}", repo_path=repo, task_id=f"{number}", files={"a.txt": text}, at=NOW + number * DAY
        )


async def goals(jay: Jay) -> list[object]:
    """What is left, oldest first."""
    found = await jay.list(kinds=["completion"], order="oldest")
    return [memory.data["goal"] for memory in sorted(found, key=lambda memory: memory.valid_from)]


class Keeping:
    """What `prune`, `stats`, `backfill` and `seed` promise."""

    async def test_the_oldest_go_when_it_is_too_much(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path)
        planned = await jay.workspace.prune(tmp_path, most_bytes=250, dry_run=True)
        assert ([one.goal for one in planned.gone], planned.kept, planned.bytes) == (
            ["job 0", "job 1", "job 2"],
            2,
            300,
        )
        assert planned.gone[0].why == "the repository takes 500 bytes, and may take 250"
        assert len(await goals(jay)) == 5
        done = await jay.workspace.prune(tmp_path, most_bytes=250)
        assert ([one.id for one in done.gone], done.dry_run) == ([one.id for one in planned.gone], False)
        assert await goals(jay) == ["job 3", "job 4"]
        stats = await jay.workspace.stats()
        assert (stats.blobs, stats.bytes, stats.completions) == (2, 200, 2)

    async def test_what_is_too_old_goes(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path)
        age = jay.parts.clock() - NOW - 2 * DAY
        done = await jay.workspace.prune(keep_for=age)
        assert [one.goal for one in done.gone] == ["job 0", "job 1", "job 2"]
        assert "days ago" in done.gone[0].why

    async def test_what_is_pinned_stays_and_what_was_corrected_goes_first(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path)
        newest, *_, oldest = await jay.list(kinds=["completion"])
        await jay.update(oldest.id, importance=1.0)
        await jay.workspace.store_completion(
            goal="job 4", repo_path=tmp_path, task_id="4", files={"a.txt": "y" * 100}, at=NOW + 4 * DAY
        )
        done = await jay.workspace.prune(most_bytes=300)
        assert done.gone[0].id == newest.id
        assert await goals(jay) == ["job 0", "job 3", "job 4"]

    async def test_one_repository_does_not_pay_for_another(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path / "a")
        await five(jay, tmp_path / "b")
        done = await jay.workspace.prune(tmp_path / "a", most_bytes=100)
        assert {one.repo for one in done.gone} == {str(tmp_path / "a")}
        assert len((await jay.workspace.prune(most_bytes=500)).gone) == 0
        sizes = (await jay.workspace.stats()).workspaces
        assert [(one.repo, one.completions, one.bytes) for one in sizes] == [
            (str(tmp_path / "b"), 5, 500),
            (str(tmp_path / "a"), 1, 100),
        ]

    async def test_caps_are_kept_while_jobs_are_recorded(self, jay: Jay, tmp_path: Path) -> None:
        small = by_rules(jay, workspace_bytes=250)
        for number in range(6):
            text = f"{number}".ljust(100, "x")
            await small.store_completion(
                goal=f"job {number}", repo_path=tmp_path, task_id=f"{number}", files={"a": text}, at=NOW + number * DAY
            )
        assert await goals(jay) == ["job 4", "job 5"]

    async def test_old_ones_go_by_themselves(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path)
        jay.parts.grown.clear()
        age = jay.parts.clock() - NOW - 3 * DAY
        await by_rules(jay, keep_for=age).store_completion(goal="new", repo_path=tmp_path)
        assert await goals(jay) == ["job 4", "new"]

    async def test_numbers_are_there_for_metrics(self, jay: Jay, tmp_path: Path) -> None:
        await five(jay, tmp_path)
        metrics = (await jay.workspace.stats()).metrics()
        assert metrics["scrubjay_workspace_completions"] == 5
        assert metrics["scrubjay_workspace_bytes"] == 500
        assert metrics["scrubjay_workspace_stored_bytes"] > 0
        assert metrics["scrubjay_workspace_queue_dropped_total"] == 0

    async def test_wrong_limits_are_refused(self, jay: Jay) -> None:
        with pytest.raises(InvalidInput, match="most_bytes is 0"):
            await jay.workspace.prune(most_bytes=0)
        for wrong in (7, timedelta(0)):
            with pytest.raises(InvalidInput, match="keep_for is"):
                await jay.workspace.prune(keep_for=wrong)

    async def test_a_backfill_reads_folders_and_zip_files(self, jay: Jay, tmp_path: Path) -> None:
        made, repo = tmp_path / "made", a_repository(tmp_path / "repo")
        (made / "job-1" / "src").mkdir(parents=True)
        (made / "job-1" / "src" / "session.py").write_text(SESSION)
        (made / "job-1" / ".cache").mkdir()
        (made / "job-1" / ".cache" / "junk").write_text("junk")
        told = {"goal": "Keep sessions", "task_id": "T-1", "model": "m", "at": "2026-01-02T03:04:05Z", "tests": [1]}
        (made / "job-1" / "completion.json").write_text(json.dumps(told))
        (made / "nightly_export").mkdir()
        (made / "nightly_export" / "README.md").write_text("Intro\n\n# Export orders every night\n")
        (made / "broken").mkdir()
        (made / "broken" / "completion.json").write_text("{")
        (made / "failed").mkdir()
        (made / "failed" / "completion.json").write_text('{"status": "failed"}')
        with zipfile.ZipFile(made / "fix-the-cart.zip", "w") as archive:
            archive.writestr("cart.py", "def total(): ...\n")
            archive.writestr("../evil.py", "no")
        (made / "torn.zip").write_bytes(b"PK torn")
        done = await jay.workspace.backfill(made, repo_path=repo)
        assert (done.stored, done.skipped, done.found) == (3, 1, 6)
        assert sorted(Path(one.path).name for one in done.rejected) == ["broken", "torn.zip"]
        found = {hit.completion.goal: hit for hit in await jay.workspace.search_memories(repo, limit=10)}
        assert set(found) == {"Keep sessions", "Export orders every night", "fix the cart"}
        kept = found["Keep sessions"].completion
        assert (kept.task_id, kept.model, kept.artifact) == ("T-1", "m", "../made/job-1")
        assert [file.path for file in kept.files] == ["src/session.py"]
        assert kept.at is not None
        assert kept.at.isoformat() == "2026-01-02T03:04:05+00:00"
        zipped = found["fix the cart"].completion
        assert (zipped.zip, [file.path for file in zipped.files]) == ("../made/fix-the-cart.zip", ["cart.py"])
        again = await jay.workspace.backfill(made, repo_path=repo)
        assert (again.stored, again.unchanged, again.corrected) == (0, 3, 0)

    async def test_a_backfill_needs_a_directory(self, jay: Jay, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="directory is"):
            await jay.workspace.backfill(tmp_path / "none")
        assert (await jay.workspace.backfill(tmp_path)).found == 0

    async def test_samples_can_be_seeded_again(self, jay: Jay, tmp_path: Path) -> None:
        first = await jay.workspace.seed(tmp_path)
        assert {one.outcome for one in first} == {"stored"}
        again = await jay.workspace.seed(tmp_path)
        assert {one.outcome for one in again} == {"unchanged"}
        [best, *_] = await jay.workspace.search_memories(tmp_path, query="logged out customers")
        assert best.completion.files[0].path == "shop/session.py"

    async def test_a_job_is_not_forgotten_with_a_worktree(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        done = await jay.workspace.store_completion(**a_job(repo))
        (repo / "shop" / "session.py").unlink()
        (repo / "shop").rmdir()
        assert [file.state for file in (await jay.workspace.get(done.id)).files] == ["missing"]
