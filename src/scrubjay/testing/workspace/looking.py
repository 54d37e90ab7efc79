"""Completions are found by words, by meaning, by path and by symbol, and only where they belong."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.testing.values import NOW, a_memory, export_of
from scrubjay.testing.workspace.repositories import CART, Jay, a_job, a_repository, by_rules


async def three(jay: Jay, repo: Path) -> None:
    """Three jobs of one repository."""
    await jay.workspace.store_completion(**a_job(repo, model="small", mode="single", at=NOW))
    await jay.workspace.store_completion(
        goal="The page takes four seconds",
        repo_path=repo,
        task_id="cart",
        files=["cart.py"],
        model="large",
        mode="duel",
        at=NOW + timedelta(days=1),
    )
    await jay.workspace.store_completion(
        goal="Show amounts in another currency",
        repo_path=repo,
        task_id="price",
        files={"web/price.ts": "export function formatPrice(cents: number) { return cents / 100 }\n"},
        model="large",
        mode="single",
        at=NOW + timedelta(days=2),
    )


def tasks(found: object) -> list[str | None]:
    """The tasks of the completions that were found, in order."""
    return [hit.completion.task_id for hit in found]  # type: ignore[attr-defined]  # WorkspaceHits, whichever service


class Looking:
    """What `search_memories` promises."""

    async def test_words_paths_and_parts_of_symbols_find_it(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        await three(jay, repo)
        for query, best in (
            ("customers logged out", "shop-1"),
            ("four seconds", "cart"),
            ("shop/session.py", "shop-1"),
            ("what happened to ./shop/session.py?", "shop-1"),
            ("cart.py", "cart"),
            ("ShoppingCart", "cart"),
            ("total price", "cart"),
            ("keep session", "shop-1"),
            ("formatPrice", "price"),
            ("format_price", "price"),
        ):
            found = await jay.workspace.search_memories(repo, query=query)
            assert tasks(found)[0] == best, query
            assert found[0].why

    async def test_a_path_or_symbol_that_is_named_says_so(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        await three(jay, repo)
        found = await jay.workspace.search_memories(repo, query="shop/session.py keep_session")
        assert "has shop/session.py" in found[0].why
        assert "defines keep_session" in found[0].why
        assert found[0].score > found[1].score if len(found) > 1 else True

    async def test_every_filter_narrows(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        await three(jay, repo)
        search = jay.workspace.search_memories
        assert tasks(await search(repo)) == ["price", "cart", "shop-1"]
        assert tasks(await search(repo, limit=1)) == ["price"]
        assert tasks(await search(repo, "typescript")) == ["price"]
        assert tasks(await search(repo, model="large", mode="duel")) == ["cart"]
        assert tasks(await search(repo, since=NOW + timedelta(hours=1), until=NOW + timedelta(days=2))) == ["cart"]
        assert tasks(await search(repo, "python", "four seconds", 5, model="small")) == ["shop-1"]
        assert not await search(repo, "cobol")
        assert not await search(tmp_path / "other", query="four seconds")
        assert len(await search(query="four seconds")) >= 1

    async def test_one_repository_however_its_path_is_written(
        self, jay: Jay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = a_repository(tmp_path / "repo")
        (tmp_path / "link").symlink_to(repo)
        monkeypatch.chdir(tmp_path)
        await jay.workspace.store_completion(**a_job(Path(f"{repo}{os.sep}")))
        for written in (str(repo), f"{repo}/", "repo", "./repo/", "./repo/../repo", tmp_path / "link"):
            assert len(await jay.workspace.search_memories(written, query="logged out")) == 1, written
        again = await jay.workspace.store_completion(**a_job(Path("link")))
        assert again.outcome == "unchanged"

    async def test_working_trees_of_one_repository_are_one_workspace(self, jay: Jay, tmp_path: Path) -> None:
        main, tree = a_repository(tmp_path / "main"), a_repository(tmp_path / "tree")
        own = main / ".git" / "worktrees" / "tree"
        own.mkdir(parents=True)
        (own / "commondir").write_text("../..\n")
        (tree / ".git").write_text(f"gitdir: {own}\n")
        (tree / "cart.py").write_text(CART + "# in the tree\n")
        done = await jay.workspace.store_completion(**a_job(tree, files=["cart.py"]))
        assert (done.completion.repo, done.completion.root) == (str(main), str(tree))
        [hit] = await jay.workspace.search_memories(main / "shop", query="logged out")
        # Its files are those of the tree that it was done in, and not those of the first one.
        assert (await jay.workspace.get(hit.id)).files[0].state == "fresh"

    async def test_without_embeddings_words_find_it(self, jay: Jay, tmp_path: Path) -> None:
        repo = a_repository(tmp_path / "repo")
        await three(jay, repo)
        found = await by_rules(jay, embeddings=False).search_memories(repo, query="four seconds")
        assert tasks(found)[0] == "cart"
        assert (found[0].similarity, found.degraded) == (None, ())

    async def test_what_was_written_by_hand_is_no_completion(self, jay: Jay) -> None:
        by_hand = [a_memory("four seconds", kind="completion"), a_memory("four seconds", kind="note")]
        for odd in ({"files": [7]}, {"files": 7}, {"colour": "blue"}, {"files": [{"kept": "whole"}]}):
            data = {"goal": "four seconds", "repo": "/r", "status": "succeeded", **odd}
            by_hand.append(a_memory(f"four seconds {odd}", kind="completion", data=data))
        await jay.import_lines(export_of(*by_hand))
        assert not await jay.workspace.search_memories(query="four seconds")
        assert (await jay.workspace.stats()).completions == 0
        assert (await jay.workspace.prune(most_bytes=1)).kept == 0

    async def test_wrong_questions_are_refused(self, jay: Jay, tmp_path: Path) -> None:
        search = jay.workspace.search_memories
        with pytest.raises(InvalidInput, match="limit is 0"):
            await search(tmp_path, limit=0)
        with pytest.raises(InvalidInput, match="status is 'failed'"):
            await search(tmp_path, status="failed")
        with pytest.raises(InvalidInput, match="repo_path is ''"):
            await search("")
        with pytest.raises(InvalidInput, match="language is"):
            await search(language=" ")
