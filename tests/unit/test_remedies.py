"""A name that is nearly right is told with the one that was meant; a value of the wrong sort with the right sort."""

import pytest

import scrubjay
from scrubjay.errors import InvalidInput
from scrubjay.model.remedies import instead, meant, misspelt, wanted

NAMES = ("user", "project", "kinds", "least_importance", "valid_from")


@pytest.mark.parametrize(
    ("name", "right"),
    [("usr", "user"), ("kind", "kinds"), ("valid_form", "valid_from"), ("budget", None), ("u", None), ("", None)],
)
def test_what_was_meant(name, right):
    assert meant(name, NAMES) == right


def test_all_there_are_stand_beside_what_was_meant():
    assert instead("usr", NAMES) == f"did you mean user? There are {', '.join(NAMES)}"
    assert instead(5, NAMES) == f"use {', '.join(NAMES)}"
    assert instead("budget", NAMES) == f"use {', '.join(NAMES)}"


def test_only_what_is_nearly_a_name_is_misspelt():
    assert misspelt(["user", "projet", "colour"], NAMES) == {"projet": "project"}


@pytest.mark.parametrize(
    ("kind", "facts", "use"),
    [
        ("int_parsing", {}, "a whole number, such as 5"),
        ("int_from_float", {}, "a whole number, such as 5"),
        ("bool_type", {}, "true or false"),
        ("datetime_from_date_parsing", {}, "a moment with its zone, such as 2026-03-01T12:00:00Z"),
        ("model_attributes_type", {}, "a JSON object"),
        ("greater_than_equal", {"ge": 1}, "1 or more"),
        ("literal_error", {"expected": "'a' or 'b'"}, "'a' or 'b'"),
        ("string_pattern_mismatch", {"pattern": "^a$"}, None),
    ],
)
def test_what_is_wanted_instead(kind, facts, use):
    assert wanted({"type": kind, "ctx": facts}) == use


def test_the_verbs_say_so(tmp_path):
    with scrubjay.open(tmp_path, embedder="none") as jay:
        with pytest.raises(
            InvalidInput, match=r"usr is not something a memory has: did you mean user\? There are content"
        ):
            jay.remember("Prefers tabs", usr="ada")
        with pytest.raises(
            InvalidInput, match=r"kind='fact' is not a known option: did you mean kinds\? There are agent"
        ):
            jay.recall("tabs", kind="fact")
        with pytest.raises(InvalidInput, match=r"sesion='s' is not a known option: did you mean session\?"):
            jay.history(key="x", sesion="s")
        assert jay.count() == 0
