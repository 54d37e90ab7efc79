"""Keep the vector index in step with the records: with a write or right after it, and later for what had to wait.

The mark on a record is the outbox. Where vectors lie beside the records, it is written with them. Elsewhere a write
leaves it empty, and it is set once the vectors are stored, so whatever fails or is killed in between is found again by
`drain`. A generation is all vectors of one model: a new model builds its own beside the active one, and takes over when
it is complete.
"""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeAlias

from scrubjay.elapsed import moment
from scrubjay.errors import EmbedderUnavailable, ScrubjayError, Unavailable
from scrubjay.logs import logger
from scrubjay.model import Generation, GenerationState, Identity, Memory
from scrubjay.ports import Ahead, Clock, Embedder, Events, Serving, Stores
from scrubjay.ports.indexes import SILENT, WORDS_ONLY
from scrubjay.ports.stores import Found
from scrubjay.write.announce import switched
from scrubjay.write.embed import embed, embed_parts
from scrubjay.write.fallback import Fallbacks
from scrubjay.write.fill import fill
from scrubjay.write.generations import drop_unused, go_back
from scrubjay.write.keeper import CHECK_SECONDS, Keeper
from scrubjay.write.models import Models
from scrubjay.write.quiet import Quiet
from scrubjay.write.together import Together
from scrubjay.write.waiting import Waiting

log = logger("index")

BATCH: Final = 256
"""Memories embedded in one go while draining: enough to sort by length, small enough to stop quickly."""

_FRESH_SECONDS: Final = 2.0
"""How long a process trusts what it knows about generations before it looks again."""

