"""Scrubjay under the names that orchestration code expects of a memory service. One object, no second bodies.

    with scrubjay.HybridMemoryService() as memory:
        memory.store_episode("The build is green", kind="observation", session="run-7")
        memory.upsert_vector("doc-1", "Deploys go out on Tuesdays", metadata={"team": "shop"})
        memory.search("when do we deploy?")

What an episode, a message, a fact or a vector's text is stored as is a memory, so `search`, `get`, `update` and
`delete` mean the same for all of them. Whatever else Scrubjay can do is at hand as `memory.jay`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, Unpack
from uuid import UUID

import scrubjay
from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.memories.episodes.telling import EpisodeTold, Tellings
from scrubjay.memories.episodes.telling import Told as ToldEpisode
from scrubjay.memories.episodes.verbs import OfSession
from scrubjay.model import Context, ForgetReceipt, Health, Hits, Json, Memory, Mode, Order, Remembered, Where
from scrubjay.model.checks import check_name, shown
from scrubjay.model.context import DEFAULT_BUDGET, Form, Section
from scrubjay.model.episodes import Episode, RecentContext
from scrubjay.model.working import Source
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay
from scrubjay.sync.forward import Blocking, forward

Id: TypeAlias = UUID | str
"""The id of a memory, or the id of your own that it was stored with."""

_VECTOR: Final = "vector:"
"""What the keys of texts begin with that were stored by `upsert_vector`, before the caller's own id."""


