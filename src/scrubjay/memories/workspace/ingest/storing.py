"""Ingest: the files of a repository become memories. A second run touches only what changed and closes what is gone.

The memory of a file is written after its pieces, and names the hash it was made from. Whoever is stopped half-way finds
files without it, or with an older one, and does those again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias, cast
from uuid import UUID

from scrubjay.core import Core
from scrubjay.memories.workspace.ingest.history import History, blob_hash
from scrubjay.memories.workspace.ingest.pieces import Piece, file_key, outline, piece_keys, pieces_of
from scrubjay.memories.workspace.ingest.reading import Source, bytes_of, source_of
from scrubjay.memories.workspace.ingest.walking import Found, Walk
from scrubjay.model import Filter, Json, Memory, Scope, Trust, Where
from scrubjay.model.citations import CODE_KIND
from scrubjay.model.code import FILE_KIND, Redaction, Skipped
from scrubjay.ports import Redactor
from scrubjay.write.prepare import Telling

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many files are done and how many there are in all."""

GONE: Final = "it is not in the repository any more"

TOGETHER: Final = 64
"""Files that are read in one go, on a thread of their own."""

WRITTEN: Final = 500
"""Pieces that are written in one go: enough for the model to work on, and little to repeat when it is stopped."""

MOST_PIECES: Final = 100_000
"""Of one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be read, and for whom."""

    root: Path
    inside: str
    where: Where
    scope: Scope
    paths: frozenset[str] | None = None
    """Only these files, when somebody knows already that the others are as they were."""
    since: str | None = None
    """Only files that differ from what this commit holds."""
    thorough: bool = False
    """Whether files that look new may have pieces already, left behind by a run that was stopped."""


@dataclass(slots=True)
class Tally:
    """What was done so far."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    pieces: int = 0
    closed: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    redactions: list[Redaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Cut:
    """A file that is new or has changed, in pieces."""

    source: Source
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What is remembered of a file."""

    id: UUID
    hash: str
    language: str


