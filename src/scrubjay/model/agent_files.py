"""Files of agents: what a snapshot holds, and what changed between two of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Final, cast
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import Json, check_flag, check_moment, check_storable, check_whole, shown
from scrubjay.model.memory import Memory

SNAPSHOT_KIND: Final = "snapshot"
"""The kind of a memory that holds a snapshot."""

MOST_FILE_BYTES: Final = 2**53
_HASH_LENGTH: Final = 64


def snapshot_key(number: int) -> str:
    """What names this snapshot among the current memories of its agent."""
    return f"snapshot:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFile:
    """A file that an agent produced, as one snapshot has it."""

    path: str
    """Below the folder that was taken, with `/` between names; never `..`, never absolute."""
    hash: str
    """The one that `sha256sum` prints."""
    size: int
    mime_type: str = "application/octet-stream"
    version: int = 1
    """How many contents this path has had up to here, this one included."""
    executable: bool = False
    link: str | None = None
    """Where it points, when it is a symbolic link: the words of the link, never what is there."""

    def __post_init__(self) -> None:
        check_path(self.path)
        if not isinstance(self.hash, str) or len(self.hash) != _HASH_LENGTH or set(self.hash) - set("0123456789abcdef"):
            raise InvalidInput(f"hash of {self.path!r} is {shown(self.hash)}: use a SHA-256 in lower-case hex")
        check_whole("size", self.size, least=0, most=MOST_FILE_BYTES)
        if not isinstance(self.mime_type, str) or "/" not in self.mime_type:
            raise InvalidInput(f"mime_type is {shown(self.mime_type)}: use one such as 'text/plain'")
        check_storable("mime_type", self.mime_type)
        check_whole("version", self.version, least=1, most=MOST_FILE_BYTES)
        check_flag("executable", self.executable)
        if self.link is not None:
            check_link(self.path, self.link)

    @property
    def leads_out(self) -> bool:
        """Whether it is a link that may point out of the folder, depending on what else lies there."""
        if self.link is None:
            return False
        names = [name for name in self.link.split("/") if name not in ("", ".")]
        up = next((place for place, name in enumerate(names) if name != ".."), len(names))
        # Above the link are folders, so going up is what it says. After a name it is not: that may be another link.
        return self.link.startswith("/") or "\\" in self.link or up > self.path.count("/") or ".." in names[up:]

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them."""
        return {
            "path": self.path,
            "hash": self.hash,
            "size": self.size,
            "mime_type": self.mime_type,
            "version": self.version,
            **({"executable": True} if self.executable else {}),
            **({"link": self.link} if self.link is not None else {}),
        }

    def is_as(self, other: "WorkspaceFile") -> bool:
        """Whether both say the same, and can be run likewise."""
        return (self.hash, self.executable, self.link) == (other.hash, other.executable, other.link)

    def __str__(self) -> str:
        return self.path


def check_path(path: str) -> None:
    """A path that stays below its folder on every system."""
    if not isinstance(path, str) or not path:
        raise InvalidInput(f"path is {shown(path)}: use one such as 'src/app.py'")
    check_storable("path", path)
    parts = path.split("/")
    if "\\" in path or ":" in parts[0] or any(part in ("", ".", "..") for part in parts):
        raise InvalidInput(f"path is {shown(path)}: use names below the folder, joined by /, without . or ..")


def check_link(path: str, link: str) -> None:
    """Where a symbolic link points, as its words: anything that can be stored."""
    if not isinstance(link, str) or not link:
        raise InvalidInput(f"link of {path} is {shown(link)}: use where it points, such as '../main.py'")
    check_storable(f"link of {path}", link)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The files of an agent as they were at one moment."""

    id: UUID
    agent: str
    number: int
    """Counts from 1 for each agent."""
    cycle: int | None = None
    """The cycle that was open, or the last one that was."""
    files: tuple[WorkspaceFile, ...] = ()
    """Sorted by path."""
    at: datetime

    def __post_init__(self) -> None:
        check_whole("number", self.number, least=1, most=MOST_FILE_BYTES)
        if self.cycle is not None:
            check_whole("cycle", self.cycle, least=0, most=MOST_FILE_BYTES)
        paths = [file.path for file in self.files]
        if paths != sorted(set(paths)):
            raise InvalidInput(f"files of snapshot {self.number} are not sorted by path, each once")
        check_moment("at", self.at)

    @property
    def bytes(self) -> int:
        """Of all its files together."""
        return sum(file.size for file in self.files)

    def data(self, files: str) -> dict[str, Json]:
        """The fields as a memory keeps them; `files` is the hash of the list of the files."""
        kept: dict[str, Json] = {"number": self.number, "files": files}
        return kept | ({"cycle": self.cycle} if self.cycle is not None else {})

    @classmethod
    def of(cls, memory: Memory, files: Sequence[WorkspaceFile]) -> "Snapshot":
        """The snapshot that a memory holds, with its files."""
        return cls(
            id=memory.id,
            agent=memory.scope.agent or "",
            number=cast("int", memory.data["number"]),
            cycle=cast("int | None", memory.data.get("cycle")),
            files=tuple(files),
            at=memory.valid_from,
        )

    def __getitem__(self, path: str) -> WorkspaceFile:
        """The file at this path. Raises KeyError when there is none."""
        for file in self.files:
            if file.path == path:
                return file
        raise KeyError(path)

    def __iter__(self) -> Iterator[WorkspaceFile]:
        return iter(self.files)

    def __repr__(self) -> str:
        return f"<Snapshot {self.number} of {self.agent}: {len(self.files)} files, {self.bytes:,} bytes>"


def file_of(data: Mapping[str, Json]) -> WorkspaceFile:
    """The file that these fields spell."""
    return WorkspaceFile(
        path=str(PurePosixPath(str(data["path"]))),
        hash=str(data["hash"]),
        size=cast("int", data["size"]),
        mime_type=str(data["mime_type"]),
        version=cast("int", data["version"]),
        executable=bool(data.get("executable", False)),
        link=cast("str | None", data.get("link")),
    )


def list_of(memory: Memory) -> str:
    """The hash of the list of a snapshot's files. Raises InvalidInput when the memory holds no snapshot."""
    files = memory.data.get("files")
    if memory.kind != SNAPSHOT_KIND or not isinstance(memory.data.get("number"), int) or not isinstance(files, str):
        raise InvalidInput(
            f"memory {memory.id} is a {memory.kind} that lists no files: take a snapshot with `agents.snapshot`"
        )
    return files


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """What is different in a later snapshot."""

    added: tuple[WorkspaceFile, ...] = ()
    changed: tuple[tuple[WorkspaceFile, WorkspaceFile], ...] = ()
    """Each as it was and as it is."""
    removed: tuple[WorkspaceFile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    @classmethod
    def between(cls, before: Snapshot | None, after: Snapshot | None) -> "FileChanges":
        """What one has to do to the files of `before` to have those of `after`. None has no files."""
        old = {file.path: file for file in before or ()}
        new = {file.path: file for file in after or ()}
        both = [(old[path], new[path]) for path in new if path in old]
        return cls(
            added=tuple(file for path, file in new.items() if path not in old),
            changed=tuple((was, now) for was, now in both if not now.is_as(was)),
            removed=tuple(file for path, file in old.items() if path not in new),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFiles:
    """What restoring a snapshot did."""

    snapshot: Snapshot
    to: Path
    """The folder that has its files now."""
    written: int
    unchanged: int
    """Files that were there just so already."""
    left_out: tuple[WorkspaceFile, ...] = ()
    """Links that may lead out of the folder: they are on record, and not made."""
