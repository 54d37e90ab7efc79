"""However a path to a repository is written, and whichever of its working trees it names, it is one workspace."""

import subprocess
from pathlib import Path

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.repository import ignores_case, named, repository_of


def worktree(main: Path, tree: Path, *, absolute: bool = True) -> None:
    """What `git worktree add` leaves behind."""
    own = main / ".git" / "worktrees" / tree.name
    own.mkdir(parents=True)
    tree.mkdir()
    (own / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {own if absolute else f'../{main.name}/.git/worktrees/{tree.name}'}\n")


def test_dots_slashes_and_links_are_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "repo"
    (folder / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    written = [folder, f"{folder}/", f"{folder}/.", f"{folder}/src/..", "repo", "./repo//", "link", tmp_path / "link"]
    assert {repository_of(path).name for path in written} == {str(folder)}
    assert len({repository_of(path).id for path in written}) == 1


def test_a_path_inside_is_the_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    found = repository_of(tmp_path / "src" / "deep")
    assert (found.root, found.base) == (tmp_path, tmp_path / "src" / "deep")
    assert found.relative("a.py") == "src/deep/a.py"
    assert found.relative(tmp_path / "b.py") == "b.py"
    assert found.relative("../../c.py") == "c.py"


def test_what_is_not_there_names_itself(tmp_path):
    (tmp_path / ".git").mkdir()
    assert repository_of(tmp_path / "gone" / "repo").name == str(tmp_path / "gone" / "repo")


@pytest.mark.parametrize("absolute", [True, False])
def test_a_working_tree_belongs_to_its_repository(tmp_path, absolute):
    main, tree = tmp_path / "main", tmp_path / "tree"
    worktree(main, tree, absolute=absolute)
    found = repository_of(tree)
    assert (found.root, found.name) == (tree, str(main))
    assert found.id == repository_of(main).id


def test_what_git_itself_writes_is_understood(tmp_path):
    main, tree, bare = tmp_path / "main", tmp_path / "tree", tmp_path / "bare.git"

    def git(*args: str, at: Path = tmp_path) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *args], cwd=at, check=True)

    git("init", "--quiet", str(main))
    git("commit", "--quiet", "--allow-empty", "-m", "one", at=main)
    git("worktree", "add", "--quiet", "-b", "other", str(tree), at=main)
    git("clone", "--quiet", "--bare", str(main), str(bare))
    git("worktree", "add", "--quiet", "-b", "third", str(tmp_path / "third"), at=bare)
    assert repository_of(tree).id == repository_of(main).id
    assert repository_of(tmp_path / "third").name == str(bare)
    assert repository_of(bare).id == repository_of(tmp_path / "third").id


def test_a_submodule_is_a_repository_of_its_own(tmp_path):
    own = tmp_path / ".git" / "modules" / "sub"
    own.mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert repository_of(tmp_path / "sub").name == str(tmp_path / "sub")


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"nonsense", b"\xff\xfe", b"gitdir: /no/such/folder"])
def test_a_file_that_git_did_not_write_changes_nothing(tmp_path, content):
    (tmp_path / ".git").write_bytes(content)
    assert repository_of(tmp_path).name == str(tmp_path)


@pytest.mark.parametrize("wrong", ["", "  ", None, 7, "a\x00b", "x" * 2_000])
def test_what_is_no_path_is_refused(wrong):
    with pytest.raises(InvalidInput, match="repo_path"):
        repository_of(wrong)


def test_where_case_is_ignored_one_spelling_names_it(tmp_path):
    one, other = tmp_path / "Repo", tmp_path / "REPO"
    assert named(one, ignoring_case=True) == named(other, ignoring_case=True)
    assert named(one, ignoring_case=False) != named(other, ignoring_case=False)


def test_the_file_system_is_asked_about_case(tmp_path):
    folder = tmp_path / "Folder"
    folder.mkdir()
    ignores_case.cache_clear()
    assert ignores_case(folder) == (tmp_path / "fOLDER").exists()
    # Another folder in the other case is another folder.
    if not (tmp_path / "fOLDER").exists():
        (tmp_path / "fOLDER").mkdir()
        ignores_case.cache_clear()
        assert not ignores_case(folder)


def test_paths_stay_inside_or_go_up(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    found = repository_of(folder)
    for outside in ("../x.py", "/etc/passwd", ".", tmp_path):
        with pytest.raises(InvalidInput, match="not inside"):
            found.relative(outside)
    assert found.nearby(tmp_path / "out" / "all.zip") == "../out/all.zip"
    assert found.nearby("out") == "out"
