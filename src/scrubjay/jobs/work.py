"""The verbs of whoever looks after consolidation: run it, see how it is doing, and deal with what is stuck."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, Misconfigured, NotFound, StoreUnavailable
from scrubjay.jobs.archive import Archive, archives, named, restore
from scrubjay.jobs.drain import SOON
from scrubjay.jobs.orders import Orders
from scrubjay.jobs.worker import QUIET, Worker, worker_name
from scrubjay.model import Scope
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.work import STEPS, Policy, Run, Trouble, WorkStatus
from scrubjay.model.working import Waiting

MOST: Final = 1_000
"""Sessions, and things that failed, that are looked at for a status."""


class Work:
    """Consolidation, for whoever looks after it. Numbers are over all tenants; what is named is the caller's own."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def status(self) -> WorkStatus:
        """Say how consolidation is doing: what waits, how each step went, what failed, and who is at work."""
        orders = self._orders()
        works, now = orders.works, orders.parts.clock()
        runs = await works.log.runs()
        waiting = await self._waiting()
        failing, parked = await works.log.counted()
        return WorkStatus(
            at=now,
            steps=tuple(runs.get(step, Run(step=step)) for step in STEPS),
            sessions=len(waiting) if waiting is not None else None,
            messages=sum(one.messages for one in waiting) if waiting is not None else None,
            lag=self._lag(waiting) if waiting is not None else None,
            undistilled=len(await works.upkeep.sessions("distill", within=None, limit=MOST)),
            pending=await orders.parts.index.backlog(),
            failing=failing,
            parked=parked,
            workers=tuple(dict.fromkeys(lease.worker for lease in await works.leases.held())),
        )

    async def _waiting(self) -> list[Waiting] | None:
        parts = self._core.parts
        try:
            return await parts.working.waiting(now=parts.clock(), soon=SOON, limit=MOST)
        except StoreUnavailable:
            return None

    def _lag(self, waiting: Sequence[Waiting]) -> timedelta:
        now = self._core.parts.clock()
        ends = [one.session.ended_at or one.session.expires_at for one in waiting]
        return max((now - end for end in ends if end <= now), default=timedelta(0))

    async def parked(self, limit: int = 100) -> list[Trouble]:
        """Return what failed, of this tenant, with its error: what is parked first, then what is tried again."""
        check_whole("limit", limit, least=1, most=10_000)
        return await self._orders().works.log.troubles(self._core.tenant, limit=limit)

    async def retry(self, id: UUID | str | None = None) -> list[Trouble]:
        """Let something that is parked be tried from the beginning; without an id, everything of this tenant.

        Raises NotFound when there is no such thing.
        """
        works, now = self._orders().works, self._core.parts.clock()
        found = await works.log.retry(self._core.tenant, [_id(id)] if id is not None else None, now=now)
        if id is not None and not found:
            raise NotFound(f"nothing that failed has the id {id}: `scrubjay work parked` lists what there is")
        return found

    async def archives(self) -> list[Archive]:
        """Return the files with archived episodes of this tenant, oldest first."""
        return await asyncio.to_thread(archives, self._folder(), self._core.tenant)

    async def restore_archive(self, file: Path | str) -> int:
        """Put archived episodes back from a file, and say how many that were. Safe to repeat.

        `file` is a path, or the name of one of the `archives`. What was purged since stays away.
        """
        tenant, folder = self._core.tenant, self._folder()
        if self._core.caller.is_here:
            meant = await asyncio.to_thread(named, folder, tenant, Path(file))
        else:
            # Whoever is elsewhere names none of our files but these.
            known = {one.file.name: one.file for one in await self.archives()}
            if (one := known.get(str(file))) is None:
                raise NotFound(f"there is no archive {shown(str(file))}: `archives` lists them")
            meant = one
        return await restore(self._orders(), meant, tenant)

    async def run(self, stop: Event) -> None:
        """Work for every tenant until `stop` is set, from whichever thread, together with whoever else does."""
        await Worker(self._orders(quiet=QUIET)).run(stop)

    def _orders(self, *, quiet: timedelta = timedelta(0)) -> Orders:
        return orders_of(self._core, quiet=quiet)

    def _folder(self) -> Path:
        folder = self._core.parts.archive
        if folder is None:
            raise Misconfigured("there is no folder for archives: set SCRUBJAY_ARCHIVE")
        return folder

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core!r}>"


def orders_of(
    core: Core,
    *,
    policy: Policy | None = None,
    within: Scope | None = None,
    dry_run: bool = False,
    quiet: timedelta = timedelta(0),
) -> Orders:
    """What a step is asked to do with this memory. Raises Closed when it is."""
    core.scoped({})
    parts = core.parts
    if parts.works is None:
        raise Misconfigured("this memory was wired without what consolidation needs: give `works` to its Parts")
    return Orders(
        parts=parts,
        works=parts.works,
        worker=worker_name(),
        policy=policy or parts.policy,
        archive=parts.archive,
        within=within,
        dry_run=dry_run,
        caller=core.caller,
        quiet=quiet,
    )


def _id(value: UUID | str) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value if isinstance(value, str) else "")
    except ValueError as error:
        raise InvalidInput(f"id is {shown(value)}: use one that `scrubjay work parked` shows") from error
