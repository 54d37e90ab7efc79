"""Postings say which rows have a word and how often, whatever parts they lie in."""

import random
import tracemalloc
from collections import Counter

import numpy as np
import pytest

from scrubjay.backends.sql import postings
from scrubjay.backends.sql.postings import Postings, Words, gathered, joined, part_of
from scrubjay.backends.sql.stems import stem_of

WORDS = [f"w{number}" for number in range(30)]


@pytest.fixture(params=[1, 4, 256], ids=["each a part", "small parts", "as it is"])
def tail(request, monkeypatch):
    monkeypatch.setattr(postings, "TAIL", request.param)
    return request.param


def some_texts(many, *, seed=0):
    chance = random.Random(seed)
    return [chance.choices(WORDS, k=chance.randrange(0, 12)) for _ in range(many)]


def counted(texts, word):
    """The slots that have a word and how often, one by one."""
    return {slot: times for slot, text in enumerate(texts) if (times := Counter(text)[word])}


def found(held, word):
    rows = held.rows_of(word)
    assert all(np.all(np.diff(slots) > 0) for slots, _ in rows)
    pairs = [pair for slots, times in rows for pair in zip(slots.tolist(), times.tolist(), strict=True)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize("step", [1, 3, 300])
def test_every_word_has_the_rows_that_have_it(tail, step):
    texts, held = some_texts(300), Postings()
    for start in range(0, len(texts), step):
        held.add(start, texts[start : start + step])
    for word in [*WORDS, "unheard"]:
        assert found(held, word) == counted(texts, word)


def test_all_forms_of_a_word_are_one():
    held = Postings()
    held.add(0, [["deploy"], ["deploys", "deployed"], ["canary"]])
    assert found(held, "deploying") == {0: 1, 1: 2}


def test_a_word_that_is_there_very_often_counts_as_often_as_a_byte_holds(tail):
    held = Postings()
    held.add(0, [["again"] * 1_000])
    assert found(held, "again") == {0: 255}


def test_parts_stay_few_however_many_rows_come_one_by_one():
    held = Postings()
    for slot, text in enumerate(some_texts(5_000)):
        held.add(slot, [text])
    assert held.scattered < 8


def test_parts_that_are_joined_are_one_that_was_made_at_once():
    texts, words = some_texts(90), Words()
    pieces = [part_of(start, texts[start : start + 30], words) for start in (0, 30, 60)]
    for one, other in zip(joined(pieces), part_of(0, texts, words), strict=True):
        assert one.tolist() == other.tolist()


def test_what_is_gathered_lies_in_as_few_parts_as_fit(monkeypatch):
    texts, words = some_texts(200), Words()
    pieces = [part_of(start, texts[start : start + 10], words) for start in range(0, 200, 10)]
    [whole] = gathered(iter(pieces))
    monkeypatch.setattr(postings, "LARGEST", len(whole.slots) // 3)
    parts = list(gathered(iter(pieces)))
    assert 3 <= len(parts) <= 4
    held = Postings(parts)
    for word in WORDS:
        assert found(held, word) == counted(texts, word)


def test_little_more_is_held_while_a_store_is_read_than_afterwards():
    chance, words = random.Random(8), Words(200_000)
    known = [f"word{number}" for number in range(20_000)]
    texts = [chance.choices(known, k=26) for _ in range(20_000)]
    for text in texts:
        words.update((word, hash(word)) for word in text)
    tracemalloc.start()
    try:
        [whole] = gathered(part_of(start, texts[start : start + 64], words) for start in range(0, len(texts), 64))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 6 * whole.size


def test_words_of_a_store_do_not_stay_where_stems_are_held():
    before = stem_of.cache_info().currsize
    Words()["unheardofinanyothertest"]
    assert stem_of.cache_info().currsize == before


def test_words_that_were_met_longest_ago_are_let_go_of():
    words = Words(3)
    numbers = [words[f"word{place}"] for place in range(10)]
    assert len(words) <= 3
    assert [words[f"word{place}"] for place in range(10)] == numbers
