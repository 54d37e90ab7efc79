"""What lies beside memories and files and may be encrypted: sessions, kept answers, work that failed, archives.

Whoever changes keys walks through all of it, and stores anew what the change is about.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeVar

from scrubjay.model import Memory, Scope
from scrubjay.model.working import Message, Scratch
from scrubjay.ports.access import Claim

MEMORIES: Final = "memories"
FILES: Final = "files"
SESSIONS: Final = "messages and scratch values"
ANSWERS: Final = "kept answers"
TROUBLES: Final = "failed pieces of work"
ARCHIVED: Final = "archived episodes"
"""What each of them is called where it is counted."""

IN_SESSIONS: Final = "sessions"
"""What working memory is called in a note of where it is kept."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class KeptElsewhere:
    """A note that something is not kept in the record store."""

    what: str
    place: str
    """The address, for people: no password."""
    at: datetime
    """Since when, as far as is known."""


class Elsewhere(Protocol):
    """Notes in the record store of what is kept elsewhere: whoever counts must not overlook it."""

    async def kept(self, what: str) -> list[KeptElsewhere]:
        """Return where it was kept, and since when, the oldest first; nothing when it was always here."""

    async def keep(self, what: str, place: str, *, at: datetime) -> None:
        """Note that it is kept in this place, too. Durable."""

    async def forget(self, what: str, *, but: str) -> None:
        """Note that nothing of it is kept elsewhere, but in this place."""


class AtRest(Protocol[Item]):
    """Things of one kind as a store keeps them, of every tenant, to be stored anew in place."""

    @property
    def name(self) -> str:
        """What they are called, in the plural."""

    def all(self) -> AsyncIterator[Item]:
        """Go through all of them, each once, as they are stored; what is added meanwhile may be left out.

        Raises StoreUnavailable when their store is away.
        """

    async def replace(self, before: Item, after: Item) -> int:
        """Store what the second says where the store still says what the first says; return how many that were.

        How long a thing lives does not change, and neither does anything but what is said in it. Durable as the store
        is. Safe to repeat.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Some of what a session holds, as it is stored."""

    scope: Scope
    messages: tuple[Message, ...] = ()
    scratch: tuple[Scratch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """The body of an answer that is kept for a request which is sent again."""

    claim: Claim
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A file of archived episodes, as they are in it."""

    tenant: str
    file: Path
    memories: tuple[Memory, ...] = ()
    fault: str = ""
    """Why it cannot be read; then there are no memories."""
