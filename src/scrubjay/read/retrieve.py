"""Retrieve: ask each index for what it knows, at the same time. A union: what any of them finds may answer."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.errors import Unavailable
from scrubjay.model import Query
from scrubjay.ports import Match, Serving, Stores
from scrubjay.read.understand import Question, opening

MOST_AMONG: Final = 50_000
"""Memories that a filter may name one by one. A wider filter keeps most of what an index finds anyway."""

_WIDER: Final = 8
"""How much deeper an index is asked when the filter could not be handed to it."""


AskServing: TypeAlias = Callable[[], Awaitable[Serving | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What each index found, best first, and which could not answer."""

    rankings: dict[str, Sequence[Match]]
    degraded: tuple[str, ...] = ()


async def retrieve(
    question: Question,
    query: Query,
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    depth: int,
) -> Retrieved:
    """Ask by meaning, by words, and, when nothing in particular is asked for, by recency.

    `serving` says which generation to ask by meaning; None when there is no model, and words are all there is.
    """
    if question.is_empty:
        newest = await stores.records.find(query.filter, now=now, limit=depth)
        return Retrieved(rankings={"recency": [Match(id=memory.id, score=0.0) for memory in newest]})
    by_words, (by_meaning, degraded) = await asyncio.gather(
        stores.texts.match(question.terms, query.filter, now=now, limit=depth) if question.by_words else _nothing(),
        _by_meaning(question, query, stores=stores, serving=serving, now=now, depth=depth),
    )
    return Retrieved(rankings={"meaning": by_meaning, "words": by_words}, degraded=degraded)


async def _nothing() -> list[Match]:
    return []


async def _by_meaning(
    question: Question,
    query: Query,
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    depth: int,
) -> tuple[list[Match], tuple[str, ...]]:
    if not question.by_meaning or serving is None:
        return [], ()
    try:
        answering = await serving()
        if answering is None:
            return [], ("vectors",)
        embedder = answering.embedder
        text = opening(question.text, window=embedder.window, count=embedder.count)
        vector = (await embedder.embed([text], question=True))[0]
        among: list[UUID] | None = None
        if not query.filter.is_plain:
            among = await stores.records.among(query.filter, now=now, limit=MOST_AMONG)
            # Too many to name: ask deeper, and let hydrate apply the rest of the filter.
            depth = depth if among is not None else depth * _WIDER
        found = await stores.vectors.search(
            answering.generation.number, vector, query.filter, now=now, limit=depth, among=among
        )
    except Unavailable:
        return [], ("vectors",)
    return found, ()
