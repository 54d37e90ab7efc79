"""Families of tasks: descriptions that are alike, found as they come, wide families with narrow ones inside.

A description joins the nearest family when it is near enough, and founds a new one otherwise; within a wide family the
same again for a narrow one. What has joined stays, so new tasks never reshuffle old ones; and the same tasks in the
same order give the same families on every machine, so the state can be thrown away and built again.
"""

from collections import Counter
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

from scrubjay.memories.learning.regexes import matches, word_pattern
from scrubjay.memories.learning.traits import telling_words
from scrubjay.memories.learning.wordspace import WIDTH, WordSpace
from scrubjay.model.words import STOP_WORDS

WIDE: Final = 0.18
"""The least cosine with the middle of a wide family."""

NARROW: Final = 0.4
"""The least cosine with the middle of a narrow family. From 0.3 to 0.5, recall of planted effects differs by 7 points,
and is best here; precision does not change."""

SAMPLES: Final = 40
"""Descriptions of a family that are kept to try a regular expression on: the first ones."""

NAMED_BY: Final = 3
"""Words in a name."""


class Middles:
    """The middles of families, to compare a description with all of them at once."""

    def __init__(self) -> None:
        self._sums: NDArray[np.float32] | None = None
        self._squares: NDArray[np.float64] | None = None
        self._many = 0

    def nearest(
        self, columns: NDArray[np.intp], values: NDArray[np.float32], among: list[int] | None = None
    ) -> tuple[int, float]:
        """The nearest family and its cosine; -1 when there is none."""
        if self._sums is None or self._squares is None or among == []:
            return -1, 0.0
        rows = np.arange(self._many) if among is None else np.array(among)
        cosines = (self._sums[np.ix_(rows, columns)] @ values) / np.sqrt(self._squares[rows])
        best = int(np.argmax(cosines))
        return int(rows[best]), float(cosines[best])

    def found(self) -> int:
        """Make room for one more family, and return its number."""
        if self._sums is None or self._squares is None:
            self._sums, self._squares = np.zeros((4, WIDTH), np.float32), np.zeros(4)
        elif self._many == len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros_like(self._sums)])
            self._squares = np.concatenate([self._squares, np.zeros_like(self._squares)])
        self._many += 1
        return self._many - 1

    def join(self, family: int, columns: NDArray[np.intp], values: NDArray[np.float32]) -> None:
        """Move the middle of a family by one more description."""
        if self._sums is None or self._squares is None:
            raise IndexError(family)
        self._squares[family] += 2 * float(self._sums[family, columns] @ values) + float(values @ values)
        self._sums[family, columns] += values


class Members:
    """What is known of one family: how many, their words, and some descriptions."""

    def __init__(self, *, id: str, parent: int | None) -> None:
        self.id = id
        self.parent = parent
        self.children: list[int] = []
        self.size = 0
        self.successes = 0
        self.having: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.samples: list[str] = []

    def join(self, description: str, words: list[str], *, success: bool) -> None:
        """Count one more."""
        self.size += 1
        self.successes += success
        first = {word: place for place, word in reversed(list(enumerate(words)))}
        self.having.update(first.keys())
        self.places.update(first)
        if len(self.samples) < SAMPLES and description not in self.samples:
            self.samples.append(description)


