"""Work under a lease: taken before, renewed while it lasts, given back after."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Final

from scrubjay.elapsed import Since
from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.ports.leases import Lease, Leases

log = logger("jobs")

TTL: Final = timedelta(seconds=30)
"""How long a worker may be silent before others take over what it had."""

BEATS: Final = 3
"""How often a lease is renewed in the time that it lasts: one beat may be late, or lost, without harm."""


class Held:
    """A lease of this worker, and when it was last known to be."""

    def __init__(self, leases: Leases, lease: Lease, ttl: timedelta, *, known: Since) -> None:
        """`known` is of before it was asked for: who stands still while the answer comes has it for that much less."""
        self._leases = leases
        self._ttl = ttl
        self._known = known
        self._is_lost = False
        self.lease = lease

    async def renew(self) -> bool:
        """Keep it for another while; False when somebody else has it."""
        asked = Since()
        self._is_lost = await self._leases.renew(self.lease, ttl=self._ttl) is None
        if not self._is_lost:
            self._known = asked
        return not self._is_lost

    async def is_sure(self) -> bool:
        """Whether nobody else can have it. The store is asked only by who was silent for so long that it may have."""
        if self._is_lost:
            return False
        return self._known.seconds < self._ttl.total_seconds() or await self.renew()


_held: ContextVar[tuple[Held, ...]] = ContextVar("leases", default=())


async def still_leased() -> None:
    """Raise Unavailable when something is not this worker's any more that it has taken: it stood still for too long.

    Asked right before what should not be done again by somebody who comes late.
    """
    for held in _held.get():
        if not await held.is_sure():
            raise Unavailable(
                f"another worker has taken over {held.lease.name!r}, since this one stood still for too long. "
                "Nothing is lost: the other one goes on with it"
            )


@asynccontextmanager
async def leased(leases: Leases, name: str, worker: str, *, ttl: timedelta = TTL) -> AsyncIterator[Lease | None]:
    """Have this name while the block lasts; None when somebody else has it.

    When the lease is lost, the block is not stopped: what is done in it is safe to do twice, or asks `still_leased`.
    """
    asked = Since()
    lease = await _taken(leases, name, worker, ttl)
    if lease is None:
        yield None
        return
    held = Held(leases, lease, ttl, known=asked)
    beating = asyncio.create_task(_beating(held, ttl), name=f"lease {name}")
    before = _held.set((*_held.get(), held))
    try:
        yield lease
    finally:
        _held.reset(before)
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


async def _beating(held: Held, ttl: timedelta) -> None:
    while True:
        await asyncio.sleep(ttl.total_seconds() / BEATS)
        try:
            is_kept = await held.renew()
        except Unavailable as error:
            log.warning("lease cannot be renewed", lease=held.lease.name, error=str(error))
            continue
        if not is_kept:
            log.warning("lease was lost", lease=held.lease.name, worker=held.lease.worker)
            return
