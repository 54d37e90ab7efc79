"""Signs leave the likely rows of very many, and all of fewer."""

from uuid import UUID

import numpy as np
import pytest

from scrubjay.backends.sql.types import microseconds
from scrubjay.backends.vectors import signs
from scrubjay.backends.vectors.coded import question
from scrubjay.backends.vectors.matrix import Matrix, Row
from scrubjay.backends.vectors.signs import Signs
from scrubjay.model import Filter, Scope, new_id
from scrubjay.testing import NOW

ALL = Filter(scope=Scope())
AT = microseconds(NOW)
DIMENSIONS = 256
MANY = 20_000


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(signs, "MANY", MANY)


def about_topics(many, *, seed):
    """Vectors like those of texts: each about one of a few hundred topics, in its own words."""
    generator = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((300, DIMENSIONS))
    own = generator.standard_normal((many, DIMENSIONS))
    return (topics[generator.integers(0, len(topics), many)] + own).astype("<f2")


def rows_of(vectors):
    return [Row(0, 1, new_id().bytes, 0, 10, 1, "note", True, 0, None, vector.tobytes()) for vector in vectors]


def a_matrix(rows, *, dimensions=DIMENSIONS):
    matrix = Matrix(dimensions)
    matrix.know_scopes([(1, ("", "", "", "", ""))])
    for start in range(0, len(rows), 7_000):
        matrix.absorb(rows[start : start + 7_000], since=0)
    return matrix


def of_unit_length(vectors):
    exact = vectors.astype(np.float64)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)


def found_in(matrix, rows, vector, limit):
    places = {UUID(bytes=row.id): place for place, row in enumerate(rows)}
    found = matrix.nearest(question(vector), matrix.chosen(ALL, now=AT), limit)
    return [places[match.id] for match in found]


def test_of_very_many_rows_nearly_all_of_the_nearest_are_found():
    vectors = about_topics(MANY, seed=1)
    rows = rows_of(vectors)
    matrix = a_matrix(rows)
    unit = of_unit_length(vectors)
    wanted = found = 0
    for vector in about_topics(20, seed=2).astype(np.float64):
        nearest = set(np.argsort(-(unit @ vector))[:10].tolist())
        answer = found_in(matrix, rows, vector, 10)
        assert len(answer) == 10
        wanted += 10
        found += len(nearest.intersection(answer))
    assert found >= 0.95 * wanted


def test_few_of_very_many_are_left_and_the_row_itself_is_among_them():
    vectors = about_topics(MANY, seed=1)
    matrix = a_matrix(rows_of(vectors))
    every = np.arange(MANY)
    for place in (0, MANY // 2, MANY - 1):
        left = matrix.signs.likely(question(vectors[place]), every, 10)
        assert place in left
        assert signs.LIKELY * 8 <= len(left) < MANY / 10


def test_signs_count_where_the_numbers_of_the_question_are_large():
    """In each row as often as NumPy finds by looking at the numbers, also where the last column is not full."""
    generator = np.random.default_rng(5)
    rows, asked = generator.standard_normal((1_000, 300)), question(generator.standard_normal(300))
    columns = list(signs.packed_signs(rows > 0).T)
    assert len(columns) == signs.words_of(300) == 5
    assert np.count_nonzero(asked.telling) == 180
    apart = ((rows > 0) != (asked.exact > 0))[:, asked.telling].sum(axis=1)
    for many in (10, 50, 100):
        left = signs.likely(asked, columns, np.arange(1_000), many)
        assert many <= len(left) <= 3 * many
        assert left.tolist() == np.flatnonzero(apart <= apart[left].max()).tolist()


def test_signs_of_some_of_the_rows_are_counted_alike():
    vectors = about_topics(3 * MANY, seed=1)
    matrix = a_matrix(rows_of(vectors))
    some = np.arange(0, 3 * MANY, 3)
    half = np.arange(0, 3 * MANY, 3, dtype=np.int64) + 1
    for slots in (some, half, np.concatenate((some, half))):
        left = matrix.signs.likely(question(vectors[slots[7]]), slots, 10)
        assert slots[7] in left
        assert set(left) <= set(slots)
        assert signs.LIKELY * 8 <= len(left) < len(slots) / 10


def test_fewer_rows_are_all_left_and_take_no_room():
    vectors = about_topics(MANY - 1, seed=1)
    matrix = a_matrix(rows_of(vectors))
    every = np.arange(MANY - 1)
    assert matrix.signs.likely(question(vectors[0]), every, 10) is every
    assert matrix.signs.size == 0


def test_where_a_filter_leaves_fewer_all_of_these_are_left():
    matrix = a_matrix(rows_of(about_topics(MANY, seed=1)))
    some = np.arange(0, MANY, 2)
    assert matrix.signs.likely(question(np.ones(DIMENSIONS)), some, 10) is some


def test_when_nearly_as_many_are_wanted_all_are_left():
    matrix = a_matrix(rows_of(about_topics(MANY, seed=1)))
    every = np.arange(MANY)
    assert matrix.signs.likely(question(np.ones(DIMENSIONS)), every, MANY) is every


def test_short_vectors_have_no_signs():
    telling = Signs(16)
    telling.keep_up(np.ones((MANY, 16), dtype=np.float16))
    assert telling.size == 0


def test_what_came_later_is_found_and_what_is_gone_is_not():
    vectors = about_topics(MANY, seed=1)
    rows = rows_of(vectors)
    matrix = a_matrix(rows)
    later = rows_of(about_topics(2, seed=3))
    matrix.absorb(later, since=len(matrix))
    matrix.absorb([rows[5]._replace(vector=None)], since=len(matrix))
    rows += later
    [newest] = found_in(matrix, rows, np.frombuffer(later[1].vector, dtype="<f2"), 1)
    assert rows[newest] == later[1]
    assert 5 not in found_in(matrix, rows, vectors[5], 10)


def test_a_copy_without_the_dead_has_the_signs_of_the_others():
    vectors = about_topics(MANY + 1_000, seed=1)
    rows = rows_of(vectors)
    matrix = a_matrix(rows)
    matrix.absorb([row._replace(vector=None) for row in rows[:1_000]], since=len(matrix))
    copy = matrix.compacted()
    assert copy.signs.size > 0
    for place in (1_000, MANY):
        assert found_in(copy, rows, vectors[place], 10) == found_in(matrix, rows, vectors[place], 10)
        assert found_in(copy, rows, vectors[place], 1) == [place]


def test_where_the_likely_are_parts_of_a_few_memories_others_are_found_too():
    vectors = about_topics(MANY, seed=1)
    long = (vectors[0] + 0.1 * np.random.default_rng(4).standard_normal((2_000, DIMENSIONS))).astype("<f2")
    one = new_id().bytes
    parts = [row._replace(id=one, start=at, stop=at + 1) for at, row in enumerate(rows_of(long))]
    rows = rows_of(vectors)
    found = found_in(a_matrix([*parts, *rows]), rows + parts[:1], vectors[0], 10)
    assert len(found) == len(set(found)) == 10
    assert found[0] == 0
    assert MANY in found