class Ingest:
    """One run over one repository."""

    def __init__(
        self, core: Core, job: Job, *, begin: Callable[[], Awaitable[None]], progress: Progress | None = None
    ) -> None:
        self._core = core
        self._job = job
        self._begin: Callable[[], Awaitable[None]] | None = begin
        """Called once, before the first thing is written."""
        self._progress = progress or (lambda _done, _total: None)
        self._tally = Tally()
        self._waiting: list[Cut] = []
        self._known: dict[str, KnownFile] = {}

    async def run(self) -> Tally:
        """Read what changed, write it, close what is gone, and say what was done."""
        self._known = await known_files(self._core, self._job.scope)
        walk, found = await asyncio.to_thread(self._walked)
        total = len(found)
        batches = [found[start : start + TOGETHER] for start in range(0, total, TOGETHER)]
        redactor = self._core.parts.redactor
        seen: set[str] = set()
        ahead = asyncio.create_task(asyncio.to_thread(self._examined, batches[0], redactor)) if batches else None
        for place, batch in enumerate(batches):
            examined = await cast("asyncio.Task[list[Cut | Skipped | str]]", ahead)
            if place + 1 < len(batches):
                # The next files are read while these are written.
                ahead = asyncio.create_task(asyncio.to_thread(self._examined, batches[place + 1], redactor))
            await self._take(examined, seen)
            self._progress(place * TOGETHER + len(batch), total)
        await self._write()
        await self._close(self._gone(seen, walk))
        self._tally.skipped += walk.skipped
        return self._tally

    def _walked(self) -> tuple[Walk, list[Found]]:
        walk = Walk(self._job.root, self._job.inside)
        found = list(walk)
        if self._job.paths is not None:
            return walk, [one for one in found if one.path in self._job.paths]
        if self._job.since is not None:
            return walk, self._differing(found, self._job.since)
        return walk, found

    def _differing(self, found: Sequence[Found], commit: str) -> list[Found]:
        history = History.of(self._job.root)
        if history is None:
            return list(found)
        with history:
            blobs = history.blobs(commit)
        differing: list[Found] = []
        for one in found:
            content = bytes_of(self._job.root, one.path)
            if isinstance(content, Skipped) or blob_hash(content) != blobs.get(one.path):
                differing.append(one)
        return differing

    def _examined(self, batch: Sequence[Found], redactor: Redactor | None) -> list[Cut | Skipped | str]:
        """Each file in pieces, or why it does not count, or its path when it is as it was."""
        examined: list[Cut | Skipped | str] = []
        for one in batch:
            known = self._known.get(one.path)
            content = bytes_of(self._job.root, one.path)
            if isinstance(content, Skipped):
                examined.append(content)
                continue
            if known is not None and sha256(content).hexdigest() == known.hash:
                examined.append(one.path)
                continue
            source = source_of(one.path, content, redactor)
            if isinstance(source, Skipped):
                examined.append(source)
            elif known is not None and source.hash == known.hash:
                examined.append(one.path)
            else:
                examined.append(Cut(source, pieces_of(source)))
        return examined

    async def _take(self, examined: Iterable[Cut | Skipped | str], seen: set[str]) -> None:
        for one in examined:
            if isinstance(one, Skipped):
                self._tally.skipped.append(one)
            elif isinstance(one, str):
                seen.add(one)
                self._tally.unchanged += 1
            else:
                seen.add(one.source.path)
                self._waiting.append(one)
                if sum(len(cut.pieces) for cut in self._waiting) >= WRITTEN:
                    await self._write()

    async def _write(self) -> None:
        """Write the files that wait: first what is gone from them is closed, then pieces, and last the file itself."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if self._begin is not None:
            await self._begin()
            self._begin = None
        tellings: list[Telling] = []
        for cut in waiting:
            known = self._known.get(cut.source.path)
            if known is not None or self._job.thorough:
                await self._close_pieces(cut)
            self._tally.added += known is None
            self._tally.changed += known is not None
            self._tally.redactions += cut.source.redactions
            tellings += [_piece_telling(cut.source, piece) for piece in cut.pieces]
            tellings.append(_file_telling(cut))
        written = await self._core.remember_many(tellings, **self._job.where)
        self._tally.pieces += sum(one.outcome != "unchanged" and one.memory.kind == CODE_KIND for one in written)

    async def _close_pieces(self, cut: Cut) -> None:
        stays = {piece.key for piece in cut.pieces}
        known = await self._pieces(cut.source.path)
        await self._forget([memory.id for memory in known if memory.key not in stays])

    async def _pieces(self, path: str) -> list[Memory]:
        found = await self._core.parts.stores.records.find(
            Filter(scope=self._job.scope, reach="holds", kinds=(CODE_KIND,), key_prefix=piece_keys(path)),
            now=self._core.parts.clock(),
            limit=MOST_PIECES,
        )
        return [memory for memory in found if memory.scope == self._job.scope]

    def _gone(self, seen: set[str], walk: Walk) -> list[str]:
        """Files that are remembered and do not count any more: deleted, or ignored since."""
        narrowed = self._job.paths is not None or self._job.since is not None
        left_out = {one.path for one in (*self._tally.skipped, *walk.skipped)}
        return [
            path
            for path in self._known
            if path not in seen
            and path.startswith(self._job.inside)
            and (not narrowed or path in left_out or not (self._job.root / path).is_file())
        ]

    async def _close(self, paths: Sequence[str]) -> None:
        for path in paths:
            pieces = await self._pieces(path)
            # The file goes last: as long as it is there, the next run knows what is left to do.
            await self._forget([memory.id for memory in pieces])
            await self._core.forget([self._known[path].id], reason=GONE, **self._job.where)
            self._tally.removed += 1

    async def _forget(self, ids: Sequence[UUID]) -> None:
        if ids:
            await self._core.forget(list(ids), reason=GONE, **self._job.where)
            self._tally.closed += len(ids)


async def known_files(core: Core, scope: Scope) -> dict[str, KnownFile]:
    """What is remembered of the files of exactly this scope, by path."""
    known: dict[str, KnownFile] = {}
    wanted = Filter(scope=scope, reach="holds", kinds=(FILE_KIND,))
    async for batch in core.parts.stores.records.scan(wanted, now=core.parts.clock()):
        for memory in batch:
            path, digest, language = (memory.data.get(name) for name in ("path", "hash", "language"))
            if memory.scope == scope and isinstance(path, str) and isinstance(digest, str):
                known[path] = KnownFile(memory.id, digest, str(language))
    return known


def _piece_telling(source: Source, piece: Piece) -> Telling:
    names: list[Json] = [name for name in piece.names if name != piece.citation.symbol]
    data: dict[str, Json] = {**piece.citation.data, **({"names": names} if names else {})}
    return {
        "kind": CODE_KIND,
        "key": piece.key,
        "content": piece.content,
        "data": data,
        "trust": Trust.OBSERVED,
        "source": _source_name(source.path),
    }


def _file_telling(cut: Cut) -> Telling:
    source = cut.source
    data: dict[str, Json] = {
        "path": source.path,
        "language": source.language,
        "size": source.size,
        "lines": len(source.lines),
        "hash": source.hash,
        "pieces": len(cut.pieces),
    }
    if source.redactions:
        data["redacted"] = list[Json](sorted({one.kind for one in source.redactions}))
    return {
        "kind": FILE_KIND,
        "key": file_key(source.path),
        "content": outline(source, cut.pieces),
        "data": data,
        "trust": Trust.OBSERVED,
        "source": _source_name(source.path),
    }


def _source_name(path: str) -> str:
    return file_key(path).removeprefix("file:")
