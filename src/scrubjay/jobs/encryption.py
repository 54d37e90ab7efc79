"""The verbs of whoever looks after encryption: which keys there are, and changing them."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.jobs.archived import ArchivesAtRest
from scrubjay.jobs.work import orders_of
from scrubjay.model.checks import check_flag
from scrubjay.model.encryption import Destroyed, EncryptionStatus, Rotated
from scrubjay.ports.encryption import Progress, Vault
from scrubjay.ports.indexes import WORDS_ONLY


class Encryption:
    """Encryption at rest, for whoever looks after it."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def status(self) -> EncryptionStatus:
        """Say what is encrypted, with which keys, and what of this tenant needs each of them."""
        return await self._vault().status(self._core.tenant, archives=self._archives())

    async def rotate(self, progress: Progress | None = None, *, data_keys: bool = False, rows: bool = False) -> Rotated:
        """Wrap the data keys of every tenant with the first master key, while everything goes on.

        `data_keys`: give every tenant a new data key too, which encrypts from now on; older ones still open. `rows`:
        store everything anew that is not encrypted as it is configured now: with the newest key, what was stored in
        plain before encryption was switched on, and with the words that search may know. That is memories, files,
        sessions, kept answers, work that failed, and archives; what is left is counted at the end. Safe to repeat, to
        kill, and to run twice at once.
        """
        check_flag("data_keys", data_keys)
        check_flag("rows", rows)
        reported: Progress = progress or (lambda _done, _total: None)
        vault, archives = self._vault(), self._archives()
        done = await vault.rotate(data_keys=data_keys, rows=rows, hide=self._hide, progress=reported, archives=archives)
        if not rows or archives is None:
            return done
        try:
            await archives.sweep()
        except StoreUnavailable as error:
            return replace(done, unread=(*done.unread, str(error)))
        return done

    async def destroy(self, *, sessions_gone: bool = False) -> Destroyed:
        """Delete, of every tenant, the data keys for good that nothing needs any more. Backups have keys of their own.

        It is counted first. A key stays that something needs, and one that encrypted within the last hour. Raises
        Conflict when something cannot be read; so when sessions were last kept in a Redis that is not configured here.
        `sessions_gone`: nothing is kept there any more.
        """
        check_flag("sessions_gone", sessions_gone)
        return await self._vault().destroy(sessions_gone=sessions_gone, archives=self._archives())

    async def _hide(self, ids: Sequence[UUID]) -> None:
        stores = self._core.parts.stores
        await stores.vectors.remove(ids)
        await stores.records.mark(ids, WORDS_ONLY)

    def _archives(self) -> ArchivesAtRest | None:
        """The files of archived episodes; None where there can be none."""
        parts = self._core.parts
        if parts.archive is None or parts.works is None:
            return None
        return ArchivesAtRest(orders_of(self._core), parts.archive)

    def _vault(self) -> Vault:
        vault = self._core.parts.stores.vault
        if vault is None:
            raise Misconfigured("these stores know nothing of encryption: open the memory with `scrubjay.open()`")
        self._core.scoped({})  # Raises Closed.
        return vault
