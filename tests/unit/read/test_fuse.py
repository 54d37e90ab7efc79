"""Fuse: one order out of several, by how far each score stands out."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.ports import Match
from scrubjay.read.fuse import (
    BRIEF,
    FEW_TERMS,
    LEAST_BREVITY,
    LEAST_RARITY,
    LEAST_RARITY_ALONE,
    LEAST_SPREAD,
    ONE_WORD,
    WORDS,
    fuse,
)

A, B, C, D, E = (UUID(int=number) for number in range(1, 6))


def ranking(**scores: float) -> list[Match]:
    """Matches by the names above, best first."""
    ids = {"a": A, "b": B, "c": C, "d": D, "e": E}
    return [Match(id=ids[name], score=score) for name, score in scores.items()]


def order(rankings, **options):
    return [candidate.id for candidate in fuse(rankings, **options)]


def test_nothing_found_is_nothing():
    assert not fuse({})
    assert not fuse({"meaning": [], "words": []})


def test_what_only_words_find_stays_and_can_win():
    rankings = {"meaning": ranking(a=0.31, b=0.30, c=0.29), "words": ranking(d=9.0)}
    assert order(rankings)[0] == D
    assert set(order(rankings)) == {A, B, C, D}


def test_what_both_find_beats_what_one_finds_as_well():
    rankings = {"meaning": ranking(a=0.6, b=0.6, c=0.1, d=0.1), "words": ranking(b=5.0)}
    assert order(rankings)[0] == B


def test_a_ranking_that_tells_its_candidates_apart_decides():
    flat_meaning = {"meaning": ranking(a=0.42, b=0.41, c=0.40, d=0.39, e=0.38), "words": ranking(e=12.0, d=1.0, c=1.0)}
    assert order(flat_meaning)[0] == E
    flat_words = {
        "meaning": ranking(e=0.9, a=0.3, b=0.3, c=0.3, d=0.3),
        "words": ranking(a=2.0, b=2.0, c=1.9, d=1.9, e=1.8),
    }
    assert order(flat_words)[0] == E


def test_the_nearest_of_very_many_do_not_hide_what_stands_out_by_its_words():
    near = [Match(UUID(int=place), 0.50 + 0.10 * (1 - place / 100) ** 3, 0, 150, alone=True) for place in range(100)]
    words = [Match(UUID(int=1_000), 20.0), *(Match(UUID(int=1_001 + place), 14 - place / 25) for place in range(99))]
    assert UUID(int=1_000) in order({"meaning": near, "words": words}, terms=8)[:10]


def test_a_word_that_is_rare_only_because_the_store_is_small_does_not_beat_what_is_close():
    meaning = ranking(a=0.35, b=0.20, c=0.15, d=0.10, e=0.05)
    assert order({"meaning": meaning, "words": ranking(b=1.2)})[0] == A
    assert order({"meaning": meaning, "words": ranking(b=8.0)})[0] == B


def test_the_best_of_very_many_by_words_are_told_apart_however_close_they_lie():
    meaning = ranking(a=0.35, b=0.20, c=0.15, d=0.10, e=0.05)

    def stands_out(words: list[Match], depth: int) -> float:
        fused = fuse({"meaning": meaning, "words": words}, depth=depth)
        return next(one.signals["words_z"] for one in fused if one.id == B)

    far, close = ranking(b=9.0, c=6.0), ranking(b=0.9, c=0.6)
    assert stands_out(close, depth=2) == pytest.approx(stands_out(far, depth=2))
    assert stands_out(close, depth=3) < stands_out(far, depth=3)


def test_words_decide_between_what_is_close_alike_however_small_the_store():
    assert order({"meaning": ranking(a=0.42, b=0.41, c=0.40), "words": ranking(c=0.5)})[0] == C


def alone(matches: list[Match]) -> list[Match]:
    """The same, known to stand in no session."""
    return [match._replace(alone=True, outside=True) for match in matches]


def words_z(meaning: list[Match], **words: float) -> dict[UUID, float]:
    """How far each memory stands out by its words."""
    fused = fuse({"meaning": meaning, "words": ranking(**words)})
    return {one.id: one.signals["words_z"] for one in fused if "words_z" in one.signals}


def near_and_nearer(*, together: int = 0) -> list[Match]:
    """Of forty, A is the closest in meaning and B comes next; so many of the others are turns of sessions."""
    others = [Match(UUID(int=100 + place), 0.10) for place in range(38)]
    return [*alone(ranking(a=0.35, b=0.27)), *others[:together], *alone(others[together:])]


def test_one_word_in_common_does_not_beat_what_is_close_among_facts_and_two_do():
    talk = [match._replace(alone=False, outside=False) for match in near_and_nearer()]
    assert order({"meaning": talk, "words": ranking(b=4.0)})[0] == B, "a turn of talk may need the one word"
    strays = [match._replace(alone=False) for match in near_and_nearer()]
    assert order({"meaning": strays, "words": ranking(b=4.0)})[0] == A, "a message outside of any session does not"
    assert order({"meaning": near_and_nearer(), "words": ranking(b=4.0)})[0] == A
    assert order({"meaning": near_and_nearer(), "words": ranking(b=8.0)})[0] == B


def test_facts_are_heard_as_facts_when_fewer_turns_stand_between_them():
    assert order({"meaning": near_and_nearer(together=19), "words": ranking(b=4.0)})[0] == A
    assert order({"meaning": near_and_nearer(together=20), "words": ranking(b=4.0)})[0] == B


def test_one_word_is_enough_when_the_question_names_a_number():
    rankings = {"meaning": near_and_nearer(), "words": ranking(b=4.0)}
    assert [order(rankings, numbered=numbered)[0] for numbered in (False, True)] == [A, B]


def test_twice_as_many_words_are_heard_more_than_twice_as_well_and_no_order_changes():
    one, two = words_z(near_and_nearer(), a=ONE_WORD / 2)[A], words_z(near_and_nearer(), a=ONE_WORD)[A]
    assert two > 2.5 * one > 0
    stands = words_z(near_and_nearer(), a=9.0, b=ONE_WORD, c=5.9, d=2.0, e=1.9)
    assert sorted(stands, key=stands.__getitem__, reverse=True) == [A, B, C, D, E]


def test_one_word_counts_as_before_in_a_full_ranking_and_by_words_alone():
    words = ranking(a=4.0, b=2.0)
    for rankings in {"meaning": near_and_nearer(), "words": words}, {"words": words}:
        scores = {one.id: one.signals.get("words_z", 0.0) for one in fuse(rankings, depth=2)}
        halved = {name: [match._replace(score=match.score / 2) for match in words] for name in ("words",)}
        assert scores[A] > scores[B]
        again = {one.id: one.signals.get("words_z", 0.0) for one in fuse({**rankings, **halved}, depth=2)}
        assert again == pytest.approx(scores), "only what stands out counts"


def test_words_alone_stand_out_as_far_in_a_small_store_as_in_a_large_one():
    few, many = fuse({"words": ranking(a=0.5, b=0.1)}), fuse({"words": ranking(a=50.0, b=10.0)})
    assert [one.relevance for one in few] == pytest.approx([one.relevance for one in many])


def test_the_page_about_ranking_says_from_when_on_scores_are_told_apart(pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "explanation" / "ranking.md").read_text(encoding="utf-8")
    assert f"Cosines that deviate by less than {LEAST_SPREAD} are taken as nearly equal" in page
    assert f"BM25 scores that deviate by less than {LEAST_RARITY} " in page
    assert f"a score below {ONE_WORD:.0f} counts by its square" in page
    assert f"the line is at {LEAST_RARITY_ALONE:.0f}" in page


def test_the_words_of_a_long_question_count_less():
    rankings = {"meaning": ranking(a=0.6, b=0.5, d=0.5, e=0.2, c=0.5), "words": ranking(c=9.0, e=1.0)}
    assert [order(rankings, terms=terms)[0] for terms in (1, 12 * FEW_TERMS)] == [C, A]
    held = {
        terms: next(one.signals for one in fuse(rankings, terms=terms) if one.id == C)
        for terms in (0, 1, FEW_TERMS, 2 * FEW_TERMS)
    }
    assert held[1]["words_weight"] == held[0]["words_weight"] == held[FEW_TERMS]["words_weight"] == WORDS
    assert held[2 * FEW_TERMS]["words_weight"] == WORDS / 2


def test_what_a_complete_ranking_by_words_lacks_has_none_of_them():
    rankings = {"meaning": ranking(a=0.9, b=0.5), "words": ranking(b=5.0, c=4.0)}
    complete = {candidate.id: candidate.relevance for candidate in fuse(rankings, depth=3)}
    full = {candidate.id: candidate.relevance for candidate in fuse(rankings, depth=2)}
    assert complete[A] - complete[C] < full[A] - full[C]


def test_what_waits_for_its_vector_counts_as_ordinary_in_meaning():
    rankings = {"meaning": ranking(a=0.9, b=0.1), "words": ranking(c=5.0, a=5.0, b=5.0)}
    assert order(rankings) == [A, C, B]


def test_relevance_is_the_weighted_sum_of_standard_deviations():
    rankings = {"meaning": ranking(a=0.8, b=0.4), "words": ranking(b=6.0, a=2.0)}
    relevances = {candidate.id: candidate.relevance for candidate in fuse(rankings)}
    assert relevances[A] == pytest.approx(1 - WORDS)
    assert relevances[B] == pytest.approx(WORDS - 1)


def many(*scores: float) -> list[Match]:
    return [Match(id=UUID(int=place), score=score) for place, score in enumerate(scores, 1)]


@pytest.mark.parametrize(
    ("words", "weight"),
    [
        (many(*[5.0] * 20), 0.0),
        (many(10.0, *[8.0] * 19), WORDS * 0.4),
        (many(10.0, *[5.0] * 19), WORDS),
        (many(10.0, *[1.0] * 19), WORDS),
        (many(*[5.0] * 19), WORDS),
    ],
)
def test_words_are_trusted_as_far_as_they_tell_memories_apart(words, weight):
    candidates = fuse({"meaning": ranking(a=0.8, b=0.2), "words": words})
    assert candidates[0].signals["words_weight"] == pytest.approx(weight)


def test_words_alone_are_trusted_fully():
    assert fuse({"words": many(10.0, *[9.0] * 19)})[0].signals["words_weight"] == 1.0


def test_every_signal_is_kept():
    rankings = {"meaning": ranking(a=0.8, b=0.4), "words": ranking(b=6.0), "recency": ranking(c=0, b=0)}
    signals = {candidate.id: dict(candidate.signals) for candidate in fuse(rankings)}
    assert signals[A] == {
        "meaning": 0.8,
        "meaning_rank": 1,
        "meaning_z": pytest.approx(1.5**0.5),
        "meaning_weight": 1.0,
    }
    assert signals[B]["words"] == 6.0
    assert signals[B]["meaning_rank"] == 2
    assert signals[B]["recency_rank"] == 2
    assert signals[C] == {"recency_rank": 1}


def test_the_part_that_was_found_comes_from_the_meaning():
    rankings = {
        "words": [Match(id=A, score=3.0), Match(id=B, score=2.0)],
        "meaning": [Match(id=A, score=0.7, start=100, stop=180)],
    }
    spans = {candidate.id: (candidate.start, candidate.stop) for candidate in fuse(rankings)}
    assert spans == {A: (100, 180), B: (0, None)}


def test_recency_alone_is_the_order_and_falls_evenly():
    candidates = fuse({"recency": ranking(c=0, a=0, b=0, d=0)})
    assert [candidate.id for candidate in candidates] == [C, A, B, D]
    assert [candidate.relevance for candidate in candidates] == [1.0, 0.75, 0.5, 0.25]


def test_recency_adds_nothing_to_what_is_asked_for():
    assert order({"meaning": ranking(a=0.8, b=0.4), "recency": ranking(b=0, c=0)})[0] == A


def test_equal_scores_keep_their_order_and_divide_by_no_zero():
    assert order({"meaning": ranking(c=0.5, a=0.5, b=0.5)}) == [C, A, B]
    assert order({"words": ranking(a=1.0)}) == [A]
    for alike in (ranking(a=0.1, b=0.1, c=0.1), ranking(a=1e-6, b=1e-6, c=1e-6)):
        assert [candidate.relevance for candidate in fuse({"words": alike})] == pytest.approx([0, 0, 0], abs=1e-6)


def test_the_limit_keeps_the_best():
    assert order({"meaning": ranking(a=0.9, b=0.8, c=0.1)}, limit=2) == [A, B]


scores = st.lists(st.floats(0.01, 30, allow_nan=False), min_size=1, max_size=60)


@given(scores=scores)
def test_one_ranking_alone_keeps_its_order(scores):
    matches = [Match(id=UUID(int=place), score=score) for place, score in enumerate(sorted(scores, reverse=True), 1)]
    for name in ("meaning", "words"):
        assert order({name: matches}) == [match.id for match in matches]


@given(scores=scores, others=scores)
def test_the_order_of_the_rankings_does_not_matter(scores, others):
    meaning = [Match(id=UUID(int=place), score=score / 30) for place, score in enumerate(sorted(scores)[::-1], 1)]
    words = [Match(id=UUID(int=place * 2), score=score) for place, score in enumerate(sorted(others)[::-1], 1)]
    fused = order({"meaning": meaning, "words": words})
    assert order({"words": words, "meaning": meaning}) == fused
    assert set(fused) == {match.id for match in (*meaning, *words)}


def lasting(length: int, *scores: float, alone: bool = True) -> list[Match]:
    """Matches whose parts have so many characters."""
    return [Match(id=UUID(int=place), score=score, stop=length, alone=alone) for place, score in enumerate(scores, 1)]


@pytest.mark.parametrize(
    ("length", "terms", "weight"),
    [
        (BRIEF // 3, 1, WORDS),
        (BRIEF, 1, WORDS),
        (BRIEF * 4 // 3, 1, WORDS * 0.75),
        (BRIEF * 2, 1, WORDS * 0.5),
        (BRIEF * 20, 1, WORDS * LEAST_BREVITY),
        (BRIEF * 20, 4 * FEW_TERMS, WORDS / 4),
        (BRIEF * 20, FEW_TERMS, WORDS * LEAST_BREVITY),
    ],
)
def test_the_words_of_long_documents_count_less(length, terms, weight):
    rankings = {"meaning": lasting(length, 0.8, 0.5, 0.2), "words": many(9.0, 1.0)}
    assert fuse(rankings, terms=terms)[0].signals["words_weight"] == pytest.approx(weight)


@pytest.mark.parametrize(
    "meaning",
    [
        [*lasting(BRIEF // 2, 0.8, 0.5), Match(id=E, score=0.4, stop=100 * BRIEF, alone=True)],
        lasting(100 * BRIEF, 0.8, 0.5, alone=False),
        [Match(id=A, score=0.8, alone=True)],
    ],
    ids=["one long text among short ones", "long turns of talk", "of unknown length"],
)
def test_elsewhere_they_count_fully(meaning):
    assert fuse({"meaning": meaning, "words": many(9.0)})[0].signals["words_weight"] == WORDS


def test_the_title_of_a_long_question_counts_as_much_as_its_opening():
    opening, title = ranking(a=0.8, b=0.7, c=0.2), ranking(b=0.6, a=0.3, c=0.1)
    assert order({"meaning": opening}) == [A, B, C]
    assert order({"meaning": opening, "title": title}) == [B, A, C]
    best = fuse({"meaning": opening, "title": title})[0]
    assert (best.signals["meaning"], best.signals["meaning_rank"]) == (0.7, 2)
    assert (best.signals["title"], best.signals["title_rank"]) == (0.6, 1)
    averaged = fuse({"meaning": ranking(b=0.65, a=0.55, c=0.15)})[0]
    assert best.relevance == pytest.approx(averaged.relevance)


def test_a_candidate_is_the_same_however_it_is_asked_for():
    fused = fuse({"meaning": ranking(a=0.8, b=0.2), "words": ranking(c=9.0, a=4.0)})
    assert [fused[place] for place in range(len(fused))] == list(fused) == fused[:]
    assert [one.relevance for one in fused] == fused.relevances
    assert {one.id: one.similarity for one in fused} == {A: 0.8, B: 0.2, C: None}
    for one in fused:
        assert len(one.signals) == len(dict(one.signals))


def test_an_index_that_names_a_memory_twice_does_not_make_it_two():
    twice = [*ranking(a=0.6, b=0.5), Match(id=A, score=0.4)]
    found = fuse({"meaning": twice, "words": ranking(c=5.0, a=4.0)})
    assert sorted(candidate.id for candidate in found) == [A, B, C]
    assert {candidate.id for candidate in found if candidate.similarity is None} == {C}
