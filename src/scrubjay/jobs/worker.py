"""A worker: takes the steps of consolidation that are due, as long as it runs. Any number of them share the work."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from threading import Event
from typing import Final

from scrubjay.core import Core
from scrubjay.errors import Unavailable
from scrubjay.jobs.orders import Orders
from scrubjay.logs import logger
from scrubjay.model import new_id
from scrubjay.model.work import STEPS, Run, Step, StepDone
from scrubjay.ports.leases import Lease

log = logger("jobs")

EVERY: Final[Mapping[Step, timedelta]] = {
    "drain": timedelta(seconds=5),
    "distill": timedelta(seconds=15),
    "learn": timedelta(hours=1),
    "index": timedelta(seconds=10),
    "expire": timedelta(minutes=1),
    "decay": timedelta(hours=6),
    "archive": timedelta(hours=6),
    "prune": timedelta(hours=6),
}
"""How long after one run of a step, by whichever worker, the next one is due."""

QUIET: Final = timedelta(minutes=1)
"""A session in which something happened more recently is not distilled by a worker yet: more may follow."""

TICK: Final = 1.0
"""Seconds between two looks."""

_GLANCE: Final = 0.1
"""Seconds between two looks whether to stop."""

FAILED: Final = timedelta(minutes=1)
"""The least time after a run that failed: what was in the way is seldom gone at once."""


PURGED: Final = timedelta(minutes=1)
"""The least time between two looks into the archives for what was purged."""

_UNDER_WAY: Final = timedelta(seconds=10)
"""How long a purge may take from its note to its end."""


def worker_name() -> str:
    """A name that tells this worker from every other, and says where to find it."""
    return f"{socket.gethostname()}:{os.getpid()}:{str(new_id())[-6:]}"


class Worker:
    """Takes what is due, again and again. What fails is logged and tried again when it is due."""

    def __init__(self, orders: Orders, *, without: Step | None = None) -> None:
        self._orders = orders
        self._steps = [step for step in STEPS if step != without]

    @property
    def name(self) -> str:
        """How others see who has taken what."""
        return self._orders.worker

    def leased(self, step: Step) -> AbstractAsyncContextManager[Lease | None]:
        """Have a step to oneself while the block lasts; None when another worker is at it."""
        return self._orders.leased(f"step {step}")

    async def run(self, stop: Event, *, delay: float = 0.0) -> None:
        """Work until `stop` is set, beginning after so many seconds. What is under way then is finished first."""
        pause = delay
        while not await _is_set(stop, pause):
            try:
                await self.turn()
            except Unavailable as error:
                log.warning("work has to wait", error=str(error))
            # Not in step with others, so that each finds something of its own to do.
            pause = TICK * random.uniform(0.7, 1.3)  # noqa: S311 -- not for secrecy

    async def turn(self) -> list[StepDone]:
        """Take every step that is due, in order, and say what was done."""
        from scrubjay.jobs.consolidate import take  # noqa: PLC0415 -- most programs have ended before anything is due

        done: list[StepDone] = []
        runs = await self._orders.works.log.runs()
        for step in self._steps:
            if self._is_due(step, runs.get(step)) or (step == "archive" and await self._was_purged(runs.get(step))):
                done.append(await take(self._orders, step))
                # Asked again: while this one took its time, others may have taken the next.
                runs = await self._orders.works.log.runs()
        return done

    def _is_due(self, step: Step, known: Run | None) -> bool:
        if known is None or known.finished_at is None:
            return True
        every = max(EVERY[step], FAILED) if known.error else EVERY[step]
        since = self._orders.parts.clock() - known.finished_at
        # A moment in the future is another machine's clock, and no reason to wait for long.
        return since >= every or since < -every

    async def _was_purged(self, archived: Run | None) -> bool:
        """Whether something was purged since files were last looked at, which may have it still."""
        now, folder = self._orders.parts.clock(), self._orders.archive
        if folder is None or archived is None or archived.finished_at is None or now - archived.finished_at < PURGED:
            return False
        # What was purged while the files were looked at, or was being purged when that began, may have been missed.
        since = archived.finished_at - timedelta(seconds=archived.seconds) - _UNDER_WAY
        purged = await self._orders.parts.stores.generations.purged_since(since)
        return purged and await asyncio.to_thread(folder.is_dir)


def background_worker(core: Core) -> Worker | None:
    """The worker of a memory that is open; None where nothing is consolidated. Indexing is done beside it already."""
    parts = core.parts
    if parts.works is None:
        return None
    orders = Orders(
        parts=parts,
        works=parts.works,
        worker=worker_name(),
        policy=parts.policy,
        archive=parts.archive,
        quiet=QUIET,
    )
    return Worker(orders, without="index")


async def _is_set(stop: Event, seconds: float) -> bool:
    """Wait so long, or until it is set, be it from another thread."""
    until = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < until:  # noqa: ASYNC110 -- an event of asyncio cannot be set from another thread
        await asyncio.sleep(min(_GLANCE, max(0.0, until - time.monotonic())))
    return stop.is_set()
