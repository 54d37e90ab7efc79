"""Sentences stay whole where a full stop is no end, and part where it is."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.memories.distill.sentences import sentences_of


def cut(text):
    return [text[span.start : span.stop] for span in sentences_of(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. We stayed in.", ["It rained.", "We stayed in."]),
        ("hmm. ok. so be it", ["hmm.", "ok.", "so be it"]),
        ("Really?! Yes… maybe.", ["Really?!", "Yes… maybe."]),
        ("Ask Dr. Lee, e.g. on J. Smith vs. the U.S. rules.", ["Ask Dr. Lee, e.g. on J. Smith vs. the U.S. rules."]),
        ("We met at 5 p.m. Then we left.", ["We met at 5 p.m.", "Then we left."]),
        ("We use Flask 2.3.1 on port 5000. It works.", ["We use Flask 2.3.1 on port 5000.", "It works."]),
        ("See https://a.example/x.html?y=1. Then go.", ["See https://a.example/x.html?y=1.", "Then go."]),
        ("Call `os.path. join` now. Done.", ["Call `os.path. join` now.", "Done."]),
        ("Answer: No. I said so.", ["Answer: No.", "I said so."]),
        ("It costs approx. 5 euros, i.e. little.", ["It costs approx. 5 euros, i.e. little."]),
        ("He said “Stop.” She did.", ["He said “Stop.”", "She did."]),
        ("連絡はbob@a.exampleへ。明日は雨！", ["連絡はbob@a.exampleへ。", "明日は雨！"]),
        ("Write to (bob@a.example). Then go.", ["Write to (bob@a.example).", "Then go."]),
        ("本日は晴れ。明日は雨！", ["本日は晴れ。", "明日は雨！"]),
        ("", []),
        (" \n\t ", []),
    ],
)  # fmt: skip
def test_sentences(text, sentences):
    assert cut(text) == sentences


def test_items_of_a_list_are_sentences_without_their_marks():
    assert cut("We need:\n- eggs and milk\n* bread.\n1. a pan\n2) oil\n## Later") == [
        "We need:",
        "eggs and milk",
        "bread.",
        "a pan",
        "oil",
        "Later",
    ]


def test_a_wrapped_line_goes_on_and_a_new_one_begins_with_a_capital():
    assert cut("We went to the\nmarket together\nAnna came too") == ["We went to the\nmarket together", "Anna came too"]


def test_a_block_of_code_is_one_piece_and_known_as_such():
    text = "Try this:\n```python\nx = 1. # Stop. Now.\ny = 2\n```\nIt works."
    spans = sentences_of(text)
    assert [span.is_code for span in spans] == [False, True, False]
    assert text[spans[1].start : spans[1].stop].startswith("```python")
    assert cut("```\nnever closed. Here.") == ["```\nnever closed. Here."]


def test_a_quotation_is_known_as_such():
    spans = sentences_of("She wrote:\n> Always pay me. Now.\nI will not.")
    assert [span.is_quoted for span in spans] == [False, True, True, False]


@given(st.text(alphabet="aB .!?\n-1`>…。e.g", max_size=80))
def test_no_word_is_lost_and_nothing_overlaps(text):
    spans = sentences_of(text)
    assert all(one.stop <= other.start for one, other in pairwise(spans))
    assert all(text[span.start : span.stop] == text[span.start : span.stop].strip() != "" for span in spans)


@given(st.lists(st.text(alphabet="aBcé", min_size=2, max_size=6), max_size=12), st.text(alphabet=" .!?\n…", max_size=3))
def test_every_word_of_prose_is_in_some_sentence(words, between):
    text = f"{between} ".join(words)
    assert "".join("".join(cut(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    "piece", ["@", "a", ".", "a. ", "a.", "no. ", "`a", "a\n", "。", "http://a. ", "A\n ", "- a\n"]
)
def test_a_megabyte_of_hostile_text_is_cut_in_time(piece):
    began = time.process_time()
    sentences_of(piece * (1_000_000 // len(piece)))
    assert time.process_time() - began < 30
