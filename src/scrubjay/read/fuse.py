"""Fuse: several rankings of the same memories become one, by score and not by rank."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import sqrt
from typing import Final, NamedTuple, overload
from uuid import UUID

from scrubjay.ports import Match

MEANING: Final = 1.0
"""What one standard deviation of similarity counts."""

WORDS: Final = 0.8
"""What one standard deviation of BM25 counts, beside meaning and when words are trusted fully.

Measured on six sets: from 0.6 to 1 the mean R@10 stays within half a point. Below, conversations lose, whose names and
places only words find; above, code search loses, whose words differ from the question's.
"""

TRUST_PLACE: Final = 20
TRUST_FALL: Final = 0.5
"""Words are trusted fully when the score of the twentieth is at most half of the first, and less the less it falls.

When twenty memories have the words alike, the words do not tell them apart. Measured: R@1 on code search 0.34 → 0.37,
nDCG on BEAM 0.54 → 0.55, R@10 on LoCoMo 0.737 → 0.734.
"""

FEW_TERMS: Final = 12
"""Words count less in proportion from this many terms on: a long question shares some of them with everything.

Measured on the dev part of the sets: nDCG on past tasks 0.392 → 0.412 and on duplicate issues 0.651 → 0.669, R@10 on
BEAM 0.692 → 0.695.
"""

BRIEF: Final = 120
LEAST_BREVITY: Final = 0.3
"""Words count less in proportion where what is found are documents of more characters, but never under three tenths.

A long text has some word of the question by chance, and gives a model more to go by. Turns of talk keep their words at
any length: they say "she" and "there", and words find the names. Measured on the dev part of the sets, from 150 and a
half on: nDCG on duplicate issues 0.702 → 0.713, on past tasks 0.429 → 0.438 and on code search 0.609 → 0.614; R@10 on
past tasks 0.439 → 0.454. With turns among what it holds for, R@10 on BEAM 0.701 → 0.692.
"""

LEAST_SPREAD: Final = 0.03
"""Cosines that lie closer together than this are noise, and are not stretched to look like a judgement.

The nearest of very many are all near, and should not hide what stands out by its words. Measured with a million
and exact search: of 205 texts that a question was cut from, 172 are among ten with 0.02, and 184 with this. No measure
of the six sets changes; from 0.04 on, code search loses a little.
"""

LEAST_RARITY: Final = 1.5
"""The same for BM25 where few memories have the words: scores that lie closer together tell too little.

In a small store every word is rare, and one memory with "use" stood out among ten as a name does among thousands. BM25
grows with the logarithm of how many memories there are, so in a large store this hardly ever holds. Measured with 146
questions to 12 small stores, and to all 121 memories together: the first hit is right for 88 % instead of 86 %, and for
69 % instead of 62 %. A full ranking is the best of many, which lie close together: with a million, 2 of 200 texts were
lost when it held for these too.
"""

ONE_WORD: Final = 6.0
LEAST_RARITY_ALONE: Final = 2.0
"""Below the first, BM25 counts by its square where most stand in no session; the second is their `LEAST_RARITY`.

A memory of a small store that shares one word with the question has 2 to 5, and "file" or "change" proves little; two
words together prove more than twice as much. Turns of talk need the one word, which is often a name; so does whoever
asks for ticket 123, and models know no numbers. Measured in the same way among 121 memories: 73 % instead of 69 %, and
63 % instead of 56 % with 103 questions to 101 other memories. From 5 to 8 and with 2 or 2.5 the first stays within two
points, and R@10 of the six sets where it was.
"""

_ROUNDING: Final = 1e-9
"""The same for other rankings by words: only what is equal but for rounding is noise."""

DEPTH: Final = 100
"""Memories to ask each retriever for."""

FUSED: Final = 100
"""Candidates to keep. With 50, turns whose neighbours answer are cut off too early: one point of R@10 on LoCoMo."""


class Candidate(NamedTuple):
    """A memory that at least one ranking holds, not yet fetched."""

    # A tuple, for a hundred are made for every question, five times as fast as a frozen dataclass.

    id: UUID
    relevance: float
    """The weighted sum of its standardized scores: 0 is an ordinary candidate, 3 stands out."""
    signals: Mapping[str, float]
    """For each ranking that holds it: score, rank from 1 (`_rank`), standardized score (`_z`) and its `_weight`.

    Of `title` only score and rank, for it is part of the `meaning_z`.
    """
    start: int = 0
    stop: int | None = None
    """The part of the content that is closest in meaning; a stop of None means all of it."""

    @property
    def similarity(self) -> float | None:
        """The cosine of its meaning and the question's; None when it was not compared."""
        signals = self.signals
        return signals.cosine if isinstance(signals, _Signals) else signals.get("meaning")


