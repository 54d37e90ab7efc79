"""Forms: which words of a question a text has, in whatever form."""

from collections.abc import Sequence
from typing import Final

from scrubjay.model.words import words_of

READ: Final = 4_000
"""Characters of a text that are read for them."""

_ENDINGS: Final = ("ings", "ing", "ies", "ed", "es", "s", "e", "y")


def words_found(terms: Sequence[str], content: str) -> list[str]:
    """Those of the terms that the content has, in another form of the word perhaps, as a search by words sees it."""
    words = set(words_of(content[:READ]))
    # To look for a beginning in one long string is many times faster than in every word.
    beginnings = f" {' '.join(words)}"
    return [term for term in terms if term in words or _has_form(words, beginnings, stem_of(term))]


def stem_of(word: str) -> str:
    """The word without its commonest endings. Rougher than an index's own stemmer: good enough to tell words apart."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _has_form(words: set[str], beginnings: str, stem: str) -> bool:
    return f" {stem}" in beginnings and any(word.startswith(stem) and stem_of(word) == stem for word in words)
