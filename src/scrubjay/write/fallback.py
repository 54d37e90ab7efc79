"""Embedding models that stand in for the configured one while it cannot answer.

A model that stands in has a generation of its own, so that its vectors never meet those of another model. What it
indexes keeps waiting for the configured model, which finds it by its mark once it is back. Nothing is ever switched: as
soon as the configured model answers, its generation is asked again.
"""

import time
from collections.abc import Sequence
from typing import Final

from scrubjay.elapsed import moment
from scrubjay.errors import EmbedderUnavailable
from scrubjay.logs import logger
from scrubjay.model import Generation, Identity, Memory
from scrubjay.ports import Clock, Embedder, Serving, Stores
from scrubjay.write.embed import embed

log = logger("index")

_DOWN_SECONDS: Final = 1.0
"""How long a model that could not answer is not asked first. Its guard keeps the wait short when it is asked again."""

_FRESH_SECONDS: Final = 2.0
"""How long it is trusted which generation stands in."""


class Fallbacks:
    """The models that may stand in, in the order they are asked."""

    def __init__(self, embedders: Sequence[Embedder], *, stores: Stores, clock: Clock) -> None:
        self.embedders = tuple(embedders)
        self._records = stores.records
        self._generations = stores.generations
        self._vectors = stores.vectors
        self._clock = clock
        self._down: dict[int, float] = {}
        self._found: Serving | None = None
        self._looked = float("-inf")

    def note_failure(self, generation: int) -> None:
        """The model of this generation could not answer."""
        self._down[generation] = time.monotonic() + _DOWN_SECONDS
        self._looked = float("-inf")

    def is_down(self, generation: int) -> bool:
        """Whether the model of this generation could not answer just now."""
        return time.monotonic() < self._down.get(generation, 0.0)

    def opened(self, identity: Identity) -> Embedder | None:
        """The one that is this model, if any is."""
        return next((one for one in self.embedders if one.identity == identity), None)

    def are_done_with(self, generation: Generation) -> bool:
        """Whether it stood by for a model that is none of them any more."""
        # Without the dimensions, which a server tells only when it is asked.
        names = {(one.identity.provider, one.identity.model) for one in self.embedders}
        identity = generation.identity
        return generation.state == "standby" and (identity.provider, identity.model) not in names

    async def answering(self) -> Serving | None:
        """The first whose model can answer and that has vectors; None when there is none."""
        if self.embedders and moment() - self._looked >= _FRESH_SECONDS:
            self._found = await self._first()
            self._looked = moment()
        return self._found

    async def _first(self) -> Serving | None:
        known = await self._generations.generations()
        for embedder in self.embedders:
            try:
                if not embedder.identity.dimensions:
                    await embedder.embed(["dimensions"])  # A model on a server tells its size with its first vector.
            except EmbedderUnavailable:
                continue
            mine = next((one for one in known if one.identity == embedder.identity), None)
            if mine is not None and not self.is_down(mine.number) and await self._vectors.count(mine.number):
                return Serving(generation=mine, embedder=embedder, is_fallback=True)
        return None

    async def store(self, memories: Sequence[Memory]) -> bool:
        """Index these with the first whose model answers, in its own generation; False when none does.

        Their marks stay as they are: they wait for the configured model. Raises StoreUnavailable.
        """
        for embedder in self.embedders:
            try:
                entries = await embed(memories, embedder)
            except EmbedderUnavailable as error:
                log.warning("fallback model cannot answer", model=str(embedder.identity), error=str(error))
                continue
            generation = await self._generations.add(embedder.identity, state="standby", at=self._clock())
            await self._vectors.upsert(generation.number, entries)
            # What was purged while it was being embedded must not come back as a vector.
            if purged := await self._records.missing([memory.id for memory in memories]):
                await self._vectors.remove(purged)
            log.info("fallback model indexed", model=str(embedder.identity), memories=len(memories))
            self._looked = float("-inf")
            return True
        return False
