"""File lists: the files of a snapshot as blobs that list others, so that two snapshots share what they have in common.

Files are sorted by path and cut into short lists; the lists are listed likewise, up to one that names all. Where a list
is cut depends on nothing but the paths near it. So a file that changes changes its own list and those above it, and the
others are the blobs that are there already.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, cast

from scrubjay.errors import StoreDamaged
from scrubjay.model import Json, Memory, Scope
from scrubjay.model.agent_files import WorkspaceFile, file_of, list_of
from scrubjay.ports import Blob, Blobs
from scrubjay.ports.blobs import parts_owner

_SHORT: Final = 32
"""Lines of a list that is not cut."""
_CUT_BELOW: Final = 16
"""Of 256: after every 16th line, on average, a longer one is."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a list: a file, one that was there before, or a list below."""

    path: str
    """Of the file, or of the first one below."""
    value: Json
    part: str | None = None
    """The hash of the blob that it names."""
    below: "FileList | None" = None


@dataclass(frozen=True, slots=True)
class FileList:
    """Some lines, or all: a blob, and the lists below."""

    level: int
    path: str
    blob: Blob
    below: tuple["FileList", ...] = field(repr=False)

    @property
    def hash(self) -> str:
        """What names it."""
        return self.blob.hash

    @property
    def files(self) -> tuple[str, ...]:
        """The hashes of the contents that this very list names."""
        return self.blob.parts if not self.below else ()

    def __iter__(self) -> Iterator["FileList"]:
        """This list and all below, those below first."""
        for one in self.below:
            yield from one
        yield self


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list says."""

    files: tuple[WorkspaceFile, ...] = ()
    gone: Mapping[str, int] = field(default_factory=dict)
    """Paths that were there before, each with its last version."""
    owners: tuple[str, ...] = ()
    """The hashes of the lists that hold the contents."""


def listed(files: Sequence[WorkspaceFile], gone: Mapping[str, int], before: FileList | None = None) -> FileList:
    """List these files, and the versions of those that are gone; `before` are lists that are much the same."""
    known = {(one.level, one.path): one.hash for one in before or ()}
    named = [_Line(file.path, cast("Json", file.data), file.hash if file.link is None else None) for file in files]
    lines = sorted(
        [*named, *(_Line(path, {"gone": path, "version": version}) for path, version in gone.items())],
        key=lambda line: line.path,
    )
    level = 0
    while True:
        lists = [_list(some, level, known) for some in _cut(lines, level)]
        if len(lists) == 1:
            return lists[0]
        lines = [_Line(one.path, one.hash, one.hash, one) for one in lists]
        level += 1


def _list(lines: Sequence[_Line], level: int, known: Mapping[tuple[int, str], str]) -> FileList:
    path = lines[0].path if lines else ""
    content = "".join(json.dumps(line.value, separators=(",", ":")) + "\n" for line in lines).encode()
    parts = tuple(dict.fromkeys(line.part for line in lines if line.part is not None))
    below = tuple(line.below for line in lines if line.below is not None)
    return FileList(level, path, Blob(content, base=known.get((level, path)), parts=parts), below)


def _cut(lines: Sequence[_Line], level: int) -> Iterator[Sequence[_Line]]:
    start = 0
    for place, line in enumerate(lines, 1):
        # On every level elsewhere: no choice of paths makes lists that never become fewer.
        if len(lines) > _SHORT and sha256(f"{level} {line.path}".encode()).digest()[0] < _CUT_BELOW:
            yield lines[start:place]
            start = place
    if start < len(lines) or not lines:
        yield lines[start:]


class FileLists:
    """The lists of a place, each read once."""

    def __init__(self, blobs: Blobs, scope: Scope) -> None:
        self._blobs = blobs
        self._scope = scope
        self._known: dict[str, bytes] = {}

    async def read(self, snapshot: Memory) -> Listed:
        """Return what the list of this snapshot says. Raises StoreDamaged when that is not kept any more."""
        names = [list_of(snapshot)]
        held = await self._blobs.held(self._scope, [snapshot.id])
        # Naming one is not enough: it may be somebody else's.
        if names[0] not in held.get(snapshot.id, ()):
            raise self._lost()
        while (lines := await self._lines(names)) and isinstance(lines[0], str):
            names = cast("list[str]", lines)
        said = cast("list[dict[str, Json]]", lines)
        return Listed(
            files=tuple(file_of(one) for one in said if "gone" not in one),
            gone={str(one["gone"]): cast("int", one["version"]) for one in said if "gone" in one},
            owners=tuple(names),
        )

    async def whole(self, lists: Sequence[FileList]) -> list[FileList]:
        """Return those of these that are there with all their parts: what they name is there as well."""
        there = set(await self._blobs.missing(self._scope, [one.hash for one in lists]))
        owners = {one.hash: parts_owner(self._scope.tenant, one.hash) for one in lists if one.hash not in there}
        held = await self._blobs.held(self._scope, list(owners.values()))
        return [
            one for one in lists if one.hash in owners and set(one.blob.parts) <= set(held.get(owners[one.hash], ()))
        ]

    def _lost(self) -> StoreDamaged:
        return StoreDamaged(
            f"the files of a snapshot of agent {self._scope.agent} are not kept any more: restore a backup"
        )

    async def _lines(self, names: Sequence[str]) -> list[Json]:
        lacking = [name for name in names if name not in self._known]
        self._known |= await self._blobs.get(self._scope, lacking) if lacking else {}
        if any(name not in self._known for name in names):
            raise self._lost()
        return [json.loads(line) for name in names for line in self._known[name].splitlines()]
