"""The read path, from a question to its answers."""

import time
from datetime import datetime

from scrubjay.model import Hit, Hits, Query
from scrubjay.ports import Calibrated, Stores
from scrubjay.read.diversify import diversify
from scrubjay.read.fuse import DEPTH, FUSED, fuse
from scrubjay.read.hydrate import hydrate
from scrubjay.read.rerank import Ranked, rerank
from scrubjay.read.retrieve import AskServing, Retrieved, retrieve
from scrubjay.read.understand import understand


async def rank(
    query: Query, *, stores: Stores, serving: AskServing | None, now: datetime
) -> tuple[list[Ranked], tuple[str, ...]]:
    """Answer a question: the memories that fit, best first, and the parts that could not take part."""
    ranked, found = await _ranked(query, stores=stores, serving=serving, now=now)
    return ranked, found.degraded


async def _ranked(
    query: Query, *, stores: Stores, serving: AskServing | None, now: datetime
) -> tuple[list[Ranked], Retrieved]:
    question = understand(query)
    depth = max(DEPTH, 2 * query.limit)
    found = await retrieve(question, query, stores=stores, serving=serving, now=now, depth=depth)
    candidates = fuse(found.rankings, depth=depth, limit=max(FUSED, 2 * query.limit))
    hydrated = await hydrate(candidates, filter=query.filter, records=stores.records, now=now)
    return diversify(rerank(hydrated, question=question, now=now), query.limit), found


async def recall(query: Query, *, stores: Stores, serving: AskServing | None, now: datetime) -> Hits:
    """Answer a question, and say of every answer why it is one."""
    began = time.perf_counter()
    ranked, found = await _ranked(query, stores=stores, serving=serving, now=now)
    answered = found.answered
    scale = answered.embedder if answered is not None and isinstance(answered.embedder, Calibrated) else None
    hits = [_hit(one, scale, explain=query.explain) for one in ranked]
    if query.least_similarity is not None:
        hits = [hit for hit in hits if _alike(hit, query.least_similarity)]
    return Hits(hits=tuple(hits), degraded=found.degraded, milliseconds=(time.perf_counter() - began) * 1000)


def _hit(ranked: Ranked, scale: Calibrated | None, *, explain: bool) -> Hit:
    cosine = ranked.similarity
    similarity = cosine if cosine is None else scale.calibrate(cosine) if scale is not None else max(0.0, cosine)
    whole = ranked.stop is None or (ranked.start == 0 and ranked.stop >= len(ranked.memory.content))
    return Hit(
        memory=ranked.memory,
        score=ranked.score,
        similarity=similarity,
        why=ranked.why,
        passage=None if whole else ranked.memory.content[ranked.start : ranked.stop],
        signals=dict(ranked.signals) if explain else {},
    )


def _alike(hit: Hit, least: float) -> bool:
    """Whether it is similar enough. What was found by its words alone was not compared, and stays."""
    return hit.similarity is None or hit.similarity >= least
