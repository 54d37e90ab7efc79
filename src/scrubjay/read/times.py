"""Times: a stretch that a question names, and how near to it something was said or happened."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import exp2, inf
from typing import Final, NamedTuple

from scrubjay.model import Memory
from scrubjay.model.memory import MESSAGE_KIND

HALVED: Final = 4.0
"""Days after which a turn counts as half as near: people tell on Monday what they did on Saturday.

Measured on LoCoMo: 2 to 14 find the same.
"""

HAPPENED: Final = 0.5
"""Days after which an event counts as half as near: it says itself when it was, and the next day is another one."""

ANOTHER_YEAR: Final = 0.5
"""How near an event is to a day or a month without a year that it was of, but in an earlier year than the last."""

ANY_YEAR: Final = 2000
"""Where dates without a year are compared: a leap year, which has every day."""

DAY: Final = timedelta(days=1)


class Stretch(NamedTuple):
    """When something happened that a question asks for, closed at the start and open at the end."""

    start: datetime
    end: datetime
    halved: float = HAPPENED
    """Days outside of it after which an event counts as half as near. What is named roughly is meant roughly."""

    def nearness(self, moment: datetime) -> float:
        """1 inside, and outside never more than a half: what is dated by its day alone lies where that day begins."""
        if self.start <= moment < self.end:
            return 1.0
        return exp2(-max(days_between(self.start, self.end, moment), self.halved) / self.halved)


class Time(NamedTuple):
    """A day, a month, a year or the like that a question names."""

    start: datetime
    end: datetime
    yearly: bool = False
    """Whether no year was named, so that it is meant in any."""
    stretch: Stretch | None = None
    """When what is asked for happened, where that is beside it ("two days after 9 November"), or more precise."""

    def days_from(self, moment: datetime) -> float:
        """How many days lie between it and the moment; 0 inside."""
        return days_between(self.start, self.end, moment.replace(year=ANY_YEAR) if self.yearly else moment)

    def until(self, now: datetime) -> "Time":
        """The last one that has begun by now, of a time that is meant in any year; every other as it is."""
        if not self.yearly:
            return self
        for year in range(now.year, now.year - 9, -1):
            try:
                start = self.start.replace(year=year)
            except ValueError:  # 29 February
                continue
            if start <= now:
                is_month = self.start.day == self.end.day == 1
                end = month_after(start) if is_month else start + (self.end - self.start)
                return Time(start, end, stretch=self.stretch)
        return self

    def happened(self, now: datetime) -> Stretch:
        """When what is asked for happened."""
        return self.stretch or Stretch(*self.until(now)[:2])


NEVER: Final = Time(datetime(1, 1, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC))
"""What is named by a day that does not exist, or one to come: a time of which nothing is."""


def nearness(moment: datetime, times: Sequence[Time]) -> float:
    """From 0 to 1: how near to one of the times something was said, 1 inside; half after each so many days."""
    return exp2(-min((time.days_from(moment) for time in times), default=inf) / HALVED)


def is_inside(memory: Memory, times: Sequence[Time], now: datetime) -> bool:
    """Whether what it tells is of one of the times: that it happened then, or was said then."""
    if says_when(memory):
        return happened(memory.valid_from, times, now) == 1.0
    return any(
        time.days_from(memory.valid_from) == 0
        and (time.stretch is None or time.stretch.nearness(memory.valid_from) == 1.0)
        for time in times
    )


def happened(moment: datetime, times: Sequence[Time], now: datetime) -> float:
    """From 0 to 1: how near to one of the times something happened, 1 inside."""
    return max((_happened(moment, time, now) for time in times), default=0.0)


def _happened(moment: datetime, time: Time, now: datetime) -> float:
    near = time.happened(now).nearness(moment)
    if time.yearly and time.stretch is None and near < ANOTHER_YEAR:
        return ANOTHER_YEAR if time.start <= moment.replace(year=ANY_YEAR) < time.end else near
    return near


def says_when(memory: Memory) -> bool:
    """Whether it happened when it says, and was not only told then."""
    return memory.is_event and memory.kind != MESSAGE_KIND


def days_between(start: datetime, end: datetime, moment: datetime) -> float:
    """How many days a moment lies before the start or after the end; 0 between them."""
    return max(start - moment, moment - end, timedelta()) / DAY


def month_after(start: datetime) -> datetime:
    """When the month after this one begins, of a moment that a month begins with."""
    return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)


def midnight(moment: datetime) -> datetime:
    """When its day began: days are those of UTC."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
