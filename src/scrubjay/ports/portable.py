"""Whole stores that can be carried elsewhere as they are."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable
from uuid import UUID

from scrubjay.model import Generation, Memory, Scope
from scrubjay.model.access import AuditEntry
from scrubjay.model.work import Trouble
from scrubjay.model.working import Message, Scratch, Session
from scrubjay.ports.access import StoredKey
from scrubjay.ports.at_rest import KeptElsewhere
from scrubjay.ports.blobs import Blob
from scrubjay.ports.encryption import WrappedKey
from scrubjay.ports.indexes import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a whole store holds, before it is read."""

    tenants: dict[str, int]
    """How many rows each tenant has, with every version, by name."""
    blobs: dict[str, int] = field(default_factory=dict)
    """How many blobs each tenant has."""
    sessions: dict[str, int] = field(default_factory=dict)
    """How many sessions of each tenant something is kept of here."""
    generations: tuple[Generation, ...] = ()
    last_number: int = 0
    """The highest number that a generation ever had. It is not used again."""
    audit: dict[str, int] = field(default_factory=dict)
    """How many entries the audit log has of each tenant."""
    api_keys: tuple[StoredKey, ...] = ()
    """The API keys of all tenants, in the order of their ids."""
    keys: tuple[WrappedKey, ...] = ()
    """The data keys of all tenants, wrapped: what is encrypted is carried as it is, and opens nowhere without them."""
    elsewhere: tuple[KeptElsewhere, ...] = ()
    """Notes of what is kept in other places and may need any of these keys, the oldest first."""

    @property
    def memories(self) -> int:
        """All rows of all tenants."""
        return sum(self.tenants.values())

    @property
    def items(self) -> int:
        """All rows, blobs, sessions and entries of the audit log."""
        return self.memories + sum(map(sum, (one.values() for one in (self.blobs, self.sessions, self.audit))))


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeBlob:
    """A blob of a tenant, with all memories that hold it."""

    tenant: str
    blob: Blob
    holders: tuple[UUID, ...] = ()
    """In their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSession:
    """All that a record store keeps of one session beside its memories."""

    scope: Scope
    session: Session | None = None
    """None when the session itself is kept elsewhere."""
    messages: tuple[Message, ...] = ()
    scratch: tuple[Scratch, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    """Those whose body is kept nowhere else, by their ids."""
    distilled: int = -1
    """The position up to which it has been distilled, -1 for not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some of a whole store, and the place where it ends there."""

    place: int
    memories: Sequence[Memory] = ()
    blobs: Sequence[WholeBlob] = ()
    sessions: Sequence[WholeSession] = ()
    audit: Sequence[AuditEntry] = ()

    def __len__(self) -> int:
        return len(self.memories) + len(self.blobs) + len(self.sessions) + len(self.audit)


class Still(Protocol):
    """A whole record store as it was at one moment, whatever others write meanwhile."""

    async def outline(self) -> Outline:
        """Return what is in it."""

    def pieces(self, *, after: int = 0, batch: int = 500) -> AsyncIterator[Piece]:
        """Stream everything of every tenant: rows in the order of storing, blobs, sessions by their scopes, the log.

        A blob comes after the one that it is a version of. A piece is of one kind, with `batch` items at most: rows
        exactly that many while there are, the others fewer when they are large. Its place is larger than the one
        before; given as `after`, the stream begins behind it. Raises StoreDamaged for a blob that is not what was
        stored.
        """


@runtime_checkable
class Portable(Protocol):
    """A record store that can be carried elsewhere as it is, and filled with what is carried from elsewhere."""

    def still(self) -> AbstractAsyncContextManager[Still]:
        """Hold the store still for reading, as it is now. Others go on writing."""

    async def begun(self, source: str) -> int | None:
        """Say up to which place of the source this store was filled already; None when that has not begun.

        Raises Conflict when the store holds anything that did not come from there.
        """

    async def begin(self, source: str, outline: Outline) -> None:
        """Note that the store is being filled from this source; give it exactly the outline's generations and keys.

        Safe to repeat: what was filled already stays.
        """

    async def fill(self, source: str, piece: Piece) -> None:
        """Store exactly this and note that the source is here up to its place, both or none. Safe to repeat.

        Durable on return. Raises Conflict when it was not begun with this source.
        """

    async def finish(self, source: str) -> None:
        """Forget the source: all of it is here, and this is a store like any other."""


@runtime_checkable
class PortableVectors(Protocol):
    """A vector engine that gives back what it was given."""

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out.

        Upserted into an empty engine of the same kind, they are the same there to the last bit.
        """
