"""Values check themselves when they are born, and say what is wrong in one sentence."""

from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InvalidInput
from scrubjay.model import AsOf, Filter, Query, Scope, Trust, id_of, new_id, scope_of
from scrubjay.model.checks import in_utc, shown
from scrubjay.model.query import meets, value_at
from scrubjay.testing import NOW, a_memory, a_scope
from scrubjay.testing.values import DAY

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("field", "value", "remedy"),
    [
        ("id", "7", "use a UUID"),
        ("kind", "Fact", "lower-case"),
        ("kind", "", "lower-case"),
        ("content", "", "give it some text"),
        ("content", " \n", "give it some text"),
        ("content", "x" * 1_000_001, "split it"),
        ("content", "nul \x00", "NUL"),
        ("content", "half \ud83d", "surrogate"),
        ("content", 7, "give it some text"),
        ("key", "", "leave it out"),
        ("key", "k" * 256, "at most 255"),
        ("key", "line\nbreak", "control"),
        ("data", [], "dict"),
        ("data", {1: 2}, "JSON keys are text"),
        ("data", {"a": {"b": float("inf")}}, "data.a.b is inf: JSON has no such number, use null"),
        ("data", {"a": [object()]}, "data.a\\[0\\]"),
        ("data", {"a": "\x00"}, "NUL"),
        ("data", {"a": "x" * 1_000_001}, "keep it under"),
        ("importance", 1.01, "0 to 1"),
        ("importance", float("nan"), "0 to 1"),
        ("importance", True, "0 to 1"),
        ("created_at", datetime(2026, 1, 1), "time zone"),  # noqa: DTZ001 -- a naive one is what is refused
        ("created_at", datetime(2026, 1, 1, tzinfo=timezone(HOUR)), "astimezone"),
        ("created_at", "2026-01-01", "use a datetime"),
        ("valid_to", NOW, "come after valid_from"),
        ("position", -1, "whole number"),
        ("position", 1.5, "whole number"),
    ],
)
def test_a_memory_refuses_what_is_wrong(field, value, remedy):
    with pytest.raises(InvalidInput, match=remedy):
        a_memory(**{"valid_from": NOW, field: value})


def test_a_memory_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        a_memory().content = "else"


def test_the_fingerprint_is_about_what_is_said():
    said = a_memory("x", data={"a": 1, "b": 2})
    assert a_memory("x", data={"b": 2, "a": 1}).fingerprint == said.fingerprint
    assert a_memory("x", data={"a": 1, "b": 2}, importance=1.0).fingerprint == said.fingerprint
    for other in {"content": "y"}, {"kind": "fact"}, {"key": "k"}, {"data": {"a": 1}}, {"data": {"a": 1, "b": "2"}}:
        assert replace(said, **other).fingerprint != said.fingerprint
    assert a_memory("ok", kind="message").fingerprint != a_memory("ok", kind="message").fingerprint


def test_states_in_time():
    memory = a_memory(created_at=NOW - DAY, valid_from=NOW, valid_to=NOW + HOUR, expires_at=NOW + 2 * HOUR)
    assert [memory.state(NOW + step * HOUR) for step in (-1, 0, 1, 2)] == ["future", "current", "past", "expired"]
    assert memory.closed(NOW, because="x").state(NOW) == "forgotten"
    assert memory.closed(NOW, because="x", by=uuid4()).state(NOW) == "superseded"
    assert memory.closed(NOW + HOUR, because="x").believed_at(NOW)
    ahead = a_memory(created_at=NOW + DAY, valid_from=NOW + DAY)
    assert ahead.state(NOW) == "current", "it is there, so it was told before now"
    assert ahead.closed(NOW + DAY, because="x").state(NOW) == "forgotten"
    assert replace(ahead, valid_from=NOW + 2 * DAY).state(NOW) == "future"
    assert replace(ahead, valid_from=NOW, valid_to=NOW + DAY).holds(NOW) is False


def test_values_print_well():
    memory = a_memory("x" * 100, key="k")
    assert len(repr(memory)) < 200
    assert str(memory) == f"note: {'x' * 100}"
    assert repr(Scope(user="anna")) == "Scope(user='anna')"
    assert str(Scope(user="anna", project="p")) == "user=anna project=p"
    assert shown("x" * 500).endswith("(502 characters)")


names = st.none() | st.sampled_from(["a", "b"])
scopes = st.builds(Scope, user=names, project=names, agent=names, session=names, workflow=names)


@given(scopes, scopes)
def test_who_sees_and_who_holds(one, other):
    assert one.sees(other) == other.sees(one)
    assert one.holds(one)
    if one.holds(other):
        assert one.sees(other)
        assert one.breadth >= other.breadth
    if one.holds(other) and other.holds(one):
        assert one == other
    assert not replace(one, tenant="else").sees(other)


def test_a_scope_is_named_by_known_keywords():
    assert scope_of("acme", {"user": "anna"}) == Scope(tenant="acme", user="anna")
    assert [scope.level for scope in (Scope(), a_scope(), a_scope(session="s"))] == ["GLOBAL", "USER", "SESSION"]
    with pytest.raises(InvalidInput, match="team"):
        scope_of("acme", {"team": "x"})
    with pytest.raises(InvalidInput, match="tenant"):
        Scope(tenant=None)


