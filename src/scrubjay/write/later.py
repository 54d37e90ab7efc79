"""Write later: what must not wait, such as a job that is done, leaves its work in a queue and goes on.

The queue is bounded, and putting something into it takes microseconds, from any thread. A task of the memory's event
loop does the work while there is any; none is there otherwise. What fails is logged and counted, and nobody else is
told.
"""

import asyncio
import os
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal, TypeAlias

from scrubjay.errors import Unavailable
from scrubjay.logs import logger

log = logger("later")

MOST_WAITING: Final = 1_000
"""Pieces of work in the queue."""

MOST_WEIGHT: Final = 64 * 1024 * 1024
"""What they may weigh together: characters that they carry with them."""

PAUSES: Final = (0.2, 2.0)
"""Seconds before work is tried again that found a store away."""

PATIENCE: Final = 30.0
"""Seconds that closing waits for what is in the queue. The rest is dropped, and counted."""

Outcome: TypeAlias = Literal["queued", "written", "skipped", "failed", "dropped"]
Work: TypeAlias = Callable[[], Awaitable[bool]]
"""Does it, and says whether there was anything to do."""


@dataclass(frozen=True, slots=True)
class _Piece:
    what: str
    work: Work
    weight: int


class Later:
    """A bounded queue of writes, and the task that empties it."""

    def __init__(
        self, *, most: int = MOST_WAITING, weight: int = MOST_WEIGHT, pauses: tuple[float, ...] = PAUSES
    ) -> None:
        self.counts: Counter[Outcome] = Counter()
        """What became of all that was put here, in this process."""
        self._most = most
        self._most_weight = weight
        self._pauses = pauses
        self._waiting: deque[_Piece] = deque()
        self._weight = 0
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken = False
        self._process = os.getpid()

    @property
    def waiting(self) -> int:
        """How many pieces of work nobody has begun."""
        return len(self._waiting)

    def open(self) -> None:
        """Take work from now on, to be done on the event loop that runs here. Nothing starts before there is any."""
        self._loop = asyncio.get_running_loop()
        self._process = os.getpid()

    def put(self, what: str, work: Work, *, weight: int = 0) -> bool:
        """Leave some work. Never waits and never raises: False when the queue is full or closed, which is counted."""
        if self._process != os.getpid():
            # A fork takes no event loop along: nobody would do the work, and the lock may be held for ever.
            self.counts["dropped"] += 1
            log.warning("dropped", what=what, why="the process forked: open a memory in the new one")
            return False
        with self._lock:
            loop, full = self._loop, len(self._waiting) >= self._most or self._weight + weight > self._most_weight
            if loop is None or full or loop.is_closed():
                self.counts["dropped"] += 1
                log.warning("dropped", what=what, why="the queue is full" if loop is not None else "closed")
                return False
            self._waiting.append(_Piece(what, work, weight))
            self._weight += weight
            self.counts["queued"] += 1
            if not self._woken:
                self._woken = True
                # A loop that was closed just now leaves it to `close`, which counts what it drops.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(self._begin)
        return True

    def count(self, outcome: Outcome) -> None:
        """Count something that was decided before it could be left here. From any thread."""
        with self._lock:
            self.counts[outcome] += 1

    async def flush(self) -> None:
        """Wait until everything that was left here before has been dealt with."""
        while self._woken or self._waiting:
            self._begin()
            if self._task is not None:
                await asyncio.wait([self._task])

    async def close(self) -> None:
        """Take no more work, and finish what there is within the patience for it. Safe to call twice."""
        with self._lock:
            self._loop = None
        try:
            await asyncio.wait_for(self.flush(), PATIENCE)
        except TimeoutError:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait([self._task])
            self.counts["dropped"] += len(self._waiting)
            log.warning("dropped", what=f"{len(self._waiting)} that waited", why="closing took too long")
            self._waiting.clear()

    def _begin(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._empty(), name="scrubjay-later")

    async def _empty(self) -> None:
        while (piece := self._next()) is not None:
            await self._do(piece)

    def _next(self) -> _Piece | None:
        with self._lock:
            if not self._waiting:
                self._woken = False
                return None
            piece = self._waiting.popleft()
            self._weight -= piece.weight
            return piece

    async def _do(self, piece: _Piece) -> None:
        """Do one piece. Each attempt is a task of its own, so that not even a fault in it can end this one."""
        for pause in (*self._pauses, None):
            attempt = asyncio.ensure_future(_done(piece.work))
            try:
                await asyncio.wait([attempt])
            except asyncio.CancelledError:
                attempt.cancel()
                self.count("dropped")
                raise
            error = attempt.exception() if not attempt.cancelled() else asyncio.CancelledError()
            if error is None:
                self.count("written" if attempt.result() else "skipped")
                return
            # While closing there is no time to wait for a store to come back.
            if isinstance(error, Unavailable) and pause is not None and self._loop is not None:
                await asyncio.sleep(pause)
                continue
            self.count("failed")
            log.warning("failed", what=piece.what, error=type(error).__name__, exc_info=error)
            return


async def _done(work: Work) -> bool:
    return await work()
