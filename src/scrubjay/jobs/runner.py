"""What runs by itself while a memory is open: writing uses, and indexing what had to wait."""

import asyncio
import contextlib
import time
from typing import Final

from scrubjay.logs import logger
from scrubjay.write.index import Index
from scrubjay.write.uses import Uses

log = logger("jobs")

TICK: Final = 1.0
"""Seconds between two looks."""

DRAIN_EVERY: Final = 10.0
"""Seconds between two looks for memories that wait to be indexed, after the first."""


class Runner:
    """A task of the event loop. What fails is logged and tried again at the next look."""

    def __init__(self, *, index: Index, uses: Uses) -> None:
        self._index = index
        self._uses = uses
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running event loop."""
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
        drained = float("-inf")
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._uses.flush()
                if self._index.is_quiet and time.monotonic() - drained >= DRAIN_EVERY:
                    if done := await self._index.drain():
                        log.info("indexed what waited", memories=done)
                    drained = time.monotonic()
            except Exception:
                log.warning("background work failed", exc_info=True)
