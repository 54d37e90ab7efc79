"""Keep the vector index in step with the records: inline after a write, and later for what had to wait.

The mark on a record is the outbox. A write leaves it empty; it is set once the vectors are stored, so whatever fails or
is killed in between is found again by `drain`. A generation is all vectors of one model: a new model builds its own
beside the active one, and takes over when it is complete.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from scrubjay.errors import Conflict, EmbedderUnavailable, Misconfigured, Unavailable
from scrubjay.logs import logger
from scrubjay.model import Generation, GenerationState, Identity, Memory
from scrubjay.ports import Clock, Embedder, Serving, Stores
from scrubjay.write.embed import embed

log = logger("index")

BATCH: Final = 256
"""Memories embedded in one go while draining: enough to sort by length, small enough to stop quickly."""

_FRESH_SECONDS: Final = 2.0
"""How long a process trusts what it knows about generations before it looks again."""

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many are done and how many there are in all."""


class Index:
    """The vectors of all memories, whichever model made them."""

    def __init__(
        self,
        *,
        stores: Stores,
        embedder: Embedder | None,
        reopen: Callable[[Identity], Embedder | None],
        clock: Clock,
    ) -> None:
        self._records = stores.records
        self._generations = stores.generations
        self._vectors = stores.vectors
        self._embedder = embedder
        self._reopen = reopen
        self._clock = clock
        self._older: dict[Identity, Embedder | None] = {}
        self._looked = float("-inf")
        self._serving: Serving | None = None
        self._building: Generation | None = None
        self._mine: Generation | None = None
        self._looking = asyncio.Lock()
        self._writes = 0

    @property
    def embedder(self) -> Embedder | None:
        """The model that was configured; None when search is by words only."""
        return self._embedder

    @contextmanager
    def writing(self) -> Iterator[None]:
        """While this is open, what waits is about to be indexed by whoever wrote it."""
        self._writes += 1
        try:
            yield
        finally:
            self._writes -= 1

    @property
    def is_quiet(self) -> bool:
        """Whether nobody in this process is about to index what they wrote."""
        return self._writes == 0

    async def serving(self) -> Serving | None:
        """The generation that answers; None without a model, or when the one that made it cannot be opened."""
        await self._look()
        return self._serving

    async def building(self) -> Generation | None:
        """The generation of the configured model, while it is not the active one."""
        await self._look()
        return self._building

    async def _look(self, *, again: bool = False) -> None:
        if self._embedder is None or (not again and time.monotonic() - self._looked < _FRESH_SECONDS):
            return
        async with self._looking:
            if not again and time.monotonic() - self._looked < _FRESH_SECONDS:
                return
            if not self._embedder.identity.dimensions:
                await self._embedder.embed(["dimensions"])  # A model on a server tells its size with its first vector.
            identity = self._embedder.identity
            known = await self._generations.generations()
            active = next((one for one in known if one.state == "active"), None)
            mine = next((one for one in known if one.identity == identity), None)
            if active is None or mine is None:
                state: GenerationState = "active" if active is None else "building"
                mine = await self._generations.add(identity, state=state, at=self._clock())
                known = await self._generations.generations()
                active = next(one for one in known if one.state == "active")
            embedder = self._embedder if active.identity == identity else self._opened(active.identity)
            self._serving = Serving(generation=active, embedder=embedder) if embedder is not None else None
            # A generation that was active before is not built again by itself: two processes with different models
            # would take turns for ever. `drain(adopt=True)` is how a person goes back to it.
            self._building = mine if mine.state == "building" else None
            self._mine = mine
            self._looked = time.monotonic()

    def _opened(self, identity: Identity) -> Embedder | None:
        if identity not in self._older:
            try:
                self._older[identity] = self._reopen(identity)
            except Misconfigured as error:
                log.warning("older model cannot be opened", model=str(identity), error=str(error))
                self._older[identity] = None
        return self._older[identity]

    async def add(self, memories: Sequence[Memory]) -> bool:
        """Index these now. False when the model or the engine cannot answer: they keep waiting, marked as such."""
        if self._embedder is None or not memories:
            return True
        try:
            serving = await self.serving()
            if serving is None:
                return False
            await self._store(serving.generation.number, serving.embedder, memories)
        except Unavailable as error:
            log.warning("indexing has to wait", memories=len(memories), error=str(error))
            return False
        return True

    async def renew(self, memories: Sequence[Memory]) -> bool:
        """Index these again, since what a search filters by was changed. Other generations do so when they are drained.

        False when that has to wait.
        """
        if self._embedder is None or not memories:
            return True
        try:
            await self._vectors.remove([memory.id for memory in memories])
        except Unavailable as error:
            log.warning("indexing has to wait", memories=len(memories), error=str(error))
            return False
        return await self.add(memories)

    async def retire(self, memories: Sequence[Memory]) -> bool:
        """Take memories that were closed out of default searches. False when that has to wait."""
        if self._embedder is None or not memories:
            return True
        ids = [memory.id for memory in memories]
        try:
            await self._vectors.retire(ids)
            serving = await self.serving()
            if serving is not None:
                missing = set(await self._vectors.missing(serving.generation.number, ids))
                await self._records.mark([one for one in ids if one not in missing], serving.generation.number)
        except Unavailable as error:
            log.warning("indexing has to wait", memories=len(memories), error=str(error))
            return False
        return True

    async def _store(self, generation: int, embedder: Embedder, memories: Sequence[Memory]) -> None:
        await self._vectors.upsert(generation, await embed(memories, embedder))
        # What was purged while it was being embedded must not come back as a vector.
        if purged := await self._records.mark([memory.id for memory in memories], generation):
            await self._vectors.remove(purged)

    async def backlog(self) -> int:
        """How many memories wait to be indexed with the model that was configured."""
        if self._embedder is None:
            return 0
        try:
            target = await self._target()
        except EmbedderUnavailable:
            # A model that was never reached has no generation yet: count by the one that is there, or all of them.
            known = await self._generations.generations()
            return await self._records.backlog(next((one.number for one in known if one.state == "active"), 0))
        return await self._records.backlog(target.number) if target else 0

    async def _target(self) -> Generation | None:
        """The generation that draining works on: the one in the making, or else the active one."""
        building = await self.building()
        if building is not None:
            return building
        serving = await self.serving()
        return serving.generation if serving is not None else None

    async def drain(self, progress: Progress | None = None, *, adopt: bool = False) -> int:
        """Index everything that waits, then let a completed generation take over. Safe to repeat and to run twice.

        With `adopt`, the model that was configured takes over, also when it was replaced or undone before.
        """
        await self._look(again=True)
        target = self._mine if adopt else await self._target()
        if target is None or self._embedder is None:
            return 0
        mine = target.identity == self._embedder.identity
        embedder = self._embedder if mine else self._opened(target.identity)
        if embedder is None:
            return 0
        total, done = await self._records.backlog(target.number), 0
        # The active generation takes one round: what another process marks for the one it builds is no backlog.
        most = total if target.state == "active" else sys.maxsize
        while done < most and (waiting := await self._records.pending(target.number, limit=BATCH)):
            await self._catch_up(target.number, embedder, waiting)
            done += len(waiting)
            if progress is not None:
                progress(done, max(total, done))
        if target.state != "active":
            await self._generations.switch(target.number, at=self._clock())
            log.info("embedding generation switched", generation=target.number, model=str(target.identity))
            await self._look(again=True)
        return done

    async def _catch_up(self, generation: int, embedder: Embedder, waiting: Sequence[Memory]) -> None:
        # One that carries another generation's mark may have vectors here from before, and then needs only the mark.
        marked = [memory.id for memory in waiting if memory.generation is not None]
        missing = set(await self._vectors.missing(generation, marked)) if marked else set()
        lacking = [memory for memory in waiting if memory.generation is None or memory.id in missing]
        await self._store(generation, embedder, lacking)
        await self._records.mark([memory.id for memory in waiting], generation)

    async def rollback(self) -> Generation:
        """Let the generation that was active before answer again. Raises Conflict when there is none."""
        known = await self._generations.generations()
        retired = [one for one in known if one.state == "retired" and one.switched_at is not None]
        if not retired:
            raise Conflict("there is no earlier embedding generation to go back to")
        last = max(retired, key=lambda one: (one.switched_at, one.number))
        await self._generations.switch(last.number, at=self._clock(), leaving="undone")
        await self._look(again=True)
        return last

    async def rebuild(self) -> None:
        """Drop every vector of the generation that draining works on, so that `drain` makes all of them again."""
        await self._look(again=True)
        target = await self._target()
        if target is not None:
            await self._records.unmark(target.number)
            await self._vectors.drop(target.number)

    async def sweep(self) -> list[Generation]:
        """Delete the vectors of generations that no longer answer; after this there is no way back to them."""
        known = await self._generations.generations()
        gone = [one for one in known if one.state in ("retired", "undone")]
        for one in gone:
            await self._vectors.drop(one.number)
            await self._generations.drop(one.number)
        await self._look(again=True)
        return gone

    async def shut(self) -> None:
        """Let go of every model."""
        for embedder in (self._embedder, *self._older.values()):
            if embedder is not None:
                await embedder.shut()
