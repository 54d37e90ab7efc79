"""Ordering: strands of what happened become one, and none is torn."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.read.ordering import merged, strands_of
from scrubjay.testing.values import HOUR, NOW, a_memory, a_scope

moments = st.integers(0, 20).map(lambda hours: NOW + timedelta(hours=hours))


def at(one):
    return one[0]


def test_a_clock_that_goes_back_stands_still():
    one = [(NOW, "a"), (NOW - 9 * HOUR, "b"), (NOW + 2 * HOUR, "c")]
    other = [(NOW + HOUR, "x")]
    assert [name for _, name in merged([one, other], at)] == ["a", "b", "x", "c"]


@given(st.lists(st.lists(moments, max_size=5), max_size=4))
def test_every_strand_keeps_its_order_and_right_clocks_decide(times):
    strands = [
        [(moment, (number, place)) for place, moment in enumerate(strand)] for number, strand in enumerate(times)
    ]
    woven = merged(strands, at)
    assert len(woven) == sum(map(len, strands))
    for number, strand in enumerate(strands):
        assert [one for one in woven if one[1][0] == number] == strand
    if all(strand == sorted(strand) for strand in times):
        assert [moment for moment, _ in woven] == sorted(moment for moment, _ in woven)


def test_sessions_are_strands_by_position():
    talk, other = a_scope(session="s-1"), a_scope(session="s-2")
    said = [a_memory(f"{place}", scope=talk, position=place) for place in (2, 0, 1)]
    beside = [a_memory("x", scope=other, position=0), a_memory("y"), a_memory("z")]
    strands = strands_of([*said, *beside])
    assert [[one.content for one in strand] for strand in strands] == [["0", "1", "2"], ["x"], ["y"], ["z"]]
