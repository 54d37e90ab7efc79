"""What runs by itself while a memory is open: writing uses, learning patterns, and indexing what had to wait."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import Final

from scrubjay.errors import Unavailable
from scrubjay.jobs.learn import Learning
from scrubjay.jobs.probing import find_down
from scrubjay.logs import logger
from scrubjay.ports import Probe
from scrubjay.write.index import Index
from scrubjay.write.uses import Uses

log = logger("jobs")

TICK: Final = 1.0
"""Seconds between two looks."""

DRAIN_EVERY: Final = 10.0
"""Seconds between two looks for memories that wait to be indexed, after the first."""


class Runner:
    """A task of the event loop. What fails is logged and tried again at the next look.

    What is down is left alone. It is asked now and then whether it is back, as seldom as its guard allows, and what had
    to wait for it is indexed as soon as it is.
    """

    def __init__(self, *, index: Index, uses: Uses, learning: Learning, probes: Mapping[str, Probe]) -> None:
        self._index = index
        self._uses = uses
        self._learning = learning
        self._probes = probes
        self._down: set[str] = set()
        self._drained = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running event loop."""
        self._learning.start()
        self._task = asyncio.get_running_loop().create_task(self._run(), name="scrubjay-jobs")

    async def stop(self) -> None:
        """Stop, and wait until it has. Whatever was cut short is found again by the next run."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._look()
            except Unavailable as error:
                log.warning("background work has to wait", error=str(error))
            except Exception:
                log.warning("background work failed", exc_info=True)

    async def _look(self) -> None:
        before, self._down = self._down, await find_down(self._probes)
        if "records" in self._down:
            return
        await self._uses.flush()
        await self._drain(back=before - self._down)
        # Last, for it takes longest; and not amid a bulk write, whose end would be learned from anyway.
        if self._index.is_quiet and (changed := await self._learning.run()):
            log.info("learned from executions", patterns=changed)

    async def _drain(self, *, back: set[str]) -> None:
        if self._down & {"vectors", "embedder"} or not self._index.is_quiet:
            return
        if back or self._is_due():
            # Also when it fails: what is in the way then is seldom gone a second later.
            self._drained = time.monotonic()
            if done := await self._index.drain():
                log.info("indexed what waited", memories=done)

    def _is_due(self) -> bool:
        return self._index.waited_at > self._drained or time.monotonic() - self._drained >= DRAIN_EVERY
