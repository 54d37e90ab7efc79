"""Clauses: a question that compares looks for each side of it too, not only for what has something of both.

"How many days passed between when I got my API key and when I finished the wireframe?" is answered by two memories, and
the whole question is near to neither: each is about one half of it. So it is with "Considering my deadlines, the call
with Carla, and my test scores, what comes first?", which weighs things up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from scrubjay.model.words import terms_of
from scrubjay.read.framing import LONGEST
from scrubjay.read.fuse import Candidate, Fused

CLAUSE: Final = 0.5
"""How much of the relevance to a question that compares is that to the closest clause.

Measured on the dev part of BEAM, where one question in nine compares, R@5 and R@10: 0.630 → 0.646 and 0.730 → 0.741;
and 0.651 and 0.748 with those that begin with "considering". On LoCoMo and LongMemEval-S hardly any question does.
"""

FEWEST_TERMS: Final = 8
"""Words to look for that a question has at least to be taken apart. From 6 to 10, all stays within a point."""

FEWEST_IN_EACH: Final = 2
MOST: Final = 5
"""A clause has at least two words to look for, or it is an item of a list; and no question has more than five."""

_COMPARES: Final = re.compile(r"\b(?:between|than|versus|compared)\b|\bwhich\b.*\bor\b|^considering\b", re.IGNORECASE)
# A full stop ends no clause here: it may stand in a version, a name or an abbreviation.
_SEAM: Final = re.compile(r"[,;:?]\s+(?:(?:and|or)\s+)?|\s+(?:and|or|than|between)\s+|^between\s+", re.IGNORECASE)


def clauses_of(question: str, *, terms: int) -> tuple[str, ...]:
    """The parts of a short question of one line that compares and has so many words to look for; otherwise none."""
    if terms < FEWEST_TERMS or len(question) > LONGEST or "\n" in question or _COMPARES.search(question) is None:
        return ()
    parts = [part.strip(" ,.?") for part in _SEAM.split(question)]
    clauses = [part for part in parts if len(terms_of(part)) >= FEWEST_IN_EACH]
    return tuple(clauses[:MOST]) if len(clauses) > 1 else ()


def unite(whole: Fused, clauses: Sequence[Fused], *, limit: int) -> list[Candidate]:
    """The best `limit` of what was found for a question or one of its clauses, best first.

    The relevance of each is the mean of that to the question and that to the closest clause. Where it was not found, it
    has the lowest that was. What only a clause found has no `similarity`, for it was not compared with the question.
    """
    found = {candidate.id: candidate for candidate in whole}
    closest: dict[UUID, float] = {}
    # Any clause can be the closest one, so what none of them found has the highest of their lowest.
    lowest = max((min(clause.relevances) for clause in clauses if clause.relevances), default=0.0)
    least = min(whole.relevances, default=0.0)
    for clause in clauses:
        for candidate in clause:
            if candidate.id not in found:
                found[candidate.id] = candidate._replace(relevance=least, signals={})
            closest[candidate.id] = max(candidate.relevance, closest.get(candidate.id, lowest))
    united = []
    for candidate in found.values():
        near = closest.get(candidate.id, lowest)
        relevance = (1 - CLAUSE) * candidate.relevance + CLAUSE * near
        united.append(candidate._replace(relevance=relevance, signals=_Signals(candidate.signals, near)))
    united.sort(key=lambda candidate: candidate.relevance, reverse=True)
    return united[:limit]


class _Signals(Mapping[str, float]):
    """What the searches for the question say of a memory, and how relevant it is to the closest clause."""

    # Put together when somebody wants to know, as those of the question are: hardly ever.

    __slots__ = ("_clause", "_whole")

    def __init__(self, whole: Mapping[str, float], clause: float) -> None:
        self._whole = whole
        self._clause = clause

    def __getitem__(self, name: str) -> float:
        return self._clause if name == "clause" else self._whole[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._whole
        yield "clause"

    def __len__(self) -> int:
        return len(self._whole) + 1
