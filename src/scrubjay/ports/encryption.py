"""Encryption at rest: where data keys are kept, how rows are stored anew, and who looks after both."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeAlias
from uuid import UUID

from scrubjay.model import Memory
from scrubjay.model.encryption import Destroyed, EncryptionStatus, Rotated
from scrubjay.ports.at_rest import Archived, AtRest

FINGERPRINTS: Final = 0
"""The number of the key that a tenant's fingerprints are made with. It is never replaced, only wrapped anew."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done and how many there are in all."""

Hide: TypeAlias = Callable[[Sequence[UUID]], Awaitable[None]]
"""Lets these memories have no vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedKey:
    """A data key of a tenant as a store keeps it: encrypted with a master key, which the store never sees."""

    tenant: str
    number: int
    master: str
    """The id of the master key that opens it."""
    wrapped: bytes
    created_at: datetime


class KeyReplaced(Exception):
    """A store was handed what an older data key of the tenant seals: nothing was stored, and it has to be sealed anew.

    It never leaves encryption, which does so.
    """

    def __init__(self, tenant: str, number: int) -> None:
        super().__init__(f"data key {number} of tenant {tenant} is not its newest any more")
        self.tenant = tenant
        self.number = number


class DataKeys(Protocol):
    """The data keys of all tenants. A key that was added stays, until somebody destroys what nothing needs any more."""

    async def of(self, tenant: str) -> list[WrappedKey]:
        """Return the keys of this tenant, by their numbers."""

    async def add(self, keys: Sequence[WrappedKey]) -> None:
        """Add these, all or none; a number that the tenant has already keeps the key that is there.

        Durable on return. Of concurrent callers, the first one counts for each number.
        """

    async def masters(self) -> dict[str, int]:
        """Say which master keys wrap something, and how many data keys each."""

    async def tenants(self) -> list[str]:
        """Return the tenants that have keys, sorted."""

    async def wrapped_otherwise(self, master: str, *, limit: int) -> list[WrappedKey]:
        """Return keys of any tenant that another master key wraps."""

    async def settled(self, tenant: str) -> None:
        """Return once nothing is on its way into this store any more that an older key of the tenant seals.

        Whoever begins to store such a thing meanwhile, or afterwards, is told to seal it anew: KeyReplaced.
        """

    async def remove(self, tenant: str, numbers: Sequence[int]) -> int:
        """Delete these keys of a tenant for good; return how many there were. What needs them is lost with them."""

    async def rewrap(self, keys: Sequence[WrappedKey]) -> int:
        """Store these, which are the same keys wrapped anew, in place of what is there; return how many there were."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A kept file as it is stored, of one tenant."""

    tenant: str
    content: bytes
    of_agent: bool = False
    """Whether a memory holds it whose scope names an agent."""


class Resealed(Protocol):
    """What is stored, of every tenant and in the order of storing, to be stored anew in place."""

    async def count(self) -> int:
        """Count all rows and files."""

    async def rows_by_key(self, tenant: str | None = None) -> dict[tuple[str, str, int], int]:
        """Count rows by tenant, kind and the number of the data key that they need; 0 for those that need none.

        Of one tenant, or of all. A row whose reason for being closed needs another key is counted for both.
        """

    async def files_by_key(self, tenant: str | None = None) -> dict[tuple[str, bool, int], int]:
        """Count files by tenant, whether an agent holds them, and the number of the data key; 0 for none."""

    async def archives(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        """Count the hollow rows by tenant and the name of the archive that has what they said."""

    async def rows(self, *, after: int, limit: int) -> list[tuple[int, Memory]]:
        """Return rows as they are stored, with their numbers, which grow, from behind a number."""

    async def in_plain(self, drafts: Sequence[Memory]) -> list[Memory]:
        """Return believed rows that say in plain what one of these says, in the very place of it."""

    async def replace_rows(self, changed: Sequence[tuple[Memory, Memory]]) -> int:
        """Store the second of each pair where the first is still what is stored, all or none; return how many.

        Content, data, source, author, reason, fingerprint and words change, and nothing else. When another row that is
        believed has the new fingerprint, the row that is changed is closed: they say the same.
        """

    async def files(self, *, after: int, limit: int) -> list[tuple[int, KeptFile]]:
        """Return kept files as they are stored, with their numbers, which grow, from behind a number."""

    async def replace_file(self, number: int, before: KeptFile, content: bytes) -> bool:
        """Store this content of the same name where the one before still is; whether it was."""

    async def settle(self) -> None:
        """Let nothing of what was stored before linger in the store's own files, as far as the store can tell."""


class Vault(Protocol):
    """Who holds the keys. `archives` are files of archived episodes, which no store knows of; None: there are none."""

    async def status(self, tenant: str, *, archives: AtRest[Archived] | None = None) -> EncryptionStatus:
        """Say what is encrypted, with which keys, and what needs each of them."""

    async def alias(self, tenant: str, name: str) -> str:
        """Return a word that stands for this name: always the same one, and no clue to those without the keys."""

    async def rotate(
        self,
        *,
        data_keys: bool,
        rows: bool,
        hide: Hide,
        progress: Progress,
        archives: AtRest[Archived] | None = None,
    ) -> Rotated:
        """Wrap every data key with the first master key; then, as asked, make new ones and store everything anew.

        With `rows`, what is left under an older key is counted at the end. `hide` is called with encrypted memories
        that are to have no vectors. Safe to repeat, to kill, and to run twice.
        """

    async def destroy(self, *, sessions_gone: bool = False, archives: AtRest[Archived] | None = None) -> Destroyed:
        """Delete, of every tenant, the older data keys that nothing needs any more, counted twice.

        Raises Conflict when something cannot be read, since it may need any of them; nothing is deleted then. That is
        also so when sessions were last kept in a Redis that is not configured here, unless they are said to be gone.
        """
