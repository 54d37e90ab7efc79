"""Rerank: what the record knows moves a memory up or down, by documented amounts."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrubjay.model import Filter, Query
from scrubjay.read.forms import words_found
from scrubjay.read.fuse import Candidate
from scrubjay.read.rerank import (
    ASSISTANT,
    BACKWARDS,
    DATED,
    EVENT_HALF_LIFE,
    FACT_HALF_LIFE,
    IMPORTANCE,
    IN_PASSING,
    MOST_USE,
    NEIGHBOURS,
    PARTS,
    RECENCY,
    SESSION,
    rerank,
)
from scrubjay.read.understand import understand
from scrubjay.testing.values import DAY, NOW, a_memory, a_scope


def ask(text="how should I indent?", **options):
    return understand(Query(text=text, filter=Filter(scope=a_scope()), **options))


def pair(memory, relevance=1.0, **signals):
    return Candidate(id=memory.id, relevance=relevance, signals=signals), memory


def ranked(*pairs, question=None, now=NOW):
    return rerank(pairs, question=question or ask(), now=now)


def signals_of(memory, answers):
    return next(answer.signals for answer in answers if answer.memory is memory)


def turn(position, *, session="s1", user="anna", **fields):
    return a_memory(
        f"Turn {position}", kind="message", position=position, scope=a_scope(user, session=session), **fields
    )


def test_relevance_is_the_order_when_all_else_is_equal():
    low, high = a_memory("low"), a_memory("high")
    assert [answer.memory for answer in ranked(pair(low, 0.5), pair(high, 2.0))] == [high, low]


def test_equal_memories_stay_as_they_came():
    memories = [a_memory(f"Fact {number}") for number in range(5)]
    assert [answer.memory for answer in ranked(*map(pair, memories))] == memories


def test_a_turn_lends_to_the_turns_around_it():
    answer, beside, further, far = turn(5), turn(6), turn(7), turn(9)
    answers = ranked(pair(answer, 4.0), pair(beside, 0.0), pair(further, 0.0), pair(far, 0.0))
    assert signals_of(beside, answers)["neighbours"] == NEIGHBOURS[0] * 4
    assert signals_of(further, answers)["neighbours"] == NEIGHBOURS[1] * 4
    assert signals_of(far, answers)["neighbours"] == 0
    assert signals_of(answer, answers)["neighbours"] == 0


def test_people_answer_what_came_before_and_assistants_are_about_it():
    lent = {}
    for who in ({}, {"role": "assistant"}):
        before, match, after = turn(4), turn(5, data=who), turn(6)
        answers = ranked(pair(before, 0.0), pair(match, 4.0), pair(after, 0.0))
        lent[who.get("role")] = [signals_of(one, answers)["neighbours"] for one in (before, after)]
    full, less = NEIGHBOURS[0] * 4, NEIGHBOURS[0] * 4 * BACKWARDS
    assert lent == {None: [less, full], "assistant": [full, less]}


def test_a_turn_gets_something_of_the_best_others_of_its_session():
    turns = [turn(10 * place) for place in range(5)]
    answers = ranked(*(pair(one, relevance) for one, relevance in zip(turns, (4.0, 3.0, 2.0, -1.0, 0.0), strict=True)))
    added = [signals_of(one, answers)["session"] for one in turns]
    assert added == pytest.approx([SESSION * two for two in (3 + 2, 4 + 2, 4 + 3, 4 + 3, 4 + 3)])


def test_a_turn_alone_in_its_session_gets_nothing_from_it():
    alone, elsewhere, nowhere = turn(1), turn(2, session="s2"), a_memory("No session")
    answers = ranked(pair(alone, 3.0), pair(elsewhere, 4.0), pair(nowhere, 5.0))
    assert [signals_of(one, answers)["session"] for one in (alone, elsewhere, nowhere)] == [0, 0, 0]


def test_two_versions_of_one_turn_are_no_trouble():
    answers = ranked(pair(turn(1), 4.0), pair(turn(1), 3.0), pair(turn(2), 1.0))
    assert len(answers) == 3


def test_a_poor_neighbour_takes_nothing_away():
    good, poor = turn(1), turn(2)
    assert signals_of(good, ranked(pair(good, 2.0), pair(poor, -3.0)))["neighbours"] == 0


def test_only_turns_of_one_session_of_one_scope_are_neighbours():
    mine = turn(1)
    others = [turn(2, session="s2"), turn(2, user="bert"), a_memory("No session", position=2)]
    for other in others:
        assert signals_of(mine, ranked(pair(mine, 0.0), pair(other, 4.0)))["neighbours"] == 0


def test_what_an_assistant_said_counts_less_unless_it_is_asked_for():
    said = turn(1, data={"role": "assistant"})
    assert signals_of(said, ranked(pair(said)))["role"] == ASSISTANT
    for question in ("what did you recommend?", "Give me a summary of my project", "Summarize what I learned"):
        assert signals_of(said, ranked(pair(said), question=ask(question)))["role"] == 0
    told = turn(1, data={"role": "user"})
    assert signals_of(told, ranked(pair(told)))["role"] == 0


def test_a_turn_of_the_time_that_is_named_counts_more():
    then, later = turn(1, valid_from=NOW - 9 * DAY), turn(50, valid_from=NOW - DAY)
    fact = a_memory("Since then", valid_from=NOW - 9 * DAY)
    others = [pair(a_memory(f"Other {number}"), 0.0) for number in range(30)]
    question = ask(f"What did she say on {NOW - 9 * DAY:%Y-%m-%d}?")
    answers = ranked(pair(then), pair(later), pair(fact), *others, question=question)
    assert signals_of(then, answers)["time"] == DATED
    assert 0 < signals_of(later, answers)["time"] < DATED / 2
    assert signals_of(fact, answers)["time"] == 0
    assert "of that time" in next(answer.why for answer in answers if answer.memory is then)


def test_an_event_is_of_the_day_that_it_says_and_hardly_of_the_next():
    then, next_day, said = (
        a_memory("Upgraded", kind="event", valid_from=NOW - 9 * DAY),
        a_memory("Merged", kind="event", valid_from=NOW - 8 * DAY),
        a_memory("Heard of it", kind="message", valid_from=NOW - 8 * DAY),
    )
    fact = a_memory("Since then", valid_from=NOW - 9 * DAY)
    found = [pair(then, -1.0), pair(next_day, 0.5), pair(said, 0.0), pair(fact, 1.0)]
    answers = ranked(*found, question=ask(f"What happened on {NOW - 9 * DAY:%Y-%m-%d}?"))
    assert answers[0].memory is then, "also among few, where relevance spreads little"
    assert signals_of(then, answers)["time"] == DATED + 1.0, "no event is less like such a question than another"
    assert 0 < signals_of(next_day, answers)["time"] <= DATED / 2
    assert signals_of(fact, answers)["time"] == 0
    why = {answer.memory.content: answer.why for answer in answers}
    assert "of that time" in why["Upgraded"]
    assert "near that time" in why["Merged"]
    assert "near that time" in why["Heard of it"]
    assert "time" not in why["Since then"]
    assert "beside other matches" not in why["Upgraded"]


def test_a_time_that_is_named_in_passing_speaks_for_an_event_by_half():
    then, before = (
        a_memory("Watched the final", kind="event", valid_from=NOW - DAY),
        a_memory("Ran ten kilometres", kind="event", valid_from=NOW - 2 * DAY),
    )
    fact = a_memory("On call: Ben")
    found = [pair(then, -1.0), pair(before, -1.0), pair(fact, 2.0)]
    answers = ranked(*found, question=ask(f"Who was on call on {NOW - DAY:%Y-%m-%d}?"))
    assert answers[0].memory is fact
    assert signals_of(then, answers)["time"] == DATED * IN_PASSING
    assert "of that time" in next(answer.why for answer in answers if answer.memory is then)
    assert "near that time" in next(answer.why for answer in answers if answer.memory is before)


def test_what_is_known_of_talk_counts_less_among_few():
    said, *others = [turn(place, author="Anna") for place in range(0, 400, 10)]
    few = signals_of(said, ranked(pair(said), pair(others[0], 0.0)))["told"]
    many = signals_of(said, ranked(pair(said), *(pair(one, 0.0) for one in others)))["told"]
    assert many < few < 0


def test_importance_moves_both_ways():
    high, usual, low = (a_memory(importance=importance) for importance in (1.0, 0.5, 0.0))
    answers = ranked(pair(low), pair(usual), pair(high))
    assert [answer.memory for answer in answers] == [high, usual, low]
    assert signals_of(high, answers)["importance"] - signals_of(low, answers)["importance"] == IMPORTANCE


@pytest.mark.parametrize(("kind", "half_life"), [("message", EVENT_HALF_LIFE), ("fact", FACT_HALF_LIFE)])
def test_age_halves_the_recency(kind, half_life):
    memory = a_memory(kind=kind)
    for days, expected in ((0, RECENCY), (half_life, RECENCY / 2), (2 * half_life, RECENCY / 4)):
        found = signals_of(memory, ranked(pair(memory), now=NOW + timedelta(days=days)))["recency"]
        assert found == pytest.approx(expected)


def test_what_is_yet_to_come_is_no_newer_than_now():
    memory = a_memory(created_at=NOW, valid_from=NOW + 30 * DAY)
    assert signals_of(memory, ranked(pair(memory)))["recency"] == RECENCY


def test_use_adds_a_little_and_never_much():
    unused, used, worn = a_memory(uses=0), a_memory(uses=3), a_memory(uses=10**9)
    answers = ranked(pair(unused), pair(used), pair(worn))
    assert [answer.memory for answer in answers] == [worn, used, unused]
    assert signals_of(worn, answers)["use"] == MOST_USE


def test_the_newest_stay_first_when_nothing_is_asked_for():
    newest = a_memory("Newest", importance=0.0, data={"role": "assistant"})
    older = a_memory("Older", importance=1.0, uses=100)
    answers = ranked(pair(newest, 1.0, recency_rank=1), pair(older, 0.5, recency_rank=2), question=ask(""))
    assert [answer.memory for answer in answers] == [newest, older]
    assert answers[0].score > answers[1].score
    assert answers[0].why == "recent"


def test_the_parts_add_up_and_the_signals_of_the_retrievers_are_kept():
    memory = a_memory(importance=0.9, uses=5)
    signals = ranked(pair(memory, 1.5, meaning=0.7, meaning_rank=1))[0].signals
    assert signals["total"] == pytest.approx(sum(signals[part] for part in PARTS))
    assert signals["meaning"] == 0.7


@given(st.lists(st.integers(-10, 30), min_size=1, max_size=30))
def test_scores_lie_between_0_and_1_and_fall(relevances):
    answers = ranked(*(pair(a_memory(), relevance) for relevance in relevances))
    scores = [answer.score for answer in answers]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert [answer.candidate.relevance for answer in answers] == sorted(relevances, reverse=True)


def test_a_memory_with_nothing_beside_it_scores_about_half():
    assert ranked(pair(a_memory(), 0.0))[0].score == pytest.approx(0.5, abs=0.05)


def test_why_says_what_mattered():
    memory = a_memory("Indentation: tabs, never spaces", importance=0.9, uses=20)
    why = ranked(pair(memory, 2.0, meaning=0.71, words=4.2), question=ask("indent with tabs?"))[0].why
    assert why == "close in meaning (0.71) · words: tabs · important · recalled before"


@pytest.mark.parametrize("cosine", [0.004, 0.0, -0.001, -0.3])
def test_why_says_nothing_of_a_meaning_that_is_not_close(cosine):
    found = pair(a_memory("Indentation: tabs"), 2.0, meaning=cosine, words=4.2)
    assert ranked(found, question=ask("indent with tabs?"))[0].why == "words: tabs"
    assert ranked(pair(a_memory("Lunch at noon"), 2.0, meaning=cosine))[0].why == "nothing nearer is left"
    beside = ranked(pair(turn(1), 4.0, meaning=0.8), pair(turn(2), 0.5, meaning=cosine))
    assert beside[1].why == "beside other matches"


def test_why_calls_close_only_what_is_closer_than_most():
    [near] = ranked(pair(a_memory(), meaning=0.41, meaning_z=0.2))
    [far] = ranked(pair(a_memory(), meaning=0.11, meaning_z=-0.3))
    assert (near.why, far.why) == ("close in meaning (0.41)", "less close in meaning (0.11)")


def test_why_tells_the_likeness_on_the_scale_of_the_model():
    class Squared:
        """Says that a cosine means its square."""

        def calibrate(self, cosine: float) -> float:
            return max(0.0, cosine) ** 2

    # Far from the mean of what was found, or close to it: what counts is how close in meaning it is.
    for cosine, deviations, why in (
        (0.6, -0.3, "close in meaning (0.36)"),
        (0.3, 2.0, "a little alike in meaning (0.09)"),
    ):
        [one] = ranked(pair(a_memory(), meaning=cosine, meaning_z=deviations))
        one = one._replace(scale=Squared())
        assert (one.why, f"{one.likeness:.2f}") == (why, why[-5:-1])
    [alone] = ranked(pair(a_memory(), meaning=0.6))
    assert alone.likeness == 0.6


def test_why_says_that_an_assistant_stands_back():
    answer = turn(1, data={"role": "assistant"})
    [asked_for] = ranked(pair(answer, meaning=0.7), question=ask("what did you recommend?"))
    [other] = ranked(pair(answer, meaning=0.7), question=ask("which host do I use?"))
    assert asked_for.why == "close in meaning (0.70)"
    assert other.why == "close in meaning (0.70) · stands back: said by an assistant"


def test_why_speaks_of_neighbours():
    answers = ranked(pair(turn(1), 4.0, meaning=0.8), pair(turn(2), 0.5, meaning=0.3))
    assert answers[1].why == "close in meaning (0.30) · beside other matches"
    far = ranked(pair(turn(1), 4.0, meaning=0.8), pair(turn(20), 0.5, meaning=0.3))
    assert far[1].why == "close in meaning (0.30) · in a session of other matches"
    unseen = ranked(pair(turn(1), 0.1, meaning=0.8), pair(turn(2), -0.5))
    assert unseen[1].why == "beside other matches"


def test_words_are_found_in_their_other_forms():
    assert words_found(["indent", "tabs", "parse", "port"], "Indented with a tab; parsing; portable") == [
        "indent",
        "tabs",
        "parse",
    ]
    assert words_found(["user", "name"], "call getUserName()") == ["user", "name"]
