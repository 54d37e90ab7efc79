"""A vector engine on a server, behind a guard: one that is down costs one wait, and not one for every caller."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from uuid import UUID

from scrubjay.errors import StoreUnavailable
from scrubjay.model import Filter, StoreHealth
from scrubjay.ports import Entry, Guard, Listed, Match, PortableVectors, Probe, Sized, Vectors, stage

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

SEARCH_SECONDS: Final = 2.0
"""How long a search may take before recall answers from words alone."""

PING_SECONDS: Final = 1.0


class Engine(Vectors, Probe, Protocol):
    """A vector engine on a server."""

    @property
    def name(self) -> str:
        """The address, for people: no key, no options."""

    async def load(self) -> None:
        """Import the driver, which may take a second the first time. Asks no server."""


class GuardedVectors:
    """The same engine. While it is down, every verb raises StoreUnavailable at once.

    After each pause of the guard, whoever comes first asks with a ping before the work, so that nobody waits long for
    an engine that is still down. It gives back what it holds, and lists it, if the engine does.
    """

    entries: Callable[[int, Sequence[UUID]], Awaitable[list[Entry]]]
    ids: Callable[..., Awaitable[list[UUID]]]
    sizes: Callable[[int], Awaitable[dict[str, int]]]

    def __init__(
        self,
        engine: Engine,
        guard: Guard,
        *,
        search_seconds: float = SEARCH_SECONDS,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._engine = engine
        self._guard = guard
        self._search_seconds = search_seconds
        self._ping_seconds = ping_seconds
        if isinstance(engine, PortableVectors):
            self.entries = partial(self._forward, engine.entries)
        if isinstance(engine, Listed):
            self.ids = partial(self._forward, engine.ids)
        if isinstance(engine, Sized):
            self.sizes = partial(self._forward, engine.sizes)

    @property
    def health(self) -> StoreHealth:
        """What is known of the engine, without asking it."""
        return self._guard.health

    async def warm_up(self) -> None:
        """Load its driver. Asks no server."""
        await self._engine.load()

    async def ping(self) -> None:
        """Return as soon as the engine answers. Raises StoreUnavailable at once while it is not asked."""
        await self.warm_up()
        await self._guard.call(lambda: self._within(self._ping_seconds, self._engine.ping))

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole. Safe to repeat."""
        await self._forward(self._engine.upsert, generation, entries)

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more. Unknown ids are ignored."""
        await self._forward(self._engine.retire, ids)

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good. Unknown ids are ignored."""
        await self._forward(self._engine.remove, ids)

    async def search(
        self,
        generation: int,
        vector: "Matrix",
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        among: Sequence[UUID] | None = None,
    ) -> list[Match]:
        """Return the nearest memories, best first. Raises StoreUnavailable when that takes too long for a question."""
        await self._engine.load()
        ask = partial(self._engine.search, generation, vector, filter, now=now, limit=limit, among=among)
        return await self._forward(partial(self._within, self._search_seconds, ask))

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""
        return await self._forward(self._engine.count, generation)

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        return await self._forward(self._engine.missing, generation, ids)

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""
        return await self._forward(self._engine.traces, ids)

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        await self._forward(self._engine.drop, generation)

    async def shut(self) -> None:
        """Let go of connections. Safe to call twice."""
        await self._engine.shut()

    async def _forward(self, verb: Callable[..., Awaitable[T]], *args: object, **kwargs: object) -> T:
        if self.health.state == "down":
            await self.ping()
        with stage("store", store="vectors", operation=getattr(verb, "__name__", "search")):
            return await self._guard.call(lambda: verb(*args, **kwargs))

    async def _within(self, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await ask()
        except TimeoutError as error:
            raise StoreUnavailable(
                f"{self._engine.name} did not answer within {seconds:g} seconds. "
                "Check that it runs and is not overloaded"
            ) from error
