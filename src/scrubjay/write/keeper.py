"""Which vector engine the marks on the records speak of, and whether it has what they promise.

A mark says that a memory has vectors, not where. So the store remembers the engine. A process that was configured with
another one leaves it alone while somebody works with the first: it answers by words, says so, and lets its writes wait.
Once nobody has for a minute, it takes over: every mark is doubted, and draining asks the new engine for each memory and
embeds what it lacks.

An engine can also lose what it held: its disk, a collection, a part of one. That is found in two ways. Some marked
memories, chosen at random, are looked for in the engine: each second, and after an answer that was shorter than it
could be. And now and then the engine's count is compared with that of the marks. From then on recall says so, the
mirror answers, and what is missing loses its mark, page by page, so that draining gives it to the engine again.
"""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import UUID

from scrubjay.elapsed import moment
from scrubjay.errors import Conflict, Unavailable
from scrubjay.logs import logger
from scrubjay.model import Generation
from scrubjay.ports import Clock, Sized, Stores
from scrubjay.ports.mirror import Mirrored
from scrubjay.write.leftovers import clear_due, clear_shared_due
from scrubjay.write.models import Models

log = logger("index")

PATIENCE: Final = timedelta(seconds=60)
"""How long nobody has to have worked with an engine before another one takes over."""

BEAT: Final = timedelta(seconds=20)
"""How often a process that works with an engine says so."""

SAMPLE: Final = 64
"""Marked memories that are looked for in the engine at a time: if it lost a tenth, one look in 850 does not show it."""

PAGE: Final = 1_000
"""Marked memories that are looked for in one go once something is missing."""

CHECK_SECONDS: Final = {"full": 1.0, "short": 0.1, "empty": 0.0}
"""How old a look may be that shows the engine to be whole, after a search that found as many as it could, fewer, none.

A look takes as long as a search, so that not every one of a small scope can have its own.
"""

