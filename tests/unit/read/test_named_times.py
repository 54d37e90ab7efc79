"""Named times: what a question names as a day, a month or a year, and when what it asks for happened."""

from datetime import UTC, datetime

import pytest

from scrubjay.read.named_times import MOST, asks_only_when, times_in
from scrubjay.read.times import happened

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
        ("What did he organize in 2021?", day(2021, 1, 1), day(2022, 1, 1)),
        ("What did we say today?", day(2024, 3, 15), day(2024, 3, 16)),
        ("Whom did I meet Yesterday?", day(2024, 3, 14), day(2024, 3, 15)),
        ("What did I plan last week?", day(2024, 3, 8), day(2024, 3, 15)),
        ("What did I plan this week?", day(2024, 3, 9), day(2024, 3, 16)),
        ("What did I plan this month?", day(2024, 3, 1), day(2024, 3, 16)),
        ("What did I plan last month?", day(2024, 2, 1), day(2024, 3, 1)),
        ("What did I plan this year?", day(2024, 1, 1), day(2024, 3, 16)),
        ("What did I plan last year?", day(2023, 1, 1), day(2024, 1, 1)),
        ("What happened on 2023-12-31T12:00?", day(2023, 12, 31), day(2024, 1, 1)),
        ("What broke two weeks ago?", day(2024, 2, 27), day(2024, 3, 5)),
        ("What broke 3 days ago?", day(2024, 3, 12), day(2024, 3, 13)),
        ("What broke seven days ago?", day(2024, 3, 8), day(2024, 3, 9)),
        ("What broke a couple of days ago?", day(2024, 3, 13), day(2024, 3, 14)),
        ("What broke in the last 3 days?", day(2024, 3, 12), day(2024, 3, 16)),
        ("What broke in the past month?", day(2024, 2, 15), day(2024, 3, 16)),
        ("What broke the day before yesterday?", day(2024, 3, 13), day(2024, 3, 14)),
        ("What broke on Friday?", day(2024, 3, 15), day(2024, 3, 16)),
        ("What broke last Friday?", day(2024, 3, 8), day(2024, 3, 9)),
        ("What broke on monday?", day(2024, 3, 11), day(2024, 3, 12)),
        ("What broke on Aug 15th, 2023?", day(2023, 8, 15), day(2023, 8, 16)),
        ("What broke on 9 Nov. 2023?", day(2023, 11, 9), day(2023, 11, 10)),
        ("What broke between 2019 and 2021?", day(2019, 1, 1), day(2022, 1, 1)),
        ("Where was he between August 11 2023 and 15 August 2023?", day(2023, 8, 11), day(2023, 8, 16)),
        ("Where was he between August 11 and August 15 2023?", day(2023, 8, 11), day(2023, 8, 16)),
        ("Where was he from 30 December 2022 to 2 January?", day(2022, 12, 30), day(2023, 1, 3)),
        ("Where was he between November and February?", day(2023, 11, 1), day(2024, 3, 1)),
        ("What happened in may 2023?", day(2023, 5, 1), day(2023, 6, 1)),
        ("What happened in May last year?", day(2023, 5, 1), day(2023, 6, 1)),
        ("What happened last year, in May?", day(2023, 5, 1), day(2023, 6, 1)),
        ("What happened in February of this year?", day(2024, 2, 1), day(2024, 3, 1)),
        ("What happened in May two years ago?", day(2022, 5, 1), day(2022, 6, 1)),
        ("What happened in December a year ago?", day(2023, 12, 1), day(2024, 1, 1)),
        ("What happened on 9 November last year?", day(2023, 11, 9), day(2023, 11, 10)),
        ("What happened a year ago today?", day(2023, 3, 16), day(2023, 3, 17)),
        ("What happened a year ago yesterday?", day(2023, 3, 15), day(2023, 3, 16)),
        ("What happened on Monday last week?", day(2024, 3, 11), day(2024, 3, 12)),
        ("What happened last March?", day(2023, 3, 1), day(2023, 4, 1)),
        ("What happened last May?", day(2023, 5, 1), day(2023, 6, 1)),
        ("What happened between 9 and 11 November?", day(2000, 11, 9), day(2000, 11, 12)),
        ("What happened on 28 to 30 November 2022?", day(2022, 11, 28), day(2022, 12, 1)),
        ("What happened on November 9-11, 2022?", day(2022, 11, 9), day(2022, 11, 12)),
        ("What happened from Monday to today?", day(2024, 3, 11), day(2024, 3, 16)),
        ("What happened between Monday and Wednesday?", day(2024, 3, 11), day(2024, 3, 14)),
        ("What happened between 1 January and now?", day(2024, 1, 1), day(2024, 3, 16)),
        ("What happened on 9 November '22?", day(2022, 11, 9), day(2022, 11, 10)),
        ("What happened in 2022-11?", day(2022, 11, 1), day(2022, 12, 1)),
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
        "What did May Li say?",
        "We need it. May I go?",
        "WE MAY NOT DO THAT, SAYS WHO?",
        "How may 5 people share it?",
        "Does version 3 may break?",
        "Why may 2.20 fail?",
        "Why does 2.20 may fail?",
        "Who is April?",
        "What did June Carter sing?",
        "Does Jan know?",
        "Was the import of 2026 rows slow?",
        "Was there a 31 February 2023?",
        "What is due on 9 November 1850?",
        "What is planned for next May?",
        "Which ports are open between 2000 and 2048?",
        "How much memory, up to 2048 MB?",
        "What changed in 2024.1?",
        "Did it take since 2000 requests?",
        "Is 2000 ms too slow in 2000 ms?",
        "What does Acme have to pay before Friday?",
        "Who must renew the certificates before 2027?",
        "aprıl",
        "sıx days ago",
        "auguſt",
        "laſt month",
    ],
)
def test_what_names_no_time(question):
    assert named(question) == []


