"""Talk: what people say to each other is judged by what it tells, by whom, and with the turns around it."""

import pytest

from scrubjay.model import Filter, Query
from scrubjay.read.fuse import Candidate
from scrubjay.read.sessions import by_assistant, sessions_of
from scrubjay.read.talk import (
    ABOUT_OTHERS,
    FOREMOST,
    MOST_TOLD,
    NOTHING,
    PASSAGE,
    PASSAGE_TURNS,
    SPEAKER,
    TOLD,
    WHEN,
    talk,
)
from scrubjay.read.understand import understand
from scrubjay.testing.values import a_memory, a_scope

ROUNDING = 1e-9


def turn(content, position, *, session="s1", author="Anna", **fields):
    scope = a_scope(session=session)
    return a_memory(content, kind="message", position=position, scope=scope, author=author, **fields)


class TalkOf:
    """What is added to each of the memories when they are all that was found."""

    def __init__(self, question, *memories):
        asked = understand(Query(text=question, filter=Filter(scope=a_scope())))
        found = [(Candidate(memory.id, 1.0, {}), memory) for memory in memories]
        parts = talk(found, sessions_of(found, by_assistant(found), best=1), asked) or [NOTHING] * len(found)
        self._parts = {memory.id: added for memory, added in zip(memories, parts, strict=True)}

    def parts(self, memory):
        return self._parts[memory.id]


def test_the_words_of_a_passage_count_together():
    asks, answers, far = turn("How was Lisbon?", 4), turn("The trams!", 5), turn("Trams again", 20)
    told = TalkOf("which trams of Lisbon?", asks, answers, far)
    passages = [told.parts(one)[0] for one in (asks, answers, far)]
    assert passages[0] == passages[1] == pytest.approx(PASSAGE)
    assert 0 < passages[2] < PASSAGE


def test_a_passage_ends_after_a_few_turns_and_with_its_session():
    first, near, far = turn("Lisbon", 0), turn("trams", PASSAGE_TURNS), turn("trams", PASSAGE_TURNS + 1)
    elsewhere = turn("trams", 1, session="s2")
    told = TalkOf("trams in Lisbon?", first, near, far, elsewhere)
    assert told.parts(near)[0] == pytest.approx(PASSAGE)
    assert told.parts(far)[0] < PASSAGE
    assert told.parts(elsewhere)[0] < PASSAGE


def test_a_word_that_few_sessions_have_is_worth_more():
    rare, common = turn("Lisbon", 1, session="s1"), [turn("a tram", 1, session=f"t{place}") for place in range(5)]
    told = TalkOf("Lisbon trams", rare, *common)
    assert told.parts(rare)[0] > told.parts(common[0])[0] > 0


def test_words_are_the_same_in_another_form_and_not_inside_of_another():
    found, inside = turn("She painted it", 1, session="s1"), turn("A repaint", 1, session="s2")
    told = TalkOf("painting?", found, inside)
    assert told.parts(found)[0] == pytest.approx(PASSAGE)
    assert told.parts(inside)[0] == 0


def test_a_fact_beside_the_talk_has_its_words_counted_and_nothing_else():
    said, fact = turn("We saw the trams of Lisbon", 1), a_memory("Trams run in Lisbon")
    assert TalkOf("trams of Lisbon?", said, fact).parts(fact) == (pytest.approx(PASSAGE / 2), 0, 0)


@pytest.mark.parametrize("session", ["s1", None], ids=["turns", "messages outside of any session"])
def test_what_is_known_of_talk_counts_by_its_share_of_the_first_that_were_found(session):
    turns = [turn("I saw the trams yesterday", place, session=session) for place in range(FOREMOST)]
    facts = [a_memory(f"Trams run on line {place}") for place in range(FOREMOST)]
    question = "When did Anna see trams?"
    whole = TalkOf(question, *turns).parts(turns[0])
    assert all(whole)
    for many in (1, 4):
        told = TalkOf(question, *turns[:many], *facts)
        assert told.parts(turns[0])[1:] == pytest.approx([part * many / FOREMOST for part in whole[1:]])
        assert 0 < told.parts(facts[0])[0] < told.parts(turns[0])[0] <= PASSAGE * many / FOREMOST + ROUNDING
    assert TalkOf(question, *facts, turns[0]).parts(turns[0]) == NOTHING


