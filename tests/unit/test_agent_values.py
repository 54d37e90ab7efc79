"""Agents, cycles, proposals and results check themselves, survive being stored, and say what they are in a line."""

from dataclasses import replace

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope, new_id
from scrubjay.model.agent_answers import (
    ActionStep,
    CycleDiff,
    Happening,
    Resumption,
    StateChange,
    changes_between,
)
from scrubjay.model.agents import (
    MOST_SAID,
    ActionProposal,
    ActionResult,
    Agent,
    AgentOrigin,
    Cycle,
    cycle_of,
    is_action_result,
)
from scrubjay.testing import NOW, a_memory

SCOPE = Scope(user="ada", agent="builder")


def an_agent(**given):
    fields = {"id": new_id(), "name": "builder", "scope": SCOPE, "created_at": NOW, "updated_at": NOW}
    return Agent(**{**fields, **given})


def a_cycle(**given):
    return Cycle(**{"id": new_id(), "agent": "builder", "index": 3, "began_at": NOW, **given})


def a_proposal(**given):
    fields = {"id": new_id(), "agent": "builder", "cycle": 3, "step": 1, "tool": "write", "at": NOW}
    return ActionProposal(**{**fields, **given})


def a_result(**given):
    fields = {"id": new_id(), "agent": "builder", "cycle": 3, "step": 1, "outcome": "succeeded", "at": NOW}
    return ActionResult(**{**fields, **given})


WHOLE = [
    (
        "agent",
        an_agent(directives="Build", configuration={"a": [1]}, forked_from=AgentOrigin(agent="old", cycle=2)),
        "agent",
    ),
    ("cycle", a_cycle(status="failed", goal="g", summary="s", state={"n": None}, ended_at=NOW), "cycle:3"),
    ("proposal", a_proposal(arguments={"p": 1}, reasoning="r", plan=["x"], thoughts={"raw": True}), "proposal:3:1"),
    ("result", a_result(outcome="failed", output=0, error={"type": "E"}, artifacts=("a.md",)), "result:3:1"),
]


@pytest.mark.parametrize(("kind", "value", "key"), WHOLE, ids=[kind for kind, *_ in WHOLE])
def test_a_value_comes_back_from_its_memory(kind, value, key):
    memory = a_memory(value.content, kind=kind, key=key, data=value.data, scope=SCOPE)
    assert replace(type(value).of(memory), id=value.id) == value
    with pytest.raises(InvalidInput, match=f"not the {kind} of an agent"):
        type(value).of(replace(memory, kind="note"))
    with pytest.raises(InvalidInput, match=f"not the {kind} of an agent"):
        type(value).of(replace(memory, data={}))


@pytest.mark.parametrize(
    ("make", "wrong", "named"),
    [
        (an_agent, {"name": None}, "agent"),
        (an_agent, {"status": "asleep"}, "status"),
        (an_agent, {"version": 0}, "version"),
        (an_agent, {"configuration": {1: 2}}, "configuration"),
        (a_cycle, {"index": 0}, "cycle"),
        (a_cycle, {"status": "done"}, "status"),
        (a_cycle, {"state": []}, "state"),
        (a_cycle, {"summary": " "}, "summary"),
        (a_proposal, {"step": 1_001}, "step"),
        (a_proposal, {"tool": None}, "tool"),
        (a_proposal, {"plan": object()}, "plan"),
        (a_result, {"outcome": "fine"}, "outcome"),
        (a_result, {"artifacts": ["a.md"]}, "artifacts"),
        (a_result, {"error": float("nan")}, "error"),
    ],
)
def test_a_value_that_cannot_be_is_refused(make, wrong, named):
    with pytest.raises(InvalidInput, match=named):
        make(**wrong)


def test_what_is_long_is_searched_by_its_beginning_and_kept_whole():
    long = "word " * 10_000
    for value in (a_proposal(arguments={"text": long}), a_result(output=long)):
        assert len(value.content) == MOST_SAID
        assert long in str(value.data)


def test_a_result_of_somebodys_own_is_no_action():
    assert is_action_result(a_memory(kind="result", key="result:1:1"))
    assert not is_action_result(a_memory(kind="result"))
    assert not is_action_result(a_memory(kind="note", key="result:1:1"))
    assert [cycle_of(a_memory(data=data)) for data in ({"cycle": 3}, {"cycle": True}, {"cycle": "3"}, {})] == [
        *(3, None, None, None)
    ]


def test_a_resumption_says_where_to_go_on():
    between = Resumption(agent=an_agent(), next_index=4)
    assert (str(between), between.proposal, between.next_step) == (
        *("builder is between cycles: cycle 4 is next", None),
        1,
    )
    done = ActionStep(proposal=a_proposal(), result=a_result())
    waits = ActionStep(proposal=a_proposal(step=2, arguments={"path": "ä.md"}))
    there = Resumption(agent=an_agent(), cycle=a_cycle(), steps=(done, waits), next_index=4)
    assert str(there) == 'builder is in cycle 3, step 2 waits for its result: write(path="ä.md")'
    assert (there.proposal, there.waiting, there.next_step) == (waits.proposal, (waits.proposal,), 3)
    assert (str(done), str(waits)) == ("write() → succeeded", 'write(path="ä.md") → no result yet')


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("created", an_agent(), "agent builder created"),
        ("changed", an_agent(status="archived"), "agent builder changed, now archived"),
        ("began", a_cycle(goal="Write"), "cycle 3 began: Write"),
        ("ended", a_cycle(status="abandoned"), "cycle 3 abandoned"),
        ("proposed", a_proposal(), "proposed write()"),
        ("acted", a_result(artifacts=("a", "b")), "succeeded, made a, b"),
        ("recorded", a_memory("It rained", kind="observation"), "observation: It rained"),
    ],
)
def test_what_happened_is_said_in_a_line(what, value, said):
    assert str(Happening(what=what, at=NOW, value=value)) == said


def test_states_are_compared_value_by_value():
    before = {"same": [1, {"a": 1}], "gone": 0, "kind": 1, "list": [1, 2, 3], "deep": {"x": {"y": 1}}}
    after = {"same": [1, {"a": 1}], "new": None, "kind": True, "list": [1, 5], "deep": {"x": []}}
    assert list(changes_between(before, after)) == [
        StateChange(path="deep.x", before={"y": 1}, after=[], kind="changed"),
        StateChange(path="gone", before=0, kind="removed"),
        StateChange(path="kind", before=1, after=True, kind="changed"),
        StateChange(path="list[1]", before=2, after=5, kind="changed"),
        StateChange(path="list[2]", before=3, kind="removed"),
        StateChange(path="new", after=None, kind="added"),
    ]
    assert list(changes_between(before, before)) == []


def test_cycles_differ_in_what_was_done_and_not_in_when():
    step = ActionStep(proposal=a_proposal(reasoning="one"), result=a_result())
    again = ActionStep(proposal=a_proposal(reasoning="two"), result=a_result())
    other = ActionStep(proposal=a_proposal(), result=a_result(output=1))
    sides = {"before": a_cycle(), "after": a_cycle()}
    assert not CycleDiff(**sides, before_steps=(step,), after_steps=(again,))
    assert CycleDiff(**sides, before_steps=(step,), after_steps=(other,)).steps == ((step, other),)
    assert CycleDiff(**sides, before_steps=(step, other), after_steps=(again,)).steps == ((other, None),)
