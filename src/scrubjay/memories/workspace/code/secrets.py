"""Look for secrets among what is stored: written while redaction was off, or before their kind was known."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scrubjay.core import Core
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.code import SecretScan, StoredSecret
from scrubjay.ports import Redactor
from scrubjay.write.redact import SecretRedactor, redacted

FILES: Final = 32
"""Files that are in memory at a time."""

_PLACES: Final = ("content", "key", "data", "source", "author", "reason")


async def scan(core: Core, scope: Scope, progress: Callable[[int], None] | None = None) -> SecretScan:
    """Read every memory inside the scope, in every version, and the files that it holds.

    With the redactor of this installation, or the usual one where there is none.
    """
    redactor = core.parts.redactor or SecretRedactor()
    wanted = Filter(scope=scope, reach="holds", history=True)
    memories = 0
    found: list[StoredSecret] = []
    files = _Files(core, scope, redactor)
    async for batch in core.parts.stores.records.scan(wanted, now=core.parts.clock()):
        memories += len(batch)
        found += await asyncio.to_thread(_found, batch, redactor)
        found += await files.found(batch)
        if progress is not None:
            progress(memories)
    return SecretScan(memories=memories, found=tuple(found))


def _found(batch: Sequence[Memory], redactor: Redactor) -> list[StoredSecret]:
    return [
        _secret(memory, place, kinds)
        for memory in batch
        for place in _PLACES
        if (value := getattr(memory, place)) and (kinds := redacted(redactor, {place: value})[1])
    ]


def _secret(memory: Memory, place: str, kinds: tuple[str, ...]) -> StoredSecret:
    current = memory.superseded_at is None
    return StoredSecret(id=memory.id, memory_kind=memory.kind, place=place, kinds=kinds, current=current)


class _Files:
    """What the files of memories hold. One that many memories share is read once."""

    def __init__(self, core: Core, scope: Scope, redactor: Redactor) -> None:
        self._blobs = core.parts.stores.blobs
        self._scope = scope
        self._redactor = redactor
        self._known: dict[str, tuple[str, ...]] = {}

    async def found(self, batch: Sequence[Memory]) -> list[StoredSecret]:
        """One for each memory that holds such files, with all that is in them."""
        held = await self._blobs.held(self._scope, [memory.id for memory in batch])
        unread = sorted({name for names in held.values() for name in names} - self._known.keys())
        for start in range(0, len(unread), FILES):
            contents = await self._blobs.get(self._scope, unread[start : start + FILES])
            self._known |= await asyncio.to_thread(self._read, contents)
        kinds = {
            owner: sorted({kind for name in names for kind in self._known.get(name, ())})
            for owner, names in held.items()
        }
        return [_secret(memory, "files", tuple(kinds[memory.id])) for memory in batch if kinds.get(memory.id)]

    def _read(self, contents: Mapping[str, bytes]) -> dict[str, tuple[str, ...]]:
        read: dict[str, tuple[str, ...]] = {}
        for name, content in contents.items():
            # What is no text holds no text to find; a stray byte in one must not hide the rest.
            text = "" if b"\0" in content else content.decode("utf-8", errors="replace")
            read[name] = tuple(redacted(self._redactor, {"content": text})[1]) if text else ()
        return read
