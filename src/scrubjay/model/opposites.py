"""Words that turn a statement into its opposite: "Enable …" and "Disable …" look alike, and are not. In English."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

_SIDES: Final = (
    ("enable activate", "disable deactivate"),
    ("allow permit accept grant", "deny forbid forbidden prohibit refuse reject block revoke disallow"),
    ("add create insert", "remove delete drop"),
    ("start begin", "stop end halt"),
    ("use prefer", "avoid"),
    ("keep", "remove delete drop discard"),
    ("include", "exclude omit"),
    ("show", "hide hidden"),
    ("open", "close"),
    ("increase raise", "decrease reduce lower"),
    ("pass succeed", "fail"),
    ("upgrade", "downgrade"),
    ("attach", "detach"),
    ("on", "off"),
    ("in", "out"),
    ("up", "down"),
    ("true", "false"),
    ("yes", "no"),
    ("with", "without"),
    ("always", "never"),
    ("before", "after"),
    ("above over more greater higher", "below under less fewer lower"),
    ("minimum min least", "maximum max most"),
    ("first", "last"),
    ("required mandatory", "optional"),
    ("public", "private"),
    ("sync synchronous synchronously", "async asynchronous asynchronously"),
)
"""Two sides of one thing; a word may stand for several."""

_TURNING: Final = ("un", "dis", "non", "in", "im", "de")
_SHORTEST: Final = 3
"""Beginnings that turn a word round: lock and unlock, valid and invalid. Not of the shortest: to and into are one."""


def _forms(word: str) -> Iterator[str]:
    """The word and what may become of it. What is no word does no harm."""
    stem = word.removesuffix("e")
    yield from (word, f"{word}s", f"{word}es")
    yield from (f"{base}{ending}" for base in (stem, stem + stem[-1]) for ending in ("ed", "ing"))
    if word.endswith("y"):
        yield from (f"{word[:-1]}ied", f"{word[:-1]}ies")


def _opposites() -> dict[str, set[str]]:
    opposites: dict[str, set[str]] = {}
    for pair in _SIDES:
        sides = [{form for word in side.split() for form in _forms(word)} for side in pair]
        for mine, theirs in (sides, sides[::-1]):
            for form in mine:
                opposites.setdefault(form, set()).update(theirs)
    return opposites


_OPPOSITES: Final = _opposites()


def are_opposed(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one says a word of which the other says the opposite instead. Of words in lower case, in their order.

    Where both say both, as "enable this, disable that" does, they are opposed if that is in another order.
    """
    mine, theirs = set(one), set(other)
    if any(_turns_round(word, theirs - mine) for word in mine - theirs):
        return True
    paired = [word for word in one if _is_paired(word, mine)]
    theirs_paired = [word for word in other if _is_paired(word, theirs)]
    return paired != theirs_paired and sorted(paired) == sorted(theirs_paired)


def _turns_round(word: str, others: Collection[str]) -> bool:
    """Whether its opposite is among the others."""
    known = _OPPOSITES.get(word, ())
    return any(other in known or _is_turned(word, other) or _is_turned(other, word) for other in others)


def _is_turned(word: str, longer: str) -> bool:
    """Whether the longer one is this word, with a beginning that turns it round."""
    return len(word) >= _SHORTEST and longer.endswith(word) and longer[: -len(word)] in _TURNING


def _is_paired(word: str, words: Collection[str]) -> bool:
    """Whether a text of these words has the opposite of this one, too."""
    return word in _OPPOSITES and not _OPPOSITES[word].isdisjoint(words)
