"""The verbs of whoever looks after encryption: which keys there are, and changing them."""

from collections.abc import Sequence
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import Misconfigured
from scrubjay.model.checks import check_flag
from scrubjay.model.encryption import EncryptionStatus, Rotated
from scrubjay.ports.encryption import Progress, Vault
from scrubjay.ports.indexes import WORDS_ONLY


class Encryption:
    """Encryption at rest, for whoever looks after it."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def status(self) -> EncryptionStatus:
        """Say what is encrypted, with which keys, and how many memories of this tenant need each of them."""
        return await self._vault().status(self._core.tenant)

    async def rotate(self, progress: Progress | None = None, *, data_keys: bool = False, rows: bool = False) -> Rotated:
        """Wrap the data keys of every tenant with the first master key, while everything goes on.

        `data_keys`: give every tenant a new data key too, which encrypts from now on; older ones still open. `rows`:
        store everything anew that is not encrypted as it is configured now: with the newest key, what was stored in
        plain before encryption was switched on, and with the words that search may know. Safe to repeat, to kill, and
        to run twice at once.
        """
        check_flag("data_keys", data_keys)
        check_flag("rows", rows)
        reported: Progress = progress or (lambda _done, _total: None)
        return await self._vault().rotate(data_keys=data_keys, rows=rows, hide=self._hide, progress=reported)

    async def _hide(self, ids: Sequence[UUID]) -> None:
        stores = self._core.parts.stores
        await stores.vectors.remove(ids)
        await stores.records.mark(ids, WORDS_ONLY)

    def _vault(self) -> Vault:
        vault = self._core.parts.stores.vault
        if vault is None:
            raise Misconfigured("these stores know nothing of encryption: open the memory with `scrubjay.open()`")
        self._core.scoped({})  # Raises Closed.
        return vault
