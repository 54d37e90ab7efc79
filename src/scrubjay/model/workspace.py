"""Workspaces: a completed job with its files, and the rules that completions are kept by."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeAlias, get_args

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import (
    Json,
    check_content,
    check_data,
    check_moment,
    check_name,
    check_storable,
    check_whole,
    shown,
)
from scrubjay.model.memory import Memory

COMPLETION_KIND: Final = "completion"
"""The kind of a memory that holds a job that succeeded."""

REJECTED_KIND: Final = "rejected_completion"
"""The kind of one that lost a duel: an example of what was not chosen, and never advice. No context offers it."""

WORKSPACE_KINDS: Final = (COMPLETION_KIND, REJECTED_KIND, "code", "file", "commit", "repository")
"""Kinds of memory that belong to a repository. `workspace_embeddings` decides whether these are found by meaning."""

CompletionStatus: TypeAlias = Literal["succeeded", "rejected", "failed", "cancelled"]
STATUSES: Final[tuple[CompletionStatus, ...]] = get_args(CompletionStatus)
KEPT_STATUSES: Final = ("succeeded", "rejected")

Kept: TypeAlias = Literal["whole", "beginning", "nothing"]
"""How much of a file's text was kept."""

MOST_FILES: Final = 2_000
"""Files of one completion."""

MOST_GLOBS: Final = 100
"""Patterns of files that one completion was given."""

MOST_SYMBOLS: Final = 500
"""Names in its files that one completion is found by."""

LONGEST_PATH: Final = 1_000
LONGEST_TASK_ID: Final = 200
"""Characters: with the workspace before it, a task id has to fit into a key."""

LONGEST_TEXT: Final = 100_000
"""Characters of a goal or a summary."""