def test_ids_grow_and_names_always_mean_the_same():
    made = [new_id() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(one.version == 7 for one in made[:10])
    assert id_of("note-1", "a") == id_of("note-1", "a") != id_of("note-1", "b")
    assert id_of(str(made[0]), "a") == made[0] == id_of(made[0], "a")
    for wrong in "", 7, "x" * 300:
        with pytest.raises(InvalidInput, match="id"):
            id_of(wrong, "a")
    assert isinstance(id_of("ünïcode", "a"), UUID)


def test_the_least_trusted_decides():
    assert Trust.least([Trust.TOLD, Trust.FOREIGN, Trust.OBSERVED]) is Trust.FOREIGN
    assert Trust.least([Trust.TOLD, Trust.CONCLUDED]) is Trust.CONCLUDED


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kinds": "fact"}, "sequence of words"),
        ({"kinds": ("Fact",)}, "kind"),
        ({"key_prefix": ""}, "key_prefix"),
        ({"least_importance": 3}, "least_importance"),
        ({"since": NOW, "until": NOW}, "until"),
        ({"data": {"a..b": 1}}, "path"),
        ({"data": {'a"b': 1}}, "path"),
        ({"data": {"a": {"like": 1}}}, "comparisons"),
        ({"data": {"a": {"exists": "yes"}}}, "comparisons"),
        ({"data": {"a": [{}]}}, "data filter a"),
        ({"data": {f"a{number}": 1 for number in range(101)}}, "101 conditions: use at most 100"),
        ({"data": {"a": list(range(501))}}, "501 values: use at most 500"),
        ({"data": {"a": {"in": list(range(500))}, "b": 1}}, "502 values: use at most 500"),
    ],
)
def test_a_filter_refuses_what_is_wrong(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        Filter(scope=Scope(), **wrong)


def test_a_filter_asks_for_all_of_it():
    memory = a_memory(kind="fact", key="a:b", data={"n": 1}, importance=0.6)
    here = {"scope": a_scope()}
    assert Filter(**here).matches(memory, NOW)
    matching = {"kinds": ("fact",), "key": "a:b", "key_prefix": "a:", "data": {"n": 1}, "least_importance": 0.6}
    assert Filter(**here, **matching).matches(memory, NOW)
    for name, value in {"kinds": ("rule",), "key": "a", "key_prefix": "b", "data": {"n": 2}}.items():
        assert not Filter(**here, **{**matching, name: value}).matches(memory, NOW)
    assert not Filter(scope=a_scope("bob")).matches(memory, NOW)
    future = replace(memory, valid_from=NOW + HOUR)
    assert not Filter(**here).matches(future, NOW)
    assert Filter(**here, history=True).matches(future, NOW)
    assert Filter(**here, as_of=AsOf(known_at=NOW, valid_at=NOW + HOUR)).matches(future, NOW)
    assert not Filter(**here, as_of=AsOf(known_at=NOW - HOUR)).matches(memory, NOW)
    assert Filter(**here).is_plain
    assert not Filter(**here, key="k").is_plain


def test_values_of_another_type_never_meet_a_condition():
    assert meets(3, {"gte": 3, "lt": 4})
    assert not meets("3", {"gte": 3})
    assert not meets(True, 1)
    assert not meets(1, True)
    assert meets(None, {"exists": False})
    assert meets("b", ["a", "b"])
    assert meets(None, {"ne": 1})
    assert value_at({"a": {"b": 1}}, "a.b") == 1
    assert value_at({"a": [1]}, "a.0") is None


def test_a_query_refuses_what_is_wrong():
    for wrong in {"text": 7}, {"limit": 0}, {"limit": 1_001}, {"mode": "x"}, {"least_similarity": -0.1}:
        with pytest.raises(InvalidInput):
            Query(**{"text": "x", "filter": Filter(scope=Scope()), **wrong})


def test_moments_are_brought_to_utc_and_never_guessed():
    there = datetime(2026, 1, 1, 12, tzinfo=timezone(5 * HOUR))
    assert in_utc("x", there) == datetime(2026, 1, 1, 7, tzinfo=UTC)
    assert in_utc("x", None) is None
    for wrong in datetime(2026, 1, 1), "2026-01-01":  # noqa: DTZ001 -- a naive one is what is refused
        with pytest.raises(InvalidInput, match="x is"):
            in_utc("x", wrong)


@pytest.mark.parametrize(
    ("fields", "role"),
    [
        ({"kind": "message", "data": {"role": "assistant"}}, "assistant"),
        ({"kind": "note", "data": {"role": "reviewer"}}, "reviewer"),
        ({"kind": "message", "author": "Human"}, "user"),
        ({"kind": "message", "author": "Anna"}, None),
        ({"kind": "message", "content": "Assistant: you are welcome"}, "assistant"),
        ({"kind": "message", "content": "ai:here"}, "assistant"),
        ({"kind": "message", "content": "assistants: hired two"}, None),
        ({"kind": "message", "content": "user: hello", "author": "Anna"}, None),
        ({"content": "user: hello", "scope": a_scope(session="s1")}, "user"),
        ({"author": "assistant", "scope": a_scope(session="s1")}, "assistant"),
        ({"content": "user: hello"}, None),
        ({"author": "assistant"}, None),
        ({"kind": "fact", "author": "assistant", "scope": a_scope(session="s1")}, None),
        ({"kind": "message", "data": {"role": 3}, "author": "ai"}, "assistant"),
    ],
)
def test_a_role_is_told_in_three_ways(fields, role):
    assert a_memory(**{"content": "hello", **fields}).role == role


def test_who_wrote_a_note_or_said_something_is_found_with_it():
    assert a_memory("Use tabs", author="Anna").speaker == "Anna"
    assert a_memory("Use tabs", kind="message", author="Anna").speaker == "Anna"
    assert a_memory("Use tabs", kind="preference", author="Anna").speaker == ""
    assert a_memory("Use tabs").speaker == ""
