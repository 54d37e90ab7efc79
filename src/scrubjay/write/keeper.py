"""Which vector engine the marks on the records speak of, and whether it has what they promise.

A mark says that a memory has vectors, not where. So the store remembers the engine. A process that was configured with
another one leaves it alone while somebody works with the first: it answers by words, says so, and lets its writes wait.
Once nobody has for a minute, it takes over: every mark is doubted, and draining asks the new engine for each memory and
embeds what it lacks. The same happens when the engine is found empty, as after the loss of its disk.
"""

import asyncio
import time
from datetime import timedelta
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict, Unavailable
from scrubjay.logs import logger
from scrubjay.ports import Clock, Stores
from scrubjay.write.leftovers import clear_due, clear_shared_due
from scrubjay.write.models import Models

log = logger("index")

PATIENCE: Final = timedelta(seconds=60)
"""How long nobody has to have worked with an engine before another one takes over."""

BEAT: Final = timedelta(seconds=20)
"""How often a process that works with an engine says so."""

SAMPLE: Final = 64
"""Marked memories whose vectors are looked for in one go, from where the last look ended."""

_SAMPLE_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 60.0
"""How long a process that only reads trusts its last sample."""


class Keeper:
    """Knows whether the configured engine is the one to ask, and whether it can be trusted to have everything."""

    def __init__(self, *, stores: Stores, models: Models, engine: str, clock: Clock) -> None:
        self._stores = stores
        self._models = models
        self._records = stores.records
        self._generations = stores.generations
        self._vectors = stores.vectors
        self._clock = clock
        self._engine = engine
        self._sampled = float("-inf")
        self._place: UUID | None = None
        self._lacking: list[UUID] = []
        self._filling = False
        self._warned = False
        self.elsewhere = ""
        """The engine that the marks speak of, while it is another one than that of this process."""

    @property
    def is_complete(self) -> bool:
        """Whether the engine has the vectors of all that is marked, as far as is known."""
        return not self._filling and not self._lacking

    async def look(self, generation: int) -> None:
        """Read how things stand, and now and then look whether marked memories have their vectors. Changes nothing."""
        keeping = await self._generations.keeping()
        self.elsewhere = keeping.engine if keeping.engine not in ("", self._engine) else ""
        self._filling = keeping.filling
        if not self.elsewhere and not self._filling and time.monotonic() - self._sampled >= _LOOK_SECONDS:
            await self._sample(generation)

    async def _sample(self, generation: int) -> None:
        self._sampled = time.monotonic()
        marked = await self._records.marked(generation, limit=SAMPLE, after=self._place)
        try:
            async with asyncio.timeout(_SAMPLE_SECONDS):
                lacking = await self._vectors.missing(generation, marked)
        except (Unavailable, TimeoutError):
            return  # Whoever asks it for something hears the same, and says so.
        if lacking:
            # Again, for one may have been purged or closed between the two looks.
            still = set(await self._records.marked(generation, limit=SAMPLE, after=self._place))
            lacking = [one for one in lacking if one in still]
        self._lacking = lacking
        if not lacking:
            self._place = marked[-1] if len(marked) == SAMPLE else None

    async def hold(self, generation: int) -> bool:
        """Let the marks speak of the engine of this process, and doubt those that it does not bear out.

        False while another process works with another engine.
        """
        now = self._clock()
        keeping = await self._generations.keeping()
        if keeping.engine not in ("", self._engine):
            if keeping.seen is not None and now - keeping.seen < PATIENCE:
                if not self._warned:
                    log.warning("another process keeps vectors elsewhere", engine=keeping.engine, ours=self._engine)
                self._warned = True
                return False
            doubted = await self._generations.refill(self._engine, at=now)
            log.warning("vector engine changed", before=keeping.engine, engine=self._engine, memories=doubted)
        elif keeping.seen is None or now - keeping.seen >= BEAT:
            await self._generations.keep(self._engine, at=now)
        self._warned = False
        await self.clear()
        await self._sample(generation)
        if self._lacking:
            await self._doubt(generation)
        await self.look(generation)
        return True

    async def clear(self) -> None:
        """Remove what is left in the engine of what was purged, and where models share vectors."""
        if done := await clear_due(self._stores, self._clock()):
            log.info("vectors of purged memories removed", memories=done)
        if done := await clear_shared_due(self._models, self._generations, self._clock()):
            log.info("shared vectors of purged memories removed", vectors=done)

    async def _doubt(self, generation: int) -> None:
        """Have made again what is not there: everything where nothing is, else what was missed."""
        if await self._vectors.count(generation) == 0:
            doubted = await self._generations.refill(self._engine, at=self._clock())
        else:
            doubted = len(self._lacking)
            await self._records.mark(self._lacking, None)
        log.warning("vectors are gone", engine=self._engine, generation=generation, memories=doubted)
        self._lacking = []

    async def settle(self) -> bool:
        """Everything that was doubted has been looked at. False when nothing was."""
        if not self._filling:
            return False
        await self._generations.filled()
        self._filling = False
        return True

    def refusal(self) -> Conflict:
        """Why this process may not index."""
        return Conflict(
            f"a process that keeps vectors in {self.elsewhere} worked here less than {PATIENCE.seconds} seconds ago, "
            f"and this one keeps them in {self._engine}: set SCRUBJAY_VECTORS to the same for both, or stop the other"
        )

    def fault(self) -> str:
        """What is wrong, in one sentence with its remedy; empty when nothing is."""
        if self.elsewhere:
            return (
                f"the vectors are in {self.elsewhere} and this process is configured with {self._engine}: set "
                "SCRUBJAY_VECTORS to the same everywhere, or stop the others and run `scrubjay reindex`"
            )
        if not self.is_complete:
            return f"{self._engine} lacks vectors that were stored before: run `scrubjay reindex` and let it finish"
        return ""
