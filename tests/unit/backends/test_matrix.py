"""The matrix finds exactly what comparing the stored half floats one by one would find."""

import itertools
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrubjay.backends.growing import Growing
from scrubjay.backends.sql.types import microseconds
from scrubjay.backends.vectors.coded import question
from scrubjay.backends.vectors.matrix import HELD, Matrix, Row
from scrubjay.errors import StoreDamaged
from scrubjay.model import Filter, Scope, new_id
from scrubjay.testing import NOW

ALL = Filter(scope=Scope())
AT = microseconds(NOW)
numbers = itertools.count(1)


def a_row(vector, *, id=None, scope=1, kind="note", live=True, since=0, until=None, span=(0, 10), change=1):
    blob = None if vector is None else np.asarray(vector, dtype="<f2").tobytes()
    memory = (id or new_id()).bytes
    return Row(next(numbers), change, memory, *span, scope, kind, live, since, until, blob)


def a_matrix(rows, *, dimensions, scopes=None):
    matrix = Matrix(dimensions)
    matrix.know_scopes((scopes or {1: ("", "", "", "", "")}).items())
    matrix.absorb(rows, since=0)
    return matrix


def nearest(matrix, vector, limit, filter=ALL, now=AT):
    asked = question(vector)
    found = matrix.nearest(asked, matrix.chosen(filter, now=now), limit)
    return [(match.id, match.score, match.start) for match in found]


def by_hand(rows, vector, limit):
    """Every row compared in double precision, the best part of each memory, ties by id."""
    vector = np.asarray(vector, dtype=np.float64)
    best = {}
    for row in rows:
        half = np.frombuffer(row.vector, dtype="<f2").astype(np.float64)
        length = np.linalg.norm(half) * np.linalg.norm(vector)
        score = round(float(half @ vector / (length or 1)), 7)
        key = (-score, row.start)
        best[row.id] = min(best.get(row.id, key), key)
    ordered = sorted((score, memory, start) for memory, (score, start) in best.items())
    return [(UUID(bytes=memory), -score, start) for score, memory, start in ordered[:limit]]


def ids_of(found):
    return [memory for memory, _, _ in found]


def assert_same(found, wanted):
    assert ids_of(found) == ids_of(wanted)
    assert [score for _, score, _ in found] == pytest.approx([score for _, score, _ in wanted], abs=2e-7)
    assert [start for _, _, start in found] == [start for _, _, start in wanted]


def unit(array):
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def clustered(generator, many, dimensions):
    """Vectors as embedders make them: a few topics, and a part that all have in common."""
    topics = generator.standard_normal((20, dimensions))
    rows = topics[generator.integers(0, 20, many)] + generator.standard_normal((many, dimensions)) + 0.5
    return unit(rows)


@pytest.mark.parametrize("many", [0, 1, 10, 48, 49, 300, 5_000])
@pytest.mark.parametrize("limit", [1, 10, 200])
def test_the_answer_is_exact(many, limit):
    generator = np.random.default_rng(many)
    rows = [a_row(vector) for vector in clustered(generator, many, 96)]
    matrix = a_matrix(rows, dimensions=96)
    for vector in clustered(generator, 5, 96):
        assert_same(nearest(matrix, vector, limit), by_hand(rows, vector, limit))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
def test_the_answer_is_exact_under_a_filter(share):
    generator = np.random.default_rng(5)
    rows = [
        a_row(row, kind="rule" if generator.random() < share else "note") for row in clustered(generator, 4_000, 64)
    ]
    matrix = a_matrix(rows, dimensions=64)
    rules = [row for row in rows if row.kind == "rule"]
    for vector in clustered(generator, 5, 64):
        found = nearest(matrix, vector, 10, Filter(scope=Scope(), kinds=("rule", "skill")))
        assert_same(found, by_hand(rules, vector, 10))


