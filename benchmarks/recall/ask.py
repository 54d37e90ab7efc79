"""Tell a data set to a fresh memory through the public verbs, then ask every question of every system."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from measures import judged, judged_sessions
from sets import Asked, DataSet

from scrubjay import Scrubjay, Settings
from scrubjay.model import Filter, Query, Scope
from scrubjay.model.words import MOST_TERMS, terms_of
from scrubjay.models import tokens_of
from scrubjay.ports import Embedder
from scrubjay.read.fuse import DEPTH
from scrubjay.read.retrieve import retrieve
from scrubjay.read.understand import understand
from scrubjay.wiring import wire

SYSTEMS = ("BM25", "vectors", "RRF, k = 60", "recall")
LIMIT = 50
"""Hits that are judged. A user gets ten: that is what is timed, and its tokens are counted."""

BATCH = 1_000

Progress = Callable[[], None]


@dataclass
class Outcome:
    """What one question came to."""

    id: str
    category: str
    measures: dict[str, dict[str, float]] = field(default_factory=dict)
    """By system. Empty when there is nothing to find."""
    milliseconds: float = 0.0
    tokens: int = 0
    confidence: float | None = None


async def run(
    data: DataSet, home: Path, embedder: Embedder, *, told: Progress, answered: Progress
) -> tuple[list[Outcome], float]:
    """What every question came to, and how many memories were stored per second."""
    jay = wire(Settings(home=home, background=False), embedder=embedder)
    async with jay:
        began = time.perf_counter()
        for start in range(0, len(data.told), BATCH):
            some = data.told[start : start + BATCH]
            await jay.remember_many(some)
            for _ in some:
                told()
        rate = len(data.told) / (time.perf_counter() - began)
        tokens = tokens_of("auto")
        outcomes = []
        for asked in data.asked:
            outcomes.append(await _outcome(jay, asked, data, tokens.count))
            answered()
    return outcomes, rate


async def _outcome(jay: Scrubjay, asked: Asked, data: DataSet, count: Callable[[str], int]) -> Outcome:
    narrow = {"user": asked.group}
    if asked.before is not None:
        narrow["data"] = {"place": {"lt": asked.before}}
    began = time.perf_counter()
    hits = await jay.recall(asked.text, limit=10 + len(asked.exclude), touch=False, **narrow)
    taken = (time.perf_counter() - began) * 1_000
    given = [hit for hit in hits if hit.memory.id not in asked.exclude][:10]
    outcome = Outcome(
        id=asked.id,
        category=asked.category,
        milliseconds=taken,
        tokens=sum(count(hit.passage or hit.memory.content) for hit in given),
        confidence=hits.confidence,
    )
    if asked.relevant:
        whole = await jay.recall(asked.text, limit=LIMIT, touch=False, **narrow)
        answers = {**await _baselines(jay, asked), "recall": [hit.memory.id for hit in whole]}
        for name, answer in answers.items():
            kept = [one for one in answer if one not in asked.exclude]
            outcome.measures[name] = judged(kept, asked.relevant) | judged_sessions(kept, asked.relevant, data.sessions)
    return outcome


async def _baselines(jay: Scrubjay, asked: Asked) -> dict[str, list[UUID]]:
    """What each search finds alone, from the same stores, and their ranks fused as everybody does."""
    wanted = {"place": {"lt": asked.before}} if asked.before is not None else {}
    query = Query(text=asked.text, filter=Filter(scope=Scope(user=asked.group), data=wanted), limit=LIMIT)
    parts = jay.parts
    # As it was asked, without title or clauses: what is put right first, or compared twice, is no search alone.
    question = replace(understand(query), title="", clauses=(), sought=asked.text)
    if len(terms := terms_of(asked.text)) < MOST_TERMS:
        question = replace(question, terms=tuple(terms))
    found = await retrieve(question, query, stores=parts.stores, serving=parts.serving, now=parts.clock(), depth=DEPTH)
    by_words = [match.id for match in found.rankings["words"]]
    by_meaning = [match.id for match in found.rankings["meaning"]]
    scores: dict[UUID, float] = {}
    for ranking in (by_meaning, by_words):
        for rank, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (60 + rank)
    return {
        "BM25": by_words,
        "vectors": by_meaning,
        "RRF, k = 60": sorted(scores, key=scores.__getitem__, reverse=True),
    }
