"""An execution checks itself, knows what to be found by, and which parts of that a model reads apart."""

from datetime import UTC, datetime

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.tasks import Execution, read_apart
from scrubjay.testing import a_memory


def told(**fields):
    return Execution.from_fields({"task_id": "t", "execution_summary": "Set the cookie", "success": True, **fields})


def memory_of(execution, **overrides):
    return a_memory(execution.content, kind="task", key=execution.key, data=execution.data, **overrides)


def texts_apart(memory):
    return [memory.content[start:stop] for start, stop in read_apart(memory)]


def test_description_goal_and_summary_are_read_apart():
    execution = told(task_description="Users are logged out", goal="Fewer calls")
    assert texts_apart(memory_of(execution)) == ["Users are logged out", "Goal: Fewer calls", "Set the cookie"]
    assert texts_apart(memory_of(told(task_description="Users are logged out"))) == [
        "Users are logged out",
        "Set the cookie",
    ]


@pytest.mark.parametrize("fields", [{}, {"goal": "Fewer calls"}])
def test_without_a_description_it_is_one_text(fields):
    memory = memory_of(told(**fields))
    assert texts_apart(memory) == [memory.content]


def test_other_memories_are_one_text():
    assert texts_apart(a_memory("a\n\nb")) == ["a\n\nb"]
    changed = a_memory("something else", kind="task", data=told(task_description="Users are logged out").data)
    assert texts_apart(changed) == ["something else"]
    assert texts_apart(a_memory("by hand", kind="task")) == ["by hand"]


def test_a_description_that_is_also_the_summary_is_read_twice_at_most():
    memory = memory_of(told(task_description="Set the cookie"))
    assert texts_apart(memory) == ["Set the cookie", "Set the cookie"]


def test_an_execution_comes_back_from_its_memory():
    execution = told(task_description="x", error_patterns="KeyError", tools=["a", "b"], at="2026-01-01T12:00:00+02:00")
    assert execution.error_patterns == ("KeyError",)
    assert execution.at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    back = Execution.of(memory_of(execution, valid_from=execution.at))
    assert back.tools == ("a", "b")
    assert back.learned_as == execution.learned_as == "error_fix"
    assert back.key == "task:t:1"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("plain", "plain"),
        ({"type": "KeyError", "message": "'id'", "line": 7}, "KeyError: 'id'"),
        ({"code": 7, "where": "here"}, "7: here"),
        (["a", 1], "['a', 1]"),
    ],
)
def test_an_error_can_be_read_as_text(error, text):
    assert told(error_patterns=[error]).errors == (text,)


@pytest.mark.parametrize("moment", ["yesterday", "2026-01-01T12:00:00", 7])
def test_a_moment_needs_a_time_zone(moment):
    with pytest.raises(InvalidInput, match="at is"):
        told(at=moment)
