"""Understand: any text becomes a question that every search can be asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model import Filter, Query
from scrubjay.model.words import MOST_TERMS
from scrubjay.read.understand import opening, understand
from scrubjay.testing.values import a_scope


def asked(text: str, **options):
    return understand(Query(text=text, filter=Filter(scope=a_scope()), **options))


def test_a_question_is_asked_by_words_and_by_meaning():
    question = asked("How should I indent Python?")
    assert question.terms == ("indent", "python")
    assert question.by_words
    assert question.by_meaning
    assert not question.is_empty


def test_a_mode_leaves_the_other_search_out():
    assert not asked("tabs", mode="meaning").by_words
    assert not asked("tabs", mode="words").by_meaning


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_question_without_text_asks_for_nothing_in_particular(text):
    assert asked(text).is_empty


def test_a_question_without_words_still_has_a_meaning():
    question = asked("🦜")
    assert not question.by_words
    assert question.by_meaning
    assert asked("🦜", mode="words").is_empty


def test_half_of_a_surrogate_pair_is_a_question_mark_to_every_reader():
    long = asked(f"The title\n{'word ' * 50}\ud83d")
    assert long.sought.endswith("word ?")
    assert long.text == long.sought
    assert opening(long.sought, window=100, count=lambda texts: [len(text.split()) for text in texts]) == long.sought
    assert asked("🦜 and ü").text == "🦜 and ü"


@pytest.mark.parametrize(
    "text", ['"; DROP TABLE', "a AND NOT (b OR", "NEAR(x y)", "col:val*", "'", "^", "日本語の質問"]
)
def test_terms_are_plain_words_whatever_the_text(text):
    assert all(term.isalnum() for term in asked(text).terms)


def test_a_long_question_is_asked_by_its_opening_and_its_longest_words():
    filler = " ".join(f"extraordinarily{letter * 3}long" for letter in "abcdefghijklmnopqrstuvwxyz" * 4)
    numbered = " ".join(f"{place}" for place in range(40))
    question = asked(f"Crash on save in the editor. {numbered} {filler} uncharacteristically-incomprehensible")
    assert question.terms[:3] == ("crash", "save", "editor")
    assert "uncharacteristicallyincomprehensible" in question.terms
    assert len(question.terms) == MOST_TERMS
    assert len(set(question.terms)) == MOST_TERMS


def test_a_huge_question_is_cut():
    assert len(asked("word " * 200_000).text) < 100_000


@pytest.mark.parametrize(
    "text",
    ["What did you recommend for dinner?", "the hotel you suggested", "Remind me of your advice", "you also told me"],
)
def test_a_question_for_the_assistants_own_words_is_known(text):
    assert asked(text).asks_assistant


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        (
            "Can you list the order in which I brought up aspects of my work with Carla? Mention ONLY five items.",
            "work with Carla",
        ),
        ("Please summarize what I’ve learned about city autocomplete", "learned about city autocomplete"),
        ("Give me an overview of our chats about Lisbon and the ferry", "Lisbon and the ferry"),
    ],
)
def test_the_framing_of_a_question_about_the_talk_is_left_out(text, sought):
    question = asked(text)
    assert question.text == text
    assert question.sought == sought
    assert set(question.terms) <= set(sought.lower().split())
    assert question.asks_back


@pytest.mark.parametrize(
    "text",
    [
        "Where did Carla and I go?",
        "summary of a list in python",
        "What time is my daily summary sent?",
        "Summarize our talk",
        "Can you give me a summary of everything we discussed?",
        "I get a timeline of errors\nwhen I start the program",
    ],
)
def test_any_other_question_looks_for_itself(text):
    assert asked(text).sought == text


@pytest.mark.parametrize("text", ["When did I move?", "How many cards have I made?", "What was it that I mentioned?"])
def test_a_question_about_what_was_looks_back(text):
    assert asked(text).asks_back


@pytest.mark.parametrize(
    "text", ["How do I deploy?", "I have been thinking of a trip. Any suggestions?", "a login page"]
)
def test_a_question_to_act_upon_does_not(text):
    assert not asked(text).asks_back


@pytest.mark.parametrize("text", ["Can you tell me where I live?", "What do you know about tabs?", "my plan", ""])
def test_being_polite_is_not_asking_for_the_assistants_words(text):
    assert not asked(text).asks_assistant


def by_letters(texts):
    return [len(text) + 2 for text in texts]


def by_words(texts):
    return [len(text.split()) for text in texts]


def by_bytes(texts):
    return [len(text.encode()) + 2 for text in texts]


@given(text=st.text(max_size=3000), window=st.integers(8, 300), count=st.sampled_from([by_letters, by_words, by_bytes]))
def test_an_opening_fits_the_window_and_begins_the_text(text, window, count):
    head = opening(text, window=window, count=count)
    assert count([head])[0] <= window
    assert text.startswith(head)
    if count([text])[0] <= window and len(text) <= window:
        assert head == text


def test_an_opening_uses_the_window_well_and_ends_between_words():
    head = opening("lorem ipsum " * 500, window=256, count=by_letters)
    assert len(head) > 128
    assert head.endswith(("lorem", "ipsum"))


def test_a_short_text_is_not_counted():
    def never(texts):
        raise AssertionError(texts)

    assert opening("how should I indent?", window=256, count=never) == "how should I indent?"


def test_a_long_question_of_several_lines_has_a_title():
    body = "It fails. " * 40
    assert asked(f"Crash on start \r\n\r\n{body}").title == "Crash on start"
    assert asked(f"\n\n  Crash on start\n{body}").title == "Crash on start"
    assert asked(f"{'x' * 200}\n{body}").title == "x" * 200
    for text in ("Crash on start\nIt fails.", body, f"{'x' * 201}\n{body}", f"{'x' * 199} {body}", ""):
        assert asked(text).title == "", text[:20]
