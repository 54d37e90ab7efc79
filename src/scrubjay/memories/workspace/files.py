"""Files: what a job left behind becomes entries with hashes, and texts to keep, within the caps and without secrets."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Final, TypeAlias

from scrubjay.errors import InvalidInput
from scrubjay.memories.workspace.languages import PROSE, language_of
from scrubjay.memories.workspace.repository import Repository
from scrubjay.memories.workspace.symbols import symbols_of
from scrubjay.model.checks import shown
from scrubjay.model.workspace import MOST_FILES, MOST_SYMBOLS, CompletionFile, WorkspaceRules
from scrubjay.ports import Redactor
from scrubjay.write.redact import clean_text

Files: TypeAlias = "Mapping[str, str | bytes] | Sequence[str | Path | Mapping[str, object] | Given]"
"""Paths, to be read from the working tree; or what is in them, by path; or dicts with `path`, `content`, `language`."""

MOST_CUTS: Final = 50
"""Sentences about what was cut. The rest is a number."""

_CHUNK: Final = 1 << 20
_SNIFFED: Final = 8_192
_WIDEST: Final = 4
"""Bytes of one character."""


@dataclass(frozen=True, slots=True)
class Given:
    """A file as the job named it."""

    path: str | Path
    content: bytes | None = None
    """None: it is read from the disk."""
    language: str | None = None
    source: Path | None = None
    """Where it is read; None is the working tree."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is kept of a job's files."""

    files: tuple[CompletionFile, ...]
    texts: tuple[bytes, ...]
    """What the blobs of these files hold."""
    symbols: tuple[str, ...]
    cuts: tuple[str, ...]
    language: str | None
    """What most of it is written in."""


@dataclass(frozen=True, slots=True)
class _Read:
    size: int
    hash: str
    beginning: bytes
    """As much of it as can matter."""


def take(files: Files, repository: Repository, *, rules: WorkspaceRules, redactor: Redactor | None) -> Taken:
    """Read the files and decide what to keep of each. Reads the disk, so it belongs on a thread."""
    taken: list[CompletionFile] = []
    texts: list[bytes] = []
    symbols: dict[str, None] = {}
    cuts: list[str] = []
    room = rules.completion_bytes
    given = list(each(files))
    for one in given[:MOST_FILES]:
        try:
            path = repository.relative(one.path)
            read = _read(one, repository, rules)
        except InvalidInput as error:
            cuts.append(f"{one.path}: left out, {error}")
            continue
        except OSError as error:
            cuts.append(f"{path}: left out, {error.strerror or error}")
            continue
        language = one.language or language_of(path)
        text = _text(read.beginning)
        if text is None:
            file, kept = CompletionFile(path=path, language=language, size=read.size, hash=read.hash), b""
            cuts.append(f"{path}: not text, only its hash is kept")
        else:
            symbols |= dict.fromkeys(symbols_of(text, language))
            file, kept = _kept(text, path, language, read, rules=rules, room=room, redactor=redactor)
            cuts += _said(file, read, kept, rules)
        if file.blob is not None:
            texts.append(kept)
            room -= len(kept)
        taken.append(file)
    if len(given) > MOST_FILES:
        cuts.append(f"{len(given) - MOST_FILES:,} files: not looked at, a completion has at most {MOST_FILES:,}")
    if len(cuts) > MOST_CUTS:
        cuts = [*cuts[:MOST_CUTS], f"{len(cuts) - MOST_CUTS:,} more of the same"]
    return Taken(tuple(taken), tuple(texts), tuple(symbols)[:MOST_SYMBOLS], tuple(cuts), _main_language(taken))


def each(files: object) -> Iterator[Given]:
    """The files as they were named, whichever way. Raises InvalidInput for what names none."""
    if isinstance(files, str | bytes | Path):
        raise InvalidInput(f"files is {shown(files)}: use a list of paths, or a dict of path and content")
    if isinstance(files, Mapping):
        for path, content in files.items():
            yield Given(_path(path), _bytes(path, content))
        return
    if not isinstance(files, Sequence | set | frozenset):
        raise InvalidInput(f"files is {shown(files)}: use a list of paths, or a dict of path and content")
    for one in files:
        if isinstance(one, Given):
            yield one
            continue
        if not isinstance(one, Mapping):
            yield Given(_path(one))
            continue
        if not {"path"} <= one.keys() <= {"path", "content", "language"}:
            raise InvalidInput(f"files holds {shown(one)}: a file has a path, and may have content and language")
        path, content, language = _path(one["path"]), one.get("content"), one.get("language")
        if language is not None and not isinstance(language, str):
            raise InvalidInput(f"language of {path} is {shown(language)}: use a word, such as 'python'")
        yield Given(path, None if content is None else _bytes(path, content), language)


