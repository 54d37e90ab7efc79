"""A book: the words of one tenant's memories in memory, and the search by them, ranked as FTS5 ranks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.backends.roll import Roll, Slots, heap_tops
from scrubjay.backends.sql.postings import Postings, Rows
from scrubjay.backends.sql.types import id_from
from scrubjay.backends.sql.weighing import DIGITS, LENGTH, SATURATION, rarity
from scrubjay.model import Filter
from scrubjay.ports import Match

SCATTERED: Final = 12
"""Parts from which on a book is read again: to look a word up takes time in each."""

FEWEST_DEAD: Final = 1_000
DEAD: Final = 0.25
"""Dead rows that do not matter: so many, or this part of all."""

_UNASKED: Final = False
"""What a match by words says of where it stands beyond that it stands alone."""

LOOKED_UP: Final = 8
"""To look a row up among others takes as long as to score so many."""


class Row(NamedTuple):
    """What a book keeps of a memory."""

    seq: int
    id: bytes
    scope: int
    kind: str
    live: bool
    since: int
    until: int
    alone: bool
    words: str
    """With blanks between, as the index on disk has them."""


class Asked(NamedTuple):
    """What a book has of the words of a question, and how many rows there were when it was asked."""

    words: Sequence[Sequence[Rows]]
    places: Slots | None
    """The rows in the places that the filter names; None when it names none."""
    rows: int
    everything: int
    lengths: NDArray[np.int32]
    usual: float
    """How many words a text has on average."""


class Book(Roll):
    """A roll with the words of its rows. `newest` and `change` say how much of which store it has heard of.

    Not safe for threads, but for `best` and `weighed`: they work on what was looked up before, while others append.
    """

    def __init__(self, *, history: int = 0, newest: int = 0, change: int = 0, room: int = 0) -> None:
        super().__init__(room=room)
        self.history = history
        self.newest = newest
        self.change = change
        self.postings = Postings()
        self._seqs = Growing(np.int64, room=room)
        self._ids = Growing(np.uint8, 16, room=room)
        self._alone = Growing(np.bool_, room=room)
        self._lengths = Growing(np.int32, room=room)
        self._total = 0

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return super().size + self.postings.size

    @property
    def is_worn(self) -> bool:
        """Whether it should be read again from the store, to be quick and small."""
        return self.dead > max(FEWEST_DEAD, DEAD * len(self)) or self.postings.scattered > SCATTERED

    def take_in(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add these rows, which are shaped like `Row`, and whose scopes are known."""
        if rows:
            self.postings.add(len(self), self.entered(rows))

    def entered(self, rows: Sequence[Sequence[Any]]) -> list[list[str]]:
        """Enter these in the columns, one at least; returns the words of each, for the postings."""
        seqs, ids, scopes, kinds, live, since, until, alone, words = zip(*rows, strict=True)
        texts = [text.split() for text in words]
        self._seqs.extend(seqs)
        self._ids.extend(np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 16))
        self._alone.extend(alone)
        # The index on disk counts the marks of a text with its words: one for its scope, and one for each name of it.
        codes = [self._scope_codes[scope] for scope in scopes]
        marks = 1 + np.count_nonzero(self._places.all[codes], axis=1)
        lengths = marks + [len(text) for text in texts]
        self._lengths.extend(lengths)
        self._total += int(lengths.sum())
        self.enter(scopes, kinds, live, since, until)
        return texts

    def slots_of(self, numbers: Collection[int]) -> dict[int, int]:
        """The slots of those of these memories that it has, by their numbers."""
        slots = np.flatnonzero(np.isin(self._seqs.all, list(numbers)) & self.present.all)
        return dict(zip(self._seqs.all[slots].tolist(), slots.tolist(), strict=True))

    def hear(self, changed: Mapping[int, int], reworded: Collection[int], rows: Iterable[Row]) -> None:
        """Note what became of those in these slots, by their numbers; `rows` are those that are still there.

        Of those that were reworded, other words may be found than before.
        """
        found = {row.seq: row for row in rows}
        gone = [slot for seq, slot in changed.items() if seq in reworded or seq not in found]
        self._total -= int(self._lengths.all[gone].sum())
        self.bury(gone)
        for seq, row in found.items():
            if seq not in reworded:
                self.retell(changed[seq], live=row.live, begin=row.since, end=row.until)
        self.take_in([row for seq, row in found.items() if seq in reworded])

    def look_up(self, words: Iterable[str], filter: Filter) -> Asked:
        """What it has of these words, and in the places of this filter."""
        everything = len(self) - self.dead
        return Asked(
            words=[self.postings.rows_of(word) for word in words],
            places=self.placed(filter),
            rows=len(self),
            everything=everything,
            lengths=self._lengths.all,
            usual=self._total / max(1, everything),
        )

    def best(self, asked: Asked, filter: Filter, *, now: int, limit: int) -> list[Match]:
        """The best of those that a plain filter admits."""
        slots, scores = asked.places, self._scores(asked)
        if slots is None:
            # First what is best of all, most of which the filter admits; then, where that is too little, everything.
            wanted = limit + limit // 4 + 20
            likely = _highest(scores, wanted)
            admitted = likely[self.admits(filter, likely, now=now)]
            if len(admitted) >= limit or len(likely) < wanted:
                return self._matches(admitted, scores[admitted], limit)
            slots = np.flatnonzero(scores)
            scores = scores[slots]
        admitted = np.flatnonzero(self.admits(filter, slots, now=now, placed=asked.places is not None) & (scores > 0))
        return self._matches(slots[admitted], scores[admitted], limit)

    def weighed(
        self, asked: Asked, filter: Filter, *, most: int, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """The best by words alone of what is in the places and of the kinds of a filter: numbers with scores.

        With `among`, of these numbers only.
        """
        places, scores = asked.places, self._scores(asked)
        found = np.flatnonzero(scores)
        slots, scores = found if places is None else places[found], scores[found]
        admitted = np.flatnonzero(self.admits(filter, slots, now=None, placed=places is not None))
        if among is not None:
            admitted = admitted[np.isin(self._seqs.all[slots[admitted]], np.array(among, np.int64))]
        order = self._order(slots[admitted], scores[admitted], most)
        best = admitted[order]
        return list(zip(self._seqs.all[slots[best]].tolist(), scores[best].round(DIGITS).tolist(), strict=True))

    def _scores(self, asked: Asked) -> NDArray[np.float64]:
        """The score of every row in the places asked for, or of every row: BM25 as FTS5 has it, or 0."""
        lists: list[tuple[NDArray[np.int32], NDArray[np.uint8], float]] = []
        for rows in asked.words:
            weight = rarity(sum(self._present(slots) for slots, _ in rows), asked.everything) * (SATURATION + 1)
            lists += [(slots, times, weight) for slots, times in rows]
        if asked.places is None or len(asked.places) * LOOKED_UP > asked.rows:
            slots, times, weights = _one(lists)
            scores = _summed(asked, slots, times, weights, slots, asked.rows)
            return scores if asked.places is None else scores[asked.places]
        places = asked.places
        most = LOOKED_UP * len(places)
        slots, times, weights = _one([one for one in lists if len(one[0]) <= most])
        here = _marked(places, asked.rows).take(slots).nonzero()[0]
        slots = slots.take(here)
        found = [(places.searchsorted(slots), slots, times.take(here), weights.take(here))]
        for slots, times, weight in lists:
            if len(slots) > most:
                here, at = _found(places.astype(np.int32), slots)
                found.append((at, slots[here], times[here], np.full(len(at), weight)))
        at, slots, times, weights = found[0] if len(found) == 1 else map(np.concatenate, zip(*found, strict=True))
        return _summed(asked, slots, times, weights, at, len(places))

    def _present(self, slots: NDArray[np.int32]) -> int:
        """How many of these rows are still there."""
        return int(np.count_nonzero(self.present.all[slots])) if self.dead else len(slots)

    def _matches(self, slots: Slots, scores: NDArray[np.float64], limit: int) -> list[Match]:
        order = self._order(slots, scores, limit)
        slots = slots[order]
        known = map(id_from, self._ids.all[slots].view("V16").ravel().tolist())
        alone = self._alone.all[slots].tolist()
        found = zip(known, scores[order].round(DIGITS).tolist(), repeat(0), repeat(None), alone, repeat(_UNASKED))
        # What `Match` does itself, but for a hundred at once and without a call of each.
        return list(map(tuple.__new__, repeat(Match), found))

    def _order(self, slots: Slots, scores: NDArray[np.float64], limit: int) -> Slots:
        """Where the best are, best first, and of equals the oldest."""
        if len(scores) <= limit:
            return np.lexsort((self._seqs.all.take(slots), -scores.round(DIGITS)))
        likely = _highest(scores, limit)
        order = np.lexsort((self._seqs.all[slots[likely]], -scores[likely].round(DIGITS)))[:limit]
        return likely[order]


def _one(
    lists: Sequence[tuple[NDArray[np.int32], NDArray[np.uint8], float]],
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.float64]]:
    """The rows of several words in one list, each with the weight of its word."""
    if not lists:
        return np.empty(0, np.int32), np.empty(0, np.uint8), np.empty(0)
    slots, times, weights = zip(*lists, strict=True)
    return np.concatenate(slots), np.concatenate(times), np.repeat(weights, [len(some) for some in slots])


