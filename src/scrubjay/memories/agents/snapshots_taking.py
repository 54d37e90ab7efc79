"""Taking a snapshot: which files are in a folder, what they hold, and nothing that lies outside of it."""

import mimetypes
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, S_IXUSR
from typing import BinaryIO, Final

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.memories.agents.snapshots_restoring import NO_LINKS, STAGED
from scrubjay.model.agent_files import check_link, check_path
from scrubjay.model.checks import check_several, shown
from scrubjay.ports.blobs import MOST_BYTES

IGNORED: Final = (".env", ".git", ".venv", "__pycache__", "node_modules")
"""What is left out unless you say otherwise: what tools make again, and where people keep their secrets."""

MOST_FILES: Final = 4_000
"""Of one snapshot."""

LINK_TYPE: Final = "inode/symlink"

_CHUNK: Final = 1 << 20
_SNIFFED: Final = 8_192
_WIDEST: Final = 4
"""Bytes of one character."""

_TYPES: Final = mimetypes.MimeTypes()
"""Those that Python knows by itself: the same on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file in the folder, read once."""

    path: str
    place: Path
    hash: str
    size: int
    mime_type: str
    executable: bool = False
    link: str | None = None


def look(folder: str | Path, ignore: Sequence[str] = IGNORED) -> list[Found]:
    """All files below the folder, by their paths. Reads the disk, so it belongs on a thread.

    Links are not followed: what they say is found. What is neither a plain file nor a link nor a folder is refused.
    """
    root = _folder(folder)
    patterns = _patterns(ignore)
    found: list[Found] = []
    try:
        for path, place, status, link in _files(root, patterns):
            if len(found) == MOST_FILES:
                raise InvalidInput(
                    f"{root} holds more than {MOST_FILES:,} files, the most of one snapshot: name folders to ignore"
                )
            if status.st_size > MOST_BYTES:
                raise InvalidInput(
                    f"{path} has {status.st_size:,} bytes, and a file of a snapshot {MOST_BYTES:,} at most: ignore it"
                )
            if link is not None:
                found.append(_link(path, place, link))
            else:
                found.append(_found(path, place, executable=bool(S_IMODE(status.st_mode) & S_IXUSR)))
    except OSError as error:
        raise InvalidInput(
            f"{error.filename or root} cannot be read: {error.strerror}. Allow it, or ignore it"
        ) from error
    return sorted(found, key=lambda one: one.path)


def read(file: Found) -> bytes:
    """What the file holds. Raises Conflict when that is not any more what it was."""
    try:
        with _opened(file.place) as opened:
            content = opened.read()
    except OSError:
        content = b""
    if len(content) != file.size or sha256(content).hexdigest() != file.hash:
        raise Conflict(f"{file.path} was changed while the snapshot was taken: take it again when nobody writes there")
    return content


def _folder(folder: object) -> Path:
    if not isinstance(folder, str | Path) or not str(folder).strip() or "\x00" in str(folder):
        raise InvalidInput(f"path is {shown(folder)}: name the folder with the agent's files")
    try:
        root = Path(folder).expanduser().absolute()
        is_there = root.is_dir()
    except (OSError, RuntimeError):  # A name that is too long, or the home of somebody unknown.
        is_there = False
    if not is_there:
        raise InvalidInput(f"path is {shown(str(folder))}: there is no such folder")
    return root


def _patterns(ignore: Sequence[str]) -> tuple[str, ...]:
    check_several("ignore", ignore)
    patterns = tuple(ignore)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise InvalidInput(f"ignore holds {shown(pattern)}: use names and patterns, such as '*.log'")
    return patterns


def _files(root: Path, patterns: Sequence[str]) -> Iterator[tuple[str, Path, os.stat_result, str | None]]:
    for folder, folders, names, descriptor in os.fwalk(root, onerror=_raise):
        inside = Path(folder).relative_to(root)
        folders[:] = sorted(_kept(inside, folders, patterns))
        for name in [*folders, *_kept(inside, names, patterns)]:
            path, status = (inside / name).as_posix(), os.lstat(name, dir_fd=descriptor)
            if S_ISDIR(status.st_mode):
                continue
            is_link = S_ISLNK(status.st_mode)
            if not is_link and not S_ISREG(status.st_mode):
                raise InvalidInput(f"{path} is neither a plain file nor a link: remove it, or ignore it")
            check_path(path)
            yield path, Path(folder, name), status, os.readlink(name, dir_fd=descriptor) if is_link else None


def _kept(inside: Path, names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    return [
        name
        for name in names
        if not name.startswith(STAGED)
        and not any(fnmatchcase(name, one) or fnmatchcase((inside / name).as_posix(), one) for one in patterns)
    ]


def _raise(error: OSError) -> None:
    raise error


def _found(path: str, place: Path, *, executable: bool) -> Found:
    digest, size, beginning = sha256(), 0, b""
    with _opened(place) as opened:
        while piece := opened.read(_CHUNK):
            beginning = beginning or piece[:_SNIFFED]
            digest.update(piece)
            size += len(piece)
    return Found(
        path=path,
        place=place,
        hash=digest.hexdigest(),
        size=size,
        mime_type=_mime_type(path, beginning),
        executable=executable,
    )


def _link(path: str, place: Path, link: str) -> Found:
    check_link(path, link)
    said = link.encode()
    return Found(path=path, place=place, hash=sha256(said).hexdigest(), size=len(said), mime_type=LINK_TYPE, link=link)


def _opened(place: Path) -> BinaryIO:
    """The file itself: should a link have taken its place, that is an OSError."""
    return os.fdopen(os.open(place, os.O_RDONLY | NO_LINKS), "rb")


def _mime_type(path: str, beginning: bytes) -> str:
    known, encoding = _TYPES.guess_type(path)
    if encoding is not None:
        return f"application/{encoding}"
    return known or ("text/plain" if _is_text(beginning) else "application/octet-stream")


def _is_text(beginning: bytes) -> bool:
    if b"\x00" in beginning:
        return False
    try:
        beginning.decode()
    except UnicodeDecodeError as error:
        # The last character may have been cut.
        return len(beginning) == _SNIFFED and len(beginning) - error.start < _WIDEST
    return True
