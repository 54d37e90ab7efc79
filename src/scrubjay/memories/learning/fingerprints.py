"""What two occurrences of one error have in common: its text without what differs from run to run."""

import re
from typing import Final

LONGEST: Final = 120
"""Characters of a fingerprint. What tells one error from another stands at its beginning."""

_READ: Final = 2_000
"""Characters of an error that are read."""

_STRIPPED: Final = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?\b"), "<time>"),
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)\]]+", re.IGNORECASE), "<url>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (re.compile(r"(?<![\w<])(?:[A-Za-z]:)?(?:[~.]{0,2}[/\\])(?:[\w.@+-]+[/\\])*[\w.@+-]+"), "<path>"),
    (re.compile(r"(?<![\w<])(?:[\w.@+-]+/)+[\w@+-]+\.\w+"), "<path>"),
    # Hex or letters mixed with digits: a hash, a ticket, a reservation. A word of letters alone stays.
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b"), "<id>"),
    (re.compile(r"\b(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{5,}\b"), "<id>"),
    (re.compile(r"(?<!\w)[-+]?\d+(?:[,._]\d+)*(?:[eE][-+]?\d+)?%?"), "<n>"),
)
"""In this order: what is found first is no longer looked at."""

_SPACE: Final = re.compile(r"\s+")


def fingerprint(error: str) -> str:
    """The error without paths, numbers, addresses, ids and times, on one line; empty when nothing else is in it."""
    text = error[:_READ]
    for pattern, stand_in in _STRIPPED:
        text = pattern.sub(stand_in, text)
    text = _SPACE.sub(" ", text).strip()[:LONGEST].rstrip()
    return text if any(letter.isalpha() for letter in re.sub(r"<\w+>", "", text)) else ""
