"""The words of a text: prose of any script, and identifiers of code taken apart."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model.words import MOST_TERMS, STOP_WORDS, terms_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Prefers tabs, not spaces!", ["prefers", "tabs", "not", "spaces"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("snake_case_name", ["snake", "case", "name", "snakecasename"]),
        ("kebab-case", ["kebab", "case", "kebabcase"]),
        ("os.path.join", ["os", "path", "join", "ospathjoin"]),
        ("utf8", ["utf", "8", "utf8"]),
        ("Änne Çelik straße", ["anne", "celik", "strasse"]),
        ("東京都", ["東京", "京都"]),
        ("京", ["京"]),
        ("ﬁle", ["file"]),
        ("Привет", ["привет"]),
        ("", []),
        ("🐦 !!! ...", []),
        ("__", []),
    ],
)
def test_words_of(text, words):
    assert words_of(text) == words


@given(st.text(max_size=300))
def test_words_are_folded_and_never_empty(text):
    for word in words_of(text):
        assert word
        assert " " not in word
        assert word == word.lower() or not word.isascii()


@given(st.text(alphabet="abzABZ09._-' \n,()/", max_size=40))
def test_plain_text_is_read_quickly_and_gives_the_same_words_as_any_other(text):
    assert [*words_of(text), "e"] == words_of(f"{text} é")


@given(st.text(max_size=100))
def test_a_question_finds_the_words_that_are_indexed(text):
    assert set(terms_of(text)) <= set(words_of(text))


def test_common_words_are_dropped_unless_nothing_else_is_left():
    assert terms_of("what is the indent of the file") == ["indent", "file"]
    assert terms_of("who is it") == ["who", "is", "it"]
    assert terms_of("tabs tabs TABS") == ["tabs"]
    assert all(word == word.lower() for word in STOP_WORDS)


def test_of_a_long_question_the_longest_words_are_kept_in_order():
    question = " ".join(f"word{'x' * place}" for place in range(100))
    terms = terms_of(question)
    assert len(terms) == MOST_TERMS
    assert terms == sorted(terms, key=len)


@pytest.mark.parametrize("text", ["x" * 1_000_000, "aB" * 500_000, "東" * 300_000, "a.b-" * 250_000, "'" * 1_000_000])
def test_a_megabyte_of_anything_takes_a_moment(text):
    began = time.process_time()
    words_of(text)
    assert time.process_time() - began < 60
