"""Names for what was stated, so that a later statement about the same thing finds the earlier one."""

import re
from typing import Final

from scrubjay.model.words import STOP_WORDS

MOST_WORDS: Final = 5
"""Words of a key. More would tell apart what is one thing, fewer would make one thing of two."""

_LENGTH: Final = 80

_TOPICS: Final = tuple(
    (topic, re.compile(pattern, re.IGNORECASE))
    for topic, pattern in (
        ("indent", r"\btabs?\b.*\bspaces?\b|\bspaces?\b.*\btabs?\b|\bindent(?:ation|ing|ed|s)?\b"),
        ("theme", r"\b(?:dark|light) (?:mode|theme)\b"),
        ("quotes", r"\b(?:single|double) quotes\b"),
        ("units", r"\b(?:metric|imperial) (?:units|system)\b|\b(?:celsius|fahrenheit)\b"),
        ("clock", r"\b(?:24|12)[- ]hour (?:clock|time|format)\b"),
        (
            "language",
            r"\b(?:answers?|reply|replies|responses?|respond|speak|talk)(?: to me| back)? in (?-i:[A-Z])[a-z]+\b",
        ),
        (
            "answer-length",
            r"\b(?:concise|brief|short|terse|detailed|long)(?:er)?(?:,? \w+)? (?:answers?|replies|responses?)\b",
        ),
    )
)
"""Things that people set one way or another, however they put it."""

_WORD: Final = re.compile(r"[\w+#](?:[\w.+#'’-]*[\w+#])?")
_VERSION: Final = re.compile(r"v?\d[\d.,:]*\w{0,2}")

_CONDITION: Final = re.compile(r"\b(?:when(?:ever)?|if|for|unless)\b", re.IGNORECASE)

_EMPTY: Final = STOP_WORDS | frozenset(
    """always never please really very more most much also ever only use using used make sure want like prefer don not
    don't doesn't any instead rather over anymore longer now from future ask i'm i've i'd it's too""".split()  # noqa: SIM905 -- a list of strings reads worse
)
"""Words that do not tell one thing from another."""


def slug(text: str, *, most: int = MOST_WORDS) -> str:
    """The telling words of a text, joined; empty when it has none. Numbers and versions name nothing: they change."""
    words = [word.strip("'’.-_").removesuffix("'s").removesuffix("’s") for word in _WORD.findall(text.lower())]
    telling = [word for word in words if len(word) > 1 and word not in _EMPTY and not _VERSION.fullmatch(word)]
    return "-".join(list(dict.fromkeys(telling))[:most])[:_LENGTH].strip("-")


def topic(text: str) -> str | None:
    """The setting that the text is about, when everybody means one thing by it and no condition narrows it."""
    if _CONDITION.search(text):
        return None
    return next((name for name, pattern in _TOPICS if pattern.search(text)), None)


def key_of(prefix: str, text: str, *, other: str | None = None) -> str | None:
    """A key such as `pref:indent`. With `other`, what was chosen over it: the choice between two has one key."""
    if named := topic(f"{text} {other or ''}"):
        return f"{prefix}:{named}"
    if other is not None:
        both = sorted(filter(None, (slug(text, most=3), slug(other, most=3))))
        return f"{prefix}:{'-or-'.join(both)}" if len(both) == 2 else None
    name = slug(text)
    return f"{prefix}:{name}" if name else None
