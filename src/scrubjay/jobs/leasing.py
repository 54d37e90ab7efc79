"""Work under a lease: taken before, renewed while it lasts, given back after."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final

from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.ports.leases import Lease, Leases

log = logger("jobs")

TTL: Final = timedelta(seconds=30)
"""How long a worker may be silent before others take over what it had."""

BEATS: Final = 3
"""How often a lease is renewed in the time that it lasts: one beat may be late, or lost, without harm."""


@asynccontextmanager
async def leased(leases: Leases, name: str, worker: str, *, ttl: timedelta = TTL) -> AsyncIterator[Lease | None]:
    """Have this name while the block lasts; None when somebody else has it.

    When the lease is lost, the block is not stopped: what is done in it is safe to do twice.
    """
    lease = await _taken(leases, name, worker, ttl)
    if lease is None:
        yield None
        return
    beating = asyncio.create_task(_beating(leases, lease, ttl), name=f"lease {name}")
    try:
        yield lease
    finally:
        beating.cancel()
        await _whole(_given_back(leases, lease, beating))


async def _taken(leases: Leases, name: str, worker: str, ttl: timedelta) -> Lease | None:
    """Take it. When we are cancelled in between, the store may have given it to us already: it goes back."""
    taking = asyncio.ensure_future(leases.take(name, worker, ttl=ttl))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        with suppress(Unavailable):
            if (lease := await taking) is not None:
                await leases.release(lease)
        raise


async def _given_back(leases: Leases, lease: Lease, beating: asyncio.Task[None]) -> None:
    await asyncio.wait([beating])
    # A store that is gone cannot take it back, and lets it lapse.
    with suppress(Unavailable):
        await leases.release(lease)


async def _whole(work: Coroutine[object, object, None]) -> None:
    """Do all of this, also when we are cancelled meanwhile: that is told after it."""
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await doing
        raise


async def _beating(leases: Leases, lease: Lease, ttl: timedelta) -> None:
    while True:
        await asyncio.sleep(ttl.total_seconds() / BEATS)
        try:
            kept = await leases.renew(lease, ttl=ttl)
        except Unavailable as error:
            log.warning("lease cannot be renewed", lease=lease.name, error=str(error))
            continue
        if kept is None:
            log.warning("lease was lost", lease=lease.name, worker=lease.worker)
            return
