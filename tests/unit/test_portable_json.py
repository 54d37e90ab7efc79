"""Memories as JSON: what goes out comes back exactly the same."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.model import Memory, Scope, Trust
from scrubjay.model.portable import check_header, from_json, header, moment_text, to_json
from scrubjay.testing import NOW, a_memory

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
contents = texts.filter(str.strip)
names = st.none() | st.text("abcXYZ 0é🐦-:", min_size=1, max_size=20).filter(str.strip)
moments = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- Hypothesis wants naive bounds
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def memories(draw):
    valid_from = draw(moments)
    return Memory(
        id=draw(st.uuids()),
        kind=draw(st.sampled_from(["note", "fact", "message"])),
        content=draw(contents),
        key=draw(names),
        data=draw(st.dictionaries(texts, json_values, max_size=3)),
        importance=draw(st.floats(0, 1)),
        trust=draw(st.sampled_from(Trust)),
        source=draw(names),
        author=draw(names),
        reason=draw(st.none() | contents),
        derived_from=tuple(draw(st.lists(st.uuids(), max_size=3))),
        redacted=tuple(draw(st.lists(st.sampled_from(["password", "token"]), max_size=2))),
        scope=Scope(user=draw(names), project=draw(names), session=draw(names)),
        position=draw(st.none() | st.integers(0, 2**53)),
        created_at=draw(moments),
        valid_from=valid_from,
        valid_to=draw(st.none() | st.just(valid_from + timedelta(microseconds=1))),
        expires_at=draw(st.none() | moments),
        superseded_at=draw(st.none() | moments),
        superseded_by=draw(st.none() | st.uuids()),
        closed_because=draw(st.none() | contents),
        uses=draw(st.integers(0, 2**31 - 1)),
        used_at=draw(st.none() | moments),
    )


@given(memories())
def test_every_memory_comes_back_as_it_was(memory):
    line = json.dumps(to_json(memory), ensure_ascii=False)
    again = from_json(json.loads(line), "default")
    assert again == memory
    assert again.data == memory.data
    assert json.dumps(to_json(again), ensure_ascii=False) == line


def test_defaults_tenant_and_local_marks_stay_behind():
    shown = to_json(a_memory(scope=Scope(tenant="acme", user="anna"), generation=3))
    assert "tenant" not in shown
    assert "generation" not in shown
    assert "key" not in shown
    assert from_json(shown, "other").scope == Scope(tenant="other", user="anna")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"content": None}, "content"),
        ({"id": "x"}, "id is 'x'"),
        ({"id": 7}, "id is 7"),
        ({"colour": 1}, "colour is not a field"),
        ({"generation": "x", "tenant": "x"}, "tenant is not a field"),
        ({"valid_from": "yesterday"}, "valid_from"),
        ({"valid_from": 7}, "valid_from"),
        ({"derived_from": "abc"}, "derived_from"),
        ({"derived_from": [7]}, "derived_from"),
        ({"redacted": [7]}, "redacted"),
        ({"superseded_by": "x"}, "superseded_by"),
        ({"trust": 3}, "trust"),
        ({"uses": 2**31}, "uses"),
        ({"uses": None}, "uses"),
        ({"closed_because": {}}, "closed_because"),
        ({"data": []}, "data"),
        ({"importance": None}, "importance"),
    ],
)
def test_a_wrong_field_is_named(change, message):
    with pytest.raises(InvalidInput, match=message):
        from_json({**to_json(a_memory()), **change}, "default")


@pytest.mark.parametrize("missing", ["id", "content", "created_at", "valid_from"])
def test_a_missing_field_is_named(missing):
    shown = to_json(a_memory())
    del shown[missing]
    with pytest.raises(InvalidInput, match=f"{missing} is missing"):
        from_json(shown, "default")


def test_moments_are_exact_and_of_any_zone():
    assert moment_text(NOW) == "2026-01-15T12:00:00Z"
    assert moment_text(NOW + timedelta(microseconds=1)) == "2026-01-15T12:00:00.000001Z"
    shown = {**to_json(a_memory()), "valid_from": "2026-01-15T17:00:00+05:00"}
    assert from_json(shown, "default").valid_from == NOW


def test_headers():
    check_header(header())
    for wrong in [], {}, {"format": "x", "version": 1}, {**header(), "version": 2}, {**header(), "version": "1"}:
        with pytest.raises(Unsupported):
            check_header(wrong)
    assert UUID(to_json(a_memory())["id"])
