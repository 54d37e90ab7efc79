"""Leases and the log of work on dicts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from scrubjay.model import Scope, new_id
from scrubjay.model.work import Run, Step, StepDone, Trouble, trouble_id
from scrubjay.ports.leases import LONGEST, Lease


def _machine() -> datetime:
    return datetime.now(UTC)


class MemoryLeases:
    """The `Leases` port. Nothing outlives the process."""

    def __init__(self, clock: Callable[[], datetime] = _machine) -> None:
        self._clock = clock
        self._leases: dict[str, Lease] = {}

    async def take(self, name: str, worker: str, *, ttl: timedelta) -> Lease | None:
        """Take the name until `ttl` from now; None while somebody has it."""
        now, known = self._clock(), self._leases.get(name)
        if known is not None and known.lasts(now):
            return None
        self._leases[name] = Lease(name=name, worker=worker, token=str(new_id()), until=now + min(ttl, LONGEST))
        return self._leases[name]

    async def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | None:
        """Keep it until `ttl` from now; None when somebody else has taken it since, or it was released."""
        known = self._leases.get(lease.name)
        if known is None or known.token != lease.token:
            return None
        self._leases[lease.name] = replace(known, until=self._clock() + min(ttl, LONGEST))
        return self._leases[lease.name]

    async def release(self, lease: Lease) -> None:
        """Give it back, unless somebody else has taken it since."""
        known = self._leases.get(lease.name)
        if known is not None and known.token == lease.token:
            del self._leases[lease.name]

    async def held(self) -> list[Lease]:
        """Return all that have not lapsed, by name."""
        now = self._clock()
        return sorted((one for one in self._leases.values() if one.lasts(now)), key=lambda one: one.name)


class MemoryWorklog:
    """The `Worklog` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._runs: dict[Step, Run] = {}
        self._troubles: dict[UUID, Trouble] = {}

    async def ran(self, done: StepDone, *, worker: str, at: datetime) -> None:
        """Note how a run of a step went."""
        known = self._runs.get(done.step, Run(step=done.step))
        self._runs[done.step] = replace(
            known,
            finished_at=at,
            succeeded_at=known.succeeded_at if done.error else at,
            worker=worker,
            seconds=done.seconds,
            done=done.done,
            total=known.total + done.done,
            runs=known.runs + 1,
            failures=known.failures + bool(done.error),
            error=done.error,
        )

    async def runs(self) -> dict[Step, Run]:
        """Return what is known of each step that was ever taken."""
        return dict(self._runs)

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
        known = self._troubles.get(trouble_id(step, item))
        before = known.tries if known is not None else 0
        trouble = Trouble(
            step=step,
            item=item,
            scope=scope,
            error=error,
            tries=before + 1,
            first_at=known.first_at if known is not None else at,
            last_at=at,
            retry_at=at + pause * 2**before,
            parked_at=at if before + 1 >= tries else None,
            body=body if body is not None or known is None else known.body,
        )
        self._troubles[trouble.id] = trouble
        return trouble

    async def settled(self, step: Step, item: str) -> None:
        """Forget that the item ever failed: it is dealt with."""
        self._troubles.pop(trouble_id(step, item), None)

    async def resting(self, step: Step, *, now: datetime) -> set[str]:
        """Return the items that are not to be tried now."""
        return {
            one.item
            for one in self._troubles.values()
            if one.step == step and (one.parked_at is not None or one.last_at <= now < one.retry_at)
        }

    async def troubles(self, tenant: str | None = None, *, limit: int) -> list[Trouble]:
        """Return what has failed and is not settled; the parked ones first, oldest first."""
        found = [one for one in self._troubles.values() if tenant is None or one.scope.tenant == tenant]
        return sorted(found, key=lambda one: (one.parked_at is None, one.first_at, one.id))[:limit]

    async def counted(self) -> tuple[int, int]:
        """Count what is being tried again, and what is parked, over all tenants."""
        parked = sum(one.parked_at is not None for one in self._troubles.values())
        return len(self._troubles) - parked, parked

    async def retry(self, tenant: str, ids: Sequence[UUID] | None = None, *, now: datetime) -> list[Trouble]:
        """Let these of the tenant, or all of its parked ones, be tried from the beginning."""
        found = [
            one
            for one in await self.troubles(tenant, limit=len(self._troubles))
            if (one.parked_at is not None if ids is None else one.id in ids)
        ]
        for one in found:
            self._troubles[one.id] = replace(one, tries=0, parked_at=None, retry_at=now)
        return sorted(found, key=lambda one: (one.first_at, one.id))

    def put(self, trouble: Trouble) -> None:
        """Keep this as it is."""
        self._troubles[trouble.id] = trouble