_SAMPLE_SECONDS: Final = 2.0
_COUNT_SECONDS: Final = 20.0
_COUNT_SHARE: Final = 50
"""Counting and measuring take at most one part of the time in so many: a large store is looked at less often."""


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
        self._count_due = self._measure_due = float("-inf")
        self._sampling = asyncio.Lock()
        self._lacking: list[UUID] = []
        """Marked memories that were looked for and not found."""
        self._filling = False
        self._warned = False
        self.elsewhere = ""
        """The engine that the marks speak of, while it is another one than that of this process."""
        self.misfit = ""
        """What in the engine cannot hold the vectors of the model, in one sentence; empty when nothing is."""

    @property
    def is_complete(self) -> bool:
        """Whether the engine has the vectors of all that is marked, as far as is known."""
        return not (self._filling or self._lacking or self.misfit)

    @property
    def is_filling(self) -> bool:
        """Whether the engine lost something, and has not everything again."""
        return self._filling

    async def look(self, generation: Generation) -> None:
        """Read how things stand. The first time, and while some are missing, look for marked ones. Changes nothing."""
        keeping = await self._generations.keeping()
        self.elsewhere = keeping.engine if keeping.engine not in ("", self._engine) else ""
        self._filling = keeping.filling
        if not self.elsewhere and (self._lacking or self._sampled == float("-inf")):
            await self.check(generation, age=CHECK_SECONDS["full"])

    async def check(self, generation: Generation, *, age: float) -> bool:
        """Whether the engine has what is marked, as of a look that is at most so many seconds old. Changes nothing."""
        if not self._filling and moment() - self._sampled >= age:
            asked = moment()
            async with self._sampling:
                # Those who waited for another's look share what it saw.
                if self._sampled < asked:
                    await self._sample(generation)
        return self.is_complete

    async def _sample(self, generation: Generation) -> None:
        number, vectors = generation.number, self._vectors
        try:
            async with asyncio.timeout(_SAMPLE_SECONDS):
                some = await self._records.sample_marked(number, limit=SAMPLE)
                lacking = await vectors.missing(number, list(dict.fromkeys([*self._lacking, *some])))
                if lacking:
                    # One may have been purged since, and one that is changed has no vectors for a moment, and no mark.
                    lacking = await self._records.marked_of(number, lacking)
                    lacking = await vectors.missing(number, lacking) if lacking else []
        except (Unavailable, TimeoutError):
            return  # Whoever asks it for something hears the same, and says so.
        finally:
            self._sampled = moment()
        if lacking and not self._lacking:
            log.warning("vectors are gone", engine=self._engine, generation=number, missing=len(lacking), of=len(some))
        self._lacking = lacking[:SAMPLE]

    async def hold(self, generation: Generation, *, remake: bool = False) -> bool:
        """Let the marks speak of the engine of this process, and take those off that it does not bear out.

        False while another process works with another engine. With `remake`, which is a person's wish, it is looked at
        whatever that takes, and what is in the engine and cannot hold the vectors of this generation is dropped.
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
        await self._measure(generation, at_once=remake)
        if self.misfit and remake:
            engine = self._vectors.engine if isinstance(self._vectors, Mirrored) else self._vectors
            await engine.drop(generation.number)
            await self._measure(generation)
        if not self.misfit:
            await self._take_up(generation, at_once=remake)
        await self.look(generation)
        return True

    async def clear(self) -> None:
        """Remove what is left in the engine of what was purged, and where models share vectors."""
        if done := await clear_due(self._stores, self._clock()):
            log.info("vectors of purged memories removed", memories=done)
        if done := await clear_shared_due(self._models, self._generations, self._clock()):
            log.info("shared vectors of purged memories removed", vectors=done)

    async def _measure(self, generation: Generation, *, at_once: bool = False) -> None:
        """Look whether the vectors of this generation fit into what the engine has for them, unless that takes long."""
        if not isinstance(self._vectors, Sized) or not (at_once or self.misfit or moment() >= self._measure_due):
            return
        began = moment()
        try:
            sizes = await self._vectors.sizes(generation.number)
        except Unavailable:
            return
        self._measure_due = moment() + _COUNT_SHARE * (moment() - began)
        before, self.misfit = self.misfit, ""
        wanted = generation.identity.dimensions
        for name, size in sorted(sizes.items()):
            if size != wanted:
                self.misfit = f"the collection {name} has vectors of {size} dimensions, and those of the model {wanted}"
                if not before:
                    log.error("collection does not fit", collection=name, dimensions=size, model=wanted)
                return

    async def _take_up(self, generation: Generation, *, at_once: bool) -> None:
        """Take the marks off of what the engine lacks, if it lacks anything."""
        await self.check(generation, age=0.0)
        keeping = await self._generations.keeping()
        fewer = False
        with suppress(Unavailable):  # Down: that is said by whoever needs it.
            fewer = await self._has_fewer(generation.number, at_once=at_once)
        if self._lacking or fewer:
            if not keeping.filling:
                await self._generations.refill(self._engine, at=self._clock(), doubt=False)
            self._filling = True
        if self._filling or keeping.filling:
            unmarked = await self._unmark_missing(generation.number)
            if unmarked:
                log.warning("vectors are made good", engine=self._engine, memories=unmarked)
            self._lacking = []

    async def _has_fewer(self, generation: int, *, at_once: bool = False) -> bool:
        """Whether the engine has vectors of fewer memories than are marked. Asked seldom where counting takes long."""
        if not at_once and moment() < self._count_due:
            return False
        began = moment()
        marked = await self._records.count_marked(generation)
        held = await self._vectors.count(generation)
        # Counted before and after: who purges meanwhile takes the record first.
        fewer = held < marked and held < await self._records.count_marked(generation)
        self._count_due = moment() + max(_COUNT_SECONDS, _COUNT_SHARE * (moment() - began))
        return fewer

    async def _unmark_missing(self, generation: int) -> int:
        """Take the mark off of every memory that the engine has no vectors of; return of how many. Safe to repeat."""
        unmarked, after = 0, None
        while page := await self._records.marked(generation, limit=PAGE, after=after):
            after = page[-1]
            if missing := await self._vectors.missing(generation, page):
                await self._records.mark(missing, None)
                unmarked += len(missing)
        return unmarked

    async def settle(self, generation: int) -> bool:
        """Note that the engine has everything again. False when it has not, or never lacked anything."""
        if not self._filling or await self._has_fewer(generation, at_once=True):
            return False
        await self._generations.filled()
        self._filling = False
        log.info("vectors are complete", engine=self._engine, generation=generation)
        return True

    def refusal(self) -> Conflict:
        """Why this process may not index."""
        return Conflict(
            f"a process that keeps vectors in {self.elsewhere} worked here less than {PATIENCE.seconds} seconds ago, "
            f"and this one keeps them in {self._engine}: set SCRUBJAY_VECTORS to the same for both, or stop the other"
        )

    async def fault(self, generation: Generation | None) -> str:
        """What is wrong, in one sentence with its remedy; empty when nothing is. Looks into the engine for this one."""
        if generation is not None and not self.elsewhere:
            await self.check(generation, age=0.0)
            await self._measure(generation)
        if self.elsewhere:
            return (
                f"the vectors are in {self.elsewhere} and this process is configured with {self._engine}: set "
                "SCRUBJAY_VECTORS to the same everywhere, or stop the others and run `scrubjay reindex`"
            )
        if self.misfit:
            return f"{self.misfit}: run `scrubjay reindex`, which makes it again"
        if self.is_complete:
            return ""
        fault = f"{self._engine} lacks vectors that were stored before"
        if generation is not None and self._filling:
            there = await self._records.count_marked(generation.number)
            total = there + await self._records.backlog(generation.number)
            fault += f", and is being filled with {there:,} of {total:,} done"
        return f"{fault}: run `scrubjay reindex` and let it finish, or leave it to the background"
