"""A whole installation in one file: compressed lines of JSON, the same for every kind of store.

The first line says what the file is and what is in it, each other line is one row with its vectors, one blob or one
session, and the last one is the seal: counts, and a checksum of every byte before it. A file without its seal is no
backup.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from scrubjay import __version__
from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.files import written_to
from scrubjay.jobs.carry import BATCH, Load, Progress, Source
from scrubjay.jobs.lines import (
    api_key_from,
    api_key_line,
    blob_from,
    blob_line,
    entries_from,
    entry_from,
    entry_line,
    key_from,
    key_line,
    note_from,
    note_line,
    row_from,
    row_lines,
    session_from,
    session_line,
)
from scrubjay.model import Generation, Identity, Json, Memory
from scrubjay.model.access import AuditEntry
from scrubjay.model.checks import shown
from scrubjay.model.portable import moment_text
from scrubjay.ports import Entry, Outline, Piece, WholeBlob, WholeSession

FORMAT: Final = "scrubjay-backup"
VERSION: Final = 4
"""Of the file. A reader takes every version up to its own.

The first one has neither blobs nor sessions, and the second one no keys of any kind and no audit log.
"""

_BYTES: Final = 16 * 1024 * 1024
"""Of lines that make one load, unless a single one is longer."""

_COMPRESSION: Final = 3  # Vectors hardly shrink; more effort buys a few per cent of the text.


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself."""

    version: int
    scrubjay: str
    """The version that wrote it."""
    schema: str
    """Of the store that it was made from."""
    created_at: datetime
    outline: Outline
    vectors: dict[int, int]
    """Memories with vectors, in each generation."""
    sha256: str


async def back_up(
    source: Source, path: Path, *, schema: str, at: datetime, progress: Progress = lambda _done, _total: None
) -> Manifest:
    """Write everything to a file that takes its name only when it is whole, and only its owner can read.

    A pipe gets it as it is made.
    """
    outline = await source.outline()
    vectors: Counter[int] = Counter({generation.number: 0 for generation in outline.generations})
    done = 0
    with written_to(path) as file:
        lines = _Lines(file)
        lines.write(_header(outline, schema=schema, at=at))
        async for load in source.loads():
            for line in _lines(load):
                lines.write(line)
            vectors.update({number: len(entries) for number, entries in load.entries.items()})
            done += len(load.piece)
            progress(done, outline.items)
        sealed = lines.digest()
        lines.write({"lines": done, "vectors": _by_name(vectors), "sha256": sealed})
        lines.close()
    return Manifest(
        version=VERSION,
        scrubjay=__version__,
        schema=schema,
        created_at=at,
        outline=outline,
        vectors=dict(vectors),
        sha256=sealed,
    )


def _header(outline: Outline, *, schema: str, at: datetime) -> dict[str, Json]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "scrubjay": __version__,
        "schema": schema,
        "created_at": moment_text(at),
        "memories": outline.memories,
        "tenants": dict(outline.tenants),
        "blobs": dict(outline.blobs),
        "sessions": dict(outline.sessions),
        "generations": [
            {
                **asdict(one.identity),
                "number": one.number,
                "state": one.state,
                "created_at": moment_text(one.created_at),
                "switched_at": moment_text(one.switched_at) if one.switched_at is not None else None,
            }
            for one in outline.generations
        ],
        "last_generation": outline.last_number,
        "audit": dict(outline.audit),
        "api_keys": [api_key_line(key) for key in outline.api_keys],
        "keys": [key_line(key) for key in outline.keys],
        "elsewhere": [note_line(note) for note in outline.elsewhere],
    }


def _lines(load: Load) -> Iterator[dict[str, Json]]:
    yield from row_lines(load.piece.memories, load.entries)
    yield from map(blob_line, load.piece.blobs)
    yield from map(session_line, load.piece.sessions)
    yield from map(entry_line, load.piece.audit)


def _by_name(vectors: Counter[int]) -> dict[str, Json]:
    return {str(number): count for number, count in vectors.items()}


class _Lines:
    """Lines of JSON, compressed, and the checksum of what was written so far."""

    def __init__(self, file: IO[bytes]) -> None:
        # Neither name nor time: the same content makes the same bytes.
        self._packed = gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=_COMPRESSION, mtime=0)
        self._hash = sha256()

    def write(self, value: dict[str, Json]) -> None:
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self._hash.update(line)
        self._packed.write(line)

    def digest(self) -> str:
        return self._hash.hexdigest()

    def close(self) -> None:
        self._packed.close()


