"""Dates and durations in a text, resolved against the moment at which it was said. English, and ISO dates."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.model.distill import Dated

Days: TypeAlias = tuple[date, date]
"""From the first day to the day after the last."""

Resolve: TypeAlias = Callable[[re.Match[str], date], Days | None]

_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tues tue",
            "wednesday wed",
            "thursday thurs thu",
            "friday fri",
            "saturday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}  # fmt: skip
_NUMBERS: Final = {
    word: number
    for number, words in enumerate(
        ("", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
    )
    for word in words.split()
}  # fmt: skip
_COMMON: Final = frozenset({"may", "march", "mar", "sun", "sat", "mon", "wed"})
"""Names that, in lower case, are words of their own."""

_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which each begins, in the northern half of the world, as weather services count."""

_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_FULL_MONTH: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
_WEEKDAY: Final = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_FULL_WEEKDAY: Final = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_NUMBER: Final = r"\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|(?:a )?couple(?: of)?"
_UNIT: Final = r"(?:day|week|weekend|month|year|hour|minute)s?"
_DAY: Final = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"


def dates_of(text: str, *, said: datetime, source: UUID, zone: tzinfo = UTC) -> list[Dated]:
    """Every time that the text names, in order, as stretches of time in UTC. Days begin at midnight in `zone`.

    What is vague stays out: "soon", "the other day", "one day". A date that does not exist, such as 31 June, too.
    """
    today = said.astimezone(zone).date()
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, Dated]] = []
    for pattern, resolve, is_relative in _RULES:
        for match in pattern.finditer(text):
            first, last = match.span("named" if "named" in pattern.groupindex else 0)
            if any(start < last and first < stop for start, stop in taken) or _is_another_word(match):
                continue
            # Taken also when there is no such day: of 30 February, February is not what was meant.
            taken.append((first, last))
            days = _resolved(resolve, match, today)
            if days is None:
                continue
            start, end = (_midnight(day, zone) for day in days)
            relative = is_relative or ("year" in pattern.groupindex and match["year"] is None)
            dated = Dated(text=text[first:last], start=start, end=end, source=source, is_relative=relative)
            found.append((first, dated))
    return [dated for _, dated in sorted(found, key=lambda one: one[0])]


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def _resolved(resolve: Resolve, match: re.Match[str], today: date) -> Days | None:
    try:
        return resolve(match, today)
    except (ValueError, OverflowError):
        return None  # There is no such day, or it is beyond the years that a calendar has.


def _is_another_word(match: re.Match[str]) -> bool:
    """Whether a name of a month or a day is a common word here: I may, they march, he sat."""
    names = [match[group] for group in ("month", "weekday") if group in match.re.groupindex]
    return any(name in _COMMON for name in names)


def _day(day: date) -> Days:
    return day, day + timedelta(days=1)


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _year(year: int) -> Days:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _week(day: date) -> Days:
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=7)


def _weekend(day: date) -> Days:
    saturday = day - timedelta(days=day.weekday()) + timedelta(days=5)
    return saturday, saturday + timedelta(days=2)


def _moved(today: date, months: int) -> date:
    """The same day so many months away, or the last one of that month."""
    years, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    _, after = _month(years, month + 1)
    last = (after - timedelta(days=1)).day
    return date(years, month + 1, min(today.day, last))


def _number(words: str) -> int:
    if words.isdigit():
        return int(words)
    telling = [word for word in words.lower().split() if word != "of"]
    return _NUMBERS[telling[-1]]


def _iso(match: re.Match[str], _today: date) -> Days:
    return _day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _written(match: re.Match[str], today: date) -> Days:
    """A day and a month, with its year or without: then the nearest such day."""
    month, day = _MONTHS[match["month"].lower().rstrip(".")], int(match["day"])
    if match["year"] is not None:
        return _day(date(int(match["year"]), month, day))
    near = [_existing(today.year + step, month, day) for step in (-1, 0, 1)]
    return _day(min((one for one in near if one is not None), key=lambda one: abs(one - today)))


