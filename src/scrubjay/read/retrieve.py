"""Retrieve: ask each index for what it knows, at the same time. A union: what any of them finds may answer."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from scrubjay.errors import EmbedderUnavailable, StoreDamaged, Unavailable
from scrubjay.model import Query
from scrubjay.model.words import terms_of
from scrubjay.ports import Calibrated, Match, Serving, Stores, stage
from scrubjay.read.nearest import nearest
from scrubjay.read.title import compare_title
from scrubjay.read.understand import Question, opening

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

MOST_AMONG: Final = 50_000
"""Memories that a filter may name one by one. A wider filter keeps most of what an index finds anyway."""

QUICK: Final = 0.0008
"""Seconds. Words that take no longer are asked for after the model: to hand them to another thread would not pay.

The bundled model reads a question on one core and leaves the others to words, so that longer ones take no time there.
"""

_ALONE: Final = attrgetter("alone")
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
    vector: "Matrix | None" = field(default=None, compare=False, repr=False)
    """The question as a vector of its model."""
    clauses: tuple[Mapping[str, Sequence[Match]], ...] = ()
    """What each index found for each clause of a question that compares."""

    @property
    def scale(self) -> Calibrated | None:
        """On which the cosines of the model that answered are read; None where it has none, or none answered."""
        return self.answered.scale if self.answered is not None else None

    @property
    def compared(self) -> int:
        """How many were found by meaning: all that the filter admits, or as many as were asked for."""
        return len(self.rankings.get("meaning", ()))

    @property
    def stands_alone(self) -> bool:
        """Whether nothing that was found is known or suspected to be a turn of a session, or a message."""
        return all(
            all(map(_ALONE, matches)) for rankings in (self.rankings, *self.clauses) for matches in rankings.values()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A question that only the stores have to answer: the model has had its say."""

    serving: Serving | None = None
    """The generation to ask by meaning; None when none is to be asked."""
    vector: "Matrix | None" = None
    """The question as a vector of its model."""
    title: "Matrix | None" = None
    """Its title as another, when it has one."""
    clauses: "tuple[Matrix, ...]" = ()
    """Each of its clauses as another, when it compares."""
    degraded: tuple[str, ...] = ()
    by_words: Retrieved | None = None
    """What has its words, when that was asked while the model took its time."""
    by_meaning: Retrieved | None = None
    """What is near to it, when that was asked while the words took theirs."""


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
        return await _newest(query, stores=stores, now=now, depth=depth)

    async def meaning() -> tuple[Ready, Retrieved]:
        ready = await _embedded(question, serving)
        return ready, await _by_meaning(ready, query, stores=stores, now=now, depth=depth)

    by_words, (ready, found) = await asyncio.gather(
        _by_words(question, query, stores=stores, now=now, depth=depth),
        meaning(),
    )
    united = await _united(ready, found, by_words, query, stores=stores, now=now)
    search = _by_clause(ready, question, query, stores=stores, now=now, depth=depth)
    return _with_clauses(united, await asyncio.gather(*map(search, question.clauses, ready.clauses)))


async def ready_for(
    question: Question, query: Query, *, stores: Stores, serving: AskServing | None, now: datetime, depth: int
) -> Ready:
    """Do what of `retrieve` has to be waited for elsewhere, so that `retrieve_ready` finds the rest in one place."""
    begun: list[asyncio.Task[Retrieved]] = []

    def begin() -> None:
        begun.append(asyncio.ensure_future(_by_words(question, query, stores=stores, now=now, depth=depth)))

    # A vector that is remembered is there before the loop has its turn; a model that has to work leaves time for words.
    beside = question.by_words and stores.words.seconds > QUICK
    beginning = asyncio.get_running_loop().call_soon(begin) if beside else None
    try:
        ready = await _embedded(question, serving)
        if not begun:
            return ready
        [words] = begun
        stores.words.fade()
        if words.done():
            return replace(ready, by_words=await words)
        # In a large store they take longer than the model, and meaning need not wait for them.
        by_words, found = await asyncio.gather(words, _by_meaning(ready, query, stores=stores, now=now, depth=depth))
        return replace(ready, by_words=by_words, by_meaning=found)
    finally:
        if beginning is not None:
            beginning.cancel()
        for words in begun:
            words.cancel()  # Nobody waits for them any more, should the model have failed.


async def retrieve_ready(
    ready: Ready, question: Question, query: Query, *, stores: Stores, now: datetime, depth: int
) -> Retrieved:
    """The same as `retrieve`, one index after the other: for stores that are asked together."""
    if question.is_empty:
        return await _newest(query, stores=stores, now=now, depth=depth)
    by_words = ready.by_words
    if by_words is None:
        began = perf_counter()
        by_words = await _by_words(question, query, stores=stores, now=now, depth=depth)
        if question.by_words:
            stores.words.seconds = perf_counter() - began
    found = ready.by_meaning
    if found is None:
        found = await _by_meaning(ready, query, stores=stores, now=now, depth=depth)
    united = await _united(ready, found, by_words, query, stores=stores, now=now)
    search = _by_clause(ready, question, query, stores=stores, now=now, depth=depth)
    return _with_clauses(united, [await one for one in map(search, question.clauses, ready.clauses)])


