"""Code: where a piece of it stands, whether it still stands there, and what reading a repository did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal, TypeAlias, overload
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.answers import Hit
from scrubjay.model.checks import Json, check_storable, check_whole, shown
from scrubjay.model.memory import Memory

CODE_KIND: Final = "code"
"""The kind of a memory that holds a piece of a file: a function, a class, a section, some lines."""

FILE_KIND: Final = "file"
"""The kind of a memory that holds what is in a file: its path, its language, the names it defines."""

COMMIT_KIND: Final = "commit"
REPOSITORY_KIND: Final = "repository"
REPOSITORY_KEY: Final = "repository"

CITES: Final = "cites"
"""The name in a memory's `data` under which it cites code."""

MOST_LINES: Final = 10_000_000

Freshness: TypeAlias = Literal["fresh", "drifted", "orphaned"]
"""`fresh`: as cited. `drifted`: still found, but moved or edited. `orphaned`: not found any more."""

Drift: TypeAlias = Literal["moved", "edited"]


def hash_of(text: str) -> str:
    """The hash that `sha256sum` prints for this text."""
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A piece of code: the lines `start` to `stop` of a file, both included and counted from 1, as they were read.

    The hash is that of the lines with their secrets redacted: nothing that is stored can be used to guess one.
    """

    path: str
    start: int
    stop: int
    hash: str
    symbol: str | None = None
    language: str | None = None
    excerpt: str | None = None
    """The lines themselves, where the memory that cites them does not hold them as its content."""

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path or self.path.startswith("/") or "\\" in self.path:
            raise InvalidInput(f"path is {shown(self.path)}: use one relative to the repository, such as src/app.py")
        if ".." in self.path.split("/"):
            raise InvalidInput(f"path is {shown(self.path)}: it leads out of the repository")
        check_storable("path", self.path)
        check_whole("start", self.start, least=1, most=MOST_LINES)
        check_whole("stop", self.stop, least=self.start, most=MOST_LINES)

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What is not known is left out."""
        told: dict[str, Json] = {
            "path": self.path,
            "start": self.start,
            "stop": self.stop,
            "hash": self.hash,
            "symbol": self.symbol,
            "language": self.language,
            "excerpt": self.excerpt,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, data: Mapping[str, Json]) -> "Citation":
        """The citation that these fields spell. Raises InvalidInput when they spell none."""
        path, start, stop, digest = (data.get(name) for name in ("path", "start", "stop", "hash"))
        if not isinstance(path, str) or not isinstance(start, int) or not isinstance(stop, int):
            raise InvalidInput(f"a citation is {shown(dict(data))}: it needs path, start, stop and hash")
        if not isinstance(digest, str):
            raise InvalidInput(f"a citation of {path} has the hash {shown(digest)}: use the one that ingest computed")
        symbol, language, excerpt = (data.get(name) for name in ("symbol", "language", "excerpt"))
        return cls(
            path=path,
            start=start,
            stop=stop,
            hash=digest,
            symbol=symbol if isinstance(symbol, str) else None,
            language=language if isinstance(language, str) else None,
            excerpt=excerpt if isinstance(excerpt, str) else None,
        )

    def __str__(self) -> str:
        named = f" ({self.symbol})" if self.symbol else ""
        return f"{self.path}:{self.start}-{self.stop}{named}"


def citations_of(memory: Memory) -> list[Citation]:
    """What a memory cites: a piece of code itself, and any other memory what stands under `cites`."""
    if memory.kind == CODE_KIND:
        given: Sequence[Json] = [{**memory.data, "excerpt": memory.content}]
    else:
        cited = memory.data.get(CITES)
        given = cited if isinstance(cited, list) else []
    found: list[Citation] = []
    for one in given:
        if isinstance(one, dict):
            try:
                found.append(Citation.of(one))
            except InvalidInput:
                # Anybody may write `data`; what is no citation cannot be checked.
                continue
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCitation:
    """A citation compared with the working tree."""

    citation: Citation
    state: Freshness
    drift: tuple[Drift, ...] = ()
    now: Citation | None = None
    """Where it stands now, when it has drifted."""

    def __str__(self) -> str:
        if self.state == "fresh":
            return f"{self.citation}: fresh"
        if self.now is None:
            return f"{self.citation}: orphaned, it is not there any more"
        return f"{self.citation}: {' and '.join(self.drift)}, now {self.now.path}:{self.now.start}-{self.now.stop}"


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
        states = [one.state for one in self.cited]
        return max(states, key=("fresh", "drifted", "orphaned").index) if states else None

    @property
    def warning(self) -> str:
        """What to say to whoever reads it; empty when it is fresh or cites nothing."""
        return "; ".join(str(one) for one in self.cited if one.state != "fresh")


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
    """Which part of it: `content`, `data`, `key`, `source`, `author`, `reason`."""
    kinds: tuple[str, ...]
    current: bool
    """False for a version that is closed, and that only history shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretScan:
    """What a look for secrets among stored memories found."""

    memories: int
    """Memories that were read, every version of them."""
    found: tuple[StoredSecret, ...] = ()
