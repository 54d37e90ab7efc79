"""Kept files behind encryption. A file keeps the name that its content has, so that a tenant stores it once."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from uuid import UUID

from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.errors import InvalidInput, StoreDamaged
from scrubjay.model import Scope
from scrubjay.ports import Blob, Blobs, Room
from scrubjay.ports.blobs import sealed_parts, sealed_with


class EncryptedBlobs:
    """The `Blobs` port over another one. Encrypted are all files, or those of agents: whose scope names an agent."""

    def __init__(self, blobs: Blobs, vault: KeyVault) -> None:
        self._blobs = blobs
        self._vault = vault

    async def keep(self, scope: Scope, owner: UUID, blobs: Sequence[Blob]) -> int:
        """Store these for the scope's tenant, held by this memory; return how many bytes were new. All or none."""
        for blob in blobs:
            if sealed_with(blob.content) is not None:
                raise InvalidInput("a file looks like one that Scrubjay has encrypted: keep what is in it instead")
        if not encrypts_files(self._vault, scope):
            return await self._blobs.keep(scope, owner, blobs)
        new = set(await self._blobs.missing(scope, [blob.hash for blob in blobs]))

        async def work(rings: Rings) -> None:
            # Also what is known: it is only held then, but may be gone by the time, and must not be stored in plain.
            await self._blobs.keep(scope, owner, await asyncio.to_thread(_sealed, rings[scope.tenant], blobs))

        await self._vault.with_rings([scope.tenant], work, needed=[scope.tenant])
        return sum({blob.hash: len(blob.content) for blob in blobs if blob.hash in new}.values())

    async def hold(self, scope: Scope, owner: UUID, hashes: Sequence[str]) -> None:
        """Let this memory hold blobs that are there already."""
        await self._blobs.hold(scope, owner, hashes)

    async def get(self, scope: Scope, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return those that the tenant has, checked against their hashes."""
        stored = await self._blobs.get(scope, hashes)
        if all(sealed_parts(content) is None for content in stored.values()):
            return stored

        async def work(rings: Rings) -> dict[str, bytes]:
            return await asyncio.to_thread(_opened, rings[scope.tenant], stored)

        return await self._vault.with_rings([scope.tenant], work)

    async def missing(self, scope: Scope, hashes: Sequence[str]) -> list[str]:
        """Return those that the tenant does not have, in the order asked, each once."""
        return await self._blobs.missing(scope, hashes)

    async def held(self, scope: Scope, owners: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        """Return what each of these memories holds, sorted. Those that hold nothing are left out."""
        return await self._blobs.held(scope, owners)

    async def release(self, scope: Scope, owners: Sequence[UUID]) -> int:
        """Let these memories hold nothing any more, and delete for good what nobody holds; return how many went."""
        return await self._blobs.release(scope, owners)

    async def room(self, scope: Scope) -> Room:
        """Say how much the tenant keeps; of encrypted files, what they take."""
        return await self._blobs.room(scope)


def encrypts_files(vault: KeyVault, scope: Scope) -> bool:
    """Whether files of this place are encrypted."""
    return vault.rules.encrypt == "all" or (vault.rules.encrypt == "agents" and scope.agent is not None)


def _sealed(ring: Ring, blobs: Sequence[Blob]) -> list[Blob]:
    # Never as a difference from another version: two ciphertexts have nothing in common.
    return [Blob(ring.seal_file(blob.content), parts=blob.parts) for blob in blobs]


def _opened(ring: Ring, stored: dict[str, bytes]) -> dict[str, bytes]:
    opened = {name: ring.open_file(content) for name, content in stored.items()}
    for name, content in opened.items():
        if sha256(content).hexdigest() != name:
            raise StoreDamaged(f"file {name} is not what was stored: restore a backup")
    return opened
