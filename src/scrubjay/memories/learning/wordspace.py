"""Descriptions as vectors of their words: what many say weighs little, without a list of such words, and no model."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import log
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

WIDTH: Final = 2_048
"""Columns. Words that share one add up with opposite signs as often as with equal ones, so they disturb little."""

MOST_WORDS: Final = 120
"""Different words of a description that are read, from its beginning."""


class WordSpace:
    """Turns words into sparse vectors of unit length, by how rare each word was until then."""

    def __init__(self) -> None:
        self.texts = 0
        self.having: Counter[str] = Counter()

    def learn(self, words: Sequence[str]) -> None:
        """Count one more text."""
        self.texts += 1
        self.having.update(set(words))

    def weight(self, word: str) -> float:
        """How much a word tells: less, the more texts have it."""
        return log(1 + (self.texts + 1) / (self.having[word] + 1))

    def vector(self, words: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """The columns and their values. Empty for no words."""
        times = Counter(words[: 4 * MOST_WORDS])
        columns: dict[int, float] = {}
        for word in list(times)[:MOST_WORDS]:
            column, sign = _column(word)
            columns[column] = columns.get(column, 0.0) + sign * (1 + log(times[word])) * self.weight(word)
        values = np.fromiter(columns.values(), np.float32, len(columns))
        length = float(np.sqrt(values @ values))
        return np.fromiter(columns, np.intp, len(columns)), values / length if length else values


@lru_cache(maxsize=1 << 16)
def _column(word: str) -> tuple[int, int]:
    code = crc32(word.encode())
    return code % WIDTH, 1 if code >> 31 else -1
