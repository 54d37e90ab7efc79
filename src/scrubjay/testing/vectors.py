"""What every search by meaning has to do."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np
import pytest

from scrubjay.model import Filter, Scope, new_id
from scrubjay.ports import Entry, Match, Vectors
from scrubjay.testing.values import DAY, NOW, a_scope

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

DIMENSIONS: Final = 64
ROUNDING: Final = 2e-3
"""How far a score may be off: vectors may be kept as half floats."""

HERE: Final = Filter(scope=a_scope())


def directions(many: int, *, seed: int = 7, dimensions: int = DIMENSIONS) -> "Matrix":
    """Random rows of unit length, the same for the same seed."""
    rows = np.random.default_rng(seed).standard_normal((many, dimensions), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def an_entry(*vectors: "Matrix", **overrides: Any) -> Entry:  # noqa: ANN401 -- any field of an entry
    """The vectors of one memory of `a_scope()` that holds now. Any field can be given."""
    spans = tuple((10 * place, 10 * place + 10) for place in range(len(vectors)))
    fields: dict[str, Any] = {
        "id": new_id(),
        "scope": a_scope(),
        "kind": "note",
        "live": True,
        "since": NOW - DAY,
        "until": None,
        "spans": spans,
    }
    return Entry(vectors=np.stack(vectors), **{**fields, **overrides})


def entries_of(rows: "Matrix", **overrides: Any) -> list[Entry]:  # noqa: ANN401 -- the same
    """One entry for each row."""
    return [an_entry(row, **overrides) for row in rows]


def ids_of(found: Sequence[Match | Entry]) -> list[UUID]:
    """The ids, in order."""
    return [one.id for one in found]


def assert_nearest(matches: Sequence[Match], entries: Sequence[Entry], question: "Matrix", limit: int) -> None:
    """The matches are the best of the entries, in order, as well as rounding can tell."""
    truth = {entry.id: float(np.max(entry.vectors @ question)) for entry in entries}
    best = sorted(truth.values(), reverse=True)[:limit]
    assert len(matches) == len(best)
    assert len({match.id for match in matches}) == len(matches)
    for match, wanted in zip(matches, best, strict=True):
        assert match.score == pytest.approx(truth[match.id], abs=ROUNDING)
        assert truth[match.id] == pytest.approx(wanted, abs=ROUNDING)


class VectorsSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `vectors` that yields an empty engine."""

    async def test_an_empty_engine_finds_nothing(self, vectors: Vectors) -> None:
        [question] = directions(1)
        assert await vectors.search(1, question, HERE, now=NOW, limit=9) == []
        assert await vectors.count(1) == 0
        assert await vectors.traces([new_id()]) == 0
        await vectors.upsert(1, [])
        await vectors.retire([])
        await vectors.remove([])
        await vectors.drop(1)

    async def test_the_nearest_come_in_the_exact_order(self, vectors: Vectors) -> None:
        entries = entries_of(directions(600))
        await vectors.upsert(1, entries)
        for question in directions(10, seed=8):
            matches = await vectors.search(1, question, HERE, now=NOW, limit=25)
            assert_nearest(matches, entries, question, 25)

    async def test_those_as_near_come_in_the_order_of_their_ids(self, vectors: Vectors) -> None:
        [question] = directions(1)
        alike = [an_entry(question) for _ in range(20)]
        await vectors.upsert(1, alike[::-1])
        wanted = sorted(entry.id for entry in alike)
        assert ids_of(await vectors.search(1, question, HERE, now=NOW, limit=30)) == wanted
        some = ids_of(await vectors.search(1, question, HERE, now=NOW, limit=30, among=wanted[::-1]))
        assert some == wanted

    async def test_scores_are_cosines(self, vectors: Vectors) -> None:
        [question] = directions(1)
        same, opposite = an_entry(question), an_entry(-question)
        await vectors.upsert(1, [opposite, same])
        matches = await vectors.search(1, question, HERE, now=NOW, limit=9)
        assert ids_of(matches) == [same.id, opposite.id]
        assert [match.score for match in matches] == pytest.approx([1.0, -1.0], abs=ROUNDING)

    async def test_what_is_in_no_session_and_no_message_stands_alone(self, vectors: Vectors) -> None:
        [question] = directions(1)
        turn = an_entry(question, scope=a_scope(session="s-1"))
        fact, message = an_entry(question), an_entry(question, kind="message")
        entries = {turn.id: (False, False), fact.id: (True, True), message.id: (False, True)}
        await vectors.upsert(1, [turn, fact, message])
        found = await vectors.search(1, question, HERE, now=NOW, limit=9)
        told = {match.id: (match.alone, match.outside) for match in found}
        # An engine that knows nothing of sessions says of no memory that it stands alone or outside of them.
        assert told in (entries, dict.fromkeys(entries, (False, False)))

    async def test_each_memory_comes_once_with_its_best_part(self, vectors: Vectors) -> None:
        rows = directions(300)
        entries = [an_entry(*rows[start : start + 3]) for start in range(0, 300, 3)]
        await vectors.upsert(1, entries)
        for part in range(3):
            question = entries[4].vectors[part]
            matches = await vectors.search(1, question, HERE, now=NOW, limit=10)
            assert (matches[0].id, matches[0].start, matches[0].stop) == (entries[4].id, 10 * part, 10 * part + 10)
            assert_nearest(matches, entries, question, 10)

    async def test_a_memory_of_many_parts_does_not_crowd_out_others(self, vectors: Vectors) -> None:
        [question, other] = directions(2)
        near = [question + 0.001 * place * other for place in range(40)]
        long = an_entry(*(row / np.linalg.norm(row) for row in near))
        short = an_entry(other)
        await vectors.upsert(1, [long, short])
        matches = await vectors.search(1, question, HERE, now=NOW, limit=2)
        assert ids_of(matches) == [long.id, short.id]

    async def test_upsert_replaces_the_whole_entry(self, vectors: Vectors) -> None:
        one, two, three, question = directions(4)
        first = an_entry(one, two, three, kind="note")
        await vectors.upsert(1, [first, an_entry(two)])
        second = an_entry(question, id=first.id, kind="rule", spans=((3, 8),))
        await vectors.upsert(1, [second])
        assert await vectors.count(1) == 2
        rules = Filter(scope=a_scope(), kinds=("rule",))
        [match] = await vectors.search(1, one, rules, now=NOW, limit=9)
        assert match.score == pytest.approx(float(one @ question), abs=ROUNDING)
        assert (match.start, match.stop) == (3, 8)
        notes = Filter(scope=a_scope(), kinds=("note",))
        assert first.id not in ids_of(await vectors.search(1, one, notes, now=NOW, limit=9))

    async def test_upsert_is_safe_to_repeat(self, vectors: Vectors) -> None:
        entries = entries_of(directions(20))
        for _ in range(3):
            await vectors.upsert(1, entries)
        assert await vectors.count(1) == 20
        matches = await vectors.search(1, entries[0].vectors[0], HERE, now=NOW, limit=50)
        assert sorted(ids_of(matches)) == sorted(ids_of(entries))

    async def test_upsert_brings_back_what_was_retired(self, vectors: Vectors) -> None:
        [entry] = entries_of(directions(1))
        await vectors.upsert(1, [entry])
        await vectors.retire([entry.id])
        await vectors.upsert(1, [entry])
        assert ids_of(await vectors.search(1, entry.vectors[0], HERE, now=NOW, limit=9)) == [entry.id]

    async def test_retired_ones_answer_only_when_named(self, vectors: Vectors) -> None:
        entries = entries_of(directions(3))
        question = entries[0].vectors[0]
        await vectors.upsert(1, entries)
        await vectors.retire([entries[0].id, new_id()])
        found = await vectors.search(1, question, HERE, now=NOW, limit=9)
        assert set(ids_of(found)) == set(ids_of(entries[1:]))
        named = await vectors.search(1, question, HERE, now=NOW, limit=9, among=[entries[0].id])
        assert ids_of(named) == [entries[0].id]
        assert await vectors.count(1) == 3

    async def test_an_entry_may_be_born_retired(self, vectors: Vectors) -> None:
        [past] = entries_of(directions(1), live=False)
        await vectors.upsert(1, [past])
        assert await vectors.search(1, past.vectors[0], HERE, now=NOW, limit=9) == []
        named = await vectors.search(1, past.vectors[0], HERE, now=NOW, limit=9, among=[past.id])
        assert ids_of(named) == [past.id]

    async def test_remove_is_for_good_and_leaves_no_trace(self, vectors: Vectors) -> None:
        entries = entries_of(directions(4))
        await vectors.upsert(1, entries)
        await vectors.upsert(2, entries)
        gone = ids_of(entries[:2])
        await vectors.remove([*gone, new_id()])
        await vectors.remove(gone)
        assert await vectors.traces(gone) == 0
        assert await vectors.traces(ids_of(entries)) == 2
        assert (await vectors.count(1), await vectors.count(2)) == (2, 2)
        for generation in (1, 2):
            question = entries[0].vectors[0]
            found = await vectors.search(generation, question, HERE, now=NOW, limit=9)
            assert set(ids_of(found)) == set(ids_of(entries[2:]))
            named = await vectors.search(generation, question, HERE, now=NOW, limit=9, among=gone)
            assert named == []

    async def test_what_was_removed_can_come_back(self, vectors: Vectors) -> None:
        [entry] = entries_of(directions(1))
        await vectors.upsert(1, [entry])
        await vectors.remove([entry.id])
        await vectors.upsert(1, [entry])
        assert ids_of(await vectors.search(1, entry.vectors[0], HERE, now=NOW, limit=9)) == [entry.id]

    async def test_missing_names_what_has_no_vector_in_a_generation(self, vectors: Vectors) -> None:
        entries = entries_of(directions(3))
        await vectors.upsert(1, entries)
        await vectors.upsert(2, entries[:1])
        stranger = new_id()
        await vectors.retire([entries[1].id])
        assert await vectors.missing(1, [stranger, *ids_of(entries)]) == [stranger]
        assert await vectors.missing(2, [entries[2].id, entries[0].id, entries[1].id]) == ids_of(
            [entries[2], entries[1]]
        )
        assert await vectors.missing(3, ids_of(entries)) == ids_of(entries)
        await vectors.remove([entries[0].id])
        assert await vectors.missing(1, ids_of(entries)) == [entries[0].id]
        assert await vectors.missing(1, []) == []

    async def test_generations_are_separate(self, vectors: Vectors) -> None:
        old, new = entries_of(directions(2))
        small = an_entry(*directions(1, dimensions=32), id=old.id)
        await vectors.upsert(1, [old, new])
        await vectors.upsert(2, [small])
        assert (await vectors.count(1), await vectors.count(2)) == (2, 1)
        assert ids_of(await vectors.search(2, small.vectors[0], HERE, now=NOW, limit=9)) == [small.id]
        assert len(await vectors.search(1, old.vectors[0], HERE, now=NOW, limit=9)) == 2
        assert await vectors.traces([old.id, new.id]) == 2

    async def test_retiring_reaches_every_generation(self, vectors: Vectors) -> None:
        [entry] = entries_of(directions(1))
        for generation in (1, 2):
            await vectors.upsert(generation, [entry])
        await vectors.retire([entry.id])
        for generation in (1, 2):
            assert await vectors.search(generation, entry.vectors[0], HERE, now=NOW, limit=9) == []

    async def test_drop_deletes_one_generation(self, vectors: Vectors) -> None:
        entries = entries_of(directions(3))
        await vectors.upsert(1, entries)
        await vectors.upsert(2, entries[:1])
        await vectors.drop(1)
        await vectors.drop(1)
        assert (await vectors.count(1), await vectors.count(2)) == (0, 1)
        assert await vectors.search(1, entries[0].vectors[0], HERE, now=NOW, limit=9) == []
        assert await vectors.traces(ids_of(entries)) == 1

    async def test_only_what_holds_now_answers(self, vectors: Vectors) -> None:
        rows = directions(6)
        times = [
            (NOW, None),
            (NOW + DAY, None),
            (NOW - DAY, NOW),
            (NOW - DAY, NOW + DAY),
            (NOW - 2 * DAY, NOW - DAY),
            (NOW - DAY, None),
        ]
        entries = [an_entry(row, since=since, until=until) for row, (since, until) in zip(rows, times, strict=True)]
        await vectors.upsert(1, entries)

        async def found(**asked: Any) -> set[UUID]:  # noqa: ANN401 -- keywords of search
            return set(ids_of(await vectors.search(1, rows[0], HERE, limit=9, **asked)))

        assert await found(now=NOW) == set(ids_of([entries[0], entries[3], entries[5]]))
        assert await found(now=NOW + DAY) == set(ids_of([entries[0], entries[1], entries[5]]))
        assert await found(now=NOW, among=ids_of(entries)) == set(ids_of(entries)), "in whatever state"

    async def test_among_restricts_to_those_ids(self, vectors: Vectors) -> None:
        entries = entries_of(directions(400))
        await vectors.upsert(1, entries)
        chosen = entries[::40]
        [question] = directions(1, seed=9)
        matches = await vectors.search(1, question, HERE, now=NOW, limit=5, among=[*ids_of(chosen), new_id()])
        assert_nearest(matches, chosen, question, 5)
        assert await vectors.search(1, question, HERE, now=NOW, limit=5, among=[]) == []

    async def test_among_may_name_thousands(self, vectors: Vectors) -> None:
        entries = entries_of(directions(3_000))
        await vectors.upsert(1, entries)
        [question] = directions(1, seed=9)
        matches = await vectors.search(1, question, HERE, now=NOW, limit=10, among=ids_of(entries[:2_500]))
        assert_nearest(matches, entries[:2_500], question, 10)

    async def test_among_keeps_to_scope_and_kinds(self, vectors: Vectors) -> None:
        rows = directions(3)
        mine, theirs, rule = an_entry(rows[0]), an_entry(rows[1], scope=a_scope("bob")), an_entry(rows[2], kind="rule")
        await vectors.upsert(1, [mine, theirs, rule])
        notes = Filter(scope=a_scope(), kinds=("note",))
        matches = await vectors.search(1, rows[1], notes, now=NOW, limit=9, among=ids_of([mine, theirs, rule]))
        assert ids_of(matches) == [mine.id]

    async def test_the_filter_applies_before_the_limit(self, vectors: Vectors) -> None:
        [question] = directions(1, seed=9)
        rows = directions(2_000)
        near = rows * 0.3 + question
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        await vectors.upsert(1, entries_of(near, scope=a_scope("bob")))
        mine = entries_of(directions(8, seed=10))
        rules = entries_of(directions(8, seed=11), scope=a_scope("bob"), kind="rule")
        await vectors.upsert(1, mine + rules)
        matches = await vectors.search(1, question, HERE, now=NOW, limit=5)
        assert_nearest(matches, mine, question, 5)
        asked = Filter(scope=a_scope("bob"), kinds=("rule", "preference"))
        assert_nearest(await vectors.search(1, question, asked, now=NOW, limit=5), rules, question, 5)

    async def test_retired_ones_do_not_use_up_the_limit(self, vectors: Vectors) -> None:
        rows = directions(300)
        entries = entries_of(rows)
        await vectors.upsert(1, entries)
        question = rows[0]
        nearest = await vectors.search(1, question, HERE, now=NOW, limit=100)
        await vectors.retire(ids_of(nearest))
        left = [entry for entry in entries if entry.id not in ids_of(nearest)]
        assert_nearest(await vectors.search(1, question, HERE, now=NOW, limit=100), left, question, 100)

    async def test_scopes_see_and_hold(self, vectors: Vectors) -> None:
        scopes = [
            Scope(),
            a_scope(),
            a_scope(project="p"),
            a_scope("bob"),
            Scope(project="p"),
            Scope(agent="a", session="s", workflow="w"),
            a_scope("Anna"),
            a_scope(tenant="acme"),
            a_scope(tenant="Default"),
        ]
        entries = [an_entry(row, scope=scope) for row, scope in zip(directions(len(scopes)), scopes, strict=True)]
        await vectors.upsert(1, entries)
        [question] = directions(1, seed=9)
        filters = [Filter(scope=scope) for scope in scopes] + [Filter(scope=scope, reach="holds") for scope in scopes]
        for bound in ("project", "agent", "project agent"):
            filters += [Filter(scope=replace(scope, bound=bound)) for scope in scopes]
        for asked in filters:
            wanted = {entry.id for entry in entries if asked.admits(entry.scope)}
            assert set(ids_of(await vectors.search(1, question, asked, now=NOW, limit=99))) == wanted, asked
            named = await vectors.search(1, question, asked, now=NOW, limit=99, among=ids_of(entries))
            assert set(ids_of(named)) == wanted, asked

    async def test_a_large_batch(self, vectors: Vectors) -> None:
        entries = entries_of(directions(5_000))
        await vectors.upsert(1, entries)
        assert await vectors.count(1) == 5_000
        assert await vectors.traces(ids_of(entries)) == 5_000
        await vectors.retire(ids_of(entries[:4_000]))
        [question] = directions(1, seed=9)
        matches = await vectors.search(1, question, HERE, now=NOW, limit=10)
        assert_nearest(matches, entries[4_000:], question, 10)
        await vectors.remove(ids_of(entries))
        assert await vectors.count(1) == 0

    async def test_shutting_twice_is_safe(self, vectors: Vectors) -> None:
        await vectors.shut()
        await vectors.shut()