class _Noted(NamedTuple):
    """What one ranking says of the memories that it holds."""

    name: str
    matches: Sequence[Match]
    rows: Sequence[int]
    """The row of each match."""
    standard: Sequence[float] = ()
    """By row: its standardized score; empty for a ranking that is not added up."""
    weight: float = 0.0


class _Signals(Mapping[str, float]):
    """What the rankings say of one memory, put together when somebody wants to know: hardly ever."""

    __slots__ = ("_noted", "_row", "cosine")

    def __init__(self, noted: Sequence[_Noted], row: int, cosine: float | None) -> None:
        self._noted = noted
        self._row = row
        self.cosine = cosine

    def _all(self) -> dict[str, float]:
        signals: dict[str, float] = {}
        for name, matches, rows, standard, weight in self._noted:
            if self._row not in rows:
                continue
            place = rows.index(self._row)
            if name != "recency":
                signals[name] = matches[place].score
            signals[f"{name}_rank"] = place + 1
            if standard:
                signals[f"{name}_z"] = standard[self._row]
                signals[f"{name}_weight"] = weight
        return signals

    def __getitem__(self, name: str) -> float:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class Fused(Sequence[Candidate]):
    """The candidates, best first. Most are never fetched, so each is made when it is asked for."""

    def __init__(
        self, rows: Sequence[int], totals: Sequence[float], matches: Sequence[Match], noted: Sequence[_Noted]
    ) -> None:
        self._rows = rows
        self._matches = matches
        """By row: the match of the first ranking that holds it. It knows which part of the content was found."""
        self._noted = noted
        # The rows of the first ranking come first.
        self._compared = 1 + max(noted[0].rows) if noted and noted[0].name == "meaning" else 0
        self.relevances = [totals[row] for row in rows]
        """Of each candidate."""

    @overload
    def __getitem__(self, place: int) -> Candidate: ...
    @overload
    def __getitem__(self, place: slice) -> list[Candidate]: ...
    def __getitem__(self, place: int | slice) -> Candidate | list[Candidate]:
        if isinstance(place, slice):
            return list(map(self._candidate, self._rows[place], self.relevances[place]))
        return self._candidate(self._rows[place], self.relevances[place])

    def __len__(self) -> int:
        return len(self._rows)

    def _candidate(self, row: int, relevance: float) -> Candidate:
        found, score, start, stop, _, _ = self._matches[row]
        cosine = score if row < self._compared else None
        return Candidate(found, relevance, _Signals(self._noted, row, cosine), start, stop)


def fuse(
    rankings: Mapping[str, Sequence[Match]],
    *,
    terms: int = 1,
    numbered: bool = False,
    depth: int = DEPTH,
    limit: int = FUSED,
) -> Fused:
    """Unite the rankings `meaning`, `words` and `recency`, each best first; return the best `limit`, best first.

    A memory that only one ranking holds stays in. `terms` is how many words were looked for, `numbered` whether one of
    them has a digit, and `depth` how many memories each retriever was asked for: a full ranking cut off its lowest, so
    what it lacks counts as its lowest. A shorter one is complete: what it lacks has none of the words, or has no vector
    yet and counts as ordinary. Recency has ranks only: it adds candidates, and it is the order when nothing else is
    asked for. A ranking `title` adds none: it has what `meaning` has, compared with the title of a long question, and
    the mean of both cosines counts.
    """
    columns = {name: rankings[name] for name in ("meaning", "words", "recency") if rankings.get(name)}
    # Row numbers instead of ids: a UUID is slow to hash, and the arithmetic wants plain lists.
    numbers: dict[int, int] = {}
    firsts: list[Match] = []
    rows = {name: _rows_of(matches, numbers, firsts) for name, matches in columns.items()}
    totals = [0.0] * len(firsts)
    noted: list[_Noted] = []
    titles = rankings.get("title", ())
    weights = _weights(columns, terms)
    for name, weight in weights.items():
        matches = _with_titles(columns[name], titles) if name == "meaning" and titles else columns[name]
        scores = [match.score for match in matches]
        complete = len(scores) < depth
        absent = _absent(name, scores, complete=complete)
        least = _least_spread(name, scores)
        if name == "words" and complete and len(weights) > 1:
            scores, least = _of_few(scores, ordinary=not numbered and _lie_outside(columns["meaning"]))
        standard = _standardized(scores, rows[name], len(firsts), absent=absent, least=least)
        totals = [total + weight * score for total, score in zip(totals, standard, strict=True)]
        noted.append(_Noted(name, columns[name], rows[name], standard, weight))
    if titles:
        noted.append(_Noted("title", titles, [numbers[match.id.int] for match in titles]))
    if recent := rows.get("recency"):
        noted.append(_Noted("recency", columns["recency"], recent))
        if len(columns) == 1:
            totals = [1 - row / len(firsts) for row in recent]
    best = sorted(range(len(firsts)), key=totals.__getitem__, reverse=True)[:limit]
    return Fused(best, totals, firsts, noted)