class AsyncHybridMemoryService:
    """A memory service, awaited. Without a memory of yours, `async with` opens the default one and closes it."""

    def __init__(self, jay: Scrubjay | None = None) -> None:
        if isinstance(jay, SyncScrubjay):
            raise InvalidInput("jay is a SyncScrubjay: use HybridMemoryService for it, whose verbs block as its do")
        self.jay = jay if jay is not None else scrubjay.open_async()
        """The memory itself, with all its verbs."""
        self._is_mine = jay is None

    # What happened

    async def store_episode(self, content: ToldEpisode = "", **details: Unpack[EpisodeTold]) -> Remembered:
        """Remember something that happened. See `Episodes.store_episode`."""
        return await self.jay.episodes.store_episode(content, **details)

    async def store_episodes(
        self, episodes: Tellings, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> "list[Remembered]":
        """Remember many, in the order they are told. See `Episodes.store_many`."""
        return await self.jay.episodes.store_many(episodes, progress=progress, **where)

    async def fetch_recent_context(
        self,
        session: str,
        *,
        budget: int = DEFAULT_BUDGET,
        source: Source | None = None,
        **elsewhere: Unpack[OfSession],
    ) -> RecentContext:
        """Return what just happened in a session, within the budget. See `Episodes.fetch_recent_context`."""
        return await self.jay.episodes.fetch_recent_context(session, budget=budget, source=source, **elsewhere)

    async def timeline(
        self,
        since: datetime | None = None,
        until: datetime | None = None,
        *,
        limit: int = 100,
        order: Order = "oldest",
        after: Id | None = None,
        **where: Unpack[Where],
    ) -> "list[Episode]":
        """Return what happened, in order. See `Episodes.timeline`."""
        return await self.jay.episodes.timeline(
            since=since, until=until, limit=limit, order=order, after=after, **where
        )

    # What is known

    async def upsert_vector(
        self,
        id: str,
        text: str,
        *,
        metadata: Mapping[str, Json] | None = None,
        kind: str = "note",
        importance: float = 0.5,
        **where: Unpack[Where],
    ) -> Remembered:
        """Store a text under an id of yours, in place of what was stored under it in this scope, and make its vector.

        Vectors are made by the configured model, whose vectors alone they are compared with: give the text, not a
        vector. The text is stored, and found by its words, also while the model is away; its vector follows.
        """
        return await self.jay.remember(text, kind=kind, key=_key(id), data=metadata, importance=importance, **where)

    async def upsert_vectors(
        self,
        items: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] | None = None,
        **where: Unpack[Where],
    ) -> "list[Remembered]":
        """Store many, each a dict with `id` and `text`, and with `metadata`, `kind` and `importance` if you like."""
        return await self.jay.remember_many([_telling(item) for item in items], progress=progress, **where)

    # All of it

    async def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        metadata: Mapping[str, Json] | None = None,
        kinds: Sequence[str] = (),
        mode: Mode = "hybrid",
        since: datetime | None = None,
        until: datetime | None = None,
        **where: Unpack[Where],
    ) -> Hits:
        """Find what fits among all that is stored, best first, each with the reason. See `Scrubjay.recall`.

        `metadata` are conditions on it, such as `{"team": "shop"}` or `{"port": {"gte": 1024}}`.
        """
        return await self.jay.recall(
            query, limit=top_k, data=metadata, kinds=kinds, mode=mode, since=since, until=until, **where
        )

    async def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        sections: Sequence[Section] | None = None,
        as_: Form | None = None,
        **where: Unpack[Where],
    ) -> Context:
        """Assemble what an agent should know, within the budget. See `Scrubjay.context`."""
        return await self.jay.context(query, budget=budget, sections=sections, as_=as_, **where)

    async def get(self, id: Id, **where: Unpack[Where]) -> Memory:
        """Return one memory. Raises NotFound."""
        return await self.jay.get(await self._meant(id, where), **where)

    async def update(
        self,
        id: Id,
        *,
        text: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        importance: float | None = None,
        **where: Unpack[Where],
    ) -> Remembered:
        """Change what a memory says, its metadata as a whole, or its importance. What it said stays in its history."""
        given: dict[str, Any] = {"content": text, "data": metadata, "importance": importance}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise InvalidInput("update got nothing: give one or more of text, metadata, importance")
        return await self.jay.update(await self._meant(id, where), **changes, **where)

    async def delete(self, id: Id, *, purge: bool = False, **where: Unpack[Where]) -> ForgetReceipt:
        """Forget one memory; with `purge`, delete every version and trace of it. Raises NotFound."""
        return await self.jay.forget(await self._meant(id, where), purge=purge, **where)

    async def count(self, kinds: Sequence[str] = (), **where: Unpack[Where]) -> int:
        """Count what the scope holds."""
        return await self.jay.count(kinds=kinds, **where)

    async def health(self) -> Health:
        """Ask every store whether it is there. Answers also while some or all are not."""
        return await self.jay.health()

    async def _meant(self, id: Id, where: Where) -> UUID:
        """The memory that an id means: its own id, or what `upsert_vector` or another verb stored under yours."""
        if isinstance(id, UUID):
            return id
        scope = self.jay.scoped(where)
        seen = [hit.memory for hit in await self.jay.recall("", key=_key(id), limit=100, touch=False, **where)]
        # That of this scope, or of the narrowest one around it, as everywhere else.
        applying = [memory for memory in seen if memory.scope.holds(scope)]
        if applying:
            return min(applying, key=lambda memory: memory.scope.breadth).id
        if len(seen) > 1:
            raise Conflict(f"{id!r} names {len(seen)} texts in {scope}: name the scope of the one that you mean")
        with suppress(NotFound):
            return seen[0].id if seen else (await self.jay.get(id, **where)).id
        raise NotFound(f"there is nothing stored under {id!r} in {scope}")

    # Opening and closing

    async def close(self) -> None:
        """Close the memory if it was opened here. Safe to call twice."""
        if self._is_mine:
            await self.jay.close()

    async def __aenter__(self) -> Self:
        if self._is_mine:
            await self.jay.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class HybridMemoryService(Blocking[AsyncHybridMemoryService]):
    """A memory service, without `await`. Without a memory of yours, the default one is opened."""

    def __init__(self, jay: SyncScrubjay | None = None) -> None:
        if isinstance(jay, Scrubjay):
            raise InvalidInput("jay is a Scrubjay, whose verbs are awaited: use AsyncHybridMemoryService for it")
        self._is_mine = jay is None
        self.jay = jay if jay is not None else scrubjay.open()
        """The memory itself, with all its verbs."""
        super().__init__(AsyncHybridMemoryService(self.jay._verbs), self.jay._loop)  # noqa: SLF001 -- our own class

    store_episode = forward(AsyncHybridMemoryService.store_episode)
    store_episodes = forward(AsyncHybridMemoryService.store_episodes)
    fetch_recent_context = forward(AsyncHybridMemoryService.fetch_recent_context)
    timeline = forward(AsyncHybridMemoryService.timeline)
    upsert_vector = forward(AsyncHybridMemoryService.upsert_vector)
    upsert_vectors = forward(AsyncHybridMemoryService.upsert_vectors)
    search = forward(AsyncHybridMemoryService.search)
    context = forward(AsyncHybridMemoryService.context)
    get = forward(AsyncHybridMemoryService.get)
    update = forward(AsyncHybridMemoryService.update)
    delete = forward(AsyncHybridMemoryService.delete)
    count = forward(AsyncHybridMemoryService.count)
    health = forward(AsyncHybridMemoryService.health)

    def close(self) -> None:
        """Close the memory if it was opened here. Safe to call twice."""
        if self._is_mine:
            self.jay.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _key(id: str) -> str:
    if not isinstance(id, str):
        raise InvalidInput(f"id is {shown(id)}: use a text of your own")
    check_name("id", id)
    return f"{_VECTOR}{id}"


def _telling(item: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- the core checks what a telling holds
    known = ("id", "text", "metadata", "kind", "importance")
    if not isinstance(item, Mapping) or not {"id", "text"} <= item.keys() <= set(known):
        raise InvalidInput(f"an item is {shown(item)}: give `id` and `text`, and any of {', '.join(known[2:])}")
    telling = {"content": item["text"], "key": _key(item["id"]), "data": item.get("metadata")}
    return telling | {name: item[name] for name in ("kind", "importance") if name in item}
