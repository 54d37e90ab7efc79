"""Weighing and ranking outside FTS5: the same stems, the same scores, and the heaviest rows first."""

import random
import sqlite3
from pydoc_data import topics

import pytest

from scrubjay.backends.sql import weighing
from scrubjay.backends.sql.schema import texts_sqlite
from scrubjay.backends.sql.stems import stem_of
from scrubjay.backends.sql.weighing import Listed, Ranking, heaviest, rarity
from scrubjay.model.words import words_of

WORDS = ["deploy", "deployed", "canary", "relational", "probably", "happy", "hoping", "tea", "naive", "ai", "データ"]


@pytest.fixture
def file():
    file = sqlite3.connect(":memory:")
    file.execute(texts_sqlite)
    yield file
    file.close()


def indexed(file, bodies):
    file.executemany("INSERT INTO texts (rowid, body, marks) VALUES (?, ?, '')", enumerate(bodies, 1))


def listed(word, *, weight=1.0, is_cut=False):
    return Listed(f'body : ("{word}")', weight, is_cut)


def test_a_stem_is_what_fts5_makes_of_the_word(file):
    written = sorted({word for topic in topics.topics.values() for word in words_of(topic)})
    edges = "sses ies ing eed ed es ion ational bles yed ying ties feed agreed falling hoping sky skies ays ai"
    words = [*written, *edges.split(), "日本", "x" * 70 + "s"]
    indexed(file, words)
    file.execute("CREATE VIRTUAL TABLE temp.stems USING fts5vocab(main, texts, instance)")
    stems = {words[doc - 1]: term for term, doc in file.execute("SELECT term, doc FROM temp.stems")}
    assert len(stems) > 4_000
    for word, stem in stems.items():
        assert stem_of(word) == stem.encode().decode("latin-1"), word


def test_a_score_is_what_fts5_gives(file):
    chance = random.Random(3)
    bodies = ["  ".join(chance.choices([*WORDS, "other", "more"], k=chance.randrange(1, 200))) for _ in range(300)]
    indexed(file, [*bodies, *["filler text"] * 900])
    asked = ["deploying", "canaries", "relate", "happiness", "hope", "データ", "ai", "deploys"]
    count = "SELECT count(*) FROM texts WHERE texts MATCH ?"
    rows = {word: file.execute(count, (f'"{word}"',)).fetchone()[0] for word in asked}
    usual = (sum(len(body.split()) for body in bodies) + 2 * 900) / 1_200
    ranking = Ranking({word: rarity(many, 1_200) for word, many in rows.items()}, usual)
    any_of = " OR ".join(f'"{word}"' for word in asked)
    scores = file.execute("SELECT body, bm25(texts, 1.0, 0.0) FROM texts WHERE texts MATCH ?", (any_of,)).fetchall()
    assert len(scores) > 200
    for body, score in scores:
        assert ranking.score(body) == pytest.approx(-score)


def test_a_row_with_more_and_rarer_words_comes_first(file):
    indexed(file, ["tea", "tea canary", "canary", "nothing", "tea happy canary", "happy"])
    words = [listed("canary", weight=5.0), listed("happy", weight=3.0), listed("tea")]
    assert heaviest(file, words, 10.0) == [5, 2, 3, 6, 1]
    assert heaviest(file, [listed("unheard")], 1.0) == []


@pytest.mark.parametrize("words", [3, 127, 128, 16_383, 16_384])
def test_of_rows_with_the_same_words_the_shorter_comes_first(file, words):
    indexed(file, [f"tea {'long ' * words}", f"tea {'long ' * (words - 2)}", f"tea {'long ' * (words + 2)}"])
    assert heaviest(file, [listed("tea")], float(words)) == [2, 1, 3]


def test_of_too_many_the_heaviest_and_then_the_oldest_are_looked_at(file, monkeypatch):
    monkeypatch.setattr(weighing, "LOOKED_AT", 3)
    indexed(file, ["tea", "tea", "tea", "tea", "tea canary"])
    assert heaviest(file, [listed("canary", weight=2.0), listed("tea")], 1.0) == [5, 1, 2]
    assert heaviest(file, [listed("tea", is_cut=True)], 1.0) == [1, 2, 3]