def _marked(places: Slots, rows: int) -> NDArray[np.bool_]:
    """For so many rows, whether each is at one of these places."""
    marked = np.zeros(rows, np.bool_)
    marked[places] = True
    return marked


def _found(some: NDArray[np.int32], among: NDArray[np.int32]) -> tuple[Slots, Slots]:
    """Where those of some numbers that are among others stand there, and where here. The others are in order."""
    at = among.searchsorted(some)
    at[at == len(among)] = 0
    here = np.flatnonzero(among[at] == some) if len(among) else at[:0]
    return at[here], here


def _summed(
    asked: Asked,
    slots: NDArray[np.int32],
    times: NDArray[np.uint8],
    weights: NDArray[np.float64],
    at: NDArray[np.signedinteger],
    many: int,
) -> NDArray[np.float64]:
    """The scores that these rows of words give to so many places, of which each row is at one."""
    often = times.astype(np.float64)
    length = SATURATION * (1 - LENGTH) + SATURATION * LENGTH / max(asked.usual, 1.0) * asked.lengths[slots]
    return np.asarray(np.bincount(at, weights * often / (often + length), many), np.float64)


def _highest(scores: NDArray[np.float64], many: int) -> Slots:
    """Where the highest scores above 0 are: so many at least, or all."""
    tops = heap_tops(scores, many)
    tops = tops[tops > 0]
    if len(tops) <= many:
        return np.flatnonzero(scores)
    least = float(np.partition(tops, len(tops) - many)[len(tops) - many])
    # What is rounded to the same may lie a little lower.
    return np.flatnonzero(scores >= max(least - 10**-DIGITS, least / 2))
