"""A column says of every value and every condition what `meets` says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.backends.sql import column as column_module
from scrubjay.backends.sql.column import Column, Gathering
from scrubjay.model.query import meets

SCALARS = st.one_of(
    st.booleans(),
    st.sampled_from([0, 1, 1.0, -1, 1.5, -0.0, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 1e300, 0.1 + 0.2, 0.3]),
    st.sampled_from(["", "1", "true", "a", "A", "é", "e\u0301", "🦉", "a b", "open", "\uffff", "\U0010ffff"]),
)
STORED = st.one_of(
    SCALARS,
    st.none(),
    st.sampled_from([2**64 + 1, -(2**70), 2**1000, [], [1], ["a", [None]], {}, {"": 1}, {"a": {"b": None}}]),
)
COMPARISONS = st.fixed_dictionaries(
    {},
    optional={
        "gt": SCALARS,
        "gte": SCALARS,
        "lt": SCALARS,
        "lte": SCALARS,
        "ne": SCALARS,
        "in": st.lists(SCALARS, max_size=4),
        "exists": st.booleans(),
    },
).filter(bool)
WANTED = st.one_of(SCALARS, st.none(), st.lists(SCALARS, max_size=4), COMPARISONS)
ROWS = st.dictionaries(st.integers(1, 40), STORED, max_size=40)


def met(column, wanted, rows):
    found = column.meeting(wanted)
    assert len(found.numbers) <= found.most
    assert list(found.numbers) == sorted(set(found.numbers))
    return {row for row in rows if (row in set(found.numbers)) is not found.is_outside}


@given(ROWS, ROWS, st.sets(st.integers(1, 40)), st.lists(WANTED, min_size=1, max_size=6), st.booleans(), st.booleans())
def test_a_column_says_what_the_definition_says(first, later, gone, conditions, settles, settles_again):
    column, said = Column(), dict(first)
    column.append(first.items())
    if settles:
        column.settle()
    said |= later
    said = {row: value for row, value in said.items() if row not in gone}
    column.tell({row: value for row, value in later.items() if row not in gone}, gone=gone)
    if settles_again:
        column.settle()
    every = range(1, 42)
    for wanted in conditions:
        assert met(column, wanted, every) == {row for row in every if meets(said.get(row), wanted)}, wanted


def test_many_are_sorted_in_and_what_was_said_before_is_forgotten(monkeypatch):
    monkeypatch.setattr(column_module, "RECENT", 10)
    column = Column()
    for row in range(1, 101):
        column.append([(row, row % 7)])
    column.tell(dict.fromkeys(range(1, 31), "late"), gone=range(31, 41))
    assert list(column.meeting("late").numbers) == list(range(1, 31))
    assert list(column.meeting({"gte": 0}).numbers) == list(range(41, 101))
    assert not column.meeting({"exists": False}).numbers[60:60]
    assert len(column.meeting({"exists": True}).numbers) == 90


@pytest.mark.parametrize("settles", [True, False])
def test_its_size_grows_with_what_it_holds(settles):
    small, large = Column(), Column()
    small.append((row, "x") for row in range(100))
    large.append((row, f"a longer text {row}") for row in range(100))
    if settles:
        small.settle()
        large.settle()
        assert large.size > small.size
    assert small.size > 0


@given(st.lists(ROWS, max_size=6), st.lists(WANTED, min_size=1, max_size=6), st.integers(0, 30))
def test_what_is_gathered_is_the_same_column(parts, conditions, gathered):
    said = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_module, "GATHERED", gathered)
        gathering = Gathering(most=1 << 30)
        for place, part in enumerate(parts):
            shifted = {row + 40 * place: value for row, value in part.items()}
            gathering.add(shifted)
            said |= shifted
        column = gathering.whole()
    every = range(1, 242)
    for wanted in conditions:
        assert met(column, wanted, every) == {row for row in every if meets(said.get(row), wanted)}, wanted


def test_one_long_text_that_all_say_takes_the_room_of_one():
    gathering = Gathering(most=50_000)
    gathering.add(dict.fromkeys(range(100), "x" * 40_000))
    assert not gathering.is_too_large
    gathering.add({100: "y" * 40_000})
    assert gathering.is_too_large
