"""Which facts of its own scope a fact without a key might repeat or contradict: by meaning and by words."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from scrubjay.core import Core
from scrubjay.errors import StoreDamaged, Unavailable
from scrubjay.memories.facts.gist import READ
from scrubjay.model import Filter, Memory
from scrubjay.model.facts import FACT_KINDS
from scrubjay.model.words import terms_of
from scrubjay.ports import Calibrated, Match, Serving
from scrubjay.read.nearest import nearest
from scrubjay.read.understand import opening

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

BY_MEANING: Final = 8
BY_WORDS: Final = 4
"""Facts to compare with. The one that is repeated or contradicted is among the nearest, or it is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A fact to compare with, and how close in meaning it is; None when that could not be asked."""

    memory: Memory
    similarity: float | None


async def nearby(core: Core, drafts: Sequence[Memory]) -> list[list[Neighbour]]:
    """For each draft, what is stored near it and the drafts before it, nearest first. Nothing for what has a key.

    A key says what is replaced. Documents and stretches of the past are left alone, too.
    """
    asked = [draft for draft in drafts if _is_compared(draft)]
    if not asked:
        return [[] for _ in drafts]
    # What must not be read off a vector is not shown to a model either: then words have to do.
    may_be_embedded = len(core.parts.index.quiet.loud(asked)) == len(asked)
    serving = await _serving(core) if may_be_embedded else None
    vectors = await _embedded(serving, [draft.content for draft in asked])
    now = core.parts.clock()
    found = await asyncio.gather(
        *(
            _stored(core, draft, serving, vectors[place] if vectors is not None else None, now)
            for place, draft in enumerate(asked)
        )
    )
    before = {
        draft.id: _sorted([*stored, *_told_before(asked, place, vectors, serving)])
        for place, (draft, stored) in enumerate(zip(asked, found, strict=True))
    }
    return [before.get(draft.id, []) for draft in drafts]


def _is_compared(draft: Memory) -> bool:
    return draft.key is None and draft.valid_to is None and len(draft.content) <= READ


async def _serving(core: Core) -> Serving | None:
    if core.parts.serving is None:
        return None
    try:
        return await core.parts.serving()
    except Unavailable:
        return None


async def _embedded(serving: Serving | None, texts: Sequence[str]) -> "Matrix | None":
    """The vectors of these, or None when there is no model to ask: then words have to do."""
    if serving is None or not texts:
        return None
    model = serving.embedder
    try:
        return await model.embed([opening(text, window=model.window, count=model.count) for text in texts])
    except Unavailable:
        return None


async def _stored(
    core: Core, draft: Memory, serving: Serving | None, vector: "Matrix | None", now: datetime
) -> list[Neighbour]:
    stores = core.parts.stores
    here = Filter(scope=draft.scope, reach="holds", kinds=FACT_KINDS)
    by_words: list[Match] = []
    with suppress(StoreDamaged):
        by_words = await stores.texts.match(terms_of(draft.content), here, now=now, limit=BY_WORDS)
    cosines: dict[object, float] = {}
    if serving is not None and vector is not None:
        try:
            found = await nearest(serving, vector, here, vectors=stores.vectors, now=now, limit=BY_MEANING)
            cosines = {match.id: match.score for match in found.matches}
        except Unavailable:
            vector = None
    ids = list(dict.fromkeys([*cosines, *(match.id for match in by_words)]))
    memories = [
        memory
        for memory in await stores.records.get(draft.scope, ids)  # type: ignore[arg-type]  # ids of matches
        if memory.scope == draft.scope and here.matches(memory, now)
    ]
    # What only words found has not been compared yet.
    apart = [memory for memory in memories if memory.id not in cosines]
    compared = await _embedded(serving, [memory.content for memory in apart]) if vector is not None else None
    if vector is not None and compared is not None:
        cosines |= {memory.id: float(row @ vector) for memory, row in zip(apart, compared, strict=True)}
    return [Neighbour(memory=memory, similarity=_scaled(serving, cosines.get(memory.id))) for memory in memories]


def _told_before(
    drafts: Sequence[Memory], place: int, vectors: "Matrix | None", serving: Serving | None
) -> list[Neighbour]:
    """The nearest among the drafts before this one that belong to its scope."""
    draft = drafts[place]
    earlier = [other for other in range(place) if drafts[other].scope == draft.scope]
    if not earlier:
        return []
    if vectors is None:
        words = set(terms_of(draft.content))
        shared = Counter({other: len(words.intersection(terms_of(drafts[other].content))) for other in earlier})
        return [Neighbour(memory=drafts[other], similarity=None) for other, _ in shared.most_common(BY_WORDS)]
    cosines = {other: float(vectors[other] @ vectors[place]) for other in earlier}
    nearest = sorted(earlier, key=lambda other: -cosines[other])[:BY_MEANING]
    return [Neighbour(memory=drafts[other], similarity=_scaled(serving, cosines[other])) for other in nearest]


def _scaled(serving: Serving | None, cosine: float | None) -> float | None:
    """The cosine on the scale that means the same for every model."""
    if cosine is None or serving is None:
        return None
    model = serving.embedder
    return model.calibrate(cosine) if isinstance(model, Calibrated) else max(0.0, cosine)


def _sorted(neighbours: list[Neighbour]) -> list[Neighbour]:
    return sorted(neighbours, key=lambda one: -(one.similarity if one.similarity is not None else -1.0))
