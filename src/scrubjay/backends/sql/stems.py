"""Stems of English words, by the rules of Porter (1980) as SQLite's FTS5 applies them.

FTS5 says which rows have a word in any of its forms, but not how often. To count the forms in a text, its rules are
needed here.
"""

from functools import lru_cache
from typing import Final

_STEMS_HELD: Final = 50_000
_SHORTEST: Final = 3
_LONGEST: Final = 64
"""Bytes of a word that has a stem. Any other is its own."""

_VOWELS: Final = frozenset("aeiou")

# Endings with what takes their place. Of those that fit, only the longest counts, whether or not its rule allows it.
_SECOND: Final = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "logi": "log", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD: Final = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH: Final = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=_STEMS_HELD)
def stem_of(word: str) -> str:
    """The stem of a word in lower case. Words with equal stems are one word to the index."""
    if not word.isascii():
        # The rules count bytes, so each byte stands for a letter.
        word = word.encode().decode("latin-1")
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    word = _without_tense(_without_plural(word))
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    for endings in (_SECOND, _THIRD):
        word = _replaced(word, endings)
    return _without_last(_without_fourth(word))


def _without_plural(word: str) -> str:
    for ending in ("sses", "ies"):
        if word.endswith(ending) and len(word) > len(ending):
            return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_tense(word: str) -> str:
    if word.endswith("eed") and len(word) > len("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _has_vowel(word[: -len(ending)]):
            return _mended(word[: -len(ending)])
    return word


def _mended(word: str) -> str:
    """What is left of a word whose tense was cut off, so that it ends as the word does without: hop, hope, fall."""
    if word.endswith(("at", "bl", "iz")) and len(word) > len("at"):
        return f"{word}e"
    if len(word) > 1 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _ends_short(word) else word


def _replaced(word: str, endings: dict[str, str]) -> str:
    for ending in sorted((some for some in endings if word.endswith(some)), key=len, reverse=True):
        if len(word) > len(ending):
            rest = word[: -len(ending)]
            return f"{rest}{endings[ending]}" if _measure(rest) > 0 else word
    return word


def _without_fourth(word: str) -> str:
    for ending in sorted((some for some in _FOURTH if word.endswith(some)), key=len, reverse=True):
        rest = word[: -len(ending)]
        if rest:
            allowed = _measure(rest) > 1 and (ending != "ion" or rest[-1] in "st")
            return rest if allowed else word
    return word


def _without_last(word: str) -> str:
    if word[-1] == "e":
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(word: str) -> str:
    """The word with v for each vowel and c for each consonant; a y is a vowel after a consonant."""
    shape = "v"
    for letter in word:
        shape += "v" if letter in _VOWELS or (letter == "y" and shape[-1] == "c") else "c"
    return shape[1:]


def _measure(word: str) -> int:
    """How often a consonant follows a vowel: about the number of syllables."""
    return _shape(word).count("vc")


def _has_vowel(word: str) -> bool:
    return "y" in word[1:] or not _VOWELS.isdisjoint(word)


def _ends_short(word: str) -> bool:
    """Whether it ends like hop: consonant, vowel, consonant, and the last is none of w, x and y."""
    return word[-1] not in "wxy" and _shape(word).endswith("cvc")
