"""Months: how they are written, and whether a word that is also a verb or a person's name is meant as one."""

import re
from typing import Final

_FULL: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT: Final = ("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sept", "sep", "oct", "nov", "dec")
MONTHS: Final = f"(?:{'|'.join((*_FULL, *_SHORT))})"
"""Any of them, in a pattern that ignores case."""

MONTH: Final = rf"(?P<month>{MONTHS[3:-1]})\b\.?"
"""The same as a group of that name, with the full stop of a short one."""

_VERBS: Final = frozenset({"may", "march"})
_PEOPLE: Final = frozenset({"april", "june", "august"})
_IN: Final = frozenset({"in", "during", "since", "until", "till", "last", "this", "early", "mid", "late"})
"""What stands before a month, however it is written, and before neither a verb nor a person."""

_AT: Final = _IN | {"of", "from", "before", "after", "by", "the", "every", "next", "between"}
_PERSON: Final = frozenset(
    {"is", "was", "are", "were", "did", "does", "do", "has", "have", "had", "with", "ask", "tell"}
)
_LISTED: Final = re.compile(rf"\b{MONTHS}(?:,? (?:19|20)\d\d)? (?:and|or|to) $", re.IGNORECASE | re.ASCII)
_A_NAME_FOLLOWS: Final = re.compile(r"\s+[A-Z][a-z]")
_NTH: Final = re.compile(r"\d(?:st|nd|rd|th)\b| of ", re.IGNORECASE | re.ASCII)


def is_month(found: re.Match[str], text: str) -> bool:
    """Whether what was found in the text is a month: "in may" is one, "what may I do" and "who is April" name none."""
    named = found.groupdict()
    month, day = named["month"], named.get("day")
    name = month.lower()
    if named.get("year"):
        return True
    if name not in _FULL:  # "Jan" and "Mar" are much else, too.
        return day is not None
    if name in _VERBS:
        return _is_no_verb(found, text, month, day=day is not None)
    if name in _PEOPLE and day is None:
        before = _word_before(text, found.start("month"))
        return before in _AT or not (before in _PERSON or _A_NAME_FOLLOWS.match(text, found.end("month")))
    return True


def month_number(month: str) -> int:
    """Which month of the year it is, from 1."""
    return next(number for number, full in enumerate(_FULL, 1) if full.startswith(month[:3].lower()))


def _is_no_verb(found: re.Match[str], text: str, month: str, *, day: bool) -> bool:
    is_capital = month[:1].isupper()
    if day:
        return month.istitle() or _NTH.search(found.group()) is not None or _word_before(text, found.start()) == "on"
    before = _word_before(text, found.start("month"))
    return before in (_AT if is_capital else _IN) or (
        is_capital and _LISTED.search(text, max(0, found.start() - 30), found.start()) is not None
    )


def _word_before(text: str, place: int) -> str:
    words = text[max(0, place - 20) : place].replace("-", " ").split()
    return words[-1].lower() if words else ""
