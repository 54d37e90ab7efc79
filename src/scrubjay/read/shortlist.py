"""Shortlist: the candidates that can be among the answers, so that the others are never fetched.

A hundred candidates are found for ten answers. What reranking adds to a memory that stands alone, outside of any
session, is bounded, so one that lies far enough behind the last answer cannot become one. A turn of a conversation
is different: others lend it relevance, and it lends to others, so where there is one all are fetched. So it is where
there is a message outside of any session, for that is judged as a turn is, and bears on what stands beside it.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import ceil
from typing import Final

from scrubjay.read.diversify import Diverse
from scrubjay.read.rerank import IMPORTANCE, MOST_USE, RECENCY
from scrubjay.read.retrieve import Retrieved

LIFT: Final = IMPORTANCE / 2 + RECENCY + MOST_USE
"""The most that reranking adds to a memory that stands alone."""

SPARE: Final = 0.25
"""The share of the answers that is fetched beyond them at least, for some may repeat others or be gone."""

FURTHER: Final = 3
"""How many times as many are fetched, when so few are left as answers that anything may be one."""


def shortlist(
    relevances: Sequence[float], found: Retrieved, limit: int, *, lift: float = 0.0, together: bool = False
) -> int:
    """How many of the candidates to fetch first: probably all that can be among the answers, or simply all.

    `relevances` are theirs, best first. `lift` is what reranking probably adds to the last of the answers. `together`
    says whether more than that is added to some: their titles are compared with that of the question, or it asks for
    the latest or names a time.
    """
    many = limit + ceil(SPARE * limit)
    if many >= len(relevances) or together or not found.stands_alone:
        return len(relevances)
    return max(many, _reaching(relevances, relevances[limit - 1] + lift))


def needed(diverse: Diverse, relevances: Sequence[float], limit: int, *, fetched: int) -> int:
    """How many of the candidates have to be fetched, given the best of those that were; no more when these are enough.

    Once as many were fetched, the answers are those of all. One that is left could take the place of an answer that
    it outranks, and of one that only repeats another.
    """
    if len(diverse.answers) < limit or diverse.repeats:
        return min(len(relevances), FURTHER * fetched)
    return _reaching(relevances, sum(diverse.answers[-1].parts))


def _reaching(relevances: Sequence[float], total: float) -> int:
    """How many of the candidates, best first, could reach this total."""
    return bisect_right(relevances, -total, key=lambda relevance: -(relevance + LIFT))
