"""Git history, read without git: commits with their files, revisions, and what differs from them."""

from datetime import UTC, datetime

import pytest
from dulwich import porcelain

from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.ingest.history import History, blob_hash

WHO = b"Ann Example <ann@example.com>"


@pytest.fixture
def repository(tmp_path):
    """Commits what is given, and returns the commit."""
    porcelain.init(tmp_path).close()

    def commit(message, **files):
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        porcelain.add(tmp_path, [str(tmp_path / path) for path in files])
        return porcelain.commit(tmp_path, message=message, author=WHO, committer=WHO).decode()

    commit.root = tmp_path
    return commit


def test_commits_come_oldest_first_with_their_files(repository):
    first = repository("Add the cart\n\nIt was missing.", **{"src/cart.py": "a", "README.md": "b"})
    second = repository("Fix the total", **{"src/cart.py": "c"})
    with History.of(repository.root) as history:
        assert history.head == second
        commits = history.commits(limit=10)
        assert [(one.sha, one.files) for one in commits] == [
            (first, ("README.md", "src/cart.py")),
            (second, ("src/cart.py",)),
        ]
        assert history.commits(limit=1) == commits[1:]
        assert history.commits(limit=10, after=first) == commits[1:]
        assert history.commits(limit=10, after="0" * 40) == commits
        assert history.commits(limit=0) == []
    telling = commits[0].telling(datetime(2020, 1, 1, tzinfo=UTC))
    assert telling["valid_from"].year == 2020
    assert commits[0].telling(datetime(2999, 1, 1, tzinfo=UTC))["valid_from"] == commits[0].at
    assert telling["content"] == "Add the cart\n\nIt was missing.\n\nFiles: README.md, src/cart.py"
    assert (telling["author"], telling["source"]) == ("Ann Example", f"git:{first}")


def test_deleted_files_are_files_of_the_commit(repository):
    repository("Add", **{"a.py": "a", "b.py": "b"})
    porcelain.remove(repository.root, [str(repository.root / "a.py")])
    repository("Remove it")
    with History.of(repository.root) as history:
        assert history.commits(limit=1)[0].files == ("a.py",)


def test_revisions_are_named_in_many_ways(repository):
    first = repository("One", **{"a.py": "a"})
    porcelain.tag_create(repository.root, b"v1", author=WHO, message=b"one", annotated=True)
    second = repository("Two", **{"a.py": "b"})
    with History.of(repository.root) as history:
        assert {history.commit_of(name) for name in ("v1", "HEAD~1", first[:10], first)} == {first}
        assert history.commit_of("HEAD") == second
        with pytest.raises(InvalidInput, match="since is 'nothing'"):
            history.commit_of("nothing")
        assert history.blobs(first) == {"a.py": blob_hash(b"a")}


def test_without_history_there_is_none(tmp_path):
    assert History.of(tmp_path) is None
    (tmp_path / ".git").mkdir()
    assert History.of(tmp_path) is None


def test_before_the_first_commit_there_is_no_head(tmp_path):
    porcelain.init(tmp_path).close()
    with History.of(tmp_path) as history:
        assert (history.head, history.commits(limit=5)) == (None, [])
