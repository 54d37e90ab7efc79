"""Retrieve: ask each index for what it knows, at the same time. A union: what any of them finds may answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from scrubjay.errors import EmbedderUnavailable, Unavailable
from scrubjay.model import Query
from scrubjay.ports import Match, Serving, Stores, stage
from scrubjay.read.nearest import nearest
from scrubjay.read.understand import Question, opening

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

MOST_AMONG: Final = 50_000
"""Memories that a filter may name one by one. A wider filter keeps most of what an index finds anyway."""

_WIDER: Final = 8
"""How much deeper an index is asked when the filter could not be handed to it."""


class AskServing(Protocol):
    """Whom to ask which generation answers by meaning."""

    async def __call__(self, *, failed: Serving | None = None) -> Serving | None:
        """Return it, or None when none can; after `failed`, whose model could not answer, another one or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What each index found, best first, and which could not answer."""

    rankings: dict[str, Sequence[Match]]
    degraded: tuple[str, ...] = ()
    answered: Serving | None = None
    """The generation that was asked by meaning, if one was."""


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
    by_words, (by_meaning, degraded, answered) = await asyncio.gather(
        _by_words(question, query, stores=stores, now=now, depth=depth),
        _by_meaning(question, query, stores=stores, serving=serving, now=now, depth=depth),
    )
    return Retrieved(rankings={"meaning": by_meaning, "words": by_words}, degraded=degraded, answered=answered)


async def _by_words(question: Question, query: Query, *, stores: Stores, now: datetime, depth: int) -> list[Match]:
    if not question.by_words:
        return []
    with stage("words"):
        return await stores.texts.match(question.terms, query.filter, now=now, limit=depth)


async def _by_meaning(
    question: Question,
    query: Query,
    *,
    stores: Stores,
    serving: AskServing | None,
    now: datetime,
    depth: int,
) -> tuple[list[Match], tuple[str, ...], Serving | None]:
    if not question.by_meaning or serving is None:
        return [], (), None
    try:
        answering, vector = await _embedded(question, serving)
        if answering is None or vector is None:
            return [], ("vectors",), None
        among: list[UUID] | None = None
        if not query.filter.is_plain:
            among = await stores.records.among(query.filter, now=now, limit=MOST_AMONG)
            # Too many to name: ask deeper, and let hydrate apply the rest of the filter.
            depth = depth if among is not None else depth * _WIDER
        with stage("meaning"):
            found = await nearest(
                answering, vector, query.filter, vectors=stores.vectors, now=now, limit=depth, among=among
            )
    except Unavailable:
        return [], ("vectors",), None
    lacking = {"embedder": answering.is_fallback, "vectors": not found.is_whole}
    return found.matches, tuple(name for name, lacks in lacking.items() if lacks), answering


async def _embedded(question: Question, serving: AskServing) -> "tuple[Serving | None, Matrix | None]":
    """The generation that answers, and the question as a vector of its model: the first whose model can be asked."""
    answering = await serving()
    while answering is not None:
        embedder = answering.embedder
        text = opening(question.text, window=embedder.window, count=embedder.count)
        try:
            return answering, (await embedder.embed([text], question=True))[0]
        except EmbedderUnavailable:
            answering = await serving(failed=answering)
    return None, None
