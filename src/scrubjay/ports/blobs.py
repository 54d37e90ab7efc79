"""Bytes by their hash: files that memories speak of, each stored once however many memories hold it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol
from uuid import NAMESPACE_URL, UUID, uuid5

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope

MOST_BYTES = 64 * 1024 * 1024
"""Of one blob. Larger things belong in an object store, with their address in a memory."""

_SEAL: Final = b"scrubjay-sealed:1:"
_HEAD: Final = re.compile(_SEAL + rb"([0-9a-f]{8})([0-9a-f]{64})([0-9a-f]{64})")
HEAD_BYTES: Final = len(_SEAL) + 8 + 64 + 64
"""What an encrypted content begins with, before the ciphertext."""
_LISTS: Final = uuid5(NAMESPACE_URL, "scrubjay:blob-parts")
_SEALING: Final = 1_024
"""More than what encryption adds."""


def hash_of(content: bytes) -> str:
    """The name that a content is stored under: its hash; of an encrypted one, the hash of what is encrypted."""
    parts = sealed_parts(content)
    return sha256(content).hexdigest() if parts is None else parts[1]


def parts_owner(tenant: str, hash: str) -> UUID:
    """The owner that holds the parts of a blob, as a memory holds blobs."""
    return uuid5(_LISTS, f"{hash} {tenant}")


def sealed_blob(*, key: int, name: str, body: bytes) -> bytes:
    """An encrypted content: the number of its key, its name, a checksum, and the ciphertext."""
    return b"".join((_SEAL, f"{key:08x}{name}{sha256(body).hexdigest()}".encode(), body))


def sealed_with(content: bytes) -> int | None:
    """The number of the key that a content needs which begins as an encrypted one does; None for any other."""
    head = _HEAD.match(content)
    return None if head is None else int(head[1], 16)


def sealed_parts(content: bytes) -> tuple[int, str, bytes] | None:
    """The number of its key, its name and the ciphertext; None when the content is not encrypted, or damaged."""
    head = _HEAD.match(content)
    if head is None:
        return None
    key, name, checksum = (part.decode() for part in head.groups())
    body = content[head.end() :]
    return (int(key, 16), name, body) if checksum == sha256(body).hexdigest() else None


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes to keep. The hash is the one that `sha256sum` prints of them, also when they are encrypted here."""

    content: bytes = field(repr=False)
    base: str | None = None
    """The hash of the version before it: a store may then keep only what is different."""
    parts: tuple[str, ...] = ()
    """The hashes of blobs that this one lists: they live at least as long as it does."""
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        if len(self.content) > MOST_BYTES + (_SEALING if self.content.startswith(_SEAL) else 0):
            raise InvalidInput(
                f"a blob has {len(self.content):,} bytes: the most is {MOST_BYTES:,}, keep larger ones elsewhere"
            )
        object.__setattr__(self, "hash", hash_of(self.content))


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much a tenant keeps."""

    blobs: int = 0
    bytes: int = 0
    """As they were given."""
    stored: int = 0
    """As they are kept: compressed, or as a difference."""


class Blobs(Protocol):
    """Content-addressed, and a part of the truth. A tenant never learns what another one keeps.

    A blob lives as long as a memory holds it, or another blob that has it among its `parts`: `release` deletes what
    nobody holds any more. `parts_owner` is who holds the parts of a blob, for `held`.
    """

    async def keep(self, scope: Scope, owner: UUID, blobs: Sequence[Blob]) -> int:
        """Store these for the scope's tenant, held by this memory; return how many bytes were new. All or none.

        What is there already is held, and not stored again. Durable on return. Safe to repeat. Parts are stored before,
        or come earlier in `blobs`: raises NotFound, naming one that is not there.
        """

    async def hold(self, scope: Scope, owner: UUID, hashes: Sequence[str]) -> None:
        """Let this memory hold blobs that are there already. Raises NotFound, naming one that is not; none is held."""

    async def get(self, scope: Scope, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return those that the tenant has, checked against their hashes. Raises StoreDamaged when one differs."""

    async def missing(self, scope: Scope, hashes: Sequence[str]) -> list[str]:
        """Return those that the tenant does not have, in the order asked, each once."""

    async def held(self, scope: Scope, owners: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        """Return what each of these memories holds, sorted. Those that hold nothing are left out."""

    async def release(self, scope: Scope, owners: Sequence[UUID]) -> int:
        """Let these memories hold nothing any more, and delete for good what nobody holds; return how many went."""

    async def room(self, scope: Scope) -> Room:
        """Say how much the tenant keeps."""
