"""Diversify: what says the same thing again moves behind what says something new."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple, TypeVar

from scrubjay.model.opposites import are_opposed
from scrubjay.read.rerank import Ranked

ALIKE: Final = 0.8
"""The share of common word pairs from which two texts say the same thing."""

COMPARED: Final = 200
"""Characters of each end of a text that are compared. Longer texts alike at both ends and in length are alike."""

REACH: Final = 32
"""How many of those taken last a memory is compared with. Texts that are alike score alike, and so stand together."""

Part = TypeVar("Part")

_WORD: Final = re.compile(r"\w+")
_ASCII: Final = [chr(code) for code in range(128)]
_PLAIN: Final = "".join(sign.lower() if _WORD.match(sign) else " " for sign in _ASCII).encode().ljust(256)
"""ASCII in lower case, with a space for whatever is part of no word: to split is quicker than to look for words."""

_NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "without", "cannot", "t"})
"""Words that turn a sentence round; `t` is what is left of don't and can't."""


class Diverse(NamedTuple):
    """The best, without what only repeats a better one as long as there is something else."""

    answers: list[Ranked]
    repeats: bool
    """Whether there was not enough else, so that repetitions filled the answers up."""


def diversify(ranked: Sequence[Ranked], limit: int) -> Diverse:
    """Return the best `limit`, in the order they came, except that near-duplicates of a better one come last.

    Nothing is lost that there is room for. Texts whose numbers or negations differ, or that say the opposite, are never
    duplicates: a changed port and a rule turned round look alike and are not.
    """
    taken: list[Ranked] = []
    behind: list[Ranked] = []
    seen: deque[Gist] = deque(maxlen=REACH)
    said: set[str] = set()
    for one in ranked:
        if len(taken) == limit:
            break
        gist = Gist(one.memory.content)
        if gist.has_little_new(said) and any(gist.says_what(other) for other in gist.about_as_long(seen)):
            behind.append(one)
        else:
            taken.append(one)
            seen.append(gist)
            said |= gist.different
    return Diverse((taken + behind)[:limit], repeats=len(taken) < limit and bool(behind))


class Gist:
    """What is compared of a text: its length, its words and their order."""

    __slots__ = ("different", "length", "words")

    def __init__(self, text: str) -> None:
        ends = text if len(text) <= 2 * COMPARED else f"{text[:COMPARED]} {text[-COMPARED:]}"
        self.length = len(text)
        # A text without words, such as one of emoji only, is a word itself.
        self.words = _words(ends) or [text]
        self.different = set(self.words)

    def has_little_new(self, said: set[str]) -> bool:
        """Whether so few of its words are new that it may repeat one of the texts that had those that were said.

        One question for all of them: most texts have new words, and then need not be compared with each.
        """
        return len(self.different & said) / len(self.different) >= ALIKE

    def about_as_long(self, others: "Iterable[Gist]") -> "list[Gist]":
        """Those of the others that are near enough in length to say the same: of most texts none."""
        least, most = ALIKE * self.length, self.length
        return [other for other in others if other.length >= least and ALIKE * other.length <= most]

    def repeats(self, other: "Gist") -> bool:
        """Whether it says what the other says."""
        return bool(self.about_as_long([other])) and self.says_what(other)

    def says_what(self, other: "Gist") -> bool:
        """The same of one that is about as long. The cheap questions come first, for most texts fail them."""
        return (
            _share(self.different, other.different) >= ALIKE
            and _share(self.pairs(), other.pairs()) >= ALIKE
            and self.turning() == other.turning()
            and not are_opposed(self.words, other.words)
        )

    def marks(self) -> list[str]:
        """Some of its words, such that every text that it could repeat has at least one of them among its own.

        Of words in one order for all texts, two sets that are alike share one of the first few. Long words come first:
        they are rare, and few other texts have them.
        """
        words = sorted(self.different, key=lambda word: (-len(word), word))
        return words[: len(words) - ceil(ALIKE * len(words)) + 1]

    def pairs(self) -> set[tuple[str, str]]:
        """Its words, each with the one that follows."""
        return set(pairwise([*self.words, ""]))

    def turning(self) -> set[str]:
        """The words that turn the meaning of all others: numbers and negations."""
        return {word for word in self.different if word in _NEGATIONS or not word.isalpha()}


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.encode().translate(_PLAIN).decode().split()
    return _WORD.findall(text.lower())


def _share(one: set[Part], other: set[Part]) -> float:
    """How much of the two together is common to both."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)
