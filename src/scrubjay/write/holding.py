"""Holding: memories and the files that they hold. Files are stored first: no memory names one that is not there.

When a memory comes to nothing, its files go again; but only then. Whoever is cancelled while a store commits cannot
know whether it did, so that is waited for.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID

from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.ports import Blobs, Stores

log = logger("holding")

T = TypeVar("T")


@asynccontextmanager
async def holding(stores: Stores, scope: Scope, owners: Sequence[UUID]) -> AsyncIterator[None]:
    """In the block, files are stored for these memories, and then the memories. If it fails, files without one go."""
    try:
        yield
    except Unavailable:
        # What was being written may be stored all the same. If it is not, `scrubjay doctor` finds what nobody holds.
        raise
    except BaseException:
        await undisturbed(_let_go(stores, scope, owners))
        raise


async def files_of(blobs: Blobs, scope: Scope, owners: Sequence[UUID], hashes: Sequence[str]) -> dict[str, bytes]:
    """Those of these files that one of these memories holds. Naming one is not enough: it may be somebody else's."""
    if not hashes:
        return {}
    held = {one for each in (await blobs.held(scope, owners)).values() for one in each}
    return await blobs.get(scope, [one for one in dict.fromkeys(hashes) if one in held])


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Do all of this, also when we are cancelled meanwhile: that is told after it."""
    doing = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    # Whoever wants us to stop may say so more than once.
    while not doing.done():
        try:
            await asyncio.wait([doing])
        except asyncio.CancelledError as told:
            cancelled = told
    if cancelled is None:
        return doing.result()
    if not doing.cancelled() and (error := doing.exception()) is not None:
        log.warning("failed after it was cancelled", error=type(error).__name__)
    raise cancelled


async def _let_go(stores: Stores, scope: Scope, owners: Sequence[UUID]) -> None:
    try:
        if owners and (gone := await stores.records.missing(owners)):
            await stores.blobs.release(scope, gone)
    except Unavailable as error:
        log.warning("files of what was not stored cannot be deleted now", error=str(error))
