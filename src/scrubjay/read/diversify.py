"""Diversify: what says the same thing again moves behind what says something new."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from scrubjay.read.rerank import Ranked

ALIKE: Final = 0.8
"""The share of common word pairs from which two texts say the same thing."""

COMPARED: Final = 200
"""Characters of each end of a text that are compared. Longer texts alike at both ends and in length are alike."""

_WORD: Final = re.compile(r"\w+")

_NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "without", "cannot", "t"})
"""Words that turn a sentence round; `t` is what is left of don't and can't."""


def diversify(ranked: Sequence[Ranked], limit: int) -> list[Ranked]:
    """Return the best `limit`, in the order they came, except that near-duplicates of a better one come last.

    Nothing is lost that there is room for. Texts whose numbers or negations differ are never duplicates: a changed
    port and a rule turned round look alike and are not.
    """
    taken: list[Ranked] = []
    behind: list[Ranked] = []
    seen: list[_Gist] = []
    for one in ranked:
        if len(taken) == limit:
            break
        gist = _Gist(one.memory.content)
        if any(gist.repeats(other) for other in seen):
            behind.append(one)
        else:
            taken.append(one)
            seen.append(gist)
    return (taken + behind)[:limit]


class _Gist:
    """What is compared of a text: its length and its pairs of words."""

    __slots__ = ("length", "pairs", "words")

    def __init__(self, text: str) -> None:
        ends = text if len(text) <= 2 * COMPARED else f"{text[:COMPARED]} {text[-COMPARED:]}"
        self.length = len(text)
        self.words = _WORD.findall(ends.lower())
        # A text without words, such as one of emoji only, is its own pair.
        self.pairs = set(pairwise([*self.words, ""])) or {(text, "")}

    def repeats(self, other: "_Gist") -> bool:
        """Whether it says what the other says."""
        if min(self.length, other.length) < ALIKE * max(self.length, other.length):
            return False
        common = len(self.pairs & other.pairs)
        alike = common >= ALIKE * (len(self.pairs) + len(other.pairs) - common)
        return alike and self.turning() == other.turning()

    def turning(self) -> set[str]:
        """The words that turn the meaning of all others: numbers and negations."""
        return {word for word in self.words if word in _NEGATIONS or not word.isalpha()}
