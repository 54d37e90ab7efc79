"""Named times: the days, months and years that a question names, in English or as ISO dates. Days are those of UTC."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from scrubjay.model.words import STOP_WORDS, terms_of
from scrubjay.read.time_patterns import DAYS, HINT, MANY, PATTERNS, SIDE, UNIT, number, roughly, time_read
from scrubjay.read.times import ANY_YEAR, DAY, NEVER, Stretch, Time, midnight

MOST: Final = 8
"""Times that are read, each once. A text of hundreds is no question, and every answer is compared with each of them."""

_LOOKED_AT: Final = 32 * MOST
"""Places in a text where a time may be named that are looked at: the same may be named often, or something else be."""

_FIRST: Final = NEVER.start
_NEW_YEAR: Final = Time(datetime(ANY_YEAR, 1, 1, tzinfo=UTC), datetime(ANY_YEAR, 1, 2, tzinfo=UTC), yearly=True)
_LONG: Final = timedelta(days=300)
"""What lasts so long, or since New Year, is a year in which a day or a month without one can be."""

_BESIDE: Final = 48
"""Letters before a time in which stands what makes it another one."""

_BEFORE: Final = re.compile(
    rf"(?:(?:\b(?:the|(?P<many>an?|{MANY})) )?\b(?P<unit>{UNIT})s? )?\b(?P<side>{SIDE}) (?:the )?$",
    re.IGNORECASE | re.ASCII,
)
"""What stands before a time and makes it another one: "since", "two days after"."""

_FROM: Final = re.compile(r"\b(?P<word>between|from) (?:the )?$", re.IGNORECASE | re.ASCII)
_ONWARDS: Final = re.compile(r" on(?:wards?\b|(?=[ ]?(?:[,.;:!?]|$)))", re.IGNORECASE | re.ASCII)
_AND: Final = {"between": {"and"}, "from": {"to", "until", "till", "through", "-", "–"}}
_OF: Final = frozenset({"", ",", "of", "in", "on", "during", ", in", ", on", "of the"})
"""What may stand between two times of which one is in the other: "in May of last year", "last week, on Friday"."""

_PAST: Final = re.compile(r"\b(?:did|was|were|had|happened|has been|have been)\b", re.IGNORECASE | re.ASCII)
"""What people write who ask what was before, until or after something. "What is due by Friday?" asks for no event."""

_WORD: Final = re.compile(r"[a-z'’]+", re.ASCII)
_SHOUTED: Final = re.compile(r"\b[A-Z]{2,}\b", re.ASCII)
_WHAT: Final = frozenset({"what", "which", "anything", "everything", "something", "event", "events", "things", "tell"})
_WAS: Final = frozenset(
    {
        *("happen", "happened", "happening", "occurred", "event", "events", "did", "done", "was", "were", "been"),
        *("had", "about", "tell"),
    }
)
_HAPPENED: Final = (_WHAT | _WAS) - STOP_WORDS
"""Words that ask what happened, and not of what kind it was."""

_ELSE: Final = frozenset(
    {
        *("who", "whom", "whose", "where", "when", "why", "how", "not", "never", "no", "out", "off", "if", "without"),
        *("may", "might", "must", "can", "could", "should", "would", "will", "shall"),
        *("he", "him", "his", "she", "her", "hers", "they", "them", "their"),
    }
)
"""Words that ask for something else: what happened then does not say where I was, what I may do, or what she did."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A time, and where in a text it is named."""

    start: int
    stop: int
    time: Time
    begins: int
    """Where that begins which makes it another time: "since", "between"; its start if nothing does."""


def times_in(question: str, now: datetime) -> list[Time]:
    """The times that a question names, as they come; "yesterday" and the like are counted from now."""
    named = dict.fromkeys(one.time for one in _named(question, now) if one.time is not NEVER)
    return list(named)[:MOST]


def asks_only_when(question: str, now: datetime) -> bool:
    """Whether a question that names a time asks for nothing but what happened then: "what did we do on 9 November?"."""
    rest = question
    for named in _named(question, now):
        rest = rest[: named.begins] + " " * (named.stop - named.begins) + rest[named.stop :]
    words = set(_WORD.findall(rest.lower()))
    asks = not (_WHAT.isdisjoint(words) or _WAS.isdisjoint(words)) and _ELSE.isdisjoint(words)
    if not asks or any(word.endswith(("n't", "n’t")) for word in words):
        return False
    if not question.isupper() and _SHOUTED.search(rest):  # "In the US" and "IT" are no stop words.
        return False
    return all(term in _HAPPENED or term in STOP_WORDS for term in terms_of(rest))


@lru_cache(maxsize=8)  # One recall asks several times.
def _named(question: str, now: datetime) -> tuple[_Named, ...]:
    """Each time that is named, in the order of the text."""
    if HINT.search(question) is None:
        return ()
    found = sorted(_found(question, now), key=lambda one: one.start)
    joined = _pairs_joined(list(_narrowed(found, question, now)), question, now)
    return tuple(_meant(one, question, now) for one in joined)


