"""Signs: which numbers of a vector are positive, one bit for each. Of very many rows they tell the near from the far.

Whoever is near to a question has most signs in common with it. To count these takes a quarter of the time of a scan of
bytes, and leaves a few rows in a hundred to be compared by what they are.
"""

from typing import Final

import numpy as np
import simsimd
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.backends.roll import Slots
from scrubjay.backends.vectors.coded import Question

MANY: Final = 200_000
"""Rows from which signs are kept and looked at. Fewer are compared as quickly by their bytes, and exactly."""

LEAST_DIMENSIONS: Final = 256
"""The signs of shorter vectors say too little."""

LIKELY: Final = 50
ONE_IN: Final = 200
"""Rows that are left at least: so many times as many as are wanted, or one in so many of all.

Measured on 1,000,000 rows of the bundled model, each with a hundred near copies, of the hundred nearest: 99.2 % are
among those that are left, about 10,000; with twice as many 99.7 %, with three fifths 98.5 %.
"""

HEAP: Final = 16
"""The best of each heap of rows are looked at to find where the likely ones begin: it lets in twice as many."""


class Signs:
    """The signs of the rows of a matrix, as soon as these are many. They are all there, or none is."""

    def __init__(self, dimensions: int) -> None:
        self._rows = Growing(np.uint8, (dimensions + 7) // 8)
        self._are_telling = dimensions >= LEAST_DIMENSIONS

    @property
    def all(self) -> NDArray[np.uint8]:
        """Those of each row, eight to a byte."""
        return self._rows.all

    @property
    def size(self) -> int:
        """The bytes they take."""
        return self._rows.size

    def keep_up(self, halves: NDArray[np.float16]) -> None:
        """Take in those of the rows that came since."""
        known = len(self._rows.all)
        if self._are_telling and (known or len(halves) >= MANY):
            # As whole numbers, half floats have the same signs, and are compared many times as fast.
            self._rows.extend(np.packbits(halves[known:].view(np.int16) > 0, axis=1))

    def likely(self, asked: Question, slots: Slots, limit: int) -> Slots:
        """Those of very many slots that are likely to hold the nearest, several times as many; of fewer, all."""
        if len(slots) < MANY or not len(self.all):
            return slots
        return likely(asked, self.all, slots, LIKELY * limit)


def likely(asked: Question, rows: NDArray[np.uint8], slots: Slots, many: int) -> Slots:
    """So many of these slots or more: those whose rows have most signs in common with the question. Of few, all."""
    wanted = max(many, len(slots) // ONE_IN)
    if HEAP * wanted > len(slots):
        return slots
    counted = simsimd.cdist(asked.signs, rows, metric="hamming", dtype="bin8", out_dtype="float32")
    apart: NDArray[np.float32] = np.asarray(counted)[0]
    if len(slots) < len(apart):
        apart = apart[slots]
    heaps = len(apart) // HEAP
    closest = apart[: heaps * HEAP].reshape(HEAP, heaps).min(axis=0)
    left: Slots = slots[apart <= np.partition(closest, wanted - 1)[wanted - 1]]
    return left


def likeliest(asked: Question, rows: NDArray[np.uint8], slots: Slots, many: int) -> Slots:
    """So many of these slots or a few more: those that have the question's signs where its numbers are large.

    To find as much by merely counting signs, more than three times as many would have to be left.
    """
    if many >= len(slots):
        return slots
    signs = np.unpackbits(rows[slots], axis=1, count=len(asked.exact)).view(np.int8)
    scores = np.asarray(simsimd.cdist(asked.coded.codes, signs, metric="dot", out_dtype="float32"))[0]
    left: Slots = slots[scores >= np.partition(scores, len(scores) - many)[len(scores) - many]]
    return left