async def _united(
    ready: Ready, found: Retrieved, words: Retrieved, query: Query, *, stores: Stores, now: datetime
) -> Retrieved:
    """What both searches found, and what the title of the question says of all of it, when it has one."""
    found = _both(found, words)
    rankings, by_words = found.rankings, words.rankings["words"]
    if ready.title is None or ready.vector is None or found.answered is None:
        return found
    try:
        compared = await compare_title(
            rankings["meaning"],
            by_words,
            query.filter,
            serving=found.answered,
            opening=ready.vector,
            title=ready.title,
            vectors=stores.vectors,
            now=now,
        )
    except Unavailable:
        return replace(found, degraded=tuple(dict.fromkeys((*found.degraded, "vectors"))))
    return replace(found, rankings={**rankings, **compared})


def _by_clause(
    ready: Ready, question: Question, query: Query, *, stores: Stores, now: datetime, depth: int
) -> "Callable[[str, Matrix], Coroutine[None, None, Retrieved]]":
    """How each clause is searched for. Without a model there are no vectors of clauses, and nothing to search for."""

    async def search(clause: str, vector: "Matrix") -> Retrieved:
        part = replace(question, terms=tuple(terms_of(clause)))
        by_words = await _by_words(part, query, stores=stores, now=now, depth=depth)
        found = await _by_meaning(replace(ready, vector=vector), query, stores=stores, now=now, depth=depth)
        return _both(found, by_words)

    return search


def _both(meaning: Retrieved, words: Retrieved) -> Retrieved:
    rankings = {**meaning.rankings, **words.rankings}
    return replace(meaning, rankings=rankings, degraded=(*meaning.degraded, *words.degraded))


def _with_clauses(whole: Retrieved, clauses: Sequence[Retrieved]) -> Retrieved:
    if not clauses:
        return whole
    missing = [name for one in (whole, *clauses) for name in one.degraded]
    return replace(whole, clauses=tuple([one.rankings for one in clauses]), degraded=tuple(dict.fromkeys(missing)))


async def _newest(query: Query, *, stores: Stores, now: datetime, depth: int) -> Retrieved:
    newest = await stores.records.find(query.filter, now=now, limit=depth)
    return Retrieved(rankings={"recency": [Match(id=memory.id, score=0.0) for memory in newest]})


async def _by_words(question: Question, query: Query, *, stores: Stores, now: datetime, depth: int) -> Retrieved:
    if not question.by_words:
        return Retrieved(rankings={"words": []})
    try:
        with stage("words"):
            found = await stores.texts.match(question.terms, query.filter, now=now, limit=depth)
    except StoreDamaged:  # The index alone: without the database, nothing could answer.
        return Retrieved(rankings={"words": []}, degraded=("words",))
    return Retrieved(rankings={"words": found})


async def _by_meaning(ready: Ready, query: Query, *, stores: Stores, now: datetime, depth: int) -> Retrieved:
    answering, vector = ready.serving, ready.vector
    if answering is None or vector is None:
        return Retrieved(rankings={"meaning": []}, degraded=ready.degraded)
    try:
        among: Sequence[UUID] | None = None
        if not query.filter.is_plain:
            among = await stores.records.among(query.filter, now=now, limit=MOST_AMONG)
            # Too many to name: ask deeper, and let hydrate apply the rest of the filter.
            depth = depth if among is not None else depth * _WIDER
        with stage("meaning"):
            found = await nearest(
                answering, vector, query.filter, vectors=stores.vectors, now=now, limit=depth, among=among
            )
    except Unavailable:
        return Retrieved(rankings={"meaning": []}, degraded=("vectors",))
    lacking = {"embedder": answering.is_fallback, "vectors": not found.is_whole}
    return Retrieved(
        rankings={"meaning": found.matches},
        degraded=tuple([name for name, lacks in lacking.items() if lacks]),
        answered=answering,
        vector=vector,
    )


async def _embedded(question: Question, serving: AskServing | None) -> Ready:
    """The question as a vector of the generation that answers: the first whose model can be asked."""
    if not question.by_meaning or serving is None:
        return Ready()
    try:
        answering = await serving()
        while answering is not None:
            embedder = answering.embedder
            text = opening(question.sought, window=embedder.window, count=embedder.count)
            try:
                vector = (await embedder.embed([text], question=True))[0]
                # By itself: beside a long text in one batch, a short one takes as long.
                title = (await embedder.embed([question.title], question=True))[0] if question.title else None
                clauses = tuple(await embedder.embed(question.clauses, question=True)) if question.clauses else ()
                return Ready(serving=answering, vector=vector, title=title, clauses=clauses)
            except EmbedderUnavailable:
                answering = await serving(failed=answering)
    except Unavailable:
        pass
    return Ready(degraded=("vectors",))
