"""The reference store, carried: as it was at one moment, or filled with what comes from elsewhere."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from scrubjay.backends.memory.access import MemoryAudit, MemoryKeys
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.memory.data_keys import MemoryDataKeys
from scrubjay.backends.memory.elsewhere import MemoryElsewhere
from scrubjay.backends.memory.leases import MemoryWorklog
from scrubjay.backends.memory.store import MemoryStore
from scrubjay.backends.memory.upkeep import MemoryUpkeep
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.errors import Conflict
from scrubjay.model import Generation, Memory, Scope
from scrubjay.model.access import AuditEntry
from scrubjay.ports import Outline, Piece, WholeBlob, WholeSession
from scrubjay.ports.access import StoredKey
from scrubjay.ports.at_rest import KeptElsewhere
from scrubjay.ports.encryption import WrappedKey

_ALL: Final = 2**31


class PortableMemoryStore(MemoryStore):
    """The Portable port beside the others, on the same dicts, with blobs and sessions of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.blobs = MemoryBlobs()
        self.working = MemoryWorking()
        self.log = MemoryWorklog()
        self.upkeep = MemoryUpkeep(self)
        self.keys = MemoryDataKeys()
        self.api_keys = MemoryKeys()
        self.audit = MemoryAudit()
        self.elsewhere = MemoryElsewhere()
        self._filled: dict[str, int] = {}

    @asynccontextmanager
    async def still(self) -> AsyncIterator["MemoryStill"]:
        """Hold the store still for reading, as it is now."""
        yield MemoryStill(
            memories=tuple(self._memories.values()),
            blobs=tuple(self.blobs.whole()),
            sessions=tuple(await self._whole_sessions()),
            generations=tuple(self._generations.values()),
            last_number=self._last,
            audit=self.audit.whole(),
            api_keys=self.api_keys.whole(),
            keys=tuple(await self.keys.wrapped_otherwise("", limit=_ALL)),
            elsewhere=self.elsewhere.whole(),
        )

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun."""
        access = self.api_keys.whole() or self.audit.whole()
        held = self._memories or self.blobs.whole() or access or await self._whole_sessions()
        if source not in self._filled and held:
            raise Conflict(f"this store holds something and is not being filled from {source}: name an empty one")
        return self._filled.get(source)

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source; give it exactly the outline's generations and keys."""
        self._filled = {source: self._filled.get(source, 0)}
        self._generations = {generation.number: generation for generation in outline.generations}
        self._last = outline.last_number
        self.keys = MemoryDataKeys()
        await self.keys.add(outline.keys)
        self.api_keys = MemoryKeys()
        for key in outline.api_keys:
            await self.api_keys.add(key)
        for note in outline.elsewhere:
            await self.elsewhere.keep(note.what, note.place, at=note.at)

    async def fill(self, source: str, piece: Piece) -> None:
        """Store exactly this and note that the source is here up to its place, both or none."""
        if source not in self._filled:
            raise Conflict(f"this store is not being filled from {source} any more: begin again")
        await self.load(piece.memories, as_is=True)
        for blob in piece.blobs:
            self.blobs.put(blob)
        for session in piece.sessions:
            self.working.put(session)
            for trouble in session.troubles:
                self.log.put(trouble)
            if session.distilled >= 0:
                await self.upkeep.mark("distill", session.scope, session.distilled)
        for entry in piece.audit:
            self.audit.put(entry)
        self._filled[source] = piece.place

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here."""
        self._filled.pop(source, None)

    async def _whole_sessions(self) -> list[WholeSession]:
        found = {whole.scope: whole for whole in self.working.whole()}

        def add(scope: Scope, **more: Any) -> None:  # noqa: ANN401 -- any field of a session
            found[scope] = replace(found.get(scope, WholeSession(scope=scope)), **more)

        for scope, place in self.upkeep.marks("distill").items():
            add(scope, distilled=place)
        for trouble in sorted(await self.log.troubles(limit=_ALL), key=lambda one: one.id):
            if trouble.body is not None:
                before = found[trouble.scope].troubles if trouble.scope in found else ()
                add(trouble.scope, troubles=(*before, trouble))
        return sorted(found.values(), key=lambda whole: _names(whole.scope))


def _names(scope: Scope) -> tuple[str, ...]:
    return (scope.tenant, *(name or "" for name in scope.names()))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStill:
    """The Still port: what is frozen need only be named."""

    memories: tuple[Memory, ...]
    blobs: tuple[WholeBlob, ...]
    sessions: tuple[WholeSession, ...]
    generations: tuple[Generation, ...]
    last_number: int
    audit: tuple[AuditEntry, ...]
    api_keys: tuple[StoredKey, ...]
    keys: tuple[WrappedKey, ...]
    elsewhere: tuple[KeptElsewhere, ...]

    async def outline(self) -> Outline:
        """Return what is in it."""
        return Outline(
            tenants=_counted(memory.scope.tenant for memory in self.memories),
            blobs=_counted(whole.tenant for whole in self.blobs),
            sessions=_counted(whole.scope.tenant for whole in self.sessions),
            generations=self.generations,
            last_number=self.last_number,
            audit=_counted(entry.tenant for entry in self.audit),
            api_keys=self.api_keys,
            keys=self.keys,
            elsewhere=self.elsewhere,
        )

    async def pieces(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[Piece]:
        """Stream everything of every tenant: rows in the order of storing, blobs, sessions by scope, the log."""
        begins = 0
        for kind in ("memories", "blobs", "sessions", "audit"):
            items = getattr(self, kind)
            for start in range(max(0, after - begins), len(items), batch):
                page = items[start : start + batch]
                yield replace(Piece(place=begins + start + len(page)), **{kind: page})
            begins += len(items)


def _counted(tenants: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(tenants).items()))
