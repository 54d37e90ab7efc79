"""The gist of a sentence: the words that tell something, in order, however they are inflected. Pure, and in English."""

import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

from scrubjay.model.words import STOP_WORDS, words_of

READ: Final = 2_000
"""Characters of a text that are compared. Anything longer is a document, and two of them are never one fact."""

NEGATIONS: Final = frozenset("no not never none nor neither without cannot nothing nobody stopped".split())  # noqa: SIM905 -- a list of strings reads worse
NOT: Final = "not"
"""What every negation becomes."""

_WRITTEN_OUT: Final = (("’", "'"), ("can't", "can not"), ("won't", "will not"), ("n't", " not"), ("no longer", "not"))

_DIRECTED: Final = frozenset("after before from instead into over than to versus".split())  # noqa: SIM905 -- a list of strings reads worse
"""Words whose two sides cannot be exchanged: tabs over spaces, from Lisbon to Porto."""

_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905 -- a list of strings reads worse
}

_KEPT: Final = frozenset("after all before from in into off on out over under up with".split())  # noqa: SIM905 -- a list of strings reads worse
"""Common words that carry the meaning of a statement: on and off, before and after."""

_SYMBOLS: Final = re.compile(r"""[^\w\s.,;:!'"‘’“”()\[\]{}…–—*`/-]|(?<!\w)-(?=\d)""")

_SPELLING: Final = 0.85
"""How alike two words are that are one word, written in two ways."""


@dataclass(frozen=True, slots=True)
class Gist:
    """What two sentences are compared by."""

    words: tuple[str, ...]
    """Every word, folded and without its ending; number words as digits, and every negation as `not`."""
    spoken: tuple[str, ...]
    """The same words as they were written, in lower case."""
    is_negated: bool
    telling: frozenset[str] = field(init=False)
    """The words that are not common ones."""
    numbers: frozenset[str] = field(init=False)
    """Numbers, versions and names with digits in them."""
    symbols: tuple[str, ...] = ()
    """What is neither a word nor plain punctuation, sorted: C and C++, 5 and -5 are not the same."""

    def __post_init__(self) -> None:
        telling = frozenset(word for word in self.words if word not in STOP_WORDS)
        object.__setattr__(self, "telling", telling or frozenset(self.words))
        object.__setattr__(self, "numbers", frozenset(word for word in self.words if not word.isalpha()))

    @property
    def order(self) -> tuple[str, ...]:
        """The telling words and the negations, in the order they stand."""
        return tuple(word for word in self.words if word in self.telling or word == NOT)

    @property
    def is_directed(self) -> bool:
        """Whether the order of its words is part of what it says."""
        return not _DIRECTED.isdisjoint(self.words)


def gist_of(text: str) -> Gist:
    """Take a text apart."""
    read = text[:READ].lower()
    for contracted, written_out in _WRITTEN_OUT:
        read = read.replace(contracted, written_out)
    spoken = words_of(read)
    words = [NOT if word in NEGATIONS else stem(_NUMBERS.get(word, word)) for word in spoken]
    # Two negations in one sentence speak of two things, and turn nothing round.
    symbols = tuple(sorted(_SYMBOLS.findall(read)))
    return Gist(tuple(words), tuple(spoken), is_negated=words.count(NOT) % 2 == 1, symbols=symbols)


def stem(word: str) -> str:
    """The word without its commonest endings, common words as they are."""
    if word in STOP_WORDS or word in _KEPT or not word.isalpha():
        return word
    for ending in ("ings", "ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def is_same_word(one: str, other: str) -> bool:
    """Whether two stems are one word: equal, one with a longer ending, or the same but for its spelling."""
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()) or one[0] != other[0]:
        return False
    short, long = sorted((one, other), key=len)
    return (len(short) >= 5 and long.startswith(short)) or SequenceMatcher(None, one, other).ratio() >= _SPELLING


def left_over(one: Gist, other: Gist) -> tuple[frozenset[str], frozenset[str]]:
    """The telling words of each that the other lacks."""
    return _lacking(one.telling, other.telling), _lacking(other.telling, one.telling)


def _lacking(words: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words - others if not any(is_same_word(word, other) for other in others - words))
