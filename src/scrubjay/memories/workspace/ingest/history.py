"""The history of a repository: its commits as memories, and which files differ from an earlier revision.

Git is read with dulwich, which needs no program and no network. It is part of the extra `code`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.model import Json, Trust
from scrubjay.model.code import COMMIT_KIND
from scrubjay.write.prepare import Telling

if TYPE_CHECKING:
    from dulwich.objects import Commit as GitCommit
    from dulwich.repo import Repo

MOST_COMMITS: Final = 100_000
MOST_FILES: Final = 500
"""Files of one commit that are kept. One that touches more says little about each."""

_SHOWN: Final = 50
_LONGEST_MESSAGE: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What somebody changed, when, and why."""

    sha: str
    message: str
    author: str
    at: datetime
    files: tuple[str, ...]

    def telling(self, now: datetime) -> Telling:
        """The commit as it is remembered. One from a clock that was ahead happened now at the latest."""
        shown = ", ".join(self.files[:_SHOWN])
        more = f" and {len(self.files) - _SHOWN} more" if len(self.files) > _SHOWN else ""
        files: list[Json] = list(self.files[:MOST_FILES])
        return {
            "kind": COMMIT_KIND,
            "key": f"commit:{self.sha}",
            "content": f"{self.message}\n\nFiles: {shown}{more}",
            "data": {"sha": self.sha, "files": files},
            "trust": Trust.OBSERVED,
            "source": f"git:{self.sha}",
            "author": self.author,
            "valid_from": min(self.at, now),
        }


class History:
    """The commits behind a working tree. Use it with `with`, so that its files are let go of."""

    def __init__(self, repo: "Repo") -> None:
        self._repo = repo

    @classmethod
    def of(cls, root: Path) -> "History | None":
        """The history of the working tree with this root; None when it has none. Raises Misconfigured."""
        if not (root / ".git").exists():
            return None
        try:
            from dulwich.errors import NotGitRepository  # noqa: PLC0415 -- the extra `code`
            from dulwich.repo import Repo  # noqa: PLC0415 -- the same
        except ModuleNotFoundError as error:
            raise Misconfigured("git history needs an extra: pip install 'scrubjay[code]'") from error
        try:
            return cls(Repo(str(root)))
        except NotGitRepository:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._repo.close()

    @property
    def head(self) -> str | None:
        """The commit that the working tree is based on; None before the first one."""
        try:
            return self._repo.head().decode()
        except KeyError:
            return None

    def commit_of(self, revision: str) -> str:
        """The commit that a branch, a tag, a short hash or `HEAD~3` means. Raises InvalidInput."""
        from dulwich.objectspec import parse_commit, parse_object  # noqa: PLC0415 -- imported by `of` already

        name = revision.encode()
        try:
            try:
                # One of them knows `HEAD~3`, the other short hashes.
                return parse_commit(self._repo, parse_object(self._repo, name).id).id.decode()
            except KeyError:
                return parse_commit(self._repo, name).id.decode()
        except (KeyError, ValueError) as error:
            raise InvalidInput(f"since is {revision!r}: the repository has no such commit, branch or tag") from error

    def commits(self, *, limit: int, after: str | None = None) -> list[Commit]:
        """The newest commits, oldest first, without merges, and without `after` and all that led to it.

        A shallow clone ends where it was cut.
        """
        from dulwich.objects import ObjectID  # noqa: PLC0415 -- imported by `of` already

        head = self.head
        if head is None or limit <= 0:
            return []
        store = self._repo.object_store
        known = [ObjectID(after.encode())] if after is not None and ObjectID(after.encode()) in store else None
        found: list[Commit] = []
        for entry in self._repo.get_walker(include=[ObjectID(head.encode())], exclude=known):
            if len(entry.commit.parents) <= 1 and (files := sorted(set(_files(entry.changes())))):
                found.append(_commit(entry.commit, tuple(files)))
                if len(found) == limit:
                    break
        return found[::-1]

    def blobs(self, commit: str) -> dict[str, str]:
        """The files that a commit holds, each with the hash that git gives it."""
        tree: Any = self._repo[commit.encode()]
        entries = self._repo.object_store.iter_tree_contents(tree.tree)
        return {entry.path.decode(errors="replace"): entry.sha.decode() for entry in entries}


def blob_hash(content: bytes) -> str:
    """The hash that git gives a file."""
    return sha1(b"blob %d\x00" % len(content) + content, usedforsecurity=False).hexdigest()


def _commit(commit: "GitCommit", files: tuple[str, ...]) -> Commit:
    message = commit.message.decode(errors="replace").replace("\x00", "").strip()
    author = commit.author.decode(errors="replace").partition("<")[0].strip()
    sha: str = commit.id.decode()
    at = datetime.fromtimestamp(commit.commit_time, UTC)
    printable = "".join(letter for letter in author if letter.isprintable())[:200]
    return Commit(
        sha=sha,
        message=(message or "(no message)")[:_LONGEST_MESSAGE],
        author=printable or "unknown",
        at=at,
        files=files,
    )


def _files(changes: Any) -> Iterator[str]:  # noqa: ANN401 -- TreeChange, of the extra
    for change in changes:
        side = change.new if change.new is not None and change.new.path is not None else change.old
        yield side.path.decode(errors="replace")
