"""What words for times mean, counted from when they were said."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.distill.dates import dates_of
from scrubjay.model.distill import Dated

WEDNESDAY = datetime(2024, 3, 13, 15, 30, tzinfo=UTC)
SOURCE = uuid4()


def days(text, said=WEDNESDAY, zone=UTC):
    return [one.days for one in dates_of(text, said=said, source=SOURCE, zone=zone)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I went yesterday", ["2024-03-12"]),
        ("the day before yesterday, and tomorrow", ["2024-03-11", "2024-03-14"]),
        ("this morning", ["2024-03-13"]),
        ("last night", ["2024-03-12"]),
        ("next Tuesday", ["2024-03-19"]),
        ("this Friday", ["2024-03-15"]),
        ("last Friday", ["2024-03-08"]),
        ("last Wednesday", ["2024-03-06"]),
        ("by Friday", ["2024-03-15"]),
        ("on Wednesday", ["2024-03-13"]),
        ("last week", ["2024-03-04/2024-03-10"]),
        ("next weekend", ["2024-03-23/2024-03-24"]),
        ("last month", ["2024-02"]),
        ("last year", ["2023"]),
        ("next quarter", ["2024-04-01/2024-06-30"]),
        ("last summer", ["2023-06-01/2023-08-31"]),
        ("in March", ["2024-03"]),
        ("in May", ["2024-05"]),
        ("in November", ["2023-11"]),
        ("last December", ["2023-12"]),
        ("next January", ["2025-01"]),
        ("in 2022", ["2022"]),
        ("March 2025", ["2025-03"]),
        ("two weeks ago", ["2024-02-26/2024-03-03"]),
        ("3 days ago", ["2024-03-10"]),
        ("a month ago", ["2024-02"]),
        ("in ten days", ["2024-03-23"]),
        ("two years from now", ["2026"]),
        ("over the past three weeks", ["2024-02-21/2024-03-13"]),
        ("I have lived here for two years", ["2022-03-13/2024-03-13"]),
        ("2023-05-08", ["2023-05-08"]),
        ("8 May 2023", ["2023-05-08"]),
        ("the 8th of May", ["2024-05-08"]),
        ("May 8, 2023", ["2023-05-08"]),
        ("Dec. 25", ["2023-12-25"]),
        ("3/14/2024", ["2024-03-14"]),
        ("14/3/2024", ["2024-03-14"]),
    ],
)
def test_what_it_means(text, expected):
    assert days(text) == expected


@pytest.mark.parametrize(
    "text",
    ["soon", "the other day", "one day", "4/5/2024", "31 June", "I may 3 times", "they march 5 miles", "every Monday",
     "version 2023-05-08-1", "he sat 3 hours", "a few months ago", "30 February 2024", "port 2024"],
)  # fmt: skip
def test_what_is_vague_or_does_not_exist_stays_out(text):
    assert days(text) == []


def test_a_year_that_is_not_named_is_the_nearest():
    assert days("Dec 30", said=datetime(2024, 1, 2, tzinfo=UTC)) == ["2023-12-30"]
    assert days("January 3", said=datetime(2024, 12, 30, tzinfo=UTC)) == ["2025-01-03"]


def test_days_begin_at_midnight_where_it_was_said():
    [dated] = dates_of(
        "yesterday", said=datetime(2024, 7, 1, 23, 0, tzinfo=UTC), source=SOURCE, zone=ZoneInfo("Europe/Berlin")
    )
    assert dated.start == datetime(2024, 6, 30, 22, 0, tzinfo=UTC)
    assert dated.end - dated.start == timedelta(days=1)
    assert dated.start.tzinfo is UTC


def test_what_needs_the_moment_is_marked():
    found = dates_of("yesterday, on 8 May 2023, or on May 9", said=WEDNESDAY, source=SOURCE)
    assert [(one.text, one.is_relative) for one in found] == [
        ("yesterday", True),
        ("8 May 2023", False),
        ("May 9", True),
    ]
    assert all(one.source == SOURCE for one in found)


@given(st.text(alphabet="0123456789/- .,MayJuneagoinlstxthw", max_size=60), st.datetimes(timezones=st.just(UTC)))
def test_any_text_at_any_moment_gives_stretches_of_time_or_nothing(text, said):
    for one in dates_of(text, said=said, source=SOURCE):
        assert isinstance(one, Dated)
        assert one.start < one.end
        assert one.text in text
