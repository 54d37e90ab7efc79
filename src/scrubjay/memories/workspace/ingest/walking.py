"""Walk a repository: every file that counts, in order, and what was left out and why."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.memories.workspace.ingest import evidence
from scrubjay.model.code import Skipped, SkipReason

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Ignores = tuple[tuple[str, "GitIgnoreSpec"], ...]
"""The rules that hold in a folder: where each set of them begins, from the top downwards."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file that counts, as far as its name and size tell."""

    path: str
    """Relative to the root, with forward slashes."""
    size: int
    modified: int
    """Nanoseconds. Only ever compared with what it was before."""


@dataclass(slots=True)
class Walk:
    """One walk. Iterate it for the files; `skipped` is complete when they are through."""

    root: Path
    """The top of the repository: paths are relative to it."""
    inside: str = ""
    """The folder in it to walk, with a slash at its end; empty for all of it."""
    skipped: list[Skipped] = field(default_factory=list)

    def __iter__(self) -> Iterator[Found]:
        yield from self._folder(self.inside, _from_above(self.root, self.inside))

    def _folder(self, at: str, ignores: Ignores) -> Iterator[Found]:
        try:
            with os.scandir(self.root / at) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            self._skip(at or ".", "unreadable", error.strerror or "")
            return
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = (*ignores, (at, _rules(self.root / at / ".gitignore")))
        for entry in entries:
            yield from self._entry(entry, f"{at}{entry.name}", ignores)

    def _entry(self, entry: "os.DirEntry[str]", path: str, ignores: Ignores) -> Iterator[Found]:
        if not path.isprintable():
            self._skip(ascii(path), "unreadable", "its name cannot be written down")
        elif entry.is_symlink():
            self._skip(path, "link")
        elif entry.is_dir():
            if _is_ignored(f"{path}/", ignores):
                self._skip(f"{path}/", "ignored", ".gitignore")
            elif (verdict := evidence.of_folder(self.root / path, entry.name)) is not None:
                self._skip(f"{path}/", *verdict)
            else:
                yield from self._folder(f"{path}/", ignores)
        elif entry.is_file():
            if _is_ignored(path, ignores):
                self._skip(path, "ignored", ".gitignore")
            else:
                yield from self._file(entry, path)

    def _file(self, entry: "os.DirEntry[str]", path: str) -> Iterator[Found]:
        if (verdict := evidence.of_name(entry.name)) is not None:
            self._skip(path, *verdict)
            return
        try:
            status = entry.stat()
        except OSError as error:
            # It was deleted or locked since the folder was listed.
            self._skip(path, "unreadable", error.strerror or "")
            return
        if status.st_size > evidence.LARGEST:
            self._skip(path, "large", f"{status.st_size:,} bytes")
        elif status.st_size:
            yield Found(path, status.st_size, status.st_mtime_ns)

    def _skip(self, path: str, reason: SkipReason, proof: str = "") -> None:
        self.skipped.append(Skipped(path=path, reason=reason, evidence=proof))


def _rules(file: Path) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 -- only who walks a repository needs it

    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return GitIgnoreSpec.from_lines(lines)


def _from_above(root: Path, inside: str) -> Ignores:
    """The rules that hold in a folder already: what the owner excludes on this machine, and those of folders above."""
    files = [("", root / ".git" / "info" / "exclude")]
    above = inside.split("/")[:-1]
    for depth in range(len(above)):
        at = "".join(f"{name}/" for name in above[:depth])
        files.append((at, root / at / ".gitignore"))
    return tuple((at, _rules(file)) for at, file in files if file.is_file())


def _is_ignored(path: str, ignores: Ignores) -> bool:
    """Whether the innermost rules that speak of the path ignore it. A folder's path ends in a slash."""
    for at, rules in reversed(ignores):
        said = rules.check_file(path.removeprefix(at)).include
        if said is not None:
            return said
    return False
