"""Changing keys while everything goes on: data keys wrapped anew, new ones made, and what is stored sealed with them.

Each step is safe to repeat and to kill: a key is wrapped by one master key or the other, a row is stored as before or
anew, and whoever looks next finds what is left to do.
"""

import asyncio
import time
from collections.abc import Sequence
from secrets import token_bytes
from typing import Final

from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.vault import FRESH_SECONDS, KeyVault, Rings
from scrubjay.model import Memory
from scrubjay.model.encryption import DataKey, EncryptionStatus, Rotated
from scrubjay.model.sealed import Envelope, is_sealed
from scrubjay.model.words import words_of
from scrubjay.ports.blobs import sealed_parts
from scrubjay.ports.encryption import FINGERPRINTS, Hide, KeptFile, Progress, Resealed

PAGE: Final = 200
"""Rows, or keys, in one transaction: others can write in between."""

ARRIVAL_SECONDS: Final = 1.0
"""How long what was sealed may take to be stored. What takes longer keeps its old key, opens with it, and is found by
the next rotation."""


class Locksmith:
    """The `Vault` port: says which keys there are, and changes them."""

    def __init__(self, vault: KeyVault, stored: Resealed) -> None:
        self._vault = vault
        self._stored = stored

    async def status(self, tenant: str) -> EncryptionStatus:
        """Say what is encrypted, and with which keys."""
        needed = await self._stored.keys_needed(tenant)
        keys = await self._vault.keys.of(tenant)
        return EncryptionStatus(
            encrypt=self._vault.rules.encrypt,
            search=self._vault.rules.search,
            masters=tuple(self._vault.masters),
            wrapped=await self._vault.keys.masters(),
            keys=tuple(
                DataKey(number=key.number, master=key.master, created_at=key.created_at, rows=needed.get(key.number, 0))
                for key in keys
                if key.number != FINGERPRINTS
            ),
            plain=needed.get(0, 0),
        )

    async def alias(self, tenant: str, name: str) -> str:
        """Return a word that stands for this name: always the same one, and no clue to those without the keys."""
        return (await self._vault.ring(tenant, needed=True)).alias(name)

    async def rotate(self, *, data_keys: bool, rows: bool, hide: Hide, progress: Progress) -> Rotated:
        """Wrap every data key with the first master key; then, as asked, make new ones and store everything anew."""
        master = self._vault.master.id
        begun = time.monotonic()
        added = await self._add_keys() if data_keys else 0
        wrapped = await self._wrap_anew(master)
        self._vault.forget()
        if not rows:
            return Rotated(master=master, wrapped=wrapped, added=added)
        walk = _Walk(self._vault, self._stored, hide, progress, total=await self._stored.count())
        await walk.rows()
        if added:
            # Until then, others may still seal with the key before, and what they sealed is on its way for a while.
            await asyncio.sleep(max(0.0, FRESH_SECONDS - (time.monotonic() - begun)) + ARRIVAL_SECONDS)
            await walk.rows()
        await walk.files()
        await self._stored.settle()
        return Rotated(master=master, wrapped=wrapped, added=added, rows=walk.changed_rows, files=walk.changed_files)

    async def _wrap_anew(self, master: str) -> int:
        """Wrap with this master key what another one wraps. What cannot be opened stays, and is named in the error."""
        wrapped = 0
        while keys := await self._vault.keys.wrapped_otherwise(master, limit=PAGE):
            anew = [self._vault.wrapped(key.tenant, key.number, self._vault.unwrapped(key)) for key in keys]
            wrapped += await self._vault.keys.rewrap(anew)
        return wrapped

    async def _add_keys(self) -> int:
        tenants = await self._vault.keys.tenants()
        for tenant in tenants:
            newest = max(key.number for key in await self._vault.keys.of(tenant))
            await self._vault.keys.add([self._vault.wrapped(tenant, newest + 1, token_bytes(32))])
        return len(tenants)


class _Walk:
    """One walk over all that is stored, from the first to the last."""

    def __init__(self, vault: KeyVault, stored: Resealed, hide: Hide, progress: Progress, *, total: int) -> None:
        self._vault = vault
        self._stored = stored
        self._hide = hide
        self._progress = progress
        self._total = total
        self._done = 0
        self._last_row = 0
        self.changed_rows = 0
        self.changed_files = 0

    async def rows(self) -> None:
        """Store rows anew that are not as they should be, from where the walk came to."""
        while page := await self._stored.rows(after=self._last_row, limit=PAGE):
            stored = [memory for _, memory in page]
            changed = await self._changed(stored)
            self.changed_rows += await self._stored.replace_rows(changed) if changed else 0
            rules = self._vault.rules
            if hidden := [one.id for one in stored if rules.search == "none" and _is_secret(self._vault, one)]:
                await self._hide(hidden)
            self._last_row = page[-1][0]
            self._step(len(page))

    async def _changed(self, stored: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
        secret = [memory for memory in stored if _is_secret(self._vault, memory)]
        tenants = {memory.scope.tenant for memory in secret}

        async def work(rings: Rings) -> list[tuple[Memory, Memory]]:
            return await asyncio.to_thread(self._resealed, secret, rings)

        return await self._vault.with_rings(tenants, work, needed=tenants) if secret else []

    def _resealed(self, secret: Sequence[Memory], rings: Rings) -> list[tuple[Memory, Memory]]:
        searchable = self._vault.rules.search == "words"
        found: list[tuple[Memory, Memory]] = []
        for memory in secret:
            ring = rings[memory.scope.tenant]
            opened = ring.open(memory)
            if not _is_up_to_date(memory, opened, ring, searchable=searchable):
                found.append((memory, ring.seal(opened, searchable=searchable)))
        return found

    async def files(self) -> None:
        """Store files anew that are not as they should be."""
        last = 0
        # One by one: each may be large.
        while page := await self._stored.files(after=last, limit=1):
            for number, file in page:
                content = await self._changed_file(file)
                if content is not None:
                    self.changed_files += await self._stored.replace_file(number, file, content)
                last = number
            self._step(len(page))

    async def _changed_file(self, file: KeptFile) -> bytes | None:
        """The file as it should be stored; None when it is."""
        encrypt, parts = self._vault.rules.encrypt, sealed_parts(file.content)
        if parts is None and not (encrypt == "all" or (encrypt == "agents" and file.of_agent)):
            return None

        async def work(rings: Rings) -> bytes | None:
            ring = rings[file.tenant]
            if parts is not None and parts[0] == ring.newest:
                return None
            return await asyncio.to_thread(lambda: ring.seal_file(ring.open_file(file.content)))

        return await self._vault.with_rings([file.tenant], work, needed=[file.tenant])

    def _step(self, done: int) -> None:
        self._done += done
        self._progress(self._done, max(self._total, self._done))


def _is_secret(vault: KeyVault, memory: Memory) -> bool:
    """Whether a row is encrypted, or should be."""
    return is_sealed(memory.content) or vault.rules.cover(memory.kind)


def _is_up_to_date(stored: Memory, opened: Memory, ring: Ring, *, searchable: bool) -> bool:
    if not is_sealed(stored.content):
        return False
    envelope = Envelope.of(stored.content)
    words = sorted(words_of(opened.speaker) + words_of(opened.content)) if searchable else []
    return (
        envelope.key == ring.newest
        and list(envelope.words) == words
        and ring.seal_reason(stored.closed_because) == stored.closed_because
    )
