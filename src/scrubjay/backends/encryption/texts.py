"""Search by words behind encryption: the store cannot filter by data that it cannot read, so that is done here."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from scrubjay.backends.encryption.vault import KeyVault
from scrubjay.model import Filter
from scrubjay.ports import Match, Records, Texts

_WIDER: Final = 8
"""How much deeper the index is asked when a part of the filter is applied afterwards."""


class EncryptedTexts:
    """The `Texts` port over another one; `records` opens what it found."""

    def __init__(self, texts: Texts, records: Records, vault: KeyVault) -> None:
        self._texts = texts
        self._records = records
        self._vault = vault

    async def match(
        self, terms: Sequence[str], filter: Filter, *, now: datetime, limit: int, guess: bool = True
    ) -> list[Match]:
        """Return the memories with any of the terms that the filter admits, best first."""
        if not filter.data or not (await self._vault.ring(filter.scope.tenant)).keys:
            return await self._texts.match(terms, filter, now=now, limit=limit, guess=guess)
        wide, depth = replace(filter, data={}), limit
        while True:
            depth *= _WIDER
            found = await self._texts.match(terms, wide, now=now, limit=depth, guess=guess)
            stored = await self._records.get(filter.scope, [one.id for one in found])
            matching = {one.id for one in stored if filter.matches(one, now)}
            kept = [one for one in found if one.id in matching]
            if len(kept) >= limit or len(found) < depth:
                return kept[:limit]

    async def rebuild(self) -> int:
        """Build the index again from the records; return how many memories are in it."""
        return await self._texts.rebuild()
