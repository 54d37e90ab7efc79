"""Search by words: how a text becomes terms, and how well some terms fit it."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar
from uuid import UUID

from scrubjay.model import Memory
from scrubjay.model.words import words_of_memory

Name = TypeVar("Name")

_SATURATION: Final = 1.2
"""k1: how soon one more occurrence of a term stops counting."""
_LENGTH: Final = 0.75
"""b: how much a long text is held against it."""

_VOWEL: Final = re.compile("[aeiouy]")
_SHORTEST: Final = 4
"""Shorter words have no ending worth taking off."""


def terms_in(memory: Memory) -> Counter[str]:
    """How often each term is in a memory: the stems of the words that it is found by.

    The key takes part, so that `pref:indent` is found by `indent` whatever its content says.
    """
    return Counter(stem(word) for word in words_of_memory(memory))


def stem(word: str) -> str:
    """The word without the endings of regular English plurals and verbs: one stem for format, formats, formatting."""
    if len(word) < _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    return _undoubled(_without_e(_without_ed_or_ing(_without_s(word))))


def _without_s(word: str) -> str:
    if word.endswith("ies") and len(word) > _SHORTEST:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ed_or_ing(word: str) -> str:
    if word.endswith("ied") and len(word) > _SHORTEST:
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word[:-1] if _VOWEL.search(word[:-3]) else word
    for ending in ("ing", "ed"):
        # `string` and `red` are no forms of `str` and `r`: what is left has to be a word one can say.
        if word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            return word[: -len(ending)]
    return word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) >= _SHORTEST - 1 else word


def _undoubled(word: str) -> str:
    doubled = len(word) >= _SHORTEST and word[-1] == word[-2] and word[-1] not in "aeious"
    return word[:-1] if doubled else word


def scores(terms: Iterable[str], texts: Mapping[Name, Counter[str]]) -> dict[Name, float]:
    """The BM25 score of each of the texts that has any of the terms. Always above 0."""
    wanted = dict.fromkeys(stem(term) for term in terms)
    lengths = {name: text.total() for name, text in texts.items()}
    average = sum(lengths.values()) / len(lengths) if lengths else 0.0
    found: dict[Name, float] = {}
    for term in wanted:
        having = [name for name, text in texts.items() if term in text]
        rarity = math.log(1 + (len(texts) - len(having) + 0.5) / (len(having) + 0.5))
        for name in having:
            often = texts[name][term]
            norm = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[name] / average)
            found[name] = found.get(name, 0.0) + rarity * often * (_SATURATION + 1) / (often + norm)
    # So that what has the same words as often scores alike, in whatever order they were added up.
    return {name: round(score, 10) for name, score in found.items()}


def faults_of(index: Mapping[UUID, Counter[str]], memories: Mapping[UUID, Memory]) -> list[str]:
    """What an index of words says otherwise than the memories, one sentence each."""
    missing = [one for one, memory in memories.items() if index.get(one) != terms_in(memory)]
    faults = [f"memory {one} is not in the text index as it is stored" for one in missing]
    return faults + [f"the text index holds {one}, which is not stored" for one in sorted(index.keys() - memories)]
