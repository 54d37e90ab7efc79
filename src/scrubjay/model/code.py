"""Code: where a piece of it stands, whether it still stands there, and what reading a repository did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, overload
from uuid import UUID

from scrubjay.model.answers import Hit
from scrubjay.model.citations import CheckedCitation, Freshness, warning_of, worst
from scrubjay.model.memory import Memory

FILE_KIND: Final = "file"
"""The kind of a memory that holds what is in a file: its path, its language, the names it defines."""

COMMIT_KIND: Final = "commit"
REPOSITORY_KIND: Final = "repository"
REPOSITORY_KEY: Final = "repository"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHit:
    """A memory that answers, and whether the code it speaks of is still as it says."""

    hit: Hit
    cited: tuple[CheckedCitation, ...] = ()
    """Each citation, checked; empty when it cites nothing, or when the repository is not on this machine."""

    @property
    def memory(self) -> Memory:
        """The memory itself."""
        return self.hit.memory

    @property
    def state(self) -> Freshness | None:
        """The worst state among its citations; None when nothing was checked."""
        return worst(self.cited)

    @property
    def warning(self) -> str:
        """What to say to whoever reads it; empty when it is fresh or cites nothing."""
        return warning_of(self.cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHits(Sequence[CodeHit]):
    """The answers to a question about code, best first."""

    hits: tuple[CodeHit, ...]
    degraded: tuple[str, ...] = ()
    milliseconds: float = 0.0

    @overload
    def __getitem__(self, place: int) -> CodeHit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[CodeHit, ...]: ...
    def __getitem__(self, place: int | slice) -> CodeHit | tuple[CodeHit, ...]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[CodeHit]:
        return iter(self.hits)


SkipReason: TypeAlias = Literal[
    "ignored", "vendored", "generated", "binary", "large", "data", "unreadable", "another repository", "link"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or a folder that was left out, and the evidence for it."""

    path: str
    reason: SkipReason
    evidence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """A secret that was replaced before anything was stored. The secret itself is not kept, here or anywhere."""

    path: str
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What reading a repository did."""

    root: str
    project: str
    files: int = 0
    """Files of the repository that are remembered now."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    pieces: int = 0
    """Pieces of code that were written: new ones, and those that were edited or moved."""
    closed: int = 0
    """Pieces that are not there any more, and were closed."""
    commits: int = 0
    """Commits that were new."""
    skipped: tuple[Skipped, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    languages: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many files there are in each, most first."""
    notes: tuple[str, ...] = ()
    """What could have been done and was not, with the remedy."""
    seconds: float = 0.0

    @property
    def touched(self) -> int:
        """Files that were added, changed or removed."""
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantFile:
    """A file that may matter for a task, and why."""

    path: str
    score: float
    """From 0 to 1, within one answer. It is not a probability."""
    why: str
    symbols: tuple[str, ...] = ()
    """The pieces of it that fit best."""
    tasks: tuple[UUID, ...] = ()
    """Past tasks and commits that touched it and are like this one."""
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevantFiles(Sequence[RelevantFile]):
    """The files most likely to matter for a task, best first."""

    files: tuple[RelevantFile, ...]
    degraded: tuple[str, ...] = ()

    @overload
    def __getitem__(self, place: int) -> RelevantFile: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[RelevantFile, ...]: ...
    def __getitem__(self, place: int | slice) -> RelevantFile | tuple[RelevantFile, ...]:
        return self.files[place]

    def __len__(self) -> int:
        return len(self.files)

    def __iter__(self) -> Iterator[RelevantFile]:
        return iter(self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """A memory that holds a secret: written while redaction was off, or before its kind was known."""

    id: UUID
    memory_kind: str
    place: str
    """Which part of it: `content`, `data`, `key`, `source`, `author`, `reason`, or the `files` it holds."""
    kinds: tuple[str, ...]
    current: bool
    """False for a version that is closed, and that only history shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretScan:
    """What a look for secrets among stored memories found."""

    memories: int
    """Memories that were read, every version of them."""
    found: tuple[StoredSecret, ...] = ()