def test_rows_that_bytes_cannot_tell_apart_are_told_apart():
    generator = np.random.default_rng(6)
    base = unit(generator.standard_normal(64))
    rows = [a_row(unit(base + 2e-4 * generator.standard_normal(64))) for _ in range(1_000)]
    matrix = a_matrix(rows, dimensions=64)
    assert_same(nearest(matrix, base, 20), by_hand(rows, base, 20))


def test_rows_with_one_large_number_are_found():
    generator = np.random.default_rng(7)
    spiky = generator.standard_normal((500, 128)) * 0.02
    spiky[np.arange(500), generator.integers(0, 128, 500)] = 1
    rows = [a_row(vector) for vector in unit(np.concatenate((spiky, generator.standard_normal((500, 128)))))]
    matrix = a_matrix(rows, dimensions=128)
    for vector in unit(np.concatenate((spiky[:5], generator.standard_normal((5, 128))))):
        assert_same(nearest(matrix, vector, 10), by_hand(rows, vector, 10))


def test_equal_vectors_come_in_the_order_of_their_ids():
    vector = unit(np.random.default_rng(8).standard_normal(96))
    rows = [a_row(vector) for _ in range(3_000)]
    np.random.default_rng(8).shuffle(rows)
    matrix = a_matrix([Row(*row) for row in rows], dimensions=96)
    ids = sorted(UUID(bytes=bytes(row[2])) for row in rows)
    assert ids_of(nearest(matrix, vector, 25)) == ids[:25]


def test_a_vector_of_zeros_has_nothing_in_common():
    rows = [a_row(vector) for vector in (np.zeros(8), np.eye(8)[0], -np.eye(8)[0])]
    matrix = a_matrix(rows, dimensions=8)
    assert [score for _, score, _ in nearest(matrix, np.eye(8)[0], 3)] == [1, 0, -1]
    assert [score for _, score, _ in nearest(matrix, np.zeros(8), 3)] == [0, 0, 0]


def test_memories_of_many_parts_count_once():
    generator = np.random.default_rng(9)
    topics = unit(generator.standard_normal((60, 64)))
    rows = []
    for topic in topics:
        memory = new_id()
        parts = unit(topic + 0.05 * generator.standard_normal((50, 64)))
        rows += [a_row(part, id=memory, span=(place, place + 1)) for place, part in enumerate(parts)]
    matrix = a_matrix(rows, dimensions=64)
    for topic in topics[:5]:
        assert_same(nearest(matrix, topic, 10), by_hand(rows, topic, 10))
    assert len(nearest(matrix, topics[0], 100)) == 60


def test_a_change_replaces_all_that_was_held_of_a_memory_even_in_chunks():
    axes = np.eye(8)
    memory = new_id()
    matrix = a_matrix(
        [a_row(axes[0], id=memory), a_row(axes[1], id=memory, span=(10, 20)), a_row(axes[5])], dimensions=8
    )
    start = len(matrix)
    matrix.absorb([a_row(axes[2], id=memory)], since=start)
    matrix.absorb([a_row(axes[3], id=memory, span=(10, 20))], since=start)
    scores = [next(score for found, score, _ in nearest(matrix, axis, 9) if found == memory) for axis in axes[:4]]
    assert scores == [0, 0, 1, 1]
    assert matrix.dead == 2
    matrix.absorb([a_row(None, id=memory), a_row(None, id=memory)], since=len(matrix))
    assert memory not in ids_of(nearest(matrix, axes[2], 9))
    assert len(matrix.slots_of([memory])) == 0
    assert matrix.dead == 4


