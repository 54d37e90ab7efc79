"""Citations: where a piece of code stands that a memory speaks of, and whether it still stands there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import Json, check_storable, check_whole, shown
from scrubjay.model.memory import Memory

CODE_KIND: Final = "code"
"""The kind of a memory that holds a piece of a file: a function, a class, a section, some lines."""

CITES: Final = "cites"
"""The name in a memory's `data` under which it cites code."""

CITED_FROM: Final = "cited_from"
"""The name in a memory's `data` of the working tree that it cites, where its scope does not say which that is."""

MOST_LINES: Final = 10_000_000

MOST_SHOWN: Final = 5
"""Citations that one line names. `check` lists them one by one."""

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


def worst(cited: Sequence[CheckedCitation]) -> Freshness | None:
    """The worst state among them; None when there is none."""
    states = [one.state for one in cited]
    return max(states, key=("fresh", "drifted", "orphaned").index) if states else None


def warning_of(cited: Sequence[CheckedCitation]) -> str:
    """What to say to whoever reads the memory that cites these; empty when all are as cited."""
    return listed([str(one) for one in cited if one.state != "fresh"], "; ")


def listed(named: Sequence[str], between: str = ", ") -> str:
    """The first few, and how many more there are: a memory can cite hundreds of places, and one line names them."""
    first = between.join(named[:MOST_SHOWN])
    return f"{first}{between}and {len(named) - MOST_SHOWN:,} more" if len(named) > MOST_SHOWN else first