_BETWEEN: Final = "\n\n"
_FILES: Final = "Files: "
_SYMBOLS: Final = "Symbols: "
_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def workspace_id(repo: str) -> str:
    """The short name of a repository in keys: 16 signs made from its normalized path."""
    return blake2b(repo.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRules:
    """Whether workspace memory is on, how much of a job it keeps, and for how long."""

    enabled: bool = True
    embeddings: bool = True
    """Whether what belongs to a repository is found by its meaning too, and not by its words only."""
    keep_rejected: bool = False
    """Whether losers of a duel are kept as examples of what was not chosen."""
    head: int = 4_000
    """Characters of a text file that are kept when the whole is too large."""
    file_bytes: int = 65_536
    """The largest text file that is kept whole."""
    completion_bytes: int = 1_048_576
    """All texts of one completion."""
    workspace_bytes: int | None = 268_435_456
    """All texts of one repository in one scope: over it, the oldest completions go. None is any number."""
    keep_for: timedelta | None = None
    """How long completions are kept; None is for ever."""

    def __post_init__(self) -> None:
        for name in ("head", "file_bytes", "completion_bytes"):
            check_whole(name, getattr(self, name), least=0, most=2**53)
        if self.workspace_bytes is not None:
            check_whole("workspace_bytes", self.workspace_bytes, least=1, most=2**53)
        if self.keep_for is not None and (not isinstance(self.keep_for, timedelta) or self.keep_for <= timedelta(0)):
            raise InvalidInput(f"keep_for is {shown(self.keep_for)}: use a timedelta above zero, or None for ever")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionFile:
    """A file that a job left behind: what it was, and how much of its text is kept."""

    path: str
    """Relative to the repository, with forward slashes."""
    language: str | None = None
    size: int
    """Bytes in the working tree."""
    hash: str
    """SHA-256 of these bytes, as `sha256sum` prints it."""
    kept: Kept = "nothing"
    blob: str | None = None
    """The hash of the kept text: another one than of the file when that was cut, or held a secret."""
    bytes: int = 0
    """Of the kept text."""
    redacted: tuple[str, ...] = ()
    """Kinds of secrets that were taken out of the kept text."""

    def __post_init__(self) -> None:
        check_path("path", self.path)
        check_name("language", self.language)
        check_whole("size", self.size, least=0, most=2**53)
        check_whole("bytes", self.bytes, least=0, most=2**53)
        for name in ("hash", "blob"):
            value = getattr(self, name)
            if value is not None and (len(value) != 64 or not set(value) <= _HEXADECIMAL):
                raise InvalidInput(f"{name} is {shown(value)}: use a SHA-256 in hexadecimal")
        if self.kept not in get_args(Kept) or (self.kept == "nothing") != (self.blob is None):
            raise InvalidInput(f"kept is {shown(self.kept)}: whole and beginning have a blob, and nothing has none")

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What says nothing is left out."""
        told: dict[str, Json] = {
            "path": self.path,
            "language": self.language,
            "size": self.size,
            "hash": self.hash,
            "kept": self.kept,
            "blob": self.blob if self.blob != self.hash else None,
            "bytes": self.bytes or None,
            "redacted": list(self.redacted) or None,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "CompletionFile":
        """The file that these fields spell, as `data` wrote them."""
        blob = None if data["kept"] == "nothing" else data.get("blob", data["hash"])
        return cls(**{**data, "blob": blob, "redacted": tuple(data.get("redacted", ()))})


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A job that is done: what was asked for, what was made, and where it lies."""

    goal: str
    repo: str
    """The repository, by its normalized path. All working trees of one repository have the same."""
    root: str | None = None
    """The working tree it was done in, where that is another path."""
    task_id: str | None = None
    """Telling it again under the same id in the same repository corrects it."""
    language: str | None = None
    model: str | None = None
    mode: str | None = None
    """How it was done, such as `single` or `duel`."""
    status: CompletionStatus = "succeeded"
    summary: str | None = None
    tests: Json = field(default=None, hash=False)
    """How its tests went, in whatever form the job reports it."""
    include_globs: tuple[str, ...] = ()
    """Patterns of the files that the job was given to read, such as `src/**/*.py`, as they were told."""
    session_id: str | None = None
    """The session that it was done in. Lineage only: other sessions see the completion too."""
    artifact: str | None = None
    """A file or folder that it left behind, relative to the working tree."""
    zip: str | None = None
    files: tuple[CompletionFile, ...] = ()
    symbols: tuple[str, ...] = ()
    """Names of what its files define."""
    cuts: tuple[str, ...] = ()
    """What was not kept, one sentence each."""
    at: datetime | None = None
    """When it was done; the present when it is left out."""

    def __post_init__(self) -> None:
        _check_text("goal", self.goal)
        if self.summary is not None:
            _check_text("summary", self.summary)
        check_path("repo", self.repo)
        if self.status not in KEPT_STATUSES:
            raise InvalidInput(f"status is {shown(self.status)}: what is kept is {' or '.join(KEPT_STATUSES)}")
        for name in ("language", "model", "mode", "session_id", "task_id"):
            check_name(name, getattr(self, name))
        if self.task_id is not None and len(self.task_id) > LONGEST_TASK_ID:
            raise InvalidInput(f"task_id has {len(self.task_id)} characters: use at most {LONGEST_TASK_ID}")
        named = [(name, getattr(self, name)) for name in ("root", "artifact", "zip")]
        for name, path in (*named, *(("include_globs", glob) for glob in self.include_globs)):
            if path is not None:
                check_path(name, path)
        if self.tests is not None:
            check_data({"tests": self.tests})
        for name, most in (("files", MOST_FILES), ("include_globs", MOST_GLOBS)):
            if len(getattr(self, name)) > most:
                raise InvalidInput(f"{name} has {len(getattr(self, name)):,} entries: keep the first {most:,}")
        check_moment("at", self.at)

    @property
    def key(self) -> str:
        """What names this completion among the current memories of a scope: its task, or else what it says."""
        if self.status == "rejected":
            return f"{completion_keys(self.repo)}{self._named}:not:{_digest([self.model, self._said], 4)}"
        return f"{completion_keys(self.repo)}{self._named}"

    @property
    def kind(self) -> str:
        """The kind of the memory that holds it. What lost has one of its own, so that nobody takes it for advice."""
        return COMPLETION_KIND if self.status == "succeeded" else REJECTED_KIND

    @property
    def _named(self) -> str:
        return self.task_id if self.task_id is not None else f"job-{_digest(self._said, 8)}"

    @property
    def _said(self) -> list[Json]:
        files: list[Json] = [[file.path, file.hash] for file in self.files]
        return [self.goal, self.summary, self.model, self.mode, files]

    @property
    def content(self) -> str:
        """What a search should find it by: what was asked for, what was made, and the names in it."""
        goal = self.goal if self.status == "succeeded" else f"Rejected, not to be followed: {self.goal}"
        files = _FILES + ", ".join(file.path for file in self.files) if self.files else None
        symbols = _SYMBOLS + ", ".join(self.symbols) if self.symbols else None
        names = "\n".join(line for line in (files, symbols) if line)
        return _BETWEEN.join(part for part in (goal, self.summary, names) if part)

    @property
    def bytes(self) -> int:
        """What the kept texts of its files take."""
        return sum(file.bytes for file in self.files)

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        told: dict[str, Json] = {
            "goal": self.goal,
            "repo": self.repo,
            "root": self.root,
            "task_id": self.task_id,
            "language": self.language,
            "model": self.model,
            "mode": self.mode,
            "status": self.status,
            "summary": self.summary,
            "tests": self.tests,
            "include_globs": list(self.include_globs) or None,
            "session_id": self.session_id,
            "artifact": self.artifact,
            "zip": self.zip,
            "files": [file.data for file in self.files] or None,
            "symbols": list(self.symbols) or None,
            "cuts": list(self.cuts) or None,
            "bytes": self.bytes,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, memory: Memory) -> "Completion":
        """The completion that a memory holds. Raises InvalidInput when it holds none."""
        if memory.kind not in (COMPLETION_KIND, REJECTED_KIND) or not {"goal", "repo", "status"} <= memory.data.keys():
            raise InvalidInput(f"memory {memory.id} is a {memory.kind} and holds no completion")
        told: dict[str, Any] = {name: value for name, value in memory.data.items() if name != "bytes"}
        try:
            told["files"] = tuple(CompletionFile.of(file) for file in told.get("files", ()))
            for name in ("include_globs", "symbols", "cuts"):
                told[name] = tuple(told.get(name, ()))
            return cls(**told, at=memory.valid_from)
        except (KeyError, TypeError) as error:
            raise InvalidInput(f"memory {memory.id} holds no completion that this version can read: {error}") from error

    def __repr__(self) -> str:
        return f"<Completion {self.status} {self.goal[:60]!r} in {self.repo}, {len(self.files)} files>"


def completion_keys(repo: str | None = None) -> str:
    """How the keys of all completions of a repository begin; without one, those of all repositories."""
    return f"completion:{workspace_id(repo)}:" if repo is not None else "completion:"


def stretches(memory: Memory) -> list[tuple[int, int]]:
    """The stretches of a completion's content that a model has to read apart: goal, summary, and names."""
    content = memory.content
    summary = content.find(_BETWEEN, len(str(memory.data.get("goal", ""))))
    names = max(content.rfind(f"{_BETWEEN}{heading}") for heading in (_FILES, _SYMBOLS))
    seams = sorted({seam for seam in (summary, names) if seam > 0})
    starts = [0, *(seam + len(_BETWEEN) for seam in seams)]
    return list(zip(starts, [*seams, len(content)], strict=True))


def check_path(field: str, value: str) -> None:
    """Some text that can be a path, with forward slashes."""
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_PATH:
        raise InvalidInput(f"{field} is {shown(value)}: use a path of 1 to {LONGEST_PATH:,} characters")
    check_storable(field, value)


def is_inside(path: str) -> bool:
    """Whether a relative path stays below where it begins."""
    parts = PurePosixPath(path)
    return not parts.is_absolute() and ".." not in parts.parts and bool(parts.parts)


def _check_text(field: str, value: str) -> None:
    try:
        check_content(value)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace("content", field, 1)) from error
    if len(value) > LONGEST_TEXT:
        raise InvalidInput(f"{field} has {len(value):,} characters: use at most {LONGEST_TEXT:,}")


def _digest(said: Json, size: int) -> str:
    return blake2b(json.dumps(said, ensure_ascii=False).encode(), digest_size=size).hexdigest()
