"""Spoken: a conversation is recognised however it is told, and notes of an agent are not taken for one."""

import pytest

from scrubjay.read.fuse import Candidate
from scrubjay.read.sessions import by_assistant, sessions_of
from scrubjay.read.spoken import FEWEST, FEWEST_OF_A_SIDE, LONGEST, between_people, lectures, turns_by_role
from scrubjay.testing.values import a_memory, a_scope

CHAT = ("I went to Lisbon with my sister!", "Wow, did you like it?")
NOTES = ("The shop runs on PostgreSQL 16", "I changed auth.py, my tests pass")
LECTURE = "Certainly! " + "You can do this in many ways. " * LONGEST


def said(*contents, many=FEWEST, session="s1", kind="note", **fields):
    """So many turns of one session, with these contents in turn."""
    scope = a_scope(session=session)
    return [
        a_memory(contents[place % len(contents)], kind=kind, position=place, scope=scope, **fields)
        for place in range(many)
    ]


def found(memories):
    return [(Candidate(memory.id, 1.0, {}), memory) for memory in memories]


def placed(*memories):
    pairs = found(memories)
    return sessions_of(pairs, by_assistant(pairs), best=2)


@pytest.mark.parametrize("asked", ["Did you see it?", "Hast du es gesehen?", "Thank you", "看到了吗？"])
def test_notes_of_several_authors_are_talk(asked):
    assert "note" in between_people([*said(asked, many=1, author="Anna"), *said("No", many=1, author="Bo")])


@pytest.mark.parametrize(
    "notes",
    [
        pytest.param([*said(*NOTES, author="planner"), *said(*NOTES, author="coder")], id="nobody is spoken to"),
        pytest.param(
            [*said(*CHAT, author="claude"), *said(*CHAT, author="codex", session="s2")], id="each in a session"
        ),
    ],
)
def test_notes_of_several_agents_are_not(notes):
    assert "note" not in between_people(notes)


def test_notes_of_one_author_are_not():
    assert "note" not in between_people(said(*NOTES, author="claude"))


def test_notes_without_authors_are_talk_when_they_sound_like_it():
    assert "note" in between_people(said(*CHAT))


@pytest.mark.parametrize(
    "notes",
    [
        pytest.param(said(*NOTES), id="nobody is spoken to"),
        pytest.param(said("Did you see it?"), id="nobody speaks of themselves"),
        pytest.param(said("I want you to use my linter", "Never log card numbers"), id="nobody asks or exclaims"),
        pytest.param(said(*CHAT, many=FEWEST - 1), id="too few"),
        pytest.param(said(*CHAT, session=None), id="no session"),
        pytest.param(said(*CHAT, kind="fact"), id="facts"),
        pytest.param(said("I think you should know. " * LONGEST), id="too long"),
    ],
)
def test_other_notes_are_not(notes):
    assert "note" not in between_people(notes)


def test_messages_are_talk_unless_many_without_a_name_are_too_long():
    assert "message" in between_people(said("Hello", many=1, kind="message"))
    assert "message" not in between_people(said(LECTURE, kind="message"))
    assert "message" in between_people(said(LECTURE, kind="message", author="Anna"))


def test_who_says_several_times_as_much_at_every_second_turn_is_an_assistant():
    turns = said("I want to cook for my friends, can you help?", LECTURE, many=2 * FEWEST_OF_A_SIDE, kind="message")
    assert lectures(turns) == {turn.id for turn in turns[1::2]}
    assert by_assistant(found(turns)) == lectures(turns)
    assert not any(session.between_people for session in placed(*turns))


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(said(*CHAT, many=20), id="both say as much"),
        pytest.param(said("Yes", "word " * 12, many=20), id="twelve words are no lecture"),
        pytest.param(said("Yes", LECTURE, many=2 * FEWEST_OF_A_SIDE - 1), id="too few"),
        pytest.param(said("Yes", LECTURE, many=20, author="Anna"), id="somebody has a name"),
        pytest.param(said("Yes", LECTURE, many=20, data={"role": "user"}), id="it is told who said it"),
        pytest.param(said("Yes", LECTURE, many=20, kind="fact"), id="facts"),
        pytest.param(said("I fixed it for you", *["My tests pass"] * 8, LECTURE * 3, many=20), id="one long text"),
        pytest.param(said("I fix the login", "It lost the query string. " * LONGEST, many=20), id="no you in notes"),
        pytest.param(said("Task: fix the login", LECTURE, many=20), id="no I in notes"),
    ],
)
def test_nobody_else_is(turns):
    assert lectures(turns) == frozenset()


