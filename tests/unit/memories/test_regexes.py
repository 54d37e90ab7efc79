"""Regular expressions from strangers: linear time, one clear error."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.errors import InvalidInput
from scrubjay.memories.learning.regexes import KEPT, LONGEST, MEMORY, _compiled, compiled, matches, word_pattern

HOSTILE = ("(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){20}$", "([a-zA-Z]+)*$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$")


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_pattern_is_searched_in_linear_time(pattern):
    started = time.perf_counter()
    matches(pattern, "a" * 20_000 + "!")
    matches(pattern, "x" * 20_000)
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("(deploy", r"missing \)"),
        ("a{2,1}", "repetition"),
        (r"(a)\1", "back-references"),
        ("(?=a)", "look-around"),
        ("[z-a]", "range"),
        ("((a{100}){100}){100}", "repetition size"),
        ("", "regular expression"),
        ("   ", "regular expression"),
        ("x" * (LONGEST + 1), "at most"),
        ("a\x00b", "NUL"),
        (7, "regular expression"),
    ],
)
def test_a_bad_pattern_is_one_clear_error(pattern, told, capfd):
    with pytest.raises(InvalidInput, match=told) as error:
        compiled(pattern)
    assert str(error.value).startswith("task_type_pattern")
    assert capfd.readouterr().err == ""


def test_any_case_any_line_any_of_the_texts():
    assert matches("fix.*login", "FIX\nthe Login page")
    assert matches("deploy|release", None, "nothing", "Release 1.2")
    assert not matches("deploy", None, "")


@given(st.lists(st.from_regex(r"[a-z+.*]{1,8}", fullmatch=True), min_size=1, max_size=4))
def test_words_are_found_as_they_are(words):
    text = " and ".join(words)
    inner = [word for word in words if word[0].isalnum() and word[-1].isalnum()]
    if inner:
        assert matches(word_pattern(tuple(inner)), text)


def test_the_expressions_that_are_kept_take_a_bounded_memory():
    for number in range(3 * KEPT):
        matches(f"deploy {number} (a|b){{{number % 90 + 1}}}", "deploy")
    assert _compiled.cache_info().currsize <= KEPT
    assert KEPT * MEMORY <= 128 * 2**20