def test_what_tells_more_counts_more_within_bounds():
    many = [turn(" ".join(["I", *["word"] * (count - 1)]), 10 * count) for count in (2, 8, 16, 32, 64, 500)]
    told = TalkOf("who?", *many)
    assert [told.parts(one)[1] for one in many] == [-2 * TOLD, -2 * TOLD, -TOLD, 0, TOLD, TOLD]


def test_what_is_asked_is_not_told():
    words = " ".join(["I"] * MOST_TOLD)
    asks, tells = turn(f"Really? {words}?", 1), turn(f"{words}.", 9)
    told = TalkOf("who?", asks, tells)
    assert told.parts(asks)[1] == -2 * TOLD
    assert told.parts(tells)[1] == TOLD


@pytest.mark.parametrize(
    ("about_oneself", "about_others"),
    [
        ("It was my first trip", "It was your first trip"),
        ("I went to Lisbon", "You went to Lisbon"),
        ("My boat is blue", "Your boat is blue"),
        ("So proud, and I'm glad", "So proud, and that's nice"),
        ("Now I’ve seen it", "Now you’ve seen it"),
        ("When I saw it, it sank", "Mysteries of Ithaca, in it"),
    ],
)
def test_who_speaks_of_others_tells_less(about_oneself, about_others):
    oneself, others = turn(about_oneself, 1), turn(about_others, 9, author="Bert")
    told = TalkOf("who?", oneself, others)
    assert told.parts(others)[1] - told.parts(oneself)[1] == pytest.approx(ABOUT_OTHERS)


def test_what_is_no_talk_may_speak_of_whom_it_wants():
    said, fact, noted = turn("I saw Lisbon", 1), a_memory("You like Lisbon"), a_memory("I like Lisbon")
    told = TalkOf("Lisbon?", said, fact, noted)
    assert told.parts(fact) == told.parts(noted)


def test_when_is_answered_by_what_speaks_of_a_time():
    timed, timeless = turn("I went there yesterday", 1), turn("I went there gladly", 9)
    told = TalkOf("When did Anna go there?", timed, timeless)
    assert told.parts(timed)[1] - told.parts(timeless)[1] == WHEN
    where = TalkOf("Where did Anna go?", timed, timeless)
    assert where.parts(timed)[1] == where.parts(timeless)[1]


def test_who_is_asked_about_told_it():
    anna, bert = turn("I went there", 1), turn("Good for you", 2, author="Bert Black")
    assert [TalkOf("Where did Anna go?", anna, bert).parts(one)[2] for one in (anna, bert)] == [SPEAKER, 0]
    assert [TalkOf("Where did Bert go?", anna, bert).parts(one)[2] for one in (anna, bert)] == [0, SPEAKER]
    assert [TalkOf("Where did Anna and Bert go?", anna, bert).parts(one)[2] for one in (anna, bert)] == [0, 0]
    assert [TalkOf("Where did they go?", anna, bert).parts(one)[2] for one in (anna, bert)] == [0, 0]


@pytest.mark.parametrize(
    "others",
    [
        {"data": {"role": "user"}, "author": None},
        {"data": {"role": "assistant"}},
        {"data": {"role": "tool"}},
    ],
)
def test_what_is_told_to_an_assistant_is_no_talk(others):
    told = turn("Always answer in French", 1, **others)
    assert TalkOf("answer in French?", told).parts(told) == (0, 0, 0)


def test_where_an_assistant_takes_part_nobody_talks_to_people():
    told = turn("Always answer in French", 1, data={"role": "user"})
    answer = turn("Bien sûr", 2, author=None, data={"role": "assistant"})
    assert TalkOf("answer in French?", told).parts(told)[1] != 0
    assert TalkOf("answer in French?", told, answer).parts(told) == (0, 0, 0)


def test_a_question_without_words_is_no_trouble():
    said = turn("Hello there", 1)
    assert TalkOf("👋", said).parts(said)[0] == 0
