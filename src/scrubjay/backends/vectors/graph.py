"""A graph over the vectors of a large tenant, for searches that admit much of it.

The graph only proposes rows. It is built from a matrix at one change number; rows that changed later are looked at one
by one, rows that are gone are dropped, and every score comes from the matrix. So a graph that is old costs time or a
little recall, and cannot give a wrong answer. One that is poor is not asked: it is tried out first.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.roll import Slots
from scrubjay.backends.vectors.coded import Question, question
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.model import Filter

if TYPE_CHECKING:
    from usearch.index import Index

STALE: Final = 0.1
"""The share of rows that may have changed before the graph is built again."""

LEAST_SHARE: Final = 0.1
"""Below this share of rows that a filter keeps, scanning them is quicker than a graph full of others."""

STEP: Final = 8
"""How many rows are added at a time: adding holds the interpreter, and searches should hardly notice."""

CARE: Final = 64
"""How many neighbours are looked at for each row that is added. Twice as many take twice as long to find 0.1 % more."""

TRIED: Final = 20
DEEP: Final = 100
RELIABLE: Final = 0.75
"""Questions that a graph is tried out with, how many of the nearest are counted, and what part of these it has to find.

They are harder than real ones. Where rows have twenty near copies each it finds 84 % for them and 97 % for real ones,
with thirty 64 % and 91 %, with a hundred 32 % and 39 %: docs/decisions/0045-near-copies.md.
"""

PAUSE: Final = 0.0002
"""A sleep, however short, hands the interpreter to whoever waits for it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a graph is built from: rows that were live at a change number of an epoch."""

    change: int
    epoch: int
    labels: NDArray[np.int64]
    codes: NDArray[np.int8]
    slots: Slots


def source_of(matrix: Matrix, change: int, epoch: int) -> Source:
    """Take what the matrix holds now. The rows themselves are not copied: they stay as they are for good."""
    slots = np.flatnonzero(matrix.live.all)
    return Source(change, epoch, matrix.rows.all[slots], matrix.codes.all, slots)


def build(source: Source, stop: Event) -> "Index | None":
    """Build the graph of these rows; None when told to stop before the end."""
    from usearch.index import Index  # noqa: PLC0415 -- loaded by those who have outgrown exact search, not by everybody

    index = Index(ndim=source.codes.shape[1], metric="cos", dtype="i8", expansion_add=CARE)
    for start in range(0, len(source.slots), STEP):
        if stop.is_set():
            return None
        some = source.slots[start : start + STEP]
        index.add(source.labels[start : start + STEP].astype(np.uint64), source.codes[some], threads=1)
        time.sleep(PAUSE)
    return index


class Graph:
    """A graph together with the matrix whose rows it names."""

    def __init__(self, index: "Index", matrix: Matrix, change: int, *, is_reliable: bool = True) -> None:
        self.index = index
        self.is_reliable = is_reliable
        """Whether it finds nearly all that is nearest, so that it may be asked."""
        self.change = change
        self.matrix = matrix
        # Rows may be appended meanwhile; those up to here are complete.
        self._start = start = len(matrix)
        known = matrix.changes.all[:start] <= change
        slots = np.flatnonzero(known)
        self._slots = slots[np.argsort(matrix.rows.all[slots])]
        self._labels = matrix.rows.all[self._slots]
        self._newer = np.flatnonzero(~known)

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return int(self.index.memory_usage) + self._slots.nbytes + self._labels.nbytes

    @property
    def stale(self) -> bool:
        """Whether so much changed that it should be built again."""
        return len(self._newer) + len(self.matrix) - self._start > STALE * max(len(self.index), 1)

    def try_out(self) -> float:
        """Learn whether it is reliable; returns what part of the nearest it found. Takes `TRIED` other searches."""
        # Only what is live: a graph is built of that, and cannot find what was retired before.
        slots = np.sort(self._slots[self.matrix.live.all[self._slots]])
        deep = min(DEEP, len(self.index) // 32)
        want = next(self._wants(deep, 1.0), 0)
        chance = np.random.default_rng(0)
        wanted = found = 0
        # A graph too small to be asked for so many is not tried out either.
        for _ in range(TRIED if want and len(slots) else 0):
            # Between two rows, as a question is: a row itself is found even where all other ways are lost.
            asked = question(self.matrix.halves.all[chance.choice(slots, 2)].astype(np.float64).sum(axis=0))
            labels = self.index.search(asked.coded.codes[0], want, threads=1).keys.astype(np.int64)
            near = {match.id for match in self.matrix.nearest(asked, slots, deep)}
            proposed = self.matrix.nearest(asked, self._known(labels), deep)
            wanted += len(near)
            found += len(near.intersection([match.id for match in proposed]))
        share = found / wanted if wanted else 1.0
        self.is_reliable = share >= RELIABLE
        return share

    def propose(self, asked: Question, filter: Filter, *, now: int, limit: int, share: float) -> Slots | None:
        """Rows that the filter admits and that hold the nearest; None when the graph does not find enough of them."""
        newer = np.concatenate((self._newer, np.arange(self._start, len(self.matrix))))
        newer = newer[self.matrix.admits(filter, newer, now=now)]
        for want in self._wants(limit, share):
            labels = self.index.search(asked.coded.codes[0], want, threads=1).keys.astype(np.int64)
            slots = self._known(labels)
            slots = slots[self.matrix.admits(filter, slots, now=now)]
            if len(np.unique(self.matrix.owners.all[slots])) >= limit:
                return np.concatenate((slots, newer))
        return None

    def _wants(self, limit: int, share: float) -> Iterator[int]:
        """How many rows to ask for: more than wanted, since a filter drops some and a memory may have several."""
        want = int((4 * limit + 64) / share)
        while want < len(self.index) / 4:
            yield want
            want *= 2

    def _known(self, labels: NDArray[np.int64]) -> Slots:
        """Where the rows with these labels are; those that are gone or have changed since are left out."""
        places = np.searchsorted(self._labels, labels)
        places[places == len(self._labels)] = 0
        slots: Slots = self._slots[places]
        known: Slots = slots[(self._labels[places] == labels) & self.matrix.present.all[slots]]
        return known