def test_several_times_are_several_and_one_date_is_one():
    assert named("Was he there on August 11 2023 or on 15 August 2023, or on August 11, 2023?") == [
        (day(2023, 8, 11), day(2023, 8, 12)),
        (day(2023, 8, 15), day(2023, 8, 16)),
    ]


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What happened in February?", day(2024, 2, 1), day(2024, 3, 1)),
        ("What happened in March this spring?", day(2024, 3, 1), day(2024, 4, 1)),
        ("What happened in December?", day(2023, 12, 1), day(2024, 1, 1)),
        ("What happened on 28 February?", day(2024, 2, 28), day(2024, 2, 29)),
        ("What happened on 9 November?", day(2023, 11, 9), day(2023, 11, 10)),
        ("What happened on 9 November 2019?", day(2019, 11, 9), day(2019, 11, 10)),
    ],
)
def test_of_a_time_of_any_year_the_last_has_begun(question, start, end):
    [time] = times_in(question, NOW)
    assert time.until(NOW)[:2] == (start, end)


def test_a_day_that_few_years_have_was_last_in_one_of_them():
    [time] = times_in("What happened on 29 February?", NOW)
    assert time.until(day(2023, 6, 1))[:2] == (day(2020, 2, 29), day(2020, 3, 1))


def test_a_text_full_of_dates_is_read_for_a_few_of_them():
    assert len(times_in("2020-01-01 " * 1000, NOW)) == 1
    assert len(times_in(" ".join(f"1 May {year}" for year in range(1900, 2000)), NOW)) == MOST
    assert len(times_in(" ".join(f"{many} days ago" for many in range(1, 100)), NOW)) == MOST


@pytest.mark.parametrize(
    ("question", "only"),
    [
        ("What happened yesterday?", True),
        ("what did we do on 9 November?", True),
        ("Tell me everything about last week", True),
        ("What did we deploy yesterday?", False),
        ("Which events did Anna go to in May 2023?", False),
        ("What happened after 9 November?", True),
        ("what was between March and May?", True),
        ("what happened between 9 and 11 November?", True),
        ("Where was I yesterday?", False),
        ("Was I out yesterday?", False),
        ("what may I do today?", False),
        ("What didn't we do yesterday?", False),
        ("who was it yesterday?", False),
        ("yesterday", False),
        ("what happened in the US in May?", False),
        ("what was she doing in May?", False),
    ],
)
def test_who_asks_for_nothing_but_a_time(question, only):
    assert asks_only_when(question, NOW) == only


@pytest.mark.parametrize(
    "question",
    ["What did we do in may?", "the May release", "in March and May", "during may", "in april", "our June offsite"],
)
def test_months_that_are_other_words_too_are_read_where_a_month_stands(question):
    assert {time.start.month for time in times_in(question, NOW)} <= {3, 4, 5, 6}
    assert times_in(question, NOW)[-1].yearly


LONG_AGO, TONIGHT = datetime(1, 1, 1, tzinfo=UTC), day(2024, 3, 16)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What happened since 9 November?", day(2023, 11, 9), TONIGHT),
        ("What happened since May?", day(2023, 5, 1), TONIGHT),
        ("What happened since 2022?", day(2022, 1, 1), TONIGHT),
        ("What happened since yesterday?", day(2024, 3, 14), TONIGHT),
        ("What happened from 9 November onwards?", day(2023, 11, 9), TONIGHT),
        ("What happened from 9 November on?", day(2023, 11, 9), TONIGHT),
        ("What happened after 9 November?", day(2023, 11, 10), TONIGHT),
        ("What happened since last May?", day(2023, 5, 1), TONIGHT),
        ("What happened between 9 and 11 November?", day(2023, 11, 9), day(2023, 11, 12)),
        ("What happened after last Monday?", day(2024, 3, 12), TONIGHT),
        ("What happened before March 2023?", LONG_AGO, day(2023, 3, 1)),
        ("What happened before 2023?", LONG_AGO, day(2023, 1, 1)),
        ("What happened until the 9th of November?", LONG_AGO, day(2023, 11, 10)),
        ("What happened by 2022?", LONG_AGO, day(2023, 1, 1)),
        ("What happened the day before 9 November?", day(2023, 11, 8), day(2023, 11, 9)),
        ("What happened the week after 9 November?", day(2023, 11, 10), day(2023, 11, 17)),
        ("What happened two days after 9 November?", day(2023, 11, 11), day(2023, 11, 12)),
        ("What happened two weeks before August 11, 2023?", day(2023, 7, 27), day(2023, 7, 30)),
        ("What happened a year ago?", day(2023, 1, 15), day(2023, 5, 16)),
        ("What happened on 9 November?", day(2023, 11, 9), day(2023, 11, 10)),
    ],
)
def test_when_what_is_asked_for_happened(question, start, end):
    [time] = times_in(question, NOW)
    stretch = time.happened(NOW)
    assert (stretch.start, stretch.end) == (start, end)
    assert happened(start, [time], NOW) == 1.0
    assert happened(end, [time], NOW) <= 0.5


def test_what_was_said_is_looked_for_around_the_time_itself():
    assert named("What did she do two weeks before August 11, 2023?") == [(day(2023, 8, 11), day(2023, 8, 12))]
    assert named("What did she do before 2023?") == [(LONG_AGO, day(2023, 1, 1))]
    assert named("What did she do after 2022?") == [(day(2023, 1, 1), TONIGHT)]


def test_a_text_full_of_words_that_could_be_months_is_read_quickly():
    assert times_in("May " * 5_000, NOW) == []
    assert times_in("March-" * 5_000, NOW) == []