class Backup:
    """A backup that was read once, whole, and found sound. A `Source`: its places are the numbers of its lines."""

    def __init__(self, path: Path) -> None:
        """Raises Unsupported for another kind of file, and InvalidInput for a backup that is damaged."""
        self._path = path
        self.manifest = _checked(path)

    @property
    def name(self) -> str:
        """What tells it from others: what is in it, wherever it lies."""
        return f"the backup {self.manifest.sha256[:16]}"

    async def outline(self) -> Outline:
        """Return what is in it."""
        return self.manifest.outline

    async def loads(self, *, after: int = 0) -> AsyncIterator[Load]:
        """Stream all of it in the order of storing, from behind the place named."""
        numbers = [generation.number for generation in self.manifest.outline.generations]
        total = self.manifest.outline.items
        batch = _Batch(numbers)
        for place, line in enumerate(_lines_of(self._path)):
            if not after < place <= total:
                continue
            batch.take(line)
            if batch.is_full or place == total:
                yield batch.load(place)
                batch = _Batch(numbers)


class _Batch:
    """Lines that make one load."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._memories: list[Memory] = []
        self._blobs: list[WholeBlob] = []
        self._sessions: list[WholeSession] = []
        self._audit: list[AuditEntry] = []
        self._entries: dict[int, list[Entry]] = {number: [] for number in numbers}
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        items = len(self._memories) + len(self._blobs) + len(self._sessions) + len(self._audit)
        return items == BATCH or self._bytes > _BYTES

    def take(self, line: bytes) -> None:
        item = json.loads(line)
        self._bytes += len(line)
        if "blob" in item:
            self._blobs.append(blob_from(item))
        elif "session" in item:
            self._sessions.append(session_from(item))
        elif "logged" in item:
            self._audit.append(entry_from(item))
        else:
            memory = row_from(item)
            self._memories.append(memory)
            for number, one in entries_from(memory, item):
                self._entries[number].append(one)

    def load(self, place: int) -> Load:
        piece = Piece(
            place=place, memories=self._memories, blobs=self._blobs, sessions=self._sessions, audit=self._audit
        )
        return Load(piece=piece, entries=self._entries)


def _checked(path: Path) -> Manifest:
    """Read a backup to its end; return what it says of itself when all of it is true."""
    hashes = sha256()
    lines = _lines_of(path)
    first = next(lines, b"")
    header = _object(first)
    if header.get("format") != FORMAT:
        raise _foreign(path)
    version = header.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise Unsupported(
            f"{path} has format version {shown(version)}: this Scrubjay reads up to {VERSION}, use a newer one"
        )
    last, between = first, -1
    for line in lines:
        hashes.update(last)
        last, between = line, between + 1
    seal = _object(last)
    # In the first version every line between the first and the last is a memory.
    if seal.get("sha256") != hashes.hexdigest() or between != seal.get("lines", seal.get("memories")):
        raise _damaged(path, "its checksum does not match what is in it")
    manifest = _manifest(header, seal)
    if between != manifest.outline.items:
        raise _damaged(path, f"it has {between:,} lines where it says {manifest.outline.items:,}")
    return manifest


def _manifest(header: dict[str, Any], seal: dict[str, Any]) -> Manifest:
    if header.get("last_detour"):
        raise Unsupported(
            f"this backup of Scrubjay {header['scrubjay']} has changes of sessions in Redis that were noted while it "
            "was away: restore it with that version, open it once while that Redis runs, and make another backup"
        )
    outline = Outline(
        tenants=header["tenants"],
        blobs=header.get("blobs", {}),
        sessions=header.get("sessions", {}),
        generations=tuple(_generation(one) for one in header["generations"]),
        last_number=header["last_generation"],
        audit=header.get("audit", {}),
        api_keys=tuple(api_key_from(one) for one in header.get("api_keys", ())),
        keys=tuple(key_from(one) for one in header.get("keys", ())),
        elsewhere=tuple(note_from(one) for one in header.get("elsewhere", ())),
    )
    return Manifest(
        version=header["version"],
        scrubjay=header["scrubjay"],
        schema=header["schema"],
        created_at=datetime.fromisoformat(header["created_at"]),
        outline=outline,
        vectors={int(number): count for number, count in seal["vectors"].items()},
        sha256=seal["sha256"],
    )


def _generation(one: dict[str, Any]) -> Generation:
    names = ("provider", "model", "version", "dimensions")
    return Generation(
        number=one["number"],
        identity=Identity(**{name: one[name] for name in names}),
        state=one["state"],
        created_at=datetime.fromisoformat(one["created_at"]),
        switched_at=datetime.fromisoformat(one["switched_at"]) if one["switched_at"] is not None else None,
    )


def _lines_of(path: Path) -> Iterator[bytes]:
    begun = False
    try:
        with gzip.open(path, "rb") as file:
            for line in file:
                begun = True
                yield line
    except (EOFError, zlib.error) as error:
        raise _damaged(path, "it ends too early, or was changed") from error
    except gzip.BadGzipFile as error:
        if not begun and "Not a gzipped file" in str(error):
            raise _foreign(path) from error
        raise _damaged(path, "it was changed") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}. Check the name") from error


def _object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; an empty one for anything else."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _foreign(path: Path) -> Unsupported:
    return Unsupported(f"{path} is no backup of Scrubjay: name a file that `scrubjay backup` wrote")


def _damaged(path: Path, how: str) -> InvalidInput:
    return InvalidInput(f"{path} is damaged: {how}. Use another backup; nothing was changed")
