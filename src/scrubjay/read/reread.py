"""Reread: a model that reads question and memory together, when there is one, has a say about the best of them."""

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import Final, NamedTuple

from scrubjay.errors import RerankerUnavailable
from scrubjay.ports import Reranker, stage
from scrubjay.read.rerank import SCALE, Ranked, Reread

REREAD: Final = 20
"""Memories that are read again for ten answers. With 30, nothing more is found, and it takes half as long again."""

MOST_REREAD: Final = 50
"""However many are wanted: each costs the model a run."""

QUESTION: Final = 1_000
TEXT: Final = 2_000
"""Characters that are read of a question and of a memory. What was found in a long one is a passage, and shorter."""

_LEAST_SPREAD: Final = 1e-6
"""Scores that lie closer together than this say nothing."""


class Rereading(NamedTuple):
    """A reranker, and how much it is believed."""

    reranker: Reranker
    weight: float
    """What one standard deviation of its scores adds; one of similarity adds 1."""


def wanted(limit: int) -> int:
    """How many memories to rank for so many answers, when they are read again."""
    return max(limit, REREAD)


async def reread_if_possible(
    ranked: Sequence[Ranked], question: str, by: Rereading, limit: int
) -> tuple[list[Ranked], tuple[str, ...]]:
    """The best so many, read again. While the model is away, as they came, and `reranker` as what is missing."""
    try:
        return (await reread(ranked, question, by))[:limit], ()
    except RerankerUnavailable:
        return list(ranked[:limit]), ("reranker",)


async def reread(ranked: Sequence[Ranked], question: str, by: Rereading) -> list[Ranked]:
    """The same memories, in the order that they have with what the model says. Raises RerankerUnavailable.

    Every model has a scale of its own, so what counts is how far each score lies from the mean of all.
    """
    read = ranked[:MOST_REREAD]
    if len(read) < 2 or not question.strip():
        return list(ranked)
    with stage("reread"):
        scores = await by.reranker.scores(question[:QUESTION], [_text(one) for one in read])
    mean = sum(scores) / len(scores)
    spread = sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
    if spread < _LEAST_SPREAD:
        return list(ranked)
    best_first = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    ranks = {place: rank for rank, place in enumerate(best_first, 1)}
    deviations = [(score - mean) / spread for score in scores]
    moved = [
        _moved(one, Reread(scores[place], ranks[place], deviations[place], by.weight * deviations[place]))
        for place, one in enumerate(read)
    ]
    return sorted([*moved, *ranked[MOST_REREAD:]], key=lambda one: one.score, reverse=True)


def _text(ranked: Ranked) -> str:
    """What the model reads of a memory: who said it, and the part that was found."""
    memory = ranked.memory
    who = memory.author or memory.data.get("role")
    said = memory.content[ranked.start : ranked.stop]
    return (f"{who}: {said}" if isinstance(who, str) else said)[:TEXT]


def _moved(ranked: Ranked, reread: Reread) -> Ranked:
    """The memory with this added to its total, of which its score is a curve."""
    # A score that was rounded to 0 or 1 has no way back to its total, and stays where it is.
    if not 0.0 < ranked.score < 1.0:
        return ranked._replace(reread=reread)
    total = log(ranked.score / (1 - ranked.score)) + reread.added / SCALE
    return ranked._replace(score=1 / (1 + exp(-total)), reread=reread)