def test_messages_need_no_english_to_be_lectures():
    turns = said("Wie geht das?", "Das geht auf viele Arten. " * LONGEST, many=20, kind="message")
    assert lectures(turns) == {turn.id for turn in turns[1::2]}


def test_notes_of_an_agent_that_is_called_assistant_are_no_turns():
    notes = said(*NOTES, author="assistant")
    assert by_assistant(found(notes)) == frozenset()
    asked = said("Which database is it?", many=1, author="Anna")
    assert by_assistant(found([*notes, *asked])) == {note.id for note in notes}
    assert by_assistant(found(said(*NOTES, kind="message", author="assistant"))) != frozenset()


def test_a_note_that_begins_like_a_role_is_no_assistants_where_most_do_not():
    titled = said("AI: summaries are made at night", many=1)
    assert by_assistant(found([*titled, *said(*NOTES)])) == frozenset()
    transcript = said("Human: can you help?", "AI: certainly")
    assert by_assistant(found(transcript)) == {turn.id for turn in transcript[1::2]}
    message = said("AI: certainly", many=1, kind="message")
    assert by_assistant(found([*message, *said("Hello", kind="message")])) == {message[0].id}


def test_a_message_outside_of_any_session_is_talk_of_its_own():
    alone = a_memory("I went to Lisbon", kind="message", author="Anna")
    told = a_memory("Always answer briefly", kind="message", data={"role": "user"})
    between, to_assistant, note = placed(alone, told, a_memory("Lisbon"))
    assert between is not None
    assert between.between_people
    assert not between.turns
    assert to_assistant is not None
    assert not to_assistant.between_people
    assert note is None


def test_a_fact_in_a_session_ends_the_talk_there():
    fact = a_memory("Anna went to Lisbon", kind="fact", position=99, scope=a_scope(session="s1"))
    assert {session.between_people for session in placed(*said(*CHAT), fact)} == {False}


def test_notes_are_turns_of_a_chat_where_an_assistant_speaks_with_somebody():
    chat = [*said("Where am I?", author="user", many=1), *said("assistant: In Ghent", many=1)]
    aside = said("Checked the map", many=1)
    assert turns_by_role([*chat, *aside]) == {memory.id for memory in chat}
    elsewhere = said("Where am I?", author="user", session="s2", many=1)
    assert turns_by_role([*chat, *elsewhere]) == {memory.id for memory in chat}
    assert turns_by_role(chat[:1]) == frozenset(), "a user alone lays something down"
    assert turns_by_role(chat[1:]) == frozenset(), "an agent of that name takes notes"


def test_notes_of_a_team_are_no_chat_though_some_begin_like_one():
    team = [*said("The build is red", author="Anna", many=1), *said("Deploy on Friday", author="Ben", many=1)]
    headings = [*said("AI: summaries at night", many=1), *said("User: the login page is slow", many=1)]
    assert turns_by_role([*team, *headings]) == frozenset()
    agent = said("Fixed the build", author="assistant", many=1)
    assert turns_by_role([*team, *agent]) == frozenset(), "half of a chat is none"
    chat = [*said("Where am I?", author="user", many=1), *agent]
    assert turns_by_role([*team, *chat, *headings]) == {memory.id for memory in chat}


def test_other_kinds_and_what_stands_in_no_session_are_no_notes_of_a_chat():
    chat = [*said("Where am I?", author="user", many=1), *said("assistant: In Ghent", many=1)]
    others = [
        a_memory("user: I like Ghent"),
        *said("user: Ghent", kind="fact", many=1),
        *said("user: Ghent", kind="message", many=1),
    ]
    assert turns_by_role([*chat, *others]) == {memory.id for memory in chat}