def _found(question: str, now: datetime) -> list[_Named]:
    """What the patterns find, each stretch of the text read once."""
    found: list[_Named] = []
    looked_at = 0

    def read(match: re.Match[str]) -> str:
        nonlocal looked_at
        looked_at += 1
        if looked_at > _LOOKED_AT or (time := time_read(match, question, now)) is None:
            return match.group()
        named = match.groupdict()
        begins = match.end("side") + 1 if named.get("side") else match.start()
        start = match.start("weekday") if named.get("weekday") else begins
        found.append(_Named(start, match.end(), time, begins))
        return " " * len(match.group())

    rest = question
    for pattern in PATTERNS:
        rest = pattern.sub(read, rest)
    return found


def _narrowed(found: Sequence[_Named], text: str, now: datetime) -> Iterator[_Named]:
    """The times, but of two of which one is in the other that one: "in May last year", "a year ago today"."""
    place = 0
    while place < len(found):
        one = found[place]
        place += 1
        if place < len(found) and text[one.stop : found[place].begins].strip().lower() in _OF:
            other = found[place]
            inside = _inside(one.time, other.time, now) or _inside(other.time, one.time, now)
            if inside is not None:
                place += 1
                yield _Named(one.start, other.stop, inside, one.begins)
                continue
        yield one


def _inside(time: Time, around: Time, now: datetime) -> Time | None:
    """A time as part of another one; None when it is none."""
    if NEVER in (time, around) or around.yearly:
        return None
    stretch = around.happened(now)
    middle = stretch.start + (stretch.end - stretch.start) / 2
    if time.yearly:
        dated = _in_year(time, middle.year)
        is_year = around.end - around.start >= _LONG or around.start == _in_year(_NEW_YEAR, middle.year).start
        return dated if is_year else None
    if around.stretch is not None and time.end - time.start == DAY and time.start >= midnight(now) - DAY:
        # "A year ago today": so long before that day.
        return Time(start := time.start - (midnight(now) - midnight(middle)), start + DAY)
    start, end = max(time.start, around.start), min(time.end, around.end)
    return Time(start, end) if start < end and time.end - time.start < around.end - around.start else None


def _pairs_joined(found: Sequence[_Named], text: str, now: datetime) -> Iterator[_Named]:
    """The times, but of "between … and …" and "from … to …" one that lasts from the first to the second."""
    place = 0
    while place < len(found):
        one = found[place]
        place += 1
        opened = _FROM.search(text, max(0, one.start - 20), one.start)
        other = found[place] if opened is not None and place < len(found) else None
        if opened and other and text[one.stop : other.start].strip().lower() in _AND[opened["word"].lower()]:
            place += 1
            yield _Named(one.start, other.stop, _between(one.time, other.time, now), opened.start())
        else:
            yield one


def _between(first: Time, second: Time, now: datetime) -> Time:
    """From the beginning of one to the end of the other; a year that one of them lacks is told by the other."""
    last = second.until(now)
    if second.yearly and not first.yearly:
        last = _in_year(second, first.start.year)
        last = last if last.end > first.start else _in_year(second, first.start.year + 1)
    begun = first
    if first.yearly:
        begun = _in_year(first, last.start.year)
        begun = begun if begun.start < last.end else _in_year(first, last.start.year - 1)
    return Time(min(begun.start, last.start), max(begun.end, last.end))


def _in_year(time: Time, year: int) -> Time:
    """A day or a month of any year, as that of this one; 29 February as the day after the 28th."""
    shifted = [datetime(year, one.month, 1, tzinfo=UTC) + (one.day - 1) * DAY for one in (time.start, time.end - DAY)]
    return Time(shifted[0], shifted[1] + DAY)


def _meant(named: _Named, text: str, now: datetime) -> _Named:
    """The time, and when what is asked for happened, by what stands before it: "since", "until", "two days after"."""
    if named.time is NEVER:
        return named
    asked = _BEFORE.search(text, max(0, named.begins - _BESIDE), named.begins)
    base, tomorrow = named.time.happened(now), midnight(now) + DAY
    if asked is None:
        opened = _FROM.search(text, max(0, named.begins - 20), named.begins)
        if opened is None or opened["word"].lower() != "from" or _ONWARDS.match(text, named.stop) is None:
            return named
        return replace(named, time=Time(base.start, max(base.end, tomorrow)), begins=opened.start())
    side, unit = asked["side"].lower(), (asked["unit"] or "").lower()
    earlier, later = side in {"before", "prior to"}, side in {"after", "following"}
    if unit and (earlier or later):
        stretch = _beside(base, unit, 0 if asked["many"] is None else number(asked["many"]), earlier=earlier)
        time = named.time._replace(stretch=stretch)
    elif side == "since":
        time = Time(base.start, max(base.end, tomorrow))
    elif _PAST.search(text) is None:
        time = NEVER
    elif later:
        time = Time(base.end, max(base.end, tomorrow))
    else:
        time = Time(_FIRST, base.start if earlier else base.end)
    return replace(named, time=time, begins=asked.start())


def _beside(base: Stretch, unit: str, many: int, *, earlier: bool) -> Stretch:
    """The day, week, month or year right before or after a time, or about so many of them from it."""
    if many:
        return roughly(base.start + (-many if earlier else many) * DAYS[unit] * DAY, unit)
    length = DAYS[unit] * DAY
    return Stretch(base.start - length, base.start) if earlier else Stretch(base.end, base.end + length)