_QUICK_SECONDS: Final = 0.001
"""A model that takes longer for a text is asked only for those that are not stored yet: to find out takes less."""

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
        events: Events,
        clock: Clock,
        engine: str = "embedded",
        words_only: Collection[str] = (),
        hidden: Callable[[Memory], bool] | None = None,
        fallbacks: Sequence[Embedder] = (),
    ) -> None:
        self._fallbacks = Fallbacks(fallbacks, stores=stores, clock=clock)
        self.models = Models(embedder, fallbacks=self._fallbacks, reopen=reopen)
        """All models that this process has opened."""
        self._keeper = Keeper(stores=stores, models=self.models, engine=engine, clock=clock)
        self._records = stores.records
        self._generations = stores.generations
        self._vectors = stores.vectors
        self._together = Together(stores)
        self._joint = stores.joint
        self._is_apart = stores.joint is None and stores.together is None
        self._embedder = embedder
        self._pace = deque([_QUICK_SECONDS + 1], maxlen=3)
        self._events = events
        self._clock = clock
        self._looked = float("-inf")
        self._serving: Serving | None = None
        self._building: Generation | None = None
        self._mine: Generation | None = None
        self._looking = asyncio.Lock()
        self._writes = 0
        self.quiet = Quiet(frozenset(words_only), hidden)
        """Which memories have no vectors."""
        self._heard = self.quiet.is_configured
        self.waiting = Waiting()

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

    async def serving(self, *, failed: Serving | None = None) -> Serving | None:
        """The generation that answers; None without a model, or when the one that made it cannot be opened.

        While its model cannot answer, the generation of a fallback that can and has vectors, if there is one. `failed`
        is one whose model just could not: what is returned then is another one, or None.
        """
        if failed is not None:
            self._fallbacks.note_failure(failed.generation.number)
        try:
            own = await self._own()
        except EmbedderUnavailable:
            # Not even its size is known: it was never reached.
            if (standing_in := await self._fallbacks.answering()) is None or self._keeper.elsewhere:
                raise
            return standing_in
        if own is None or not self._fallbacks.is_down(own.generation.number):
            return own
        return await self._fallbacks.answering() or (own if failed is None else None)

    async def _own(self) -> Serving | None:
        """The active generation, whether its model can answer now or not."""
        await self._look()
        return self._serving

    async def building(self) -> Generation | None:
        """The generation of the configured model, while it is not the active one."""
        await self._look()
        return self._building

    def look_again(self) -> None:
        """Ask the store at the next occasion which generation answers, since another process has changed it."""
        self._looked = float("-inf")

    @property
    def _is_fresh(self) -> bool:
        return moment() - self._looked < _FRESH_SECONDS

    async def _look(self, *, again: bool = False) -> None:
        if self._embedder is None or (not again and self._is_fresh):
            return
        async with self._looking:
            if not again and self._is_fresh:
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
            embedder = self._embedder if active.identity == identity else self.models.opened(active.identity)
            await self._keeper.look(active)
            self._serving = self._answering(active, embedder)
            # A generation that was active before is not built again by itself: two processes with different models
            # would take turns for ever. `drain(adopt=True)` is how a person goes back to it.
            self._building = mine if mine.state in ("building", "standby") else None
            self._mine = mine
            self._looked = moment()

    def _answering(self, active: Generation, embedder: Embedder | None) -> Serving | None:
        if embedder is None or self._keeper.elsewhere:
            return None
        # On one file the vectors are written with the records, and cannot be lost without them.
        check = partial(self._check, active) if self._is_apart else None
        return Serving(generation=active, embedder=embedder, is_complete=self._keeper.is_complete, check=check)

    async def _check(self, active: Generation, *, found: Found = "full") -> bool:
        is_complete = await self._keeper.check(active, age=CHECK_SECONDS[found])
        if not is_complete:
            self.look_again()
        return is_complete

    async def watch(self) -> bool:
        """Look whether the engine has what the marks promise. False when it lacks something, which `drain` gives it."""
        try:
            own = await self._own()
        except Unavailable:
            return True  # Nobody knows.
        return own is None or own.check is None or (own.is_complete and await own.check()) or bool(self._keeper.misfit)

    @property
    def is_filling(self) -> bool:
        """Whether the engine lost something, and has not everything again."""
        return self._keeper.is_filling

    async def fault(self) -> str:
        """What is wrong with where the vectors are now, in one sentence with its remedy; empty when nothing is."""
        await self._look(again=True)
        return await self._keeper.fault(own.generation if (own := self._serving) and own.check else None)

    async def hold(self, *, remake: bool = False) -> None:
        """Let the marks speak of the engine that was configured. Raises Conflict while another one is at work.

        With `remake`, what is in the engine and cannot hold vectors of the model is dropped.
        """
        if self._embedder is not None and not await self._held(remake=remake):
            raise self._keeper.refusal()

    async def _held(self, *, remake: bool = False) -> bool:
        if self._embedder is None:
            await self._keeper.clear()
            return False
        await self._look(again=True)
        known = await self._generations.generations()
        held = await self._keeper.hold(next(one for one in known if one.state == "active"), remake=remake)
        await self._look(again=True)
        return held

    async def ahead(self, drafts: Sequence[Memory]) -> Ahead | None:
        """What the index needs of these before they are stored; None when they are to be added after that.

        Raises EmbedderUnavailable when the model cannot answer.
        """
        if self._joint is None or self._embedder is None:
            return None
        own = self._serving if self._is_fresh else await self._own()
        if own is None:
            return None
        loud, marks = self.quiet.told_apart(drafts)
        if min(self._pace) > _QUICK_SECONDS:
            fresh = await self._joint.unknown(loud)
            loud = [draft for draft in loud if draft.id in fresh]
        began = moment()
        cuts, vectors = await embed_parts(loud, own.embedder)
        if loud:
            self._pace.append((moment() - began) / len(loud))
        number = own.generation.number
        parts = dict(zip([draft.id for draft in loud], cuts, strict=True))
        return Ahead(generation=number, parts=parts, vectors=vectors, marks=dict.fromkeys(parts, number) | marks)

    async def add(self, memories: Sequence[Memory], *, refused: EmbedderUnavailable | None = None) -> bool:
        """Index these now. False when the model or the engine cannot answer: they keep waiting, marked as such.

        Meanwhile a fallback model, if there is one, finds them by meaning. With `refused`, which is what the model has
        just raised, it is not asked again.
        """
        memories = [memory for memory in memories if memory.generation != SILENT]
        if self._embedder is None or not memories:
            return True
        try:
            if refused is not None:
                await self._with_vectors(memories)
                raise refused
            own = await self._own()
            if own is None:
                return False
            await self._store(own.generation.number, own.embedder, await self._with_vectors(memories))
        except EmbedderUnavailable as error:
            await self._stand_in(self.quiet.loud(memories))
            return self._has_to_wait(memories, error)
        except ScrubjayError as error:
            # Also what the engine refuses: the records are stored, and a write does not fail for what is derived.
            return self._has_to_wait(memories, error)
        self.waiting.over()
        return True

    async def _stand_in(self, memories: Sequence[Memory]) -> None:
        """Let a fallback index these, since the model that should cannot."""
        if self._serving is not None:
            self._fallbacks.note_failure(self._serving.generation.number)
        try:
            if memories and not self._keeper.elsewhere:
                await self._fallbacks.store(memories)
        except Unavailable as error:
            log.warning("fallback cannot index", memories=len(memories), error=str(error))

    def _has_to_wait(self, memories: Sequence[Memory], error: ScrubjayError) -> bool:
        self.waiting.note(len(memories), error)
        return False

    async def renew(self, memories: Sequence[Memory]) -> bool:
        """Index these again, since what a search filters by was changed. Other generations do so when they are drained.

        False when that has to wait.
        """
        if self._embedder is None or not memories:
            return True
        try:
            await self._vectors.remove([memory.id for memory in memories])
        except ScrubjayError as error:
            return self._has_to_wait(memories, error)
        return await self.add(memories)

    async def retire(self, memories: Sequence[Memory]) -> bool:
        """Take memories that were closed out of default searches. False when that has to wait."""
        if self._embedder is None or not memories:
            return True
        try:
            await self._vectors.retire([memory.id for memory in memories])
            ids = [memory.id for memory in await self._with_vectors(memories)]
            own = await self._own()
            if own is not None:
                missing = set(await self._vectors.missing(own.generation.number, ids))
                await self._records.mark([one for one in ids if one not in missing], own.generation.number)
        except ScrubjayError as error:
            return self._has_to_wait(memories, error)
        return True

    async def _store(self, generation: int, embedder: Embedder, memories: Sequence[Memory]) -> None:
        await self._together.store(generation, await embed(memories, embedder))

    async def _with_vectors(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those that are to have vectors. The others, of kinds that are never found by meaning, are marked as such."""
        for mark, others in self.quiet.marks(memories).items():
            await self._records.mark(others, mark)
        return self.quiet.loud(memories)

    async def backlog(self) -> int:
        """How many memories wait to be indexed with the model that was configured."""
        if self._embedder is None:
            return 0
        try:
            if (target := await self._target()) is not None:
                return await self._records.backlog(target.number)
            if not self._keeper.elsewhere:
                return 0
        except EmbedderUnavailable:
            pass  # A model that was never reached has no generation: count by the one that is there, or all of them.
        return await self._records.backlog(await self._active_number())

    async def _active_number(self) -> int:
        known = await self._generations.generations()
        return next((one.number for one in known if one.state == "active"), 0)

    async def _target(self) -> Generation | None:
        """The generation that draining works on: the one in the making, or else the active one."""
        building = await self.building()
        if building is not None:
            return building
        own = await self._own()
        return own.generation if own is not None else None

    async def drain(self, progress: Progress | None = None, *, adopt: bool = False) -> int:
        """Index everything that waits, then let a completed generation take over. Safe to repeat and to run twice.

        With `adopt`, the model that was configured takes over, also when it was replaced or undone before.
        """
        if not await self._held() or self._embedder is None or self._keeper.misfit:
            return 0
        if not self._heard:
            # Every kind is to have vectors, and some may have been stored by a process that gave them none.
            await self._records.unmark(WORDS_ONLY)
            self._heard = True
        target = self._mine if adopt else await self._target()
        if target is None:
            return 0
        mine = target.identity == self._embedder.identity
        embedder = self._embedder if mine else self.models.opened(target.identity)
        if embedder is None:
            return 0
        total, done = await self._records.backlog(target.number), 0
        # The active generation takes one round: what another process marks for the one it builds is no backlog.
        most = total if target.state == "active" else sys.maxsize
        while done < most and (waiting := await self._records.pending(target.number, limit=BATCH)):
            loud = await self._with_vectors(waiting)
            await fill(self._vectors, target.number, embedder, loud, together=self._together)
            done += len(waiting)
            if progress is not None:
                progress(done, max(total, done))
        if target.state != "active":
            await self._generations.switch(target.number, at=self._clock())
            log.info("embedding generation switched", generation=target.number, model=str(target.identity))
            await self._look(again=True)
            await self._events.publish(switched(target, self._clock()))
        if await self._keeper.settle(target.number):
            self.look_again()
        return done

    async def rollback(self) -> Generation:
        """Let the generation that was active before answer again. Raises Conflict when there is none."""
        last = await go_back(self._generations, at=self._clock())
        await self._look(again=True)
        await self._events.publish(switched(last, self._clock()))
        return last

    async def rebuild(self) -> None:
        """Drop every vector of the generation that draining works on, so that `drain` makes all of them again."""
        await self._look(again=True)
        if (target := await self._target()) is not None:
            await self._records.unmark(target.number)
            await self._vectors.drop(target.number)

    async def sweep(self) -> list[Generation]:
        """Delete the vectors of generations that no longer answer; after this there is no way back to them."""
        gone = await drop_unused(self._generations, self._vectors, are_done_with=self._fallbacks.are_done_with)
        await self._look(again=True)
        return gone
