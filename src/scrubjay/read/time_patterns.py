"""Patterns of times: how a day, a month, a year or a stretch of days is written, and which one is named so."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from scrubjay.read.months import MONTH, MONTHS, is_month, month_number
from scrubjay.read.times import ANY_YEAR, DAY, HAPPENED, NEVER, Stretch, Time, midnight, month_after

DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_COUNTED: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS: Final = {word: number for number, word in enumerate(_COUNTED, 1)} | {"a": 1, "an": 1, "couple": 2, "few": 3}
MANY: Final = rf"\d{{1,3}}|{'|'.join(_COUNTED)}|(?:a )?couple of|(?:a )?few"
UNIT: Final = "day|week|month|year"
SIDE: Final = "since|after|following|before|prior to|until|till|by|up to"
_WEEKDAYS: Final = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_WEEKDAY: Final = f"(?P<weekday>{'|'.join(_WEEKDAYS)})"
_NEAR: Final = {"now": 0, "today": 0, "yesterday": 1, "day before yesterday": 2}
_NTH: Final = "(?:st|nd|rd|th)?"
# "9 November 1850" and "9 November '24" name no day of the last November.
_YEAR: Final = r"(?:,? (?P<year>(?:19|20)\d\d)\b|,? ['’](?P<short>\d\d)\b|\b(?!,? (?:\d{4}\b|['’]\d\d)))"
_TO: Final = r"(?: ?[-–] ?| to | until | through | and )"
_DAYS: Final = rf"(?P<first>\d{{1,2}}){_NTH}{_TO}(?P<day>\d{{1,2}}){_NTH}"
# "Of 2026 rows", "2048 MB" and "2024.1" are no years.
_IS_YEAR: Final = r"\b(?![.:/-]\d|[ -]?(?:[kmg]i?b|bits?|ms|px)\b| (?!(?:is|was|as|has|does|his|its|this)\b)[a-z]+s\b)"

# ASCII throughout: "ı" and "ſ" fold to "i" and "s", and are letters of no English name.
PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d\d)-(?P<day>\d\d)(?:\b|(?=T\d))",
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>0[1-9]|1[0-2])\b(?!-)",
        rf"(?:\b(?:between|from) |(?<![\d.,:/-])\b){_DAYS}(?: of)? {MONTH}{_YEAR}",
        rf"(?<![\d.,:/-])\b(?P<day>\d{{1,2}}){_NTH}(?: of)? {MONTH}{_YEAR}",
        rf"\b(?:(?:between|from) )?{MONTH} {_DAYS}(?!\d|[.:]\d|[ap]m){_YEAR}",
        rf"\b{MONTH} (?P<day>\d{{1,2}}){_NTH}(?!\d|[.:]\d){_YEAR}",
        rf"\b(?P<which>last|past|next) {MONTH}\b(?! \d)",
        rf"\b{MONTH}{_YEAR}",
        rf"\b(?:between|from) (?P<year>(?:19|20)\d\d){_TO}(?P<last>(?:19|20)\d\d){_IS_YEAR}",
        rf"\b(?:(?P<side>since)|in|during|year) (?P<year>(?:19|20)\d\d){_IS_YEAR}",
        rf"\b(?:(?P<side>{SIDE})|of|from) (?P<year>(?:19|20)\d\d){_IS_YEAR}",
        rf"\b(?P<many>an?|{MANY}) (?P<unit>{UNIT})s? ago\b",
        rf"\b(?:last|past) (?P<lately>{MANY}) (?P<unit>{UNIT})s\b",
        r"\b(?P<which>last|past|this) (?P<named>week|month|year)\b",
        r"\b(?:the )?(?P<near>day before yesterday)\b",
        r"\b(?P<near>today|yesterday)\b",
        r"(?:(?<=\band )|(?<=\bto )|(?<=\buntil )|(?<=\btill ))(?P<near>now)\b",
        rf"\b(?:(?P<side>{SIDE}|between|from|and|to|through)|on|(?P<which>last|past)|this) {_WEEKDAY}day\b",
    )
)
"""The longest first: what one of them has read is not read again by the next."""

HINT: Final = re.compile(rf"(?:19|20)\d\d|\bago\b|day\b|\b(?:last|past|this) |\b{MONTHS}\b", re.IGNORECASE | re.ASCII)
"""Without any of these a question names no time, and nothing else is looked for."""


def time_read(match: re.Match[str], text: str, now: datetime) -> Time | None:
    """The time that a match of one of the patterns names; None when it is something else that is written like one.

    `NOTHING` when it is a time, and there was none: 31 June, or next May.
    """
    named, today = match.groupdict(), midnight(now)
    if (near := named.get("near")) is not None:
        return _whole_day(today - _NEAR[near.lower()] * DAY)
    if (weekday := named.get("weekday")) is not None:
        ago = (today.weekday() - _WEEKDAYS.index(weekday.lower())) % 7
        return _whole_day(today - (ago or 7 * bool(named["which"])) * DAY)
    if (unit := named.get("named")) is not None:
        return _by_calendar(unit.lower(), named["which"].lower(), today)
    if (lately := named.get("lately")) is not None:
        return Time(today - number(lately) * DAYS[named["unit"].lower()] * DAY, today + DAY)
    if (many := named.get("many")) is not None:
        unit = named["unit"].lower()
        middle = today - number(many) * DAYS[unit] * DAY
        # What was said "two weeks ago" was so to within half a week or so.
        half = timedelta(days=DAYS[unit] // 2)
        return Time(middle - half, middle + half + DAY, stretch=roughly(middle, unit))
    if named.get("month") is not None and not is_month(match, text):
        return None
    return _of_a_calendar(named, now)


def number(many: str) -> int:
    """How many are meant: by digits, a word, "a few" or "a couple of"."""
    words = many.lower().split()
    told = words[1] if len(words) > 1 and words[0] == "a" else words[0]
    return int(told) if told.isdigit() else _NUMBERS[told]


def roughly(middle: datetime, unit: str) -> Stretch:
    """What is meant by so many units from somewhere: that day, or about that week, month or year."""
    about = DAYS[unit] / 6
    half = timedelta(days=int(about))
    return Stretch(middle - half, middle + half + DAY, max(HAPPENED, about))


def _of_a_calendar(named: dict[str, str | None], now: datetime) -> Time | None:
    """The time of a date that may lack its ends; `NOTHING` when there is no such day."""
    month, day, first, which = named.get("month"), named.get("day"), named.get("first"), named.get("which")
    short, place = named.get("short"), named.get("number")
    year = int(named.get("year") or 0) or (2000 + int(short) if short else None)
    if last := named.get("last"):
        years = sorted((year or 0, int(last)))
        if years[1] > now.year + 1:
            return None
        return Time(datetime(years[0], 1, 1, tzinfo=UTC), datetime(years[1] + 1, 1, 1, tzinfo=UTC))
    if month is None and place is None and year is not None and year > now.year + 1:
        return None
    if which == "next":
        return NEVER
    in_year = month_number(month) if month else int(place) if place else None
    end = _dated(year, in_year, int(day) if day else None)
    start = _dated(year, in_year, int(first)) if first else end
    if start is None or end is None or start.start > end.start:
        return NEVER
    time = end._replace(start=start.start)
    if which:  # The last one that is over: in November, last November is a year ago.
        last_one = time.until(now)
        return last_one if last_one.end <= now else time.until(last_one.start - DAY)
    return time


def _dated(year: int | None, month: int | None, day: int | None) -> Time | None:
    whole = year or ANY_YEAR
    try:
        start = datetime(whole, month or 1, day or 1, tzinfo=UTC)
    except ValueError:
        return None
    if day is not None:
        end = start + DAY
    elif month is not None:
        end = month_after(start)
    else:
        end = datetime(whole + 1, 1, 1, tzinfo=UTC)
    return Time(start, end, yearly=year is None)


def _whole_day(start: datetime) -> Time:
    return Time(start, start + DAY)


def _by_calendar(unit: str, which: str, today: datetime) -> Time:
    """Last or this month or year, by the calendar; a week, and what is past, is so many days until today or tonight."""
    tomorrow = today + DAY
    if which == "past" or unit == "week":
        end = today if which == "last" else tomorrow
        return Time(end - DAYS[unit] * DAY, end)
    begun = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    if which == "this":
        return Time(begun, tomorrow)
    before = begun - DAY
    return Time(before.replace(day=1) if unit == "month" else before.replace(month=1, day=1), begun)