def test_a_compacted_matrix_gives_the_same_answers():
    generator = np.random.default_rng(10)
    vectors = clustered(generator, 800, 64)
    scopes = {1: ("anna", "", "", "", ""), 2: ("", "p", "", "", "")}
    rows = [a_row(vector, scope=1 + place % 2, kind=f"k{place % 3}") for place, vector in enumerate(vectors)]
    rows += [
        a_row(vector, id=UUID(bytes=row.id), span=(10, 20))
        for vector, row in zip(vectors[::-1], rows[::7], strict=False)
    ]
    matrix = a_matrix(rows, dimensions=64, scopes=scopes)
    gone = [UUID(bytes=row.id) for row in rows[:500]]
    matrix.absorb([a_row(None, id=memory) for memory in gone], since=len(matrix))
    copy = matrix.compacted()
    assert len(copy) == len(matrix) - matrix.dead
    assert copy.dead == 0
    assert copy.size < matrix.size
    for asked in (ALL, Filter(scope=Scope(user="bob")), Filter(scope=Scope(user="anna"), kinds=("k1",))):
        for vector in vectors[::100]:
            assert nearest(copy, vector, 20, asked) == nearest(matrix, vector, 20, asked)
    copy.absorb([a_row(None, id=UUID(bytes=rows[600].id))], since=len(copy))
    assert UUID(bytes=rows[600].id) not in ids_of(nearest(copy, vectors[600], 20))


def test_rows_chosen_before_can_be_scored_after_others_came():
    generator = np.random.default_rng(11)
    rows = [a_row(vector) for vector in clustered(generator, 500, 64)]
    matrix = a_matrix(rows, dimensions=64)
    [vector] = clustered(generator, 1, 64)
    chosen = matrix.chosen(ALL, now=AT)
    more = [a_row(row) for row in clustered(generator, 5_000, 64)]
    matrix.absorb(more, since=len(matrix))
    found = matrix.nearest(question(vector), chosen, 10)
    assert [match.id for match in found] == ids_of(by_hand(rows, vector, 10))


names = st.sampled_from([None, "a", "b"])
moments = st.integers(-2, 2)
places = st.builds(Scope, user=names, project=names, agent=names, session=names, workflow=names)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(places, st.sampled_from("xy"), st.booleans(), st.integers(-2, 2), st.integers(-2, 2) | st.none())
    ),
    places,
    st.sampled_from(["sees", "holds"]),
    st.sets(st.sampled_from("xyz")),
)
def test_filters_admit_what_they_say(stored, scope, reach, kinds):
    rows, scopes = [], {}
    for number, (place, kind, live, since, until) in enumerate(stored):
        scopes[number] = tuple(name or "" for name in place.names())
        rows.append(a_row(np.eye(8)[0], scope=number, kind=kind, live=live, since=since, until=until))
    matrix = a_matrix(rows, dimensions=8, scopes=scopes)
    asked = Filter(scope=scope, reach=reach, kinds=tuple(sorted(kinds)))
    admitted = [
        place for place, (where, kind, *_) in enumerate(stored) if asked.admits(where) and (not kinds or kind in kinds)
    ]
    holding = [
        place
        for place in admitted
        if stored[place][2] and stored[place][3] <= 0 and (stored[place][4] is None or stored[place][4] > 0)
    ]
    assert matrix.chosen(asked, now=None).tolist() == admitted
    assert matrix.chosen(asked, now=0).tolist() == holding


def test_vectors_of_two_sizes_are_refused_and_nothing_is_taken_in():
    matrix = a_matrix([a_row(np.eye(8)[0])], dimensions=8)
    with pytest.raises(StoreDamaged, match="32 bytes is among those of 16"):
        matrix.absorb([a_row(np.eye(8)[1]), a_row(np.eye(16)[0])], since=1)
    assert len(nearest(matrix, np.eye(8)[0], 9)) == 1


def test_a_growing_array_keeps_its_rows():
    growing = Growing(np.int32, 2)
    for place in range(1_000):
        growing.extend([(place, -place)])
        if place == 10:
            early = growing.all
    assert growing.all.tolist() == [[place, -place] for place in range(1_000)]
    assert early.tolist() == [[place, -place] for place in range(11)]
    assert growing.size < 2 * growing.all.nbytes


