"""Consolidation behind encryption.

What goes into an archive stays sealed: the file holds what the record held, and is opened when it is put back.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from scrubjay.backends.encryption.ring import Ring, bound_to
from scrubjay.backends.encryption.stored import keys_of, resealed_memory
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.model import Memory, Scope
from scrubjay.model.sealed import is_sealed
from scrubjay.model.work import Run, Step, StepDone, Trouble
from scrubjay.ports.purges import Sight
from scrubjay.ports.upkeep import Stirred, Upkeep, Weight
from scrubjay.ports.worklog import Worklog


class EncryptedUpkeep:
    """The `Upkeep` port over another one."""

    def __init__(self, upkeep: Upkeep, vault: KeyVault) -> None:
        self._upkeep = upkeep
        self._vault = vault

    async def tenants(self) -> list[str]:
        """Return the names of all that have stored something, sorted."""
        return await self._upkeep.tenants()

    async def sessions(self, step: Step, *, within: Scope | None, limit: int) -> list[Stirred]:
        """Return sessions whose highest position is above the mark of this step."""
        return await self._upkeep.sessions(step, within=within, limit=limit)

    async def places(self, step: Step, kind: str, *, within: Scope | None) -> list[Stirred]:
        """Return places with believed memories of this kind that have changed since they were marked."""
        return await self._upkeep.places(step, kind, within=within)

    async def mark(self, step: Step, scope: Scope, place: int, *, sight: Sight | None = None) -> None:
        """Note that this step has dealt with the place up to here."""
        await self._upkeep.mark(step, scope, place, sight=sight)

    async def episodes(self, scope: Scope, *, start: int, stop: int) -> list[Memory]:
        """Return what happened in exactly this session, believed, from one position up to before another, in order."""
        return await self._vault.opened(await self._upkeep.episodes(scope, start=start, stop=stop))

    async def expired(self, *, within: Scope | None, now: datetime, limit: int) -> list[Memory]:
        """Return believed memories whose time is over, those first whose time was over first."""
        return await self._vault.opened(await self._upkeep.expired(within=within, now=now, limit=limit))

    async def decay(self, tenant: str, *, period: timedelta, factor: float, now: datetime, limit: int) -> int | None:
        """Multiply the importance of what was not used for one period, some rows at a time."""
        return await self._upkeep.decay(tenant, period=period, factor=factor, now=now, limit=limit)

    async def aged(self, *, within: Scope | None, before: datetime, limit: int) -> list[Memory]:
        """Return believed episodes that happened before then and are distilled, sealed as they are stored."""
        return await self._upkeep.aged(within=within, before=before, limit=limit)

    async def hollow(self, memories: Sequence[Memory], *, at: datetime, because: str, says: str) -> list[Memory]:
        """Close these and take out what they say."""
        return await self._upkeep.hollow(memories, at=at, because=because, says=says)

    async def fill(self, memories: Sequence[Memory]) -> list[Memory]:
        """Put back what hollow ones said, and believe them again; return those that were hollow, as they now are."""
        # Sealed as it would be now. What does not open raises KeyMissing before anything is stored.
        rules = self._vault.rules
        tenants = {one.scope.tenant for one in memories if keys_of(one, rules)}

        def seal(rings: Rings) -> list[Memory]:
            return [
                resealed_memory(rings[one.scope.tenant], one, rules) if keys_of(one, rules) else one for one in memories
            ]

        async def work(rings: Rings) -> list[Memory]:
            return await self._upkeep.fill(await asyncio.to_thread(seal, rings) if tenants else memories)

        return await self._vault.opened(await self._vault.with_rings(tenants, work, needed=tenants))

    async def idle(self, *, within: Scope | None, before: datetime, below: float, limit: int) -> list[Memory]:
        """Return believed memories that were neither told nor used since then and whose importance is below."""
        return await self._vault.opened(await self._upkeep.idle(within=within, before=before, below=below, limit=limit))

    async def weights(self, *, within: Scope | None) -> list[Weight]:
        """Weigh every place that holds something believed, as it is stored."""
        return await self._upkeep.weights(within=within)

    async def hollowed(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are hollow, in the order asked."""
        return await self._upkeep.hollowed(ids)


class EncryptedWorklog:
    """The `Worklog` port over another one: the messages that could not be stored are sealed where all memories are."""

    def __init__(self, log: Worklog, vault: KeyVault) -> None:
        self._log = log
        self._vault = vault

    async def ran(self, done: StepDone, *, worker: str, at: datetime) -> None:
        """Note how a run of a step went."""
        await self._log.ran(done, worker=worker, at=at)

    async def runs(self) -> dict[Step, Run]:
        """Return what is known of each step that was ever taken."""
        return await self._log.runs()

    async def failed(
        self,
        step: Step,
        item: str,
        scope: Scope,
        *,
        error: str,
        at: datetime,
        tries: int,
        pause: timedelta,
        body: str | None = None,
    ) -> Trouble:
        """Count one more failure of an item, and return it as it now is."""
        whose = [scope.tenant] if body is not None and self._vault.rules.encrypt == "all" else []

        async def work(rings: Rings) -> Trouble:
            said = body
            if said is not None and whose:
                said = rings[scope.tenant].seal_text(said, bound=of_trouble(scope, item))
            return await self._log.failed(step, item, scope, error=error, at=at, tries=tries, pause=pause, body=said)

        return (await self._opened([await self._vault.with_rings(whose, work, needed=whose)]))[0]

    async def settled(self, step: Step, item: str) -> None:
        """Forget that the item ever failed: it is dealt with."""
        await self._log.settled(step, item)

    async def resting(self, step: Step, *, now: datetime) -> set[str]:
        """Return the items that are not to be tried now."""
        return await self._log.resting(step, now=now)

    async def troubles(self, tenant: str | None = None, *, limit: int) -> list[Trouble]:
        """Return what has failed and is not settled, of one tenant or of all."""
        return await self._opened(await self._log.troubles(tenant, limit=limit))

    async def counted(self) -> tuple[int, int]:
        """Count what is being tried again, and what is parked, over all tenants."""
        return await self._log.counted()

    async def retry(self, tenant: str, ids: Sequence[UUID] | None = None, *, now: datetime) -> list[Trouble]:
        """Let these of the tenant, or all of its parked ones, be tried from the beginning."""
        return await self._opened(await self._log.retry(tenant, ids, now=now))

    async def _opened(self, troubles: Sequence[Trouble]) -> list[Trouble]:
        sealed = {one.scope.tenant for one in troubles if one.body is not None and is_sealed(one.body)}
        if not sealed:
            return list(troubles)

        async def work(rings: Rings) -> list[Trouble]:
            return [_trouble(one, rings[one.scope.tenant]) if one.scope.tenant in rings else one for one in troubles]

        return await self._vault.with_rings(sealed, work)


def _trouble(trouble: Trouble, ring: Ring) -> Trouble:
    if trouble.body is None:
        return trouble
    return replace(trouble, body=ring.open_text(trouble.body, bound=of_trouble(trouble.scope, trouble.item)))


def of_trouble(scope: Scope, item: str) -> str:
    """What the text of something that failed is bound to."""
    return bound_to("trouble", *(name or "" for name in scope.names()), item)
