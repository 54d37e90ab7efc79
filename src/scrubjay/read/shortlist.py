"""Shortlist: the candidates that can be among the answers, so that the others are never fetched.

A hundred candidates are found for ten answers. What reranking adds to a memory that stands alone, outside of any
session, is bounded, so one that lies far enough behind the last answer cannot become one. A turn of a conversation
is different: others lend it relevance, and it lends to others, so where there is one all are fetched.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from scrubjay.read.diversify import Diverse
from scrubjay.read.rerank import IMPORTANCE, MOST_USE, RECENCY, Ranked
from scrubjay.read.retrieve import Retrieved

LIFT: Final = IMPORTANCE / 2 + RECENCY + MOST_USE
"""The most that reranking adds to a memory that stands alone."""

FEWEST: Final = 24
"""Candidates that are fetched at least. From 21 on, a score does not depend on how many there were."""


USUAL: Final = RECENCY / 2
"""What reranking adds to most answers at least: half of what it adds to a new one."""


def shortlist(relevances: Sequence[float], found: Retrieved, limit: int, *, titled: bool = False) -> int:
    """How many of the candidates to fetch first: probably all that can be among the answers, or simply all.

    `relevances` are theirs, best first. `titled` says whether the question has a title: theirs are compared with it,
    and how alike two are is known when all are.
    """
    many = max(FEWEST, 2 * limit)
    if many >= len(relevances) or titled or not found.stands_alone:
        return len(relevances)
    return max(many, _reaching(relevances, relevances[limit - 1] + USUAL))


def needed(diverse: Diverse, ranked: Sequence[Ranked], relevances: Sequence[float], limit: int) -> int:
    """How many of the candidates have to be fetched, given what those that were became: `ranked` and its best.

    Once as many were fetched, the answers are those of all. One that is left could take the place of an answer that
    it outranks, and of one that only repeats another.
    """
    if len(diverse.answers) < limit or len(ranked) < FEWEST or diverse.repeats:
        return len(relevances)
    return _reaching(relevances, min([sum(one.parts) for one in diverse.answers]))


def _reaching(relevances: Sequence[float], total: float) -> int:
    """How many of the candidates, best first, could reach this total."""
    return bisect_right(relevances, -total, key=lambda relevance: -(relevance + LIFT))
