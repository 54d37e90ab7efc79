"""Repositories: however a path to one is written, and whichever of its working trees it names, it is one workspace.

Git is not asked. A working tree that was added with `git worktree` has a file `.git` that names its own git folder, and
that folder has a file `commondir` that names the one of the repository; both are a line of text.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import shown
from scrubjay.model.workspace import check_path, workspace_id

GIT: Final = ".git"
_MOST: Final = 4_096
"""Bytes of a file that names a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A working tree, and the repository that it belongs to."""

    root: Path
    """The working tree: absolute, without links."""
    name: str
    """The repository: the path of its first working tree. All working trees of one repository have the same."""
    base: Path
    """What relative paths were meant to begin at: the path that was given, which may lie inside the tree."""

    @property
    def id(self) -> str:
        """The short name of the repository in keys."""
        return workspace_id(self.name)

    @property
    def project(self) -> str:
        """The project that its memories belong to, unless the caller names another: the name of its folder."""
        return Path(self.name).name or "root"

    def relative(self, path: str | Path) -> str:
        """The path from the root, with forward slashes. Raises InvalidInput when it leads out of the tree."""
        place = self._placed(path)
        if place == self.root or not place.is_relative_to(self.root):
            raise InvalidInput(f"path is {shown(str(path))}: it is not inside {self.root}")
        return place.relative_to(self.root).as_posix()

    def nearby(self, path: str | Path) -> str:
        """The path from the root, with forward slashes; what lies elsewhere is reached by going up."""
        return Path(os.path.relpath(self._placed(path), self.root)).as_posix()

    def _placed(self, path: str | Path) -> Path:
        """Where a path leads. Its folders are followed through links, the file itself is not."""
        place = Path(os.path.normpath(self.base / Path(path).expanduser()))
        return Path(os.path.realpath(place.parent)) / place.name


def repository_of(path: str | Path) -> Repository:
    """The repository that a path names or lies in. Nothing has to be there: an unknown path names itself."""
    if not isinstance(path, str | Path) or not str(path).strip():
        raise InvalidInput(f"repo_path is {shown(path)}: give the folder of the repository")
    try:
        given = Path(os.path.realpath(Path(path).expanduser()))
        check_path("repo_path", str(given))
        above = (given, *given.parents) if given.exists() else ()
        root = next((folder for folder in above if (folder / GIT).exists()), given)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(f"repo_path is {shown(str(path))}: {error}") from error
    return Repository(root=root, name=named(_common(root), ignoring_case=ignores_case(root)), base=given)


def named(place: Path, *, ignoring_case: bool) -> str:
    """How a repository is called: by its path, in one spelling where the file system knows no other."""
    return place.as_posix().casefold() if ignoring_case else place.as_posix()


def _common(root: Path) -> Path:
    """The first working tree of the repository that this one belongs to; of a bare repository, its own folder."""
    gitdir = _told(root / GIT, "gitdir:")
    if gitdir is None:
        return root
    folder = _told(gitdir / "commondir", "")
    if folder is None:
        # A submodule, or a git folder kept elsewhere: a repository of its own.
        return root
    return folder.parent if folder.name == GIT else folder


def _told(file: Path, prefix: str) -> Path | None:
    """The folder that a file of git names, taken from where the file lies; None when it is no such file."""
    try:
        with file.open(encoding="utf-8") as opened:
            line = opened.read(_MOST).strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not line.startswith(prefix) or not (folder := line.removeprefix(prefix).strip()):
        return None
    return Path(os.path.realpath(file.parent / folder))


@lru_cache(maxsize=256)
def ignores_case(folder: Path) -> bool:
    """Whether the file system takes `Name` and `name` for one: seen by asking for a folder in the other case."""
    for place in (folder, *folder.parents):
        other = place.with_name(place.name.swapcase()) if place.name else place
        if other == place or not place.exists():
            continue
        try:
            return other.samefile(place)
        except OSError:
            return False
    return False
