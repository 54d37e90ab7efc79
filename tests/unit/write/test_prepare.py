"""Prepare: what a caller tells becomes a memory, cleaned, filled in and checked."""

from datetime import datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope, Trust, id_of
from scrubjay.testing import NOW, a_scope
from scrubjay.write.prepare import prepare, telling_of
from scrubjay.write.redact import SecretRedactor

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def prepared(telling, redactor=None):
    return prepare(telling_of(telling), a_scope(), now=NOW, redactor=redactor)


def test_a_plain_text_gets_every_default():
    memory = prepared("Prefers tabs")
    assert (memory.content, memory.kind, memory.importance, memory.trust) == ("Prefers tabs", "note", 0.5, Trust.TOLD)
    assert (memory.created_at, memory.valid_from, memory.valid_to) == (NOW, NOW, None)
    assert (memory.scope, memory.key, memory.data, memory.redacted) == (a_scope(), None, {}, ())
    assert memory.id.version == 7


def test_nothing_told_is_the_default():
    nothing = dict.fromkeys(("id", "key", "data", "source", "valid_from", "valid_to", "expires_at", "kind", "trust"))
    memory = prepared({"content": "x", **nothing})
    assert (memory.kind, memory.trust, memory.valid_from) == ("note", Trust.TOLD, NOW)


@pytest.mark.parametrize("content", [None, 7, " "])
def test_a_content_that_is_refused_is_named_as_it_was_given(content):
    with pytest.raises(InvalidInput, match=f"content is {content!r}: give it some text"):
        prepared({"content": content})


def test_a_place_of_its_own_is_narrower_or_elsewhere_but_never_another_tenants():
    assert prepared({"content": "x", "project": "p"}).scope == a_scope(project="p")
    assert prepared({"content": "x", "user": "bob"}).scope == Scope(user="bob")
    with pytest.raises(InvalidInput, match="tenant is not something"):
        prepared({"content": "x", "tenant": "other"})


def test_ids_are_made_kept_or_named():
    known = uuid4()
    assert prepared({"content": "x", "id": known}).id == known
    assert prepared({"content": "x", "id": str(known)}).id == known
    assert prepared({"content": "x", "id": "note-1"}).id == id_of("note-1", "default")
    sources = prepared({"content": "x", "derived_from": ["note-1", str(known)]}).derived_from
    assert sources == (id_of("note-1", "default"), known)
    assert all(isinstance(one, UUID) for one in sources)


def test_times_are_brought_to_utc():
    memory = prepared({"content": "x", "valid_from": NOW.astimezone(timezone(timedelta(hours=5)))})
    assert memory.valid_from == NOW
    assert memory.valid_from.utcoffset() == timedelta(0)
    for field in "valid_from", "valid_to", "expires_at":
        with pytest.raises(InvalidInput, match=field):
            prepared({"content": "x", field: datetime(2026, 1, 1)})  # noqa: DTZ001 -- a naive one is what is refused


def test_secrets_are_gone_from_every_text_before_anything_sees_them():
    told = {"content": f"the token {TOKEN}", "key": TOKEN, "data": {"log": [TOKEN]}, "source": TOKEN, "author": TOKEN}
    memory = prepared({**told, "reason": f"because {TOKEN}"}, SecretRedactor())
    assert TOKEN not in repr([getattr(memory, name) for name in (*told, "reason")])
    assert memory.redacted == ("github-token",)
    assert prepared(told).redacted == ()


@pytest.mark.parametrize("item", [7, None, ["x"], {}, {"kind": "fact"}, {"content": "x", "colour": 1}])
def test_what_is_no_telling_is_refused(item):
    with pytest.raises(InvalidInput):
        telling_of(item)


def test_the_callers_dict_stays_as_it_was():
    data = {"a": 1}
    telling = {"content": "x", "data": data, "user": "bob"}
    prepared(telling).data["b"] = 2
    assert telling == {"content": "x", "data": {"a": 1}, "user": "bob"}