def _rows_of(matches: Sequence[Match], numbers: dict[int, int], firsts: list[Match]) -> Sequence[int]:
    """The row of each match. Those of memories that no ranking held before get the next numbers, and join `firsts`."""
    if not firsts:
        numbers.update(zip([match.id.int for match in matches], count()))
        if len(numbers) == len(matches):
            firsts += matches
            return range(len(matches))
        numbers.clear()  # One is named twice: a poor index, but no reason to fail.
    rows: list[int] = []
    for match in matches:
        known = match.id.int
        row = numbers.get(known)
        if row is None:
            row = numbers[known] = len(firsts)
            firsts.append(match)
        rows.append(row)
    return rows


def _weights(columns: Mapping[str, Sequence[Match]], terms: int) -> dict[str, float]:
    """How much each ranking with scores counts for this question. One that is alone counts fully."""
    if "meaning" in columns and "words" in columns:
        # Not their product: a long question among long texts would leave the words without a voice.
        shared = min(FEW_TERMS / max(FEW_TERMS, terms), _brevity(columns["meaning"]))
        return {"meaning": MEANING, "words": WORDS * _trust(columns["words"]) * shared}
    return {name: 1.0 for name in ("meaning", "words") if name in columns}


def _trust(words: Sequence[Match]) -> float:
    """From 0 to 1: how well words tell the memories apart."""
    if len(words) < TRUST_PLACE or words[0].score <= 0:
        return 1.0
    fall = 1 - words[TRUST_PLACE - 1].score / words[0].score
    return min(1.0, fall / TRUST_FALL)


def _brevity(meaning: Sequence[Match]) -> float:
    """From `LEAST_BREVITY` to 1: how short the documents are, by the median length of the parts that were found."""
    # What may be a turn of talk counts as short.
    lengths = sorted([stop - start if alone and stop else 0 for _, _, start, stop, alone, _ in meaning])
    return max(LEAST_BREVITY, BRIEF / max(BRIEF, lengths[len(lengths) // 2]))


def _with_titles(meaning: Sequence[Match], titles: Sequence[Match]) -> list[Match]:
    """The matches of a long question, in their order, with the mean of what its opening and its title say of each.

    The opening of a bug report is half what every report has; the title says which one it is. Measured on the dev part
    of the sets: nDCG on past tasks 0.412 → 0.433, on duplicate issues 0.669 → 0.701.
    """
    told = {match.id.int: match.score for match in titles}
    return [match._replace(score=(match.score + told.get(match.id.int, match.score)) / 2) for match in meaning]


def _absent(name: str, scores: Sequence[float], *, complete: bool) -> float:
    """The score of what a ranking lacks."""
    if not complete:
        return min(scores)
    return 0.0 if name == "words" else sum(scores) / len(scores)


def _least_spread(name: str, scores: Sequence[float]) -> float:
    """The standard deviation from which on the scores of a ranking tell its memories apart."""
    return LEAST_SPREAD if name == "meaning" else _ROUNDING * scores[0]


def _of_few(scores: list[float], *, ordinary: bool) -> tuple[list[float], float]:
    """What the scores of words count that few memories have, beside meaning, and their least standard deviation.

    One of `ordinary` words alone proves little.
    """
    least = LEAST_RARITY
    if ordinary:
        least = LEAST_RARITY_ALONE
        scores = [score * score / ONE_WORD if score < ONE_WORD else score for score in scores]
    # Never more than the best, or words would have no voice at all among two or three memories.
    return scores, min(least, scores[0])


def _lie_outside(meaning: Sequence[Match]) -> bool:
    """Whether most of what was found is no turn of a session."""
    return 2 * sum([match.outside for match in meaning]) > len(meaning)


def _standardized(
    scores: Sequence[float], rows: Sequence[int], size: int, *, absent: float, least: float
) -> list[float]:
    """For each row, how many standard deviations its score lies above the mean of all rows."""
    values = [absent] * size
    if rows == range(size):
        values[:] = scores
    else:
        for row, score in zip(rows, scores, strict=True):
            values[row] = score
    mean = sum(values) / size
    values = [value - mean for value in values]
    spread = max(least, sqrt(sum([value * value for value in values]) / size))
    return [value / spread for value in values] if spread else values
