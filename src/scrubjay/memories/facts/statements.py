"""Possible contradictions: the same subject and attribute with another value, or the same statement negated.

Pure functions on two sentences, in English. They flag, and a person or an agent decides; so they may be wrong in both
directions, and what they know is small enough to read. docs/decisions/0012-near-duplicates.md has what was measured.
"""

from typing import Final, NamedTuple, TypeAlias

from scrubjay.memories.facts.gist import Gist, gist_of, left_over, stem

LEAST_SIMILARITY: Final = 0.33
"""The similarity below which two statements are about different things, whatever words they share."""

LONGEST_VALUE: Final = 4
"""Words in which two statements may differ. More than that is another statement, not another value."""

LONGEST: Final = 30
"""Words of a statement. Longer texts say several things, and which of them differ cannot be told like this."""

_DETERMINERS: Final = frozenset("a an the my our your his her its their this that these those".split())  # noqa: SIM905 -- a list of strings reads worse

_SINGLE: Final = frozenset(
    map(
        stem,
        """am are be been equals is means was were runs prefers lives works reports starts begins ends closes opens
        costs weighs expires lasts retries listens belongs deploys defaults targets requires must should takes
        moved expects sits called named stores pays arrives leaves returns wants""".split(),  # noqa: SIM905 -- a list of strings reads worse
    )
)
"""Words after which there is one value at a time: a different one may be a contradiction."""

_SINGLE_SUBJECT: Final = frozenset(map(stem, "leads owns manages heads chairs maintains runs".split()))  # noqa: SIM905 -- a list of strings reads worse
"""Words before which there is one subject at a time: one person leads a project."""

_MANY: Final = frozenset(
    map(
        stem,
        """likes loves uses knows supports has have had includes contains speaks visits needs enjoys eats reads plays
        offers sells covers mentions provides accepts allows""".split(),  # noqa: SIM905 -- a list of strings reads worse
    )
)
"""Words after which there may be many values at once: another one contradicts nothing, unless it is a number."""

_PLACING: Final = frozenset("about after as at before by for from in into of off on over to under with".split())  # noqa: SIM905 -- a list of strings reads worse

_PURPOSE: Final = frozenset({"as", "for"})

_OPPOSITES: Final = frozenset(
    frozenset(map(stem, pair))
    for pair in (
        ("accept", "reject"),
        ("accepts", "refuses"),
        ("allowed", "forbidden"),
        ("always", "never"),
        ("before", "after"),
        ("dark", "light"),
        ("enabled", "disabled"),
        ("fast", "slow"),
        ("like", "dislike"),
        ("love", "hate"),
        ("mandatory", "optional"),
        ("on", "off"),
        ("open", "closed"),
        ("permitted", "prohibited"),
        ("public", "private"),
        ("required", "optional"),
        ("safe", "unsafe"),
        ("synchronous", "asynchronous"),
        ("tabs", "spaces"),
        ("true", "false"),
    )
)


def contradiction(one: str, other: str, similarity: float | None) -> str | None:
    """Why these two may not both hold; None when nothing speaks for it.

    Without a similarity, both have to share two words at least around what differs.
    """
    if similarity is not None and similarity < LEAST_SIMILARITY:
        return None
    first, second = gist_of(one), gist_of(other)
    if not 0 < max(len(first.words), len(second.words)) <= LONGEST:
        return None
    if first.is_negated != second.is_negated:
        return _negated(first, second)
    return _other_value(first, second, sure=similarity is not None)


def _negated(one: Gist, other: Gist) -> str | None:
    only_one, only_other = left_over(one, other)
    common = len(one.telling - only_one)
    if one.numbers == other.numbers and common >= 2 and len(only_one) + len(only_other) <= 1:
        return "one says what the other denies"
    return None


def _other_value(one: Gist, other: Gist, *, sure: bool) -> str | None:
    frame = _framed(_plain(one), _plain(other))
    before, after, mine, theirs = frame.before, frame.after, frame.mine, frame.theirs
    if not mine or not theirs or max(len(mine), len(theirs)) > LONGEST_VALUE:
        return None
    shared = len({*before, *after})
    if shared < (1 if sure else 2):
        return None
    if frozenset((*mine, *theirs)) in _OPPOSITES:
        return f"opposites: {frame.said}"
    if _placing(mine) != _placing(theirs):
        return None
    if _is_number(mine) and _is_number(theirs) and shared >= 2:
        return f"another number: {frame.said}"
    if not before:
        return f"another subject: {frame.said}" if after and after[0] in _SINGLE_SUBJECT else None
    # One uses many things, but one thing for each purpose.
    has_purpose = bool(after) and after[0] in _PURPOSE
    has_many = not has_purpose and any(word in _MANY for word in before)
    has_one = has_purpose or any(word in _SINGLE for word in before)
    return f"another value: {frame.said}" if has_one and not has_many else None


class _Frame(NamedTuple):
    """What two statements share at both ends, and what differs in between."""

    before: list[str]
    mine: list[str]
    theirs: list[str]
    after: list[str]
    said: str
    """The difference, in the words that were used."""


_Words: TypeAlias = list[tuple[str, str]]
"""Each word without its ending, and as it was written."""


def _plain(gist: Gist) -> _Words:
    return [pair for pair in zip(gist.words, gist.spoken, strict=True) if pair[0] not in _DETERMINERS]


def _framed(one: _Words, other: _Words) -> _Frame:
    head = _alike(one, other)
    tail = _alike(one[head:][::-1], other[head:][::-1])
    mine, theirs = one[head : len(one) - tail], other[head : len(other) - tail]
    return _Frame(
        before=_stems(one[:head]),
        mine=_stems(mine),
        theirs=_stems(theirs),
        after=_stems(one[len(one) - tail :]),
        said=f"{_spoken(mine)!r} against {_spoken(theirs)!r}",
    )


def _stems(words: _Words) -> list[str]:
    return [stemmed for stemmed, _ in words]


def _spoken(words: _Words) -> str:
    return " ".join(spoken for _, spoken in words)


def _alike(one: _Words, other: _Words) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine[0] != theirs[0]), min(len(one), len(other)))


def _is_number(words: list[str]) -> bool:
    return any(not word.isalpha() for word in words)


def _placing(words: list[str]) -> str:
    """The preposition that a value begins with: in Berlin and on Fridays are values of different attributes."""
    return words[0] if words[0] in _PLACING else ""