def test_a_place_that_was_asked_for_before_has_its_new_rows_and_not_its_dead_ones():
    scopes = {1: ("", "", "", "", ""), 2: ("anna", "", "", "", ""), 3: ("ben", "", "", "", "")}
    of_anna = Filter(scope=Scope(user="anna"))
    memories = [new_id() for _ in range(60)]
    rows = [a_row([1, place], id=memory, scope=place % 3 + 1) for place, memory in enumerate(memories)]
    matrix = a_matrix(rows[:30], dimensions=2, scopes=scopes)
    for stop in (30, 45, 60):
        if stop > 30:
            matrix.absorb(rows[stop - 15 : stop], since=len(matrix))
        replaced = a_row([1, 100 + stop], id=memories[1], scope=2)
        matrix.absorb([replaced, a_row(None, id=memories[3], scope=1)], since=len(matrix))
        expected = {memory for place, memory in enumerate(memories[:stop]) if place % 3 in (0, 1)} - {memories[3]}
        found = matrix.chosen(of_anna, now=AT)
        assert {UUID(bytes=matrix.ids.all[slot].tobytes()) for slot in found} == expected
        assert len(found) == len(expected)


def test_a_match_says_whether_it_stands_in_a_session():
    scopes = {1: ("anna", "", "", "", ""), 2: ("anna", "", "", "s-1", "")}
    matrix = a_matrix([a_row([1, 0], scope=1), a_row([0, 1], scope=2)], dimensions=2, scopes=scopes)
    found = matrix.nearest(question(np.array([1.0, 0.1])), matrix.chosen(ALL, now=AT), 2)
    assert [match.alone for match in found] == [True, False]


def test_all_memories_may_be_named_in_any_order():
    rows = [a_row(vector) for vector in np.random.default_rng(8).standard_normal((300, 16))]
    matrix = a_matrix(rows, dimensions=16)
    vector = np.frombuffer(rows[7].vector, dtype="<f2")
    backwards = [UUID(bytes=row.id) for row in reversed(rows)]
    found = matrix.nearest(question(vector), matrix.slots_of(backwards), 5)
    assert [match.id for match in found] == ids_of(by_hand(rows, vector, 5))


def test_few_rows_that_are_asked_for_again_are_found_as_they_are_by_then():
    chance = np.random.default_rng(11)
    rows = [a_row(vector) for vector in chance.standard_normal((20, 8))]
    matrix = a_matrix(rows, dimensions=8)
    for _ in range(6):
        for vector in chance.standard_normal((3, 8)):
            assert nearest(matrix, vector, 10) == by_hand(rows, vector, 10)
        # One goes, one says something else, one is new.
        changed = [a_row(chance.standard_normal(8), id=UUID(bytes=rows[1].id)), a_row(chance.standard_normal(8))]
        matrix.absorb([a_row(None, id=UUID(bytes=rows[0].id)), *changed], since=len(matrix))
        rows = [*rows[2:], *changed]


def test_few_rows_that_score_alike_come_in_the_order_of_their_ids():
    rows = [a_row([1, 0], id=UUID(int=number)) for number in (5, 3, 9, 1)]
    assert ids_of(nearest(a_matrix(rows, dimensions=2), [1, 0], 3)) == [UUID(int=number) for number in (1, 3, 5)]


def test_rows_that_are_asked_for_again_are_widened_once(monkeypatch):
    matrix, made, told = a_matrix([a_row(vector) for vector in np.eye(16)], dimensions=16), [], Matrix._told
    monkeypatch.setattr(Matrix, "_told", lambda self, slots: made.append(len(slots)) or told(self, slots))
    for _ in range(3):
        nearest(matrix, np.ones(16), 5)
    assert made == [16]


def test_of_rows_that_are_asked_for_again_only_some_are_held():
    matrix = a_matrix([a_row(vector) for vector in np.eye(100)], dimensions=100)
    sizes = [matrix.size]
    for first in range(3 * HELD):
        matrix.nearest(question(np.ones(100)), np.arange(first, first + 10), 5)
        sizes.append(matrix.size)
    one = sizes[1] - sizes[0]
    assert one == 10 * 100 * 8
    assert sizes[HELD:] == [sizes[0] + HELD * one] * (2 * HELD + 1)
