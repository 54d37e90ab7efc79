"""Brief: what is known about a task, in lines that each say something of their own."""

from scrubjay.memories.tasks.brief import write_brief
from scrubjay.model import Scope
from scrubjay.model.patterns import PatternMatch, PatternType, Prediction, TaskPattern
from scrubjay.models.tokens import tokens_of
from scrubjay.testing.values import NOW


def a_match(pattern_type: PatternType) -> PatternMatch:
    moments = {"created_at": NOW, "updated_at": NOW, "last_seen_at": NOW}
    counted = {"confidence": 0.8, "samples": 24, "successes": 16}
    pattern = TaskPattern(
        id=pattern_type,
        pattern_type=pattern_type,
        task_type_pattern="bugfix",
        name="bugfix",
        scope=Scope(),
        **counted,
        **moments,
    )
    return PatternMatch(pattern=pattern, why="")


def test_a_pattern_of_failure_counts_what_failed():
    brief = write_brief(
        prediction=Prediction(probability=None, basis="too few tasks", stage="before"),
        recommendations=[],
        similar=[],
        patterns=[a_match("success"), a_match("failure")],
        budget=100,
        tokens=tokens_of("wordpiece"),
    )
    assert brief.text.splitlines() == [
        "## Patterns",
        "- bugfix: 16 of 24 such tasks succeeded",
        "- bugfix: 8 of 24 such tasks failed",
    ]