def _existing(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _slashed(match: re.Match[str], _today: date) -> Days | None:
    """`3/14/2024` or `14/3/2024`; one that could be either is nobody's guess."""
    one, two, year = int(match["one"]), int(match["two"]), int(match["year"])
    if one > 12:
        return _day(date(year, two, one))
    if two > 12 or one == two:
        return _day(date(year, one, two))
    return None


def _month_of(match: re.Match[str], today: date) -> Days:
    """`March 2024`, `last March`, `next March`, or `in March`: then the nearest one."""
    month = _MONTHS[match["month"].lower().rstrip(".")]
    if match["year"] is not None:
        return _month(int(match["year"]), month)
    match (match["which"] or "").lower().split()[:1]:
        case ["last"]:
            return _month(today.year - (month >= today.month), month)
        case ["next"]:
            return _month(today.year + (month <= today.month), month)
        case ["this"]:
            return _month(today.year, month)
    ahead = (month - today.month) % 12
    return _month(*_month_away(today, ahead if ahead <= 6 else ahead - 12))


def _month_away(today: date, months: int) -> tuple[int, int]:
    """The year and the month so many months away."""
    years, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return years, month + 1


def _named_day(match: re.Match[str], today: date) -> Days:
    word = match["word"].lower()
    steps = {"yesterday": -1, "last night": -1, "today": 0, "tonight": 0, "tomorrow": 1}
    if "before" in word:
        return _day(today - timedelta(days=2))
    if "after" in word:
        return _day(today + timedelta(days=2))
    return _day(today + timedelta(days=next((step for name, step in steps.items() if name in word), 0)))


def _weekday(match: re.Match[str], today: date) -> Days:
    """`last Friday`, `next Friday` (the one of next week), `this Friday`, `on Friday`: the next one, today included."""
    wanted = _WEEKDAYS[match["weekday"].lower().rstrip(".")]
    monday = today - timedelta(days=today.weekday())
    match (match["which"] or "").lower().split()[:1]:
        case ["last" | "past"]:
            back = (today.weekday() - wanted - 1) % 7 + 1
            return _day(today - timedelta(days=back))
        case ["next"]:
            return _day(monday + timedelta(days=7 + wanted))
        case ["this"]:
            return _day(monday + timedelta(days=wanted))
    return _day(today + timedelta(days=(wanted - today.weekday()) % 7))


def _unit(match: re.Match[str], today: date) -> Days:
    """`last week`, `this month`, `next year`, `next weekend`."""
    step = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1}[
        match["which"].lower()
    ]
    match match["unit"].lower():
        case "week":
            return _week(today + timedelta(days=7 * step))
        case "weekend":
            return _weekend(today + timedelta(days=7 * step))
        case "month":
            return _month(*_month_away(today, step))
        case "quarter":
            first = date(today.year, 3 * ((today.month - 1) // 3) + 1, 1)
            return _moved(first, 3 * step), _moved(first, 3 * step + 3)
        case "year":
            return _year(today.year + step)
        case season:
            return _season(season, today, step)


def _season(name: str, today: date, step: int) -> Days:
    begin = date(today.year, _SEASONS[name], 1)
    if name == "winter" and today.month < 3:
        begin = date(today.year - 1, 12, 1)
    if step < 0 and begin <= today:
        # Last summer, said in autumn, is the one that has just ended; said in summer, it is the one before.
        begin = begin if today >= _moved(begin, 3) else _moved(begin, -12)
    elif step < 0:
        begin = _moved(begin, -12)
    elif step > 0 and begin <= today:
        begin = _moved(begin, 12)
    return begin, _moved(begin, 3)


def _ago(match: re.Match[str], today: date) -> Days | None:
    return _away(_number(match["number"]), match["unit"].lower().rstrip("s"), today, -1)


def _ahead(match: re.Match[str], today: date) -> Days | None:
    return _away(_number(match["number"]), match["unit"].lower().rstrip("s"), today, 1)


def _away(number: int, unit: str, today: date, sign: int) -> Days | None:
    """So far away as a day, for days; as the week, month or year around it, for what is counted in those."""
    match unit:
        case "minute" | "hour":
            return _day(today) if number * (1 if unit == "hour" else 1 / 60) < 12 else None
        case "day":
            return _day(today + timedelta(days=sign * number))
        case "week":
            return _week(today + timedelta(days=7 * sign * number))
        case "weekend":
            return _weekend(today + timedelta(days=7 * sign * number))
        case "month":
            return _month(*_month_away(today, sign * number))
        case "year":
            return _year(today.year + sign * number)
    return None


def _lasting(match: re.Match[str], today: date) -> Days | None:
    """`for the past three weeks`, `in the next two days`: from here to there."""
    sign = 1 if match["which"].lower() in ("next", "coming") else -1
    return _stretch(_number(match["number"]), match["unit"].lower().rstrip("s"), today, sign)


def _since(match: re.Match[str], today: date) -> Days | None:
    """`have lived here for two years`: from then on until now."""
    return _stretch(_number(match["number"]), match["unit"].lower().rstrip("s"), today, -1)


def _stretch(number: int, unit: str, today: date, sign: int) -> Days | None:
    if unit in ("minute", "hour", "weekend"):
        return None
    days = {"day": 1, "week": 7}
    there = (
        today + timedelta(days=sign * number * days[unit])
        if unit in days
        else _moved(today, sign * number * (12 if unit == "year" else 1))
    )
    return (there, today + timedelta(days=1)) if sign < 0 else (today, there + timedelta(days=1))


def _bare_year(match: re.Match[str], _today: date) -> Days:
    return _year(int(match["year"]))


Rule: TypeAlias = tuple[re.Pattern[str], Resolve, bool]


def _rules() -> Iterator[Rule]:
    """The patterns, those that say most first: what one has taken, no later one reads."""

    def rule(text: str, resolve: Resolve, *, relative: bool = False) -> Rule:
        return re.compile(text, re.IGNORECASE), resolve, relative

    yield rule(rf"(?<![\d-]){_YEAR}-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\d-])", _iso)
    yield rule(rf"(?<![\d/])(?P<one>\d{{1,2}})/(?P<two>\d{{1,2}})/{_YEAR}(?![\d/])", _slashed)
    yield rule(rf"\b(?P<month>{_MONTH})\.? {_DAY}\b(?:,? {_YEAR}\b)?(?!:)", _written)
    yield rule(rf"\b{_DAY}(?: of)? (?P<month>{_MONTH})\b(?:\.?,? {_YEAR}\b)?", _written)
    yield rule(rf"\b(?P<which>)(?P<month>{_MONTH})\.?,? {_YEAR}\b", _month_of)
    yield rule(rf"\b(?P<number>{_NUMBER}) (?P<unit>{_UNIT}) (?:ago|before now|earlier)\b", _ago, relative=True)
    yield rule(
        rf"\b(?:in|within) (?P<number>{_NUMBER}) (?P<unit>{_UNIT})(?: time)?\b(?! (?:of|a|per)\b)",
        _ahead,
        relative=True,
    )
    yield rule(rf"\b(?P<number>{_NUMBER}) (?P<unit>{_UNIT}) from now\b", _ahead, relative=True)
    yield rule(
        rf"\b(?P<which>past|last|next|coming) (?P<number>{_NUMBER}) (?P<unit>{_UNIT})\b", _lasting, relative=True
    )
    yield rule(
        rf"\b(?:have|has|'ve|'s|’ve|’s) [^.!?;]{{0,60}}?\b(?P<named>for (?P<number>{_NUMBER}) (?P<unit>{_UNIT}))\b",
        _since,
        relative=True,
    )
    yield rule(
        r"\b(?P<word>the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|tomorrow|"
        r"this (?:morning|afternoon|evening))\b",
        _named_day,
        relative=True,
    )
    yield rule(rf"\b(?P<which>last|past|next|this)(?: week's)? (?P<weekday>{_WEEKDAY})\b\.?", _weekday, relative=True)
    yield rule(
        rf"\b(?P<which>)(?:on|by|until|till|due|before) (?P<weekday>{_FULL_WEEKDAY})\b(?!s)", _weekday, relative=True
    )
    yield rule(
        r"\b(?P<which>last|past|previous|this|current|next|coming) "
        r"(?P<unit>weekend|week|month|quarter|year|spring|summer|autumn|fall|winter)\b",
        _unit,
        relative=True,
    )
    yield rule(rf"\b(?P<which>last|next|this) (?P<month>{_FULL_MONTH})\b(?P<year>(?!))?", _month_of, relative=True)
    yield rule(
        rf"\b(?:in|since|until|by|during|from)(?P<which>) (?P<month>{_FULL_MONTH})\b(?P<year>(?!))?",
        _month_of,
        relative=True,
    )
    yield rule(rf"\b(?:in|since|until|by|during|from|year) {_YEAR}\b(?!-)", _bare_year)


_RULES: Final = tuple(_rules())
