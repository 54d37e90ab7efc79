"""Times: what a question names as a day, a month or a year, and how near to it something is."""

from datetime import UTC, datetime, timedelta

import pytest

from scrubjay.read.times import HALVED, nearness, times_in

NOW = datetime(2024, 3, 15, 18, 30, tzinfo=UTC)


def day(year, month, number):
    return datetime(year, month, number, tzinfo=UTC)


def named(question):
    return [(time.start, time.end) for time in times_in(question, NOW)]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did she do on 25 May, 2022?", day(2022, 5, 25), day(2022, 5, 26)),
        ("What did she do on the 8th of December 2023?", day(2023, 12, 8), day(2023, 12, 9)),
        ("What did she show on October 13, 2023?", day(2023, 10, 13), day(2023, 10, 14)),
        ("what did she show on october 13th 2023", day(2023, 10, 13), day(2023, 10, 14)),
        ("What happened on 2023-12-31?", day(2023, 12, 31), day(2024, 1, 1)),
        ("What did she achieve in January 2022?", day(2022, 1, 1), day(2022, 2, 1)),
        ("What did she achieve in December, 2022?", day(2022, 12, 1), day(2023, 1, 1)),
        ("Was there a 31 February 2023?", day(2023, 2, 1), day(2023, 3, 1)),
        ("What did he organize in 2021?", day(2021, 1, 1), day(2022, 1, 1)),
        ("What did we say today?", day(2024, 3, 15), day(2024, 3, 16)),
        ("Whom did I meet Yesterday?", day(2024, 3, 14), day(2024, 3, 15)),
        ("What did I plan last week?", day(2024, 3, 8), day(2024, 3, 15)),
        ("What did I plan this month?", day(2024, 2, 15), day(2024, 3, 16)),
        ("What broke two weeks ago?", day(2024, 2, 27), day(2024, 3, 5)),
        ("What broke 3 days ago?", day(2024, 3, 12), day(2024, 3, 13)),
    ],
)
def test_a_time_is_read(question, start, end):
    assert named(question) == [(start, end)]


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What may I eat?",
        "March on!",
        "Which of the 2000 users left?",
        "What is on port 2023?",
        "When did she go to the fair?",
    ],
)
def test_what_names_no_time(question):
    assert named(question) == []


def test_several_times_are_several_and_one_date_is_one():
    assert named("Where was he between August 11 2023 and 15 August 2023?") == [
        (day(2023, 8, 15), day(2023, 8, 16)),
        (day(2023, 8, 11), day(2023, 8, 12)),
    ]


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