class Families:
    """All families of one place. Grows with every execution, in the order they are told."""

    def __init__(self) -> None:
        self.space = WordSpace()
        self.members: list[Members] = []
        self._wide = Middles()
        self._narrow = Middles()
        self._wide_numbers: list[int] = []
        """The place in `members` of each wide family, by its row among the middles."""
        self._narrow_numbers: list[int] = []

    def join(self, description: str, *, success: bool) -> tuple[int, int] | None:
        """Put an execution into its families: the wide and the narrow one. None when it has no words."""
        words = _content_words(description)
        self.space.learn(words)
        columns, values = self.space.vector(words)
        if not len(columns):
            return None
        wide = self._joined(self._wide, self._wide_numbers, columns, values, words, parent=None, near=WIDE)
        narrow = self._joined(self._narrow, self._narrow_numbers, columns, values, words, parent=wide, near=NARROW)
        for number in (wide, narrow):
            self.members[number].join(description, words, success=success)
        return wide, narrow

    def nearest(self, description: str) -> tuple[int, int] | None:
        """The families that a description would join; None when it would found a wide one. The narrow may be -1."""
        columns, values = self.space.vector(_content_words(description))
        if not len(columns):
            return None
        row, near = self._wide.nearest(columns, values)
        if row < 0 or near < WIDE:
            return None
        wide = self._wide_numbers[row]
        row, near = self._narrow.nearest(columns, values, among=self.members[wide].children)
        return wide, self._narrow_numbers[row] if row >= 0 and near >= NARROW else -1

    def _joined(
        self,
        middles: Middles,
        numbers: list[int],
        columns: NDArray[np.intp],
        values: NDArray[np.float32],
        words: list[str],
        *,
        parent: int | None,
        near: float,
    ) -> int:
        """The number of the family, which is founded when none is near. A narrow one is looked for in its parent."""
        among = self.members[parent].children if parent is not None else None
        row, cosine = middles.nearest(columns, values, among)
        if row < 0 or cosine < near:
            row = middles.found()
            numbers.append(len(self.members))
            if among is not None:
                among.append(row)
            self.members.append(Members(id=_id(words, parent), parent=parent))
        middles.join(row, columns, values)
        return numbers[row]

    def telling(self, number: int) -> tuple[str, ...]:
        """The words that tell a family from others, most telling first."""
        family = self.members[number]
        scores = {
            word: having / family.size * self.space.weight(word)
            for word, having in family.having.items()
            if 2 * having >= family.size or (family.size > 4 and 3 * having >= family.size)
        }
        return tuple(sorted(scores, key=lambda word: (-scores[word], word))[: 2 * NAMED_BY])

    def name(self, number: int) -> str:
        """Its most telling words, in the order in which descriptions say them."""
        family = self.members[number]
        words = self.telling(number)[:NAMED_BY]
        if not words:
            return family.samples[0][:60]
        return " ".join(sorted(words, key=lambda word: family.places[word] / family.having[word]))

    def regex(self, number: int) -> tuple[str, float, float]:
        """The expression of one or two words that finds it best, with its precision and recall on kept descriptions."""
        family = self.members[number]
        inside = family.samples
        outside = [
            (text, other.size / len(other.samples))
            for place, other in enumerate(self.members)
            if other.parent is not None and number not in (place, other.parent)
            for text in other.samples[:8]
        ]
        best = (_literal(inside[0]), 1.0, 1 / len(inside))
        for words in _candidates(self.telling(number)):
            pattern = word_pattern(words)
            recall = sum(matches(pattern, text) for text in inside) / len(inside)
            false = sum(weight for text, weight in outside if matches(pattern, text))
            right = recall * family.size
            precision = right / (right + false) if right else 0.0
            if _balance(precision, recall) > _balance(*best[1:]):
                best = pattern, precision, recall
        return best


def _content_words(description: str) -> list[str]:
    """The words that a family is found and named by: a stop word tells no task from another."""
    words = telling_words(description)
    return [word for word in words if word not in STOP_WORDS] or words


def _candidates(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    pairs = [(one, other) for one in words[:4] for other in words[:4] if one != other]
    return [*((word,) for word in words), *pairs]


def _balance(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _literal(description: str) -> str:
    return word_pattern(tuple(_content_words(description)[:6])) or r"\S"


def _id(words: list[str], parent: int | None) -> str:
    """Named after its founder, so that the same tasks give the same name wherever they are learned."""
    level = "wide" if parent is None else "narrow"
    return blake2b(f"{level}\x00{' '.join(words)}".encode(), digest_size=6).hexdigest()
