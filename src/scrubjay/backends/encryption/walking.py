"""Walks over all that is stored, and stores anew what is not sealed as it should be.

What a walk finds done it leaves alone, so that one that was killed goes on by looking.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from scrubjay.backends.encryption.ring import Ring
from scrubjay.backends.encryption.smiths import Place
from scrubjay.backends.encryption.stored import keys_of, resealed_memory
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.errors import KeyMissing, StoreDamaged, StoreUnavailable
from scrubjay.logs import logger
from scrubjay.model import Memory
from scrubjay.model.sealed import Envelope, is_sealed
from scrubjay.model.words import words_of
from scrubjay.ports.blobs import sealed_parts
from scrubjay.ports.encryption import Hide, KeptFile, Progress, Resealed

log = logger("encryption")

PAGE: Final = 200
"""Rows, or keys, in one transaction: others can write in between."""


class Walk:
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
        self.changed: Counter[str] = Counter()
        """What else was stored anew, by what it is."""
        self.unread: list[str] = []
        """What does not open, one sentence each."""
        self.stopped: dict[str, str] = {}
        """Why the walk came to an end early in a place, by what lies there."""

    def again(self) -> None:
        """Begin at the first row once more."""
        self._last_row = 0
        self.unread.clear()
        self.stopped.clear()

    async def rows(self) -> None:
        """Store rows anew that are not as they should be, from where the walk came to."""
        while page := await self._stored.rows(after=self._last_row, limit=PAGE):
            stored = [memory for _, memory in page]
            self.changed_rows += await self._replaced(stored)
            rules = self._vault.rules
            if hidden := [one.id for one in stored if rules.search == "none" and _is_secret(self._vault, one)]:
                await self._hide(hidden)
            self._last_row = page[-1][0]
            self._step(len(page))

    async def _replaced(self, stored: Sequence[Memory]) -> int:
        """Store those of these anew that are not as they should be; return how many those were."""
        secret = [memory for memory in stored if keys_of(memory, self._vault.rules)]
        tenants = {memory.scope.tenant for memory in secret}

        async def work(rings: Rings) -> int:
            changed = await asyncio.to_thread(self._resealed, secret, rings)
            return await self._stored.replace_rows(changed) if changed else 0

        return await self._vault.with_rings(tenants, work, needed=tenants) if secret else 0

    def _resealed(self, secret: Sequence[Memory], rings: Rings) -> list[tuple[Memory, Memory]]:
        rules = self._vault.rules
        found: list[tuple[Memory, Memory]] = []
        for memory in secret:
            ring = rings[memory.scope.tenant]
            is_sealed_anew = set(keys_of(memory, rules)) == {ring.newest} and _is_as_configured(
                memory, ring, searchable=rules.search == "words"
            )
            if not is_sealed_anew:
                found.append((memory, resealed_memory(ring, memory, rules)))
        return found

    async def files(self) -> None:
        """Store files anew that are not as they should be."""
        last = 0
        # One by one: each may be large.
        while page := await self._stored.files(after=last, limit=1):
            for number, file in page:
                self.changed_files += await self._replaced_file(number, file)
                last = number
            self._step(len(page))

    async def _replaced_file(self, number: int, file: KeptFile) -> bool:
        """Store the file anew unless it is as it should be; whether it was stored."""
        encrypt, parts = self._vault.rules.encrypt, sealed_parts(file.content)
        if parts is None and not (encrypt == "all" or (encrypt == "agents" and file.of_agent)):
            return False

        async def work(rings: Rings) -> bool:
            ring = rings[file.tenant]
            if parts is not None and parts[0] == ring.newest:
                return False
            content = await asyncio.to_thread(lambda: ring.seal_file(ring.open_file(file.content)))
            return await self._stored.replace_file(number, file, content)

        return await self._vault.with_rings([file.tenant], work, needed=[file.tenant])

    async def place(self, place: Place[Any]) -> None:
        """Store anew what lies in a place beside memories and files. What does not open is noted, and left alone."""
        try:
            async for item in place.store.all():
                await self._item(place, item)
                self._step(1)
        except StoreUnavailable as error:
            log.warning("what is encrypted cannot be reached", what=place.store.name, error=str(error))
            self.stopped[place.store.name] = f"{place.store.name}: {error}"

    async def _item(self, place: Place[Any], item: Any) -> None:  # noqa: ANN401 -- the place knows what it is
        try:
            # Only what was changed is named in the answer.
            if changed := await self._replaced_item(place, item):
                self.changed[place.store.name] += changed
        except (StoreDamaged, KeyMissing) as error:
            self.unread.append(f"{place.store.name}: {error}")

    async def _replaced_item(self, place: Place[Any], item: Any) -> int:  # noqa: ANN401 -- likewise
        """Store the thing anew unless it is as it should be; return how much of it was."""
        tenant, rules = place.smith.tenant(item), self._vault.rules
        if not place.smith.keys(item, await self._vault.ring(tenant), rules):
            return 0

        async def work(rings: Rings) -> int:
            ring = rings[tenant]
            if set(place.smith.keys(item, ring, rules)) == {ring.newest}:
                return 0
            anew = await asyncio.to_thread(place.smith.resealed, item, ring, rules)
            return int(await place.store.replace(item, anew))

        return await self._vault.with_rings([tenant], work, needed=[tenant])

    def _step(self, done: int) -> None:
        self._done += done
        self._progress(self._done, max(self._total, self._done))


def _is_secret(vault: KeyVault, memory: Memory) -> bool:
    """Whether a row is encrypted, or should be."""
    return is_sealed(memory.content) or vault.rules.cover(memory.kind)


def _is_as_configured(stored: Memory, ring: Ring, *, searchable: bool) -> bool:
    """Whether search may know what it knows of a row, and its reason for being closed is a secret as it is."""
    if not is_sealed(stored.content):
        return True
    if ring.seal_reason(stored.closed_because) != stored.closed_because:
        return False
    words = Envelope.of(stored.content).words
    if not searchable:
        return not words
    opened = ring.open(stored)
    return list(words) == sorted(words_of(opened.speaker) + words_of(opened.content))
