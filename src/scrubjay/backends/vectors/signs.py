"""Signs: which numbers of a vector are positive, one bit for each. Of many rows they tell the near from the far.

Whoever is near to a question has its signs where its numbers are large. To count these takes a third of the time of a
scan of bytes on a processor without the newest instructions, and leaves a few rows in a hundred to be compared by what
they are.

They are held by columns, 64 numbers of all rows in each, so that NumPy counts a stretch of rows at a time.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import simsimd
from numpy.typing import NDArray

from scrubjay.backends.growing import Growing
from scrubjay.backends.roll import Slots
from scrubjay.backends.vectors.coded import Question

Columns: TypeAlias = Sequence[NDArray[np.uint64]]
"""The signs of rows: of each column the same 64 numbers of all of them."""

WORD: Final = 64
"""Signs in a column. What the last one has more than there are numbers is never set."""

MANY: Final = 50_000
"""Rows from which signs are kept and looked at. Fewer are compared as quickly by their bytes, and exactly."""

LEAST_DIMENSIONS: Final = 256
"""The signs of shorter vectors say too little."""

LIKELY: Final = 60
ONE_IN: Final = 200
"""Rows that are left at least: so many times as many as are wanted, or one in so many of all.

Of the hundred nearest, 99.9 % are among those that are left of 100,000 rows of the bundled model, and 99.2 % of
1,000,000, where each row has a hundred near copies: docs/decisions/0073-signs-that-tell.md.
"""

SAMPLE: Final = 8_192
"""Rows that are looked at, spread over all, to find where the likely ones begin. To order all would take as long as to
count their signs."""

SHARE: Final = 4
"""Where more than one row in so many would be left, to look at signs does not pay."""

STRETCH: Final = 65_536
"""Rows that are counted at a time: what is made meanwhile stays in the cache of the processor."""


class Signs:
    """The signs of the rows of a matrix, as soon as these are many. They are all there, or none is."""

    def __init__(self, dimensions: int) -> None:
        self._columns = [Growing(np.uint64) for _ in range(words_of(dimensions))]
        self._are_telling = dimensions >= LEAST_DIMENSIONS

    def __len__(self) -> int:
        """Rows whose signs are here: those that the last column has, for others may append meanwhile."""
        return len(self._columns[-1].all)

    @property
    def columns(self) -> Columns:
        """Those of every row."""
        many = len(self)
        return [column.all[:many] for column in self._columns]

    @property
    def size(self) -> int:
        """The bytes they take."""
        return sum(column.size for column in self._columns)

    def keep_up(self, halves: NDArray[np.float16]) -> None:
        """Take in those of the rows that came since."""
        known = len(self)
        if self._are_telling and (known or len(halves) >= MANY):
            # As whole numbers, half floats have the same signs, and are compared many times as fast.
            packed = packed_signs(halves[known:].view(np.int16) > 0)
            for place, column in enumerate(self._columns):
                column.extend(packed[:, place])

    def likely(self, asked: Question, slots: Slots, limit: int) -> Slots:
        """Those of many slots that are likely to hold the nearest, several times as many; of fewer, all."""
        if len(slots) < MANY or not len(self):
            return slots
        return likely(asked, self.columns, slots, LIKELY * limit)


def words_of(dimensions: int) -> int:
    """How many columns the signs of so many numbers take."""
    return (dimensions + WORD - 1) // WORD


def packed_signs(are_set: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """These bits of each row, 64 to a word."""
    bits = np.packbits(are_set, axis=1)
    missing = -bits.shape[1] % (WORD // 8)
    return np.pad(bits, ((0, 0), (0, missing))).view(np.uint64) if missing else bits.view(np.uint64)


def likely(asked: Question, columns: Columns, slots: Slots, many: int) -> Slots:
    """About so many of these slots: those that have most of the signs which tell. Of few, all."""
    wanted = max(many, len(slots) // ONE_IN)
    if SHARE * wanted > len(slots):
        return slots
    if 2 * len(slots) < len(columns[0]):
        apart = _apart(asked, [column.take(slots) for column in columns])
    else:
        apart = _apart(asked, columns)
        if len(slots) < len(apart):
            apart = apart[slots]
    sample = apart[:: max(1, len(apart) // SAMPLE)]
    place = wanted * len(sample) // len(apart)
    return slots.take(np.flatnonzero(apart <= np.partition(sample, place)[place]))


def _apart(asked: Question, columns: Columns) -> NDArray[np.uint16]:
    """How many of the signs that tell are not those of the question, in each row."""
    apart = np.zeros(len(columns[0]), dtype=np.uint16)
    signs, telling = packed_signs(asked.signs[None, :])[0], packed_signs(asked.telling[None, :])[0]
    words, counts = np.empty(STRETCH, dtype=np.uint64), np.empty(STRETCH, dtype=np.uint8)
    for start in range(0, len(apart), STRETCH):
        stretch = apart[start : start + STRETCH]
        word, count = words[: len(stretch)], counts[: len(stretch)]
        for column, sign, tells in zip(columns, signs, telling, strict=True):
            np.bitwise_xor(column[start : start + STRETCH], sign, out=word)
            np.bitwise_and(word, tells, out=word)
            np.bitwise_count(word, out=count)
            np.add(stretch, count, out=stretch)
    return apart


def likeliest(asked: Question, columns: Columns, slots: Slots, many: int) -> Slots:
    """So many of these slots or a few more: those that have the question's signs where its numbers are large.

    To find as much by merely counting signs, more than three times as many would have to be left.
    """
    if many >= len(slots):
        return slots
    packed = np.stack([column.take(slots) for column in columns], axis=1).view(np.uint8)
    signs = np.unpackbits(packed, axis=1, count=len(asked.exact)).view(np.int8)
    scores = np.asarray(simsimd.cdist(asked.coded.codes, signs, metric="dot", out_dtype="float32"))[0]
    left: Slots = slots[scores >= np.partition(scores, len(scores) - many)[len(scores) - many]]
    return left
