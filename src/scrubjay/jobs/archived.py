"""Archived episodes as they are in their files, for whoever changes keys: read, and stored anew in place."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from scrubjay.errors import InvalidInput, StoreDamaged, StoreUnavailable
from scrubjay.jobs.archive import SUFFIX, folder_of, read_whole, rewrite
from scrubjay.jobs.orders import Orders
from scrubjay.model.sealed import SEAL
from scrubjay.ports.at_rest import ARCHIVED, Archived

PATIENCE: Final = 120.0
"""Seconds to wait for a worker that archives: four times as long as one that was killed keeps others waiting."""

_PAUSE: Final = 0.2


class ArchivesAtRest:
    """The `AtRest` port for the files of all tenants. Names stay: they stand in the records of what is archived."""

    name = ARCHIVED

    def __init__(self, orders: Orders, folder: Path) -> None:
        self._orders = orders
        self._folder = folder

    async def all(self) -> AsyncIterator[Archived]:
        """Go through the files of every tenant; one that cannot be read has a fault."""
        if not await asyncio.to_thread(self._folder.is_dir):
            return
        tenants = {folder_of(self._folder, one): one for one in await self._orders.works.upkeep.tenants()}
        for file in await asyncio.to_thread(lambda: sorted(self._folder.glob(f"*/*{SUFFIX}"))):
            item = await asyncio.to_thread(_archived, file, tenants.get(file.parent))
            if item is not None:
                yield item

    async def replace(self, before: Archived, after: Archived) -> int:
        """Write a file anew, unless it was changed meanwhile; return how many of its episodes are different."""
        async with self._alone():
            now = await asyncio.to_thread(_archived, before.file, before.tenant)
            if now != before:
                return 0
            try:
                await asyncio.to_thread(rewrite, before.file, after.memories)
            except OSError as error:
                raise StoreUnavailable(
                    f"the archive {before.file} cannot be written: {error.strerror}. Make room, then run it again"
                ) from error
        return sum(old != new for old, new in zip(before.memories, after.memories, strict=True))

    async def sweep(self) -> int:
        """Delete what was being written when a worker was killed, and say how many files those were."""
        if not await asyncio.to_thread(self._folder.is_dir):
            return 0
        async with self._alone():
            return await asyncio.to_thread(self._swept)

    def _swept(self) -> int:
        halves = list(self._folder.glob(f"*/.*{SUFFIX}.*"))
        for half in halves:
            half.unlink(missing_ok=True)
        return len(halves)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """While nobody archives. Raises StoreUnavailable when somebody does for long."""
        since = time.monotonic()
        while True:
            async with self._orders.leased("step archive") as lease:
                if lease is not None:
                    yield
                    return
            if time.monotonic() - since > PATIENCE:
                raise StoreUnavailable(
                    f"another worker has been archiving for {PATIENCE:.0f} seconds: run it again later"
                )
            await asyncio.sleep(_PAUSE)


def _archived(file: Path, tenant: str | None) -> Archived | None:
    """What is in a file; None when there is nothing to seal, or the file is gone."""
    if tenant is None:
        fault = f"no tenant here has the folder {file.parent.name}"
        return Archived(tenant="", file=file, fault=fault) if _holds_ciphertext(file) else None
    try:
        return Archived(tenant=tenant, file=file, memories=tuple(read_whole(file, tenant)))
    except StoreDamaged as error:
        return Archived(tenant=tenant, file=file, fault=str(error))
    except InvalidInput as error:
        return Archived(tenant=tenant, file=file, fault=str(error)) if file.exists() else None


def _holds_ciphertext(file: Path) -> bool:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            return any(SEAL in line for line in lines)
    except (OSError, EOFError, ValueError):
        return True
