"""What runs by itself while a memory is open: uses, patterns, indexing what had to wait, and consolidation."""

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import Final

from scrubjay.elapsed import moment
from scrubjay.errors import Unavailable
from scrubjay.jobs.learn import Learning
from scrubjay.jobs.probing import ask_while_down, down_among
from scrubjay.jobs.worker import Worker
from scrubjay.logs import logger
from scrubjay.ports import Guarded, Probe
from scrubjay.write.index import Index
from scrubjay.write.uses import Uses

log = logger("jobs")

TICK: Final = 1.0
"""Seconds between two looks."""

DRAIN_EVERY: Final = 10.0
"""Seconds between two looks for memories that wait to be indexed, after the first."""

WORK_DELAY: Final = 10.0
"""Seconds before consolidation begins: a program that is done by then leaves it to the next one."""


class Runner:
    """A task of the event loop. What fails is logged and tried again at the next look.

    What is down is asked about once a second whether it is back, and what had to wait for it is indexed as soon as it
    is.
    """

    def __init__(
        self, *, index: Index, uses: Uses, learning: Learning, probes: Mapping[str, Probe], worker: Worker | None = None
    ) -> None:
        self._index = index
        self._uses = uses
        self._learning = learning
        self._probes = probes
        self._worker = worker
        self._stopping = threading.Event()
        self._working: asyncio.Task[None] | None = None
        self._lesson: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._asking: list[asyncio.Task[None]] = []
        self._down: set[str] = set()
        self._drained = float("-inf")
        self._failed = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, on the running event loop."""
        self._learning.start()
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._run(), name="scrubjay-jobs")
        # Beside the rest, and each by itself: one that hangs does not keep another from being used again.
        guarded = {id(probe): probe for probe in self._probes.values() if isinstance(probe, Guarded)}
        self._asking = [loop.create_task(ask_while_down(one), name="scrubjay-probe") for one in guarded.values()]
        if self._worker is not None:
            # Beside the rest: what is indexed or counted must not wait for a long session to be distilled.
            working = self._worker.run(self._stopping, delay=WORK_DELAY)
            self._working = asyncio.get_running_loop().create_task(working, name="scrubjay-work")

    async def stop(self) -> None:
        """Stop, and wait until it has. Whatever was cut short is found again by the next run."""
        for task in (self._task, self._working, self._lesson, self._indexing, *self._asking):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        self._task = self._working = self._lesson = self._indexing = None
        self._asking = []

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
        before, self._down = self._down, down_among(self._probes)
        if "records" in self._down:
            return
        await self._uses.flush()
        self._drain(back=before - self._down, lacks=not await self._index.watch())
        # Not amid a bulk write, whose end will be learned from anyway.
        if self._index.is_quiet and self._learning.is_due and (self._lesson is None or self._lesson.done()):
            # Beside the rest: the first look at a long history takes a while.
            self._lesson = asyncio.get_running_loop().create_task(self._learn(), name="scrubjay-learning")

    async def _learn(self) -> None:
        try:
            if changed := await self._learning.run():
                log.info("learned from executions", patterns=changed)
        except Unavailable as error:
            log.warning("learning has to wait", error=str(error))
        except Exception:
            log.warning("learning failed", exc_info=True)

    def _drain(self, *, back: set[str], lacks: bool) -> None:
        # What the engine lost is not written by anybody else: it does not wait until nobody writes.
        if self._down & {"vectors", "embedder"} or not (lacks or self._index.is_quiet):
            return
        hurry = back or (lacks and not self._failed)
        if (hurry or self._is_due()) and (self._indexing is None or self._indexing.done()):
            # Also when it fails: what is in the way then is seldom gone a second later.
            self._drained = moment()
            # Beside the rest: a model that is new here has everything to read.
            self._indexing = asyncio.get_running_loop().create_task(self._index_all(), name="scrubjay-indexing")

    async def _index_all(self) -> None:
        self._failed = True
        try:
            if done := await self._indexed():
                log.info("indexed what waited", memories=done)
            self._failed = False
        except Unavailable as error:
            log.warning("background work has to wait", error=str(error))
        except Exception:
            log.warning("background work failed", exc_info=True)

    async def _indexed(self) -> int:
        """Index what waits. If that is all that is stored, for a new model or a lost engine, one process is enough."""
        if self._worker is None or not (self._index.is_filling or await self._index.building()):
            return await self._index.drain()
        async with self._worker.leased("index") as lease:
            return await self._index.drain() if lease is not None else 0

    def _is_due(self) -> bool:
        return self._index.waiting.at > self._drained or moment() - self._drained >= DRAIN_EVERY
