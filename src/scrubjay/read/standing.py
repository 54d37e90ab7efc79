"""Standing: what a user laid down for always, and what they prefer, which likeness does not find when it applies.

"Always show the version when I ask about a library" is meant for questions that have none of its words. So when an
assistant is asked for something, the closest of what was laid down gets a place of its own.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from scrubjay.errors import StoreDamaged, Unavailable
from scrubjay.model import Memory, Query
from scrubjay.ports import Stores
from scrubjay.read.follow import UNSEEN
from scrubjay.read.fuse import Candidate
from scrubjay.read.hydrate import hydrate
from scrubjay.read.nearest import nearest
from scrubjay.read.retrieve import Retrieved
from scrubjay.read.sessions import Session, by_assistant
from scrubjay.read.understand import Question

STANDING: Final = 3.0
"""Added to the closest rule and to the closest wish of a user, when an assistant is asked for something.

Measured on the dev part of BEAM, with all questions: R@5 0.605 → 0.630, R@10 0.718 → 0.723, nDCG 0.595 → 0.609. From 2
to 5 all of them stay within a point.
"""

LOOKED_AT: Final = 24
"""Turns with the words of a rule that are looked at, those first that have little else."""

_WORDS: Final = ("always", "never", "whenever", "prefer", "rather")
"""One of these is in nearly all that is laid down, so that a search by words finds it."""

_HINTS: Final = (*_WORDS, "from now on", "when i ask", "every time i")
"""Looked for first, as they stand: many times faster than by a pattern, and most turns have none."""

_RULE: Final = re.compile(
    # A sentence or a line begins here: what stands between two words is read once.
    r"(?:^(?:(?:user|human):)?|(?<=\w)(?>\W*?(?:[.!?]\s|\n)))\W*(?:please,? )?"
    r"(?:always|never(?! mind)|from now on|whenever i|when i ask|every time i)\b"
)
_WISH: Final = re.compile(r"\bi (?:\w+ly |always )?prefer\b|\bi(?:['’]d| would) (?:\w+ly )?(?:prefer|rather)\b")


def standing(
    found: Sequence[tuple[Candidate, Memory]], sessions: Sequence[Session | None], question: Question
) -> frozenset[int]:
    """The places of the rule and of the wish that are closest to a question; none for one about what was.

    `sessions` has the session of each. Only what was said to an assistant is meant for one.
    """
    if question.asks_back:
        return frozenset()
    closest: dict[str, tuple[float, int]] = {}
    for place, (session, (candidate, memory)) in enumerate(zip(sessions, found, strict=True)):
        if session is None or session.between_people:
            continue
        if (laid_down := _laid_down(memory)) is None:
            continue
        # What was not compared comes after all that was.
        likeness = -1.0 if candidate.similarity is None else candidate.similarity
        if laid_down not in closest or likeness > closest[laid_down][0]:
            closest[laid_down] = likeness, place
    return frozenset(place for _, place in closest.values())


async def join_standing(
    found: Sequence[tuple[Candidate, Memory]],
    *,
    question: Question,
    query: Query,
    retrieved: Retrieved,
    stores: Stores,
    now: datetime,
) -> tuple[list[tuple[Candidate, Memory]], tuple[str, ...]]:
    """Return the candidates, with them the closest rule and wish that no search found, and what could not take part.

    It joins when turns of an assistant were found, and the question is one to act upon. Nothing does when the caller
    drew a line, by words only, by meaning only or by a least similarity, as nothing follows then.
    """
    serving, vector = retrieved.answered, retrieved.vector
    if (
        question.is_empty
        or question.asks_back
        or query.mode != "hybrid"
        or query.least_similarity is not None
        or serving is None
        or vector is None
        or not _is_asked(found)
    ):
        return list(found), ()
    known = {memory.id for _, memory in found}
    try:
        said = await stores.texts.match(_WORDS, query.filter, now=now, limit=LOOKED_AT, guess=False)
    except StoreDamaged:
        return list(found), () if "words" in retrieved.degraded else ("words",)
    unseen = [match.id for match in said if match.id not in known]
    if not unseen:
        return list(found), ()
    try:
        compared = await nearest(
            serving, vector, query.filter, vectors=stores.vectors, now=now, limit=len(unseen), among=unseen
        )
    except Unavailable:
        return list(found), () if "vectors" in retrieved.degraded else ("vectors",)
    candidates = [
        Candidate(match.id, UNSEEN, {"meaning": match.score}, match.start, match.stop) for match in compared.matches
    ]
    joining: dict[str, tuple[Candidate, Memory]] = {}
    for pair in await hydrate(candidates, filter=query.filter, records=stores.records, now=now):
        if (laid_down := _laid_down(pair[1])) is not None:
            joining.setdefault(laid_down, pair)
    return [*found, *joining.values()], ()


def _is_asked(found: Sequence[tuple[Candidate, Memory]]) -> bool:
    """Whether a turn of an assistant was found. What stands alone is no turn, whatever role its data name."""
    said = by_assistant(found)
    return any(memory.id in said and (memory.position is not None or memory.may_be_turn) for _, memory in found)


def _laid_down(memory: Memory) -> str | None:
    """Whether a turn of a user lays down a `rule` or says a `wish`; None for all other memories."""
    if not memory.may_be_turn or memory.role != "user":
        return None
    text = memory.content.lower()
    if not any(hint in text for hint in _HINTS):
        return None
    return "rule" if _RULE.search(text) else "wish" if _WISH.search(text) else None
