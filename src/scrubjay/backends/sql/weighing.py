"""Weighing: which of very many rows are best for the words of a question, without ranking them all.

FTS5 takes 0.9 µs to rank a row, and walks through all rows of each word before it ranks the first. To list the rows of
a word takes a tenth of that. So the rows of each word are listed, and a row weighs as much as its words are rare, less
when its text is long. Only the heaviest are read, in order, and ranked here by all of the words.
"""

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import Final, NamedTuple

from scrubjay.backends.sql.stems import stem_of

CUT: Final = 50_000
"""Rows of one word that are listed, the newest. Only a word that so many have, and that so weighs little, has more."""

LOOKED_AT: Final = 1_500
"""Rows of whose texts the length is looked up: those that weigh most without it, and of equals the oldest."""

_ALL: Final = "SELECT group_concat(rowid) FROM texts WHERE texts MATCH ?"
_NEWEST: Final = (
    f"SELECT group_concat(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT {CUT})"
)

# A cross join keeps the order of its parts.
_SIZES: Final = "SELECT sz FROM json_each(?) AS heavy CROSS JOIN texts_docsize ON texts_docsize.id = heavy.value"

SATURATION: Final = 1.2
LENGTH: Final = 0.75
"""How BM25 counts a word that a text has more than once, and the length of the text: FTS5's own."""

DIGITS: Final = 10
"""Scores are rounded to this, so that texts that have the same words as often score alike in whatever order a sum was
taken: here, in memory, or by SQLite."""

_LEAST: Final = 1e-6
"""What a word weighs that more than half of all rows have."""


def rarity(rows: float, everything: int) -> float:
    """What a word weighs that so many of all rows have, as FTS5 has it."""
    return max(_LEAST, log((max(everything, rows) - rows + 0.5) / (rows + 0.5)))


class Listed(NamedTuple):
    """One word whose rows are listed."""

    expression: str
    """In the language of FTS5."""
    weight: float
    is_cut: bool
    """Whether it has more rows than are listed."""


def heaviest(file: sqlite3.Connection, words: Iterable[Listed], usual: float) -> list[int]:
    """The rows that weigh most by the words that they have, `LOOKED_AT` at most, heaviest first.

    Of equals the oldest comes first, as in memory. `usual` is how many words a text usually has.
    """
    import numpy as np  # noqa: PLC0415 -- only a large store needs it

    lists, weights = [], []
    for word in words:
        [listed] = file.execute(_NEWEST if word.is_cut else _ALL, (word.expression,)).fetchone()
        if listed:
            lists.append(np.fromstring(listed, np.int64, sep=","))
            weights.append(word.weight)
    if not lists:
        return []
    sums = np.zeros(1 + max(int(rows.max()) for rows in lists), np.float32)
    for rows, weight in zip(lists, weights, strict=True):
        sums[rows] += weight
    found = []
    for rows in lists:
        found.append(sums[rows])
        # Each row counts once: in the first list that has it.
        sums[rows] = 0
    rows, weighed = np.concatenate(lists), np.concatenate(found)
    least = max(np.sort(weighed)[-LOOKED_AT:][0], _LEAST)
    above, equal = weighed > least, weighed == least
    oldest = np.sort(rows[equal])[: LOOKED_AT - int(above.sum())]
    rows = np.concatenate((rows[above], oldest))
    weighed = np.concatenate((weighed[above], np.full(len(oldest), least, np.float32)))
    lengths = np.array(lengths_of(file, rows.tolist()), np.float32)
    norms = 1 + SATURATION * (1 - LENGTH + LENGTH / usual * lengths)
    heavy: list[int] = rows[np.lexsort((rows, norms / weighed))].tolist()
    return heavy


def lengths_of(file: sqlite3.Connection, rows: Sequence[int]) -> list[int]:
    """How many words the texts of these rows have."""
    sizes = file.execute(_SIZES, (json.dumps(rows),)).fetchall()
    return [size[0] if size[0] < 128 else _long(size) for [size] in sizes]


def _long(size: bytes) -> int:
    """How many words a text has. FTS5 keeps a number in bytes of seven bits; all but its last have the eighth set."""
    length = 0
    for byte in size:
        length = length << 7 | byte & 127
        if byte < 128:
            break
    return length


class Forms:
    """Some words, and how often a text has each of them in any form. Texts are words with blanks between."""

    def __init__(self, words: Collection[str]) -> None:
        self._stems = frozenset(map(stem_of, words))
        # Every form of a word begins like its stem, but for the last letter. To look at those alone is much quicker.
        beginnings = {re.escape(stem[: max(2, len(stem) - 1)]) for stem in self._stems if stem.isascii()}
        others = {re.escape(word) for word in words if not word.isascii()}
        self._forms = re.compile(f" (?:{'|'.join(sorted(beginnings | others))})[^ ]*")

    def often(self, body: str) -> dict[str, int]:
        """How often the text has each stem that it has."""
        often: dict[str, int] = {}
        for form in self._forms.findall(f" {body}"):
            stem = stem_of(form[1:])
            if stem in self._stems:
                often[stem] = often.get(stem, 0) + 1
        return often


class Ranking:
    """BM25 by all of these words, for texts as the index has them: words with blanks between.

    With `marked`, the marks of a text count as words of it, as FTS5 counts them.
    """

    def __init__(self, rarities: Mapping[str, float], usual: float, *, marked: bool = False) -> None:
        self.rarities = rarities
        self.usual = usual
        self._marked = marked
        self._forms = Forms(rarities)
        self._weights: dict[str, float] = {}
        for word, weight in rarities.items():
            stem = stem_of(word)
            # FTS5 counts two forms of one word twice.
            self._weights[stem] = self._weights.get(stem, 0.0) + weight

    def score(self, body: str, marks: str = "") -> float:
        """The score of one text; more is better."""
        words = len(body.split()) + (len(marks.split()) if self._marked else 0)
        length = 1 - LENGTH + LENGTH * words / self.usual
        return sum(
            self._weights[stem] * times * (SATURATION + 1) / (times + SATURATION * length)
            for stem, times in self._forms.often(body).items()
        )
