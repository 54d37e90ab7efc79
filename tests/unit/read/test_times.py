"""Times: how near to one that a question names something was said, or happened."""

from datetime import UTC, datetime, timedelta

import pytest

from scrubjay.read.named_times import times_in
from scrubjay.read.times import ANOTHER_YEAR, HALVED, HAPPENED, happened, nearness

NOW = datetime(2024, 3, 15, 18, 30, tzinfo=UTC)


def day(year, month, number):
    return datetime(year, month, number, tzinfo=UTC)


def test_a_month_without_its_year_is_that_of_any_year():
    (june,) = times_in("When did she go camping in June?", NOW)
    assert june.yearly
    assert [june.days_from(day(year, 6, 27)) for year in (2019, 2023)] == [0, 0]
    assert june.days_from(day(2023, 7, 4)) == 3
    assert june.days_from(day(2023, 5, 30)) == 2


def test_the_day_that_few_years_have_is_near_in_every_year():
    (leap,) = times_in("What happened on 29 February?", NOW)
    assert leap.days_from(day(2024, 2, 29)) == 0
    assert leap.days_from(day(2023, 2, 28)) == 1


def test_nearness_is_whole_inside_and_halves_with_the_days():
    times = times_in("What did she do on 25 May, 2022?", NOW)
    inside, after = day(2022, 5, 25) + timedelta(hours=23), day(2022, 5, 26) + timedelta(days=HALVED)
    assert [nearness(moment, times) for moment in (inside, after)] == [1.0, 0.5]
    assert nearness(day(2022, 5, 25) - timedelta(days=HALVED), times) == 0.5
    assert nearness(inside, []) == 0


def test_what_happened_right_after_a_time_is_never_more_than_half_of_it():
    times = times_in("What happened yesterday?", NOW)
    moments = [day(2024, 3, 14), day(2024, 3, 15) - timedelta(microseconds=1), day(2024, 3, 15), day(2024, 3, 13)]
    assert [happened(moment, times, NOW) for moment in moments] == [1.0, 1.0, 0.5, 0.25]
    assert happened(day(2024, 3, 15) + timedelta(days=2 * HAPPENED), times, NOW) == 0.25


def test_an_earlier_year_is_half_of_the_last_one():
    times = times_in("What happened on 9 November?", NOW)
    moments = [day(2023, 11, 9), day(2021, 11, 9), day(2021, 11, 10)]
    assert [happened(moment, times, NOW) for moment in moments] == [1.0, ANOTHER_YEAR, pytest.approx(0.0)]


def test_what_is_named_roughly_fades_slowly():
    times = times_in("What happened a year ago?", NOW)
    year_ago = NOW - timedelta(days=365)
    near = [happened(year_ago + timedelta(days=days), times, NOW) for days in (0, 50, 150, 300)]
    assert near == sorted(near, reverse=True)
    assert near[:2] == [1.0, 1.0]
    assert 0.2 < near[2] < 0.5
