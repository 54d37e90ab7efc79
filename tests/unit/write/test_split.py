"""Split: every part fits, together they are the whole text but for white space between, and hostile text ends too."""

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.models.wordpiece import wordpiece
from scrubjay.write.split import split

texts = st.text(alphabet=st.sampled_from("abc .!?\n\t äß東京🐦。;:"), max_size=300) | st.text(max_size=200)


def by_words(texts):
    return [len(text.split()) for text in texts]


def by_characters(texts):
    return [len(text) for text in texts]


def by_bytes(texts):
    return [len(text.encode()) + 2 for text in texts]


def by_wordpiece(texts):
    return [len(encoding.ids) for encoding in wordpiece().encode_batch(list(texts))]


def check(text, spans, window, count):
    assert spans
    counts = count([text[start:stop] for start, stop in spans])
    for (start, stop), tokens in zip(spans, counts, strict=True):
        assert 0 <= start < stop <= len(text)
        assert tokens <= window or stop - start == 1
    for (_, stop), (start, _) in itertools.pairwise(spans):
        assert stop <= start
        assert not text[stop:start].strip()
    if len(spans) > 1:
        assert not text[: spans[0][0]].strip()
        assert not text[spans[-1][1] :].strip()
        assert all(text[start:stop].strip() for start, stop in spans)


@given(texts.filter(bool), st.integers(1, 40), st.sampled_from([by_words, by_characters]))
@settings(max_examples=400, deadline=None)
def test_parts_fit_and_cover_the_text_in_order(text, window, count):
    check(text, split(text, window=window, count=count), window, count)


@given(texts.filter(bool), st.integers(8, 60))
@settings(max_examples=200, deadline=None)
def test_a_token_may_be_as_small_as_a_byte(text, window):
    check(text, split(text, window=window, count=by_bytes), window, by_bytes)


@given(texts.filter(bool))
@settings(max_examples=100, deadline=None)
def test_parts_fit_the_bundled_tokenizer(text):
    long = text * 20
    check(long, split(long, window=32, count=by_wordpiece), 32, by_wordpiece)


def test_a_short_text_is_one_part():
    assert split("a b c", window=10, count=by_words) == [(0, 5)]
    assert split(" padded ", window=10, count=by_words) == [(0, 8)]


def test_the_best_seams_are_taken():
    text = "One two three. Four five.\n\nSix seven eight. Nine."
    parts = [text[start:stop] for start, stop in split(text, window=5, count=by_words)]
    assert parts == ["One two three. Four five.", "Six seven eight. Nine."]


def test_neighbours_are_joined_as_long_as_they_fit():
    text = "\n".join(f"line {number}" for number in range(100))
    # Two words each, and one for the line end between them: 7 lines fit into 20.
    assert len(split(text, window=20, count=by_words)) == 15


HOSTILE = {
    "no spaces": "x" * 1_000_000,
    "emoji": "🐦🏽\u200d🪶" * 100_000,
    "newlines": "\n" * 1_000_000,
    "spaces with a word": " " * 500_000 + "word" + " " * 500_000,
    "blank lines": "\n \n" * 300_000,
    "one letter a line": "a\n" * 300_000,
    "full stops": ". " * 400_000,
    "no seams in Japanese": "東京タワーは東京にあります" * 50_000,
    "combining marks": "e" + "\u0301" * 200_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_comes_to_an_end(name):
    text = HOSTILE[name]
    began = time.process_time()
    spans = split(text, window=256, count=by_characters)
    assert time.process_time() - began < 30
    if text.strip():
        check(text, spans, 256, by_characters)


def test_a_counter_that_is_never_content_does_not_go_on_for_ever():
    spans = split("abcdefgh", window=1, count=lambda texts: [9 for _ in texts])
    assert [stop - start for start, stop in spans] == [1] * 8
