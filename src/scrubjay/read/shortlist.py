"""Shortlist: the candidates that can be among the answers, so that the others are never fetched.

A hundred candidates are found for ten answers. What reranking adds to a memory that stands alone, outside of any
session, is bounded, so one that lies far enough behind the last answer cannot become one. A turn of a conversation
is different: others lend it relevance, and it lends to others, so where there is one all are fetched.
"""

from collections.abc import Sequence
from typing import Final

from scrubjay.read.diversify import ALIKE, Gist
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import IMPORTANCE, MOST_USE, RECENCY, Ranked
from scrubjay.read.retrieve import Retrieved

LIFT: Final = IMPORTANCE / 2 + RECENCY + MOST_USE
"""The most that reranking adds to a memory that stands alone."""

FEWEST: Final = 24
"""Candidates that are fetched at least. From 21 on, a score does not depend on how many there were."""


def shortlist(candidates: Sequence[Candidate], found: Retrieved, limit: int) -> int:
    """How many of the candidates to fetch first: probably all that can be among the answers, or simply all."""
    many = max(FEWEST, 2 * limit)
    if many >= len(candidates) or not found.stands_alone:
        return len(candidates)
    least = candidates[limit - 1].relevance - LIFT
    while many < len(candidates) and candidates[many].relevance >= least:
        many += 1
    return many


def is_settled(answers: Sequence[Ranked], ranked: Sequence[Ranked], left: Sequence[Candidate], limit: int) -> bool:
    """Whether these are the answers, whatever is known of the candidates that are left, best first.

    `ranked` are all that were fetched, the answers among them.
    """
    if not left:
        return True
    return (
        len(answers) == limit
        and len(ranked) >= FEWEST
        and left[0].relevance + LIFT < min(sum(one.parts) for one in answers)
        and not _repeats(ranked[-1], answers)
    )


def _repeats(last: Ranked, answers: Sequence[Ranked]) -> bool:
    """Whether the last one says what an answer says. If so, the answers may be filled up with repetitions.

    They are only when everything else that was fetched is one, the last one too.
    """
    gist = Gist(last.memory.content)
    return any(
        _could_say(one.memory.content, gist) and gist.repeats(Gist(one.memory.content))
        for one in answers
        if one is not last
    )


def _could_say(content: str, gist: Gist) -> bool:
    """Whether the content is about as long and has most of the words, be it inside of others. Quicker than its gist."""
    if min(len(content), gist.length) < ALIKE * max(len(content), gist.length):
        return False
    lowered = content.lower()
    return sum([word in lowered or word in content for word in gist.different]) >= ALIKE * len(gist.different)
