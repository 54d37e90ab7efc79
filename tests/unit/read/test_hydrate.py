"""Hydrate: what is said quickly of an ordinary memory is what its filter says."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model import Filter
from scrubjay.model.memory import QUIET_KINDS
from scrubjay.read.hydrate import is_ordinary
from scrubjay.testing.values import NOW, a_memory, a_scope

moments = st.integers(-3, 3).map(lambda days: NOW + timedelta(days=days))


@given(
    kind=st.sampled_from(["note", "message", *sorted(QUIET_KINDS)]),
    created_at=moments,
    valid_from=moments,
    lasting=st.none() | st.integers(1, 3),
    expires_at=st.none() | moments,
    superseded_at=st.none() | moments,
)
def test_a_plain_filter_admits_whatever_is_ordinary(kind, created_at, valid_from, lasting, expires_at, superseded_at):
    memory = a_memory(
        "We deploy on Fridays",
        kind=kind,
        created_at=created_at,
        valid_from=valid_from,
        valid_to=None if lasting is None else valid_from + timedelta(days=lasting),
        expires_at=expires_at,
        superseded_at=superseded_at,
    )
    if is_ordinary(memory, NOW):
        assert Filter(scope=a_scope()).matches(memory, NOW)


def test_most_memories_are_ordinary():
    assert is_ordinary(a_memory("We deploy on Fridays"), NOW)
    assert not is_ordinary(a_memory("We deployed", superseded_at=NOW), NOW)
