"""What workspace memory answers: completions found, one in full, and what recording, pruning and backfilling did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, overload
from uuid import UUID

from scrubjay.model.scope import Scope
from scrubjay.model.workspace import Completion, CompletionFile

FileState: TypeAlias = Literal["fresh", "changed", "missing", "unknown"]
"""Whether the working tree still has a file as it was when the job was done; `unknown` to the holder of a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCompletion:
    """What became of a completion that was told."""

    outcome: Literal["stored", "unchanged", "superseded", "skipped"]
    id: UUID | None = None
    """The memory that holds it; None when it was skipped."""
    completion: Completion | None = None
    """As it was kept: `cuts` says what was not."""
    reason: str = ""
    """Why it was skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceHit:
    """A completion that fits, and why."""

    id: UUID
    completion: Completion
    score: float
    why: str
    similarity: float | None = None
    passage: str | None = None

    @property
    def is_advice(self) -> bool:
        """Whether it may be followed. What was rejected is shown only to those who ask for it, and never is."""
        return self.completion.status == "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceHits(Sequence[WorkspaceHit]):
    """Completions that fit, best first."""

    hits: tuple[WorkspaceHit, ...] = ()
    degraded: tuple[str, ...] = ()
    """Parts of the search that could not take part."""
    milliseconds: float = 0.0

    @overload
    def __getitem__(self, place: int) -> WorkspaceHit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[WorkspaceHit]: ...
    def __getitem__(self, place: int | slice) -> WorkspaceHit | Sequence[WorkspaceHit]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[WorkspaceHit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDetail:
    """A file of a completion, with the text that was kept of it and how the working tree stands to it."""

    file: CompletionFile
    text: str | None
    """None when nothing was kept."""
    state: FileState

    @property
    def path(self) -> str:
        """Relative to the working tree."""
        return self.file.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Something that a job left behind beside its files."""

    path: str
    """As it was kept, relative to the working tree."""
    location: str
    """Where that is on this machine."""
    exists: bool | None
    """None when the caller may not look there: the holder of a key may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionDetail:
    """A completion in full."""

    id: UUID
    scope: Scope
    completion: Completion
    files: tuple[FileDetail, ...]
    artifact: Artifact | None
    zip: Artifact | None
    redacted: tuple[str, ...]
    """Kinds of secrets that were taken out of it, its files included."""
    recorded_at: datetime
    state: str
    """`current`, `superseded`, `forgotten`, …: see `Memory.state`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prunable:
    """A completion that is to go, and why."""

    id: UUID
    goal: str
    repo: str
    at: datetime
    bytes: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What a pruning took away; with a dry run, what it would have."""

    gone: tuple[Prunable, ...] = ()
    kept: int = 0
    """Completions that stay."""
    dry_run: bool = False

    @property
    def bytes(self) -> int:
        """What the texts of those that went took. Texts that others share are not freed by it."""
        return sum(one.bytes for one in self.gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedArtifact:
    """Something in a directory that could not be taken for a completion, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What a backfill found and did."""

    stored: int = 0
    unchanged: int = 0
    corrected: int = 0
    skipped: int = 0
    """Jobs that did not succeed."""
    rejected: tuple[RejectedArtifact, ...] = ()

    @property
    def found(self) -> int:
        """Everything that looked like the artifacts of a job."""
        return self.stored + self.unchanged + self.corrected + self.skipped + len(self.rejected)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSize:
    """How much is kept of one repository."""

    repo: str
    completions: int
    files: int
    bytes: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceStats:
    """How much workspace memory holds in a scope, and how recording is doing in this process."""

    workspaces: tuple[WorkspaceSize, ...] = ()
    """Largest first."""
    blobs: int = 0
    """Different texts that the tenant keeps, those of other memories included."""
    blob_bytes: int = 0
    stored_bytes: int = 0
    """The same as they are on disk: compressed, and each once."""
    waiting: int = 0
    """Completions in the queue of this process."""
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """In this process: how many were queued, written, skipped, failed and dropped."""

    @property
    def completions(self) -> int:
        """Of all repositories."""
        return sum(one.completions for one in self.workspaces)

    @property
    def bytes(self) -> int:
        """Of all repositories: a text that several completions share counts for each."""
        return sum(one.bytes for one in self.workspaces)

    def metrics(self) -> dict[str, float]:
        """The same as numbers with names, as a collector of metrics takes them."""
        known = {
            "scrubjay_workspace_repositories": len(self.workspaces),
            "scrubjay_workspace_completions": self.completions,
            "scrubjay_workspace_bytes": self.bytes,
            "scrubjay_workspace_blobs": self.blobs,
            "scrubjay_workspace_stored_bytes": self.stored_bytes,
            "scrubjay_workspace_queue_waiting": self.waiting,
            **{f"scrubjay_workspace_queue_{name}_total": number for name, number in self.counts.items()},
        }
        return {name: float(value) for name, value in known.items()}
