"""What is told again, to be encrypted, while it is stored in plain: sealed where it is, so that it stays one memory.

It is looked for by the plain fingerprint of what is told, which is nowhere stored: nobody learns from the store that
two memories say the same.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.model import Memory
from scrubjay.ports.encryption import Hide, Resealed

Unknown: TypeAlias = Callable[[Sequence[Memory]], Awaitable[Collection[UUID]]]
"""Says of drafts which ones nothing open-ended stands for that is stored in plain."""

PAGE: Final = 200
"""Rows that are sealed in one transaction: others can write in between."""


class Twins:
    """Seals what is stored in plain, once it is told again as a secret."""

    def __init__(self, vault: KeyVault, stored: Resealed, hide: Hide) -> None:
        self._vault = vault
        self._stored = stored
        self._hide = hide

    async def seal(self, secret: Sequence[Memory], unknown: Unknown | None = None) -> int:
        """Seal what says in plain what one of these says; return how many those were. Safe to repeat.

        With `unknown`, it is asked first: nearly always nothing is known, and it can tell more quickly.
        """
        if unknown is not None:
            new = await unknown(secret)
            # What has ended may stand for what is told of the same stretch, which it does not look for.
            secret = [one for one in secret if one.id not in new or one.valid_to is not None]
        plain = await self._stored.in_plain(secret)
        if not plain:
            return 0
        changed = 0
        for start in range(0, len(plain), PAGE):
            changed += await self._sealed(plain[start : start + PAGE])
        if self._vault.rules.search == "none":
            await self._hide([one.id for one in plain])
        return changed

    async def _sealed(self, plain: Sequence[Memory]) -> int:
        tenants, searchable = {one.scope.tenant for one in plain}, self._vault.rules.search == "words"

        async def work(rings: Rings) -> int:
            pairs = [(one, rings[one.scope.tenant].seal(one, searchable=searchable)) for one in plain]
            return await self._stored.replace_rows(pairs)

        return await self._vault.with_rings(tenants, work, needed=tenants)