def hash_of(path: Path) -> str:
    """The SHA-256 of a file, read piece by piece. Raises OSError."""
    digest = sha256()
    with path.open("rb") as opened:
        while piece := opened.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _read(given: Given, repository: Repository, rules: WorkspaceRules) -> _Read:
    # Secrets are looked for in more than is kept: half of one, at the cut, would not be seen as one.
    wanted = max(rules.file_bytes + 1, _WIDEST * rules.head, _SNIFFED)
    if given.content is not None:
        return _Read(len(given.content), sha256(given.content).hexdigest(), given.content[:wanted])
    place = given.source or repository.root / repository.relative(given.path)
    # A link may lead anywhere, also out of the repository: it is not followed.
    status = place.lstat()
    if not S_ISREG(status.st_mode):
        raise OSError(0, "it is no plain file")
    with place.open("rb") as opened:
        beginning = opened.read(wanted)
    return _Read(status.st_size, hash_of(place), beginning)


def _text(beginning: bytes) -> str | None:
    """The text, up to the last whole character; None when it is none."""
    if b"\x00" in beginning:
        return None
    try:
        return beginning.decode()
    except UnicodeDecodeError as error:
        # What is left of a character at the end was cut off by reading only so far.
        return beginning[: error.start].decode() if len(beginning) - error.start < _WIDEST else None


def _kept(
    text: str,
    path: str,
    language: str | None,
    read: _Read,
    *,
    rules: WorkspaceRules,
    room: int,
    redactor: Redactor | None,
) -> tuple[CompletionFile, bytes]:
    """The entry of a text file, and as much of it as fits: all, the beginning, or nothing."""
    clean, kinds = clean_text(redactor, text) if redactor is not None else (text, ())
    whole = clean.encode()
    told = {"path": path, "language": language, "size": read.size, "hash": read.hash}
    if read.size <= rules.file_bytes and len(whole) <= room:
        return _entry("whole", whole, kinds, **told), whole
    head = clean[: rules.head].encode()
    if head and len(head) <= room:
        return _entry("beginning", head, kinds, **told), head
    return CompletionFile(**told), b""  # type: ignore[arg-type]  # the dict has just these fields


def _entry(kept: str, text: bytes, kinds: tuple[str, ...], **told: object) -> CompletionFile:
    return CompletionFile(
        **told,  # type: ignore[arg-type]  # path, language, size and hash, as they were read
        kept=kept,  # type: ignore[arg-type]  # one of the two
        blob=sha256(text).hexdigest(),
        bytes=len(text),
        redacted=kinds,
    )


def _said(file: CompletionFile, read: _Read, kept: bytes, rules: WorkspaceRules) -> list[str]:
    """What was cut of a text file, in one sentence at most."""
    if file.kept == "whole":
        return []
    if file.kept == "beginning":
        return [f"{file.path}: the first {len(kept.decode()):,} characters are kept, of {read.size:,} bytes"]
    return [f"{file.path}: not kept, the files of one completion may take {rules.completion_bytes:,} bytes"]


def _main_language(files: Sequence[CompletionFile]) -> str | None:
    """What most of the bytes are written in; prose and data count only where there is nothing else."""
    sizes: Counter[str] = Counter()
    for file in files:
        if file.language is not None:
            sizes[file.language] += file.size + 1
    code = {language: size for language, size in sizes.items() if language not in PROSE}
    return max(code or sizes, key=lambda language: (code or sizes)[language], default=None)


def _path(value: object) -> str | Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise InvalidInput(f"files holds {shown(value)}: use paths, such as 'src/app.py'")
    return value


def _bytes(path: object, content: object) -> bytes:
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise InvalidInput(f"content of {path} is {shown(content)}: use text or bytes")
    return content.encode(errors="replace")
