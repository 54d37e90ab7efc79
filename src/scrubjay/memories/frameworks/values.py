"""Bytes that come back exactly as they were given: short ones beside the memory, long ones as files that it holds."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final, cast
from uuid import UUID

from scrubjay.core import Parts
from scrubjay.errors import StoreDamaged
from scrubjay.model import AsOf, Json, Memory, Scope
from scrubjay.ports import Blob, Blobs, Decide
from scrubjay.write.holding import holding, undisturbed

_END: Final = datetime(9999, 1, 1, tzinfo=UTC)
BELIEVED: Final = AsOf(known_at=_END, valid_at=_END)
"""All that is believed, whatever this machine's clock says: another one's may be ahead, and what it stored counts."""

SHORT: Final = 2_048
"""Bytes that stand in the memory itself. A file of its own takes one more transaction, and pays from about here on."""

_ROOM: Final = 200_000
"""Characters that one memory has for short values; what does not fit any more becomes a file, too."""

_PIECE: Final = 16_384
_PIECES: Final = 64
"""A long value is cut into pieces, each a file: of a list that grows, all but the first and the last stay the same, and
what is the same is stored once. Larger values have larger pieces, so that their number stays below twice this."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Bytes, and the name of how they are to be read."""

    type: str
    content: bytes = field(repr=False)


class Packing:
    """The values of one memory on their way into the store: what its data says of them, and the files it will hold."""

    def __init__(self) -> None:
        self._new: dict[str, Blob] = {}
        self._known: list[str] = []
        self._room = _ROOM

    def add(self, value: Typed) -> dict[str, Json]:
        """What the data says of this value."""
        if len(value.content) <= SHORT and self._room > 2 * SHORT:
            text = b64encode(value.content).decode()
            self._room -= len(text)
            return {"type": value.type, "base64": text}
        pieces = [Blob(piece) for piece in _cut(value.content)]
        self._new |= {piece.hash: piece for piece in pieces}
        return {"type": value.type, "files": [piece.hash for piece in pieces]}

    def again(self, said: Mapping[str, Json]) -> None:
        """The same value as in another memory, whose data says this of it: its files are there already."""
        self._known += files_in(said)
        self._room -= len(str(said.get("base64", "")))

    @property
    def has_files(self) -> bool:
        """Whether the memory will hold files."""
        return bool(self._new or self._known)

    async def keep(self, blobs: Blobs, scope: Scope, owner: UUID) -> None:
        """Store the files, held by this memory. Raises NotFound when one that should be there is not any more."""
        if self._known:
            await blobs.hold(scope, owner, self._known)
        if self._new:
            await blobs.keep(scope, owner, list(self._new.values()))


async def store(parts: Parts, drafts: Sequence[tuple[Memory, Packing]], decide: Decide) -> None:
    """Store memories with their values, in one transaction. Files come first: no memory names one that is not there."""
    if not drafts:
        return
    blobs, tenant = parts.stores.blobs, Scope(tenant=drafts[0][0].scope.tenant)
    holders = [draft.id for draft, packing in drafts if packing.has_files]
    async with holding(parts.stores, tenant, holders):
        for draft, packing in drafts:
            await packing.keep(blobs, tenant, draft.id)
        done = await undisturbed(parts.writer.write([draft for draft, _ in drafts], decide))
    stored = {one.memory.id for one in done}
    if unused := [one for one in holders if one not in stored]:
        await blobs.release(tenant, unused)


def files_in(said: Mapping[str, Json]) -> list[str]:
    """The files that this value is made of; none for a short one."""
    files = said.get("files")
    return list(map(str, files)) if isinstance(files, list) else []


def unpacked(said: Mapping[str, Json], files: Mapping[str, bytes]) -> Typed:
    """The value that the data says this of."""
    if "base64" in said:
        return Typed(str(said["type"]), b64decode(str(said["base64"])))
    pieces = files_in(said)
    if missing := [piece for piece in pieces if piece not in files]:
        raise StoreDamaged(f"blob {missing[0]} is gone, and a memory needs it: restore a backup")
    return Typed(str(said["type"]), b"".join(files[piece] for piece in pieces))


def _cut(content: bytes) -> list[bytes]:
    size = _PIECE
    while len(content) > size * _PIECES:
        size *= 2
    return [content[start : start + size] for start in range(0, len(content), size)] or [b""]


def inner(data: Mapping[str, Json], name: str) -> dict[str, Any]:
    """The object under this name."""
    return cast("dict[str, Any]", data[name])


def digest(*names: str | None) -> str:
    """Names of any length and form as one short word: the same for the same names, another for others."""
    return blake2b(json.dumps(names).encode(), digest_size=10).hexdigest()
