"""Diversify: what says the same thing again moves behind what says something new."""

import re
from collections.abc import Sequence
from typing import Final

from scrubjay.read.rerank import Ranked

ALIKE: Final = 0.8
"""The share of common word pairs from which two texts say the same thing."""

COMPARED: Final = 600
"""Characters of each text that are compared."""

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
        gist = _Gist(one.memory.content[:COMPARED])
        if any(gist.repeats(other) for other in seen):
            behind.append(one)
        else:
            taken.append(one)
            seen.append(gist)
    return (taken + behind)[:limit]


class _Gist:
    """What is compared of a text: its pairs of words, and the words that turn its meaning."""

    __slots__ = ("pairs", "turning")

    def __init__(self, text: str) -> None:
        words = _WORD.findall(text.lower())
        self.pairs = set(zip(words, [*words[1:], ""], strict=True))
        self.turning = {word for word in words if word in _NEGATIONS or not word.isalpha()}

    def repeats(self, other: "_Gist") -> bool:
        """Whether it says what the other says."""
        mine, theirs = len(self.pairs), len(other.pairs)
        # The share can be no larger than the ratio of the sizes, and this is cheaper to see.
        if min(mine, theirs) < ALIKE * max(mine, theirs) or self.turning != other.turning:
            return False
        common = len(self.pairs & other.pairs)
        return common >= ALIKE * (mine + theirs - common)
