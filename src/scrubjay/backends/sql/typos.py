"""What a misspelt word was meant to be: the nearest word that somebody wrote."""

from collections.abc import Collection
from typing import Final

SHORTEST: Final = 5
"""Shorter words have too many neighbours to guess by."""

_LONG: Final = 8
"""From this length on, a word may have two slips instead of one."""

_ALIKE: Final = 0.2
"""The share of their trigrams that two words have in common before anybody counts slips. Cheap, and rules out most."""


def nearest(word: str, vocabulary: Collection[str]) -> str | None:
    """The word of the vocabulary that this one is a slip or two away from; None when there is none, or it is there."""
    most = 2 if len(word) >= _LONG else 1
    if len(word) < SHORTEST or word in vocabulary:
        return None
    trigrams = _trigrams(word)
    close: list[tuple[int, float, str]] = []
    for other in vocabulary:
        if abs(len(other) - len(word)) > most or len(other) < SHORTEST - 1:
            continue
        theirs = _trigrams(other)
        alike = len(trigrams & theirs) / len(trigrams | theirs)
        if alike >= _ALIKE and (slips := _slips(word, other)) <= most:
            close.append((slips, -alike, other))
    return min(close)[2] if close else None


def _trigrams(word: str) -> set[str]:
    padded = f"  {word} "
    return {padded[place : place + 3] for place in range(len(padded) - 2)}


def _slips(one: str, other: str) -> int:
    """How many letters were left out, put in, replaced, or swapped with the next."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, last, row = row, before, [place]
        for there, theirs in enumerate(other, 1):
            least = min(before[there] + 1, row[-1] + 1, before[there - 1] + (letter != theirs))
            if place > 1 and there > 1 and letter == other[there - 2] and one[place - 2] == theirs:
                least = min(least, last[there - 2] + 1)
            row.append(least)
    return row[-1]
