"""Times: the days, months and years that a question names, and how near to them something happened."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from math import exp2, inf
from typing import Final, NamedTuple

HALVED: Final = 4.0
"""Days after which a turn counts as half as near: people tell on Monday what they did on Saturday.

Measured on LoCoMo: 2 to 14 find the same.
"""

_MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH: Final = "(?P<month>" + "|".join(_MONTHS) + ")"
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:,? (?P<year>(?:19|20)\d\d))?\b"

_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)-(?P<day>\d\d)\b",
        rf"\b{_DAY}(?: of)? {_MONTH}{_YEAR}",
        rf"\b{_MONTH} {_DAY}(?!\d){_YEAR}",
        rf"\b{_MONTH}{_YEAR}",
        r"\b(?:in|during|of|since|from|year) (?P<year>(?:19|20)\d\d)\b",
    )
)
"""The longest first: what one of them has read is not read again by the next."""

_PLAIN_WORDS: Final = frozenset({"may", "march"})
"""Months that are also words. Alone, they are months only with a capital letter inside the text."""

_AGO: Final = re.compile(
    r"\b(?P<many>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago\b"
    r"|\b(?P<which>last|this) (?P<named>week|month|year)\b"
    r"|\b(?P<near>today|yesterday)\b",
    re.IGNORECASE,
)
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}

_ANY_YEAR: Final = 2000
"""Where dates without a year are compared: a leap year, which has every day."""


class Time(NamedTuple):
    """A stretch of time that a question names, closed at the start and open at the end."""

    start: datetime
    end: datetime
    yearly: bool = False
    """Whether no year was named, so that it is meant in any."""

    def days_from(self, moment: datetime) -> float:
        """How many days lie between it and the moment; 0 inside."""
        if self.yearly:
            moment = moment.replace(year=_ANY_YEAR)
        return max(self.start - moment, moment - self.end, timedelta()) / timedelta(days=1)


def times_in(question: str, now: datetime) -> list[Time]:
    """The times that a question names, in English or as ISO dates; "yesterday" and the like are counted from now."""
    times: list[Time] = []
    rest = question
    for pattern in _DATES:
        for found in list(pattern.finditer(rest)):
            if (time := _dated(found.groupdict(), found)) is not None:
                times.append(time)
                rest = rest[: found.start()] + " " * len(found.group()) + rest[found.end() :]
    times += _counted(question, now)
    return times


def nearness(moment: datetime, times: Sequence[Time]) -> float:
    """From 0 to 1: how near to one of the times a moment is, 1 inside."""
    days = min((time.days_from(moment) for time in times), default=inf)
    return exp2(-days / HALVED)


def _dated(named: dict[str, str | None], found: re.Match[str]) -> Time | None:
    month, day, year = named.get("month"), named.get("day"), named.get("year")
    number = named.get("number")
    if month and not (day or year) and month.lower() in _PLAIN_WORDS and (month.islower() or not found.start()):
        return None
    place = _MONTHS.index(month.lower()) + 1 if month else int(number) if number else None
    return _time(int(year) if year else None, place, int(day) if day else None)


def _time(year: int | None, month: int | None, day: int | None) -> Time | None:
    """The time of a date that may lack its ends; None when there is no such day."""
    whole = year or _ANY_YEAR
    try:
        start = datetime(whole, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if day is not None:
        end = start + timedelta(days=1)
    elif month is not None:
        end = datetime(whole + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    else:
        end = datetime(whole + 1, 1, 1, tzinfo=UTC)
    return Time(start, end, yearly=year is None)


def _counted(question: str, now: datetime) -> Iterator[Time]:
    """The times that are named by how long ago they were."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for found in _AGO.finditer(question):
        if near := found["near"]:
            start = today - timedelta(days=near.lower() == "yesterday")
            yield Time(start, start + timedelta(days=1))
        elif named := found["named"]:
            length = timedelta(days=_DAYS[named.lower()])
            end = today + timedelta(days=1) if found["which"].lower() == "this" else today
            yield Time(end - length, end)
        else:
            many, unit = found["many"].lower(), _DAYS[found["unit"].lower()]
            # What was "two weeks ago" was so to within half a week or so.
            middle = today - timedelta(days=(_NUMBERS.get(many) or int(many)) * unit)
            yield Time(middle - timedelta(days=unit // 2), middle + timedelta(days=unit // 2 + 1))
