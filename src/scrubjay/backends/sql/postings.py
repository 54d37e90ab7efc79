"""Postings: which rows have a word, and how often, as columns of numbers in memory.

A word is known by a hash of its stem, so that no text is held: not what is searched, nor what was forgotten. Parts are
never changed once they are made; new rows gather in a tail, and parts of like size are joined, so that there are few.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.backends.sql.stems import stem_of

TAIL: Final = 256
"""Rows that gather before they become a part."""

LIKE: Final = 4
JOINED: Final = 250_000
"""Parts are joined when one is no more than so many times as large as the next, up to so many postings: 20 ms."""

LARGEST: Final = 4_000_000
"""Postings of one part, when a whole store is read."""

_OFTEN: Final = 255
"""A word that a text has more often counts as so often: by then, once more is next to nothing."""

WORDS_HELD: Final = 10_000
"""Words whose numbers a book remembers: those of questions and of what is told. To read a whole store, more help."""

Rows = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""The slots that have a word, in their order, and how often each has it."""


class Part(NamedTuple):
    """The postings of some rows, sorted by word."""

    words: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Where the rows of each word begin, and at last where they end."""
    slots: NDArray[np.int32]
    times: NDArray[np.uint8]

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return sum(column.nbytes for column in self)

    def rows_of(self, word: int) -> Rows | None:
        """The rows that have this word."""
        at = int(self.words.searchsorted(word))
        if at == len(self.words) or self.words[at] != word:
            return None
        start, stop = self.starts[at], self.starts[at + 1]
        return self.slots[start:stop], self.times[start:stop]


class Words(dict[str, int]):
    """Words by their numbers, which all forms of one word share. Only those that were met last are held."""

    def __init__(self, most: int = WORDS_HELD) -> None:
        self._most = most

    def __missing__(self, word: str) -> int:
        if len(self) >= self._most:
            self.clear()
        # Past the stems that are held for others: each word comes once, and all of a store would stay there.
        number = self[word] = hash(stem_of.__wrapped__(word))
        return number


class Postings:
    """The postings of a growing number of rows. Who changes them and who looks something up take turns."""

    def __init__(self, parts: Sequence[Part] = ()) -> None:
        self.words = Words()
        self._parts = list(parts)
        self._least_parts = len(self._parts)
        self._tail: dict[int, list[tuple[int, int]]] = {}
        self._gathered = 0

    @property
    def size(self) -> int:
        """The bytes they take, about."""
        return sum(part.size for part in self._parts) + 100 * len(self._tail)

    @property
    def scattered(self) -> int:
        """How many parts there are that would be none if all was read again."""
        return len(self._parts) - self._least_parts

    def add(self, first: int, texts: Sequence[Sequence[str]]) -> None:
        """Take in the words of these texts, whose slots follow each other from the first on."""
        if len(texts) >= TAIL:
            self._gather()
            self._append(part_of(first, texts, self.words))
            return
        for slot, text in enumerate(texts, first):
            times: dict[int, int] = {}
            for word in map(self.words.__getitem__, text):
                times[word] = times.get(word, 0) + 1
            for word, often in times.items():
                self._tail.setdefault(word, []).append((slot, min(often, _OFTEN)))
        self._gathered += len(texts)
        if self._gathered >= TAIL:
            self._gather()

    def rows_of(self, word: str) -> list[Rows]:
        """The rows that have this word in any of its forms: a few lists, of other rows each."""
        number = self.words[word]
        found = [rows for part in self._parts if (rows := part.rows_of(number)) is not None]
        tail = self._tail.get(number)
        if tail is not None:
            slots, times = zip(*tail, strict=True)
            found.append((np.array(slots, np.int32), np.array(times, np.uint8)))
        return found

    def _gather(self) -> None:
        """Make a part of the tail."""
        if self._tail:
            words = sorted(self._tail)
            rows = [self._tail[word] for word in words]
            slots, times = zip(*chain.from_iterable(rows), strict=True)
            starts = np.cumsum([0, *map(len, rows)])
            self._append(Part(np.array(words, np.int64), starts, np.array(slots, np.int32), np.array(times, np.uint8)))
        self._tail, self._gathered = {}, 0

    def _append(self, part: Part) -> None:
        parts = [*self._parts, part]
        while len(parts) > self._least_parts + 1:
            before, last = (len(one.slots) for one in parts[-2:])
            if before > LIKE * last or before + last > JOINED:
                break
            parts[-2:] = [joined(parts[-2:])]
        self._parts = parts


def part_of(first: int, texts: Sequence[Sequence[str]], words: Words) -> Part:
    """The postings of these texts, whose slots follow each other from the first on."""
    numbers = np.fromiter(map(words.__getitem__, chain.from_iterable(texts)), np.int64)
    slots = np.repeat(np.arange(first, first + len(texts), dtype=np.int32), [len(text) for text in texts])
    order = numbers.argsort(kind="stable")
    numbers, slots = numbers[order], slots[order]
    # One posting for each slot that has the word: those of one slot follow each other.
    begins = np.flatnonzero(_differs(numbers) | _differs(slots))
    times = np.minimum(np.diff(begins, append=len(numbers)), _OFTEN).astype(np.uint8)
    return _part(numbers[begins], slots[begins], times)


def joined(parts: Sequence[Part]) -> Part:
    """One part of several, given in the order of their slots.

    Nothing is sorted but the words: where each row goes is counted, so that little more is held than the result.
    """
    words = np.unique(np.concatenate([part.words for part in parts]))
    found = [words.searchsorted(part.words) for part in parts]
    starts = np.zeros(len(words) + 1, np.int64)
    for part, at in zip(parts, found, strict=True):
        starts[at + 1] += np.diff(part.starts)
    np.cumsum(starts, out=starts)
    slots, times = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
    free = starts[:-1].copy()
    for part, at in zip(parts, found, strict=True):
        many = np.diff(part.starts)
        places = np.repeat(free[at] - part.starts[:-1], many)
        places += np.arange(len(places))
        slots[places], times[places] = part.slots, part.times
        free[at] += many
    return Part(words, starts, slots, times)


def gathered(parts: Iterator[Part]) -> Iterator[Part]:
    """The same postings in as few parts as may be, each made as soon as it is full.

    Small ones are joined on the way: each names its words, which take more room than its rows.
    """
    large: list[Part] = []
    small: list[Part] = []
    for part in parts:
        small.append(part)
        if _many(small) >= JOINED:
            large.append(joined(small))
            small = []
        if _many(large) + _many(small) >= LARGEST:
            yield joined([*large, *small])
            large, small = [], []
    if large or small:
        yield joined([*large, *small])


def _many(parts: Sequence[Part]) -> int:
    return sum(len(part.slots) for part in parts)


def _part(numbers: NDArray[np.int64], slots: NDArray[np.int32], times: NDArray[np.uint8]) -> Part:
    begins = np.flatnonzero(_differs(numbers))
    return Part(numbers[begins], np.append(begins, len(numbers)), slots, times)


def _differs(column: NDArray[np.signedinteger]) -> NDArray[np.bool_]:
    """Whether each is another one than the one before it."""
    differs = np.ones(len(column), np.bool_)
    differs[1:] = column[1:] != column[:-1]
    return differs
