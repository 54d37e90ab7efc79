"""A completion is kept once, with its files by their hash, within its caps, and without a secret."""

from hashlib import sha256
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.workspace import Completion
from scrubjay.ports import Blob
from scrubjay.testing.values import NOW
from scrubjay.testing.workspace.repositories import CART, SESSION, Jay, a_job, a_repository, by_rules

TOKEN = "ghp_" + "a8Xk29dLmQ4rT7vZ1bN6cY3wE5sU0pJfHgDi"
"""Looks like one, and opens nothing."""


class Storing:
    """What `store_completion` and `get` promise."""

    async def test_every_field_is_kept(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        told = a_job(
            repo,
            model="small-1",
            mode="duel",
            tests={"passed": 3},
            session_id="s-7",
            artifact=repo / "out" / "report.html",
            zip="out/all.zip",
            files=["shop/session.py", repo / "cart.py"],
            at=NOW,
        )
        done = await jay.workspace.store_completion(**told, project="shop")
        assert done.outcome == "stored"
        memory = await jay.get(done.id)
        assert (memory.kind, memory.valid_from, memory.scope.project) == ("completion", NOW, "shop")
        assert memory.scope.session is None
        kept = Completion.of(memory)
        assert kept == done.completion
        assert (kept.goal, kept.summary, kept.task_id) == (told["goal"], told["summary"], "shop-1")
        assert (kept.model, kept.mode, kept.tests, kept.session_id) == ("small-1", "duel", {"passed": 3}, "s-7")
        assert (kept.artifact, kept.zip, kept.language) == ("out/report.html", "out/all.zip", "python")
        assert kept.symbols == ("keep_session", "ShoppingCart", "totalPrice")
        assert [file.path for file in kept.files] == ["shop/session.py", "cart.py"]
        assert kept.cuts == ()

    async def test_a_file_is_kept_by_its_hash_and_compared_with_the_working_tree(
        self, jay: Jay, tmp_path: Path
    ) -> None:
        repo = a_repository(tmp_path / "repo")
        done = await jay.workspace.store_completion(**a_job(repo, files=["shop/session.py", "cart.py"]))
        session, cart = (await jay.workspace.get(done.id)).files
        assert (session.text, session.state) == (SESSION, "fresh")
        assert session.file.hash == sha256(SESSION.encode()).hexdigest()
        assert (session.file.size, session.file.language, session.file.kept) == (len(SESSION), "python", "whole")
        (repo / "shop" / "session.py").write_text(SESSION.replace("token", "other"))
        (repo / "cart.py").unlink()
        session, cart = (await jay.workspace.get(done.id)).files
        assert (session.state, cart.state) == ("changed", "missing")
        assert (session.text, cart.text) == (SESSION, CART)

    async def test_artifacts_are_found_where_they_are(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        (tmp_path / "all.zip").write_bytes(b"zip")
        done = await jay.workspace.store_completion(**a_job(repo, artifact="out", zip=tmp_path / "all.zip"))
        detail = await jay.workspace.get(done.id)
        assert (detail.artifact.path, detail.artifact.exists) == ("out", False)
        assert (detail.zip.path, detail.zip.exists) == ("../all.zip", True)
        assert detail.zip.location == str(tmp_path / "all.zip")

    async def test_files_may_be_given_with_their_content(self, jay: Jay, tmp_path: Path) -> None:
        files = {"web/price.ts": "export const formatPrice = (cents: number) => cents / 100\n", "logo.png": b"\x89\x00"}
        done = await jay.workspace.store_completion(**a_job(tmp_path / "gone", files=files))
        price, logo = (await jay.workspace.get(done.id)).files
        assert (price.text, price.state, price.file.language) == (files["web/price.ts"], "missing", "typescript")
        assert (logo.text, logo.file.kept, logo.file.size) == (None, "nothing", 2)
        assert done.completion.symbols == ("formatPrice",)
        assert done.completion.cuts == ("logo.png: not text, only its hash is kept",)

    async def test_one_text_is_stored_once_however_many_completions_have_it(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        for task in ("a", "b", "c"):
            await jay.workspace.store_completion(**a_job(repo, task_id=task))
        stats = await jay.workspace.stats()
        assert (stats.completions, stats.blobs, stats.blob_bytes) == (3, 1, len(SESSION))
        assert stats.bytes == 3 * len(SESSION)

    async def test_the_same_task_again_is_the_same_or_a_correction(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        first = await jay.workspace.store_completion(**a_job(repo))
        again = await jay.workspace.store_completion(**a_job(repo, at=NOW))
        assert (again.outcome, again.id) == ("unchanged", first.id)
        (repo / "shop" / "session.py").write_text("def keep_session(): ...\n")
        better = await jay.workspace.store_completion(**a_job(repo, summary="And its path is /"))
        assert (better.outcome, await jay.count(kinds=["completion"])) == ("superseded", 1)
        old, new = await jay.workspace.get(first.id), await jay.workspace.get(better.id)
        assert (old.state, old.files[0].text) == ("superseded", SESSION)
        assert (new.state, new.files[0].text) == ("current", "def keep_session(): ...\n")

    async def test_without_a_task_id_what_it_says_names_it(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        outcomes = [
            (await jay.workspace.store_completion(**a_job(repo, task_id=None, summary=summary))).outcome
            for summary in ("one", "one", "two")
        ]
        assert outcomes == ["stored", "unchanged", "stored"]

    async def test_what_is_too_large_is_cut_and_said(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        (repo / "big.txt").write_text("ü" * 600)
        small = by_rules(jay, file_bytes=1_000, head=100, completion_bytes=len(SESSION) + 200)
        done = await small.store_completion(
            **a_job(repo, files=["shop/session.py", "big.txt", "cart.py", "none.py", "../outside.py"])
        )
        assert done.completion is not None
        session, big, cart = done.completion.files
        assert (session.kept, big.kept, big.bytes, big.size) == ("whole", "beginning", 200, 1_200)
        assert (cart.kept, cart.hash) == ("nothing", sha256(CART.encode()).hexdigest())
        first, second, third, fourth = done.completion.cuts
        assert first == "big.txt: the first 100 characters are kept, of 1,200 bytes"
        assert second.startswith("cart.py: not kept")
        assert third.startswith("none.py: left out")
        assert fourth.startswith("../outside.py: left out")
        detail = await jay.workspace.get(done.id)
        assert [file.text for file in detail.files] == [SESSION, "ü" * 100, None]

    async def test_a_link_is_not_followed(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        (tmp_path / "outside.txt").write_text("not yours")
        (repo / "link.txt").symlink_to(tmp_path / "outside.txt")
        done = await jay.workspace.store_completion(**a_job(repo, files=["link.txt"]))
        assert done.completion.files == ()
        assert done.completion.cuts == ("link.txt: left out, it is no plain file",)

    async def test_no_secret_reaches_the_store(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        text = f"def login():\n    return '{TOKEN}'\n"
        (repo / "login.py").write_text(text)
        done = await jay.workspace.store_completion(
            **a_job(repo, goal=f"Use {TOKEN}", summary=f"as {TOKEN}", files=["login.py"], tests=[TOKEN])
        )
        detail = await jay.workspace.get(done.id)
        assert "github-token" in detail.redacted
        assert detail.files[0].file.redacted == ("github-token",)
        assert "[redacted:github-token]" in detail.files[0].text
        memory = await jay.get(done.id)
        assert TOKEN not in memory.content + str(memory.data) + str(detail)
        blobs = await jay.parts.stores.blobs.missing(memory.scope, [Blob(text.encode()).hash])
        assert blobs == [Blob(text.encode()).hash]
        # The file itself is unchanged, and so it is still the one that the job left.
        assert detail.files[0].state == "fresh"

    async def test_jobs_that_did_not_succeed_are_skipped(self, jay: Jay, tmp_path: Path) -> None:
        for status in ("failed", "cancelled", "rejected"):
            done = await jay.workspace.store_completion(**a_job(tmp_path, status=status))
            assert (done.outcome, done.id) == ("skipped", None)
            assert done.reason
        assert await jay.count() == 0
        with pytest.raises(InvalidInput, match="status is 'great'"):
            await jay.workspace.store_completion(**a_job(tmp_path, status="great"))

    async def test_what_lost_a_duel_is_kept_apart_and_is_never_advice(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        workspace = by_rules(jay, keep_rejected=True)
        won = await workspace.store_completion(**a_job(repo, mode="duel", model="a"))
        lost = await workspace.store_completion(**a_job(repo, mode="duel", model="b", status="rejected"))
        assert (lost.outcome, lost.id != won.id) == ("stored", True)
        found = await workspace.search_memories(repo, query="logged out")
        assert [hit.id for hit in found] == [won.id]
        [hit] = await workspace.search_memories(repo, query="logged out", status="rejected")
        assert (hit.id, hit.is_advice, hit.completion.model) == (lost.id, False, "b")
        assert "not to be followed" in (await jay.get(lost.id)).content
        context = await jay.context("logged out customers")
        assert [item.memory.id for item in context.items] == [won.id]

    async def test_wrong_values_are_refused_by_name(self, jay: Jay, tmp_path: Path) -> None:
        for wrong, match in (
            ({"goal": " "}, "goal is"),
            ({"goal": "x" * 100_001}, "goal has 100,001"),
            ({"repo_path": ""}, "repo_path is"),
            ({"task_id": "x" * 201}, "task_id has 201"),
            ({"files": "cart.py"}, "files is 'cart.py'"),
            ({"files": [7]}, "files holds 7"),
            ({"files": [{"path": "a.py", "text": "x"}]}, "files holds"),
            ({"files": {"a.py": 7}}, "content of a.py is 7"),
            ({"tests": {"took": float("nan")}}, "tests"),
            ({"artifact": 7}, "artifact is 7"),
            ({"colour": "blue"}, "colour is not something a completion has"),
        ):
            with pytest.raises(InvalidInput, match=match):
                await jay.workspace.store_completion(**a_job(tmp_path, **wrong))
        assert await jay.count() == 0

    async def test_nobody_else_sees_it(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        done = await jay.workspace.store_completion(**a_job(repo), user="anna")
        for other, where in ((jay, {"user": "bert"}), (jay.for_tenant(f"{jay.tenant}-other"), {})):
            assert not await other.workspace.search_memories(repo, query="logged out", **where)
            with pytest.raises(NotFound):
                await other.workspace.get(done.id, **where)
        assert await jay.workspace.search_memories(repo, query="logged out", user="anna", session="another")

    async def test_only_completions_are_gotten(self, jay: Jay) -> None:
        told = await jay.remember("a note")
        with pytest.raises(NotFound, match="that memory is a note"):
            await jay.workspace.get(told.id)

    async def test_a_purge_takes_the_files_along(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        done = await jay.workspace.store_completion(**a_job(repo))
        receipt = await jay.forget(done.id, purge=True)
        assert set(receipt.remaining.values()) == {0}
        assert (await jay.workspace.stats()).blobs == 0
