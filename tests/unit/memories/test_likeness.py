"""When two texts are one fact, when they may be, and when they contradict each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.facts.gist import gist_of
from scrubjay.memories.facts.likeness import likeness
from scrubjay.memories.facts.statements import contradiction

texts = st.text(max_size=60)
similarities = st.none() | st.floats(0, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The office is in Munich", "the Office is in Munich!"),
        ("A boy plays violin", "a boy played VIOLIN"),
        ("It does not scale", "It doesn’t scale"),
    ],
)
@pytest.mark.parametrize("similarity", [None, 0.5, 1.0])
def test_case_endings_and_punctuation_make_no_other_fact(one, other, similarity):
    assert likeness(one, other, similarity).verdict == "same"


@pytest.mark.parametrize(
    ("one", "other", "similarity", "verdict"),
    [
        ("Storms feared for Midwest", "Midwest storms feared", 0.95, "same"),
        ("Storms feared for Midwest", "Midwest storms feared", 0.9, "alike"),
        ("Storms feared for Midwest", "Midwest storms feared", None, "different"),
        ("The office is located in Munich", "The office is in Munich", 0.95, "alike"),
        ("The office is in Munich", "The shop sells bicycles", 0.99, "different"),
        ("Prefers tabs over spaces", "Prefers spaces over tabs", 0.99, "alike"),
        ("Answer yes to this and no to that", "Answer no to this and yes to that", 0.99, "alike"),
        ("Log in first", "Log out first", 0.99, "alike"),
        ("Copy the files to the bucket", "Copy the files into the bucket", 0.99, "same"),
        ("The counter goes up by itself", "The counter goes down by itself", 0.99, "alike"),
        ("Retries three times", "Retries five times", 0.99, "different"),
        ("Listens on port 8080", "Listens on port 9090", 0.99, "different"),
        ("It scales", "It does not scale", 0.99, "different"),
        ("The parser is written in C", "The parser is written in C++", 0.99, "different"),
        ("Freezers run at -5 degrees", "Freezers run at 5 degrees", 0.99, "different"),
        ("The product database is new", "The production database is new", 0.99, "alike"),
        ("Marta has the keys", "Martha has the keys", 0.99, "alike"),
        ("🎉", "🚀", 0.99, "different"),
        ("+++", "---", 0.99, "different"),
    ],
)
def test_words_and_meaning_have_to_agree(one, other, similarity, verdict):
    found = likeness(one, other, similarity)
    assert found.verdict == verdict, found
    assert likeness(other, one, similarity).verdict == verdict
    assert "telling words in common" in found.explanation


@given(one=texts, other=texts, similarity=similarities)
def test_every_text_can_be_compared(one, other, similarity):
    found = likeness(one, other, similarity)
    assert 0 <= found.words <= 1
    assert found.verdict == likeness(other, one, similarity).verdict
    assert bool(contradiction(one, other, similarity)) == bool(contradiction(other, one, similarity))


@given(text=texts.filter(str.strip))
def test_a_text_is_like_itself_and_does_not_contradict_itself(text):
    assert contradiction(text, text, 1.0) is None
    if gist_of(text).words:
        assert likeness(text, text, 1.0).verdict == "same"


@pytest.mark.parametrize(
    ("one", "other", "because"),
    [
        ("The office is in Berlin", "The office is in Munich", "another value: 'berlin' against 'munich'"),
        ("Marta leads the project", "Martha leads the project", "another subject"),
        ("The cache expires after 60 seconds", "The cache expires after 300 seconds", "another number"),
        ("The user has two children", "The user has three children", "another number: 'two' against 'three'"),
        ("Code review is required", "Code review is optional", "opposites"),
        ("Ann leads the project", "Bob leads the project", "another subject"),
        ("Use tabs for Makefiles", "Use spaces for Makefiles", "opposites"),
        ("Use snake_case for functions", "Use camelCase for functions", "another value"),
        ("We deploy on Fridays", "We do not deploy on Fridays", "one says what the other denies"),
        ("The service supports OAuth", "The service no longer supports OAuth", "one says what the other denies"),
    ],
)
def test_another_value_or_a_negation_is_a_contradiction(one, other, because):
    assert (contradiction(one, other, 0.8) or "").startswith(because)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann likes tea", "Ann likes coffee"),
        ("Ann likes tea", "Bob likes tea"),
        ("The office is in Berlin", "The office is on the third floor"),
        ("The office is in Berlin", "The warehouse is in Munich"),
        ("The project uses PostgreSQL", "The project uses Redis"),
        ("The deadline is March 3", "The kickoff is April 10"),
        ("We never deploy on Fridays", "We do not deploy on Fridays"),
        ("x " * 40, "y " * 40),
        ("", "The office is in Berlin"),
    ],
)
def test_other_statements_contradict_nothing(one, other):
    assert contradiction(one, other, 0.8) is None


def test_statements_about_different_things_are_not_compared():
    assert contradiction("Prefers tea", "Prefers short meetings", 0.1) is None
    assert contradiction("Prefers tea", "Prefers short meetings", None) is None
