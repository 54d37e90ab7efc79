"""Resuming: wherever an agent stopped, it is told exactly where that was."""

import pytest

from scrubjay.errors import NotFound
from scrubjay.testing.agents.driving import HOME, Jay, a_cycle, an_agent, told_of
from scrubjay.testing.values import a_memory, a_scope, export_of
from scrubjay.write.prepare import Telling


class Resuming:
    """What `resume`, `replay` and `diff` promise."""

    async def test_at_every_step_it_is_told_where_it_is(self, jay: Jay) -> None:
        agents = jay.agents
        with pytest.raises(NotFound, match="no agent 'builder'"):
            await agents.resume("builder", **HOME)
        agent = await an_agent(jay)
        fresh = await agents.resume("builder", **HOME)
        assert (fresh.agent, fresh.last, fresh.cycle, fresh.steps, fresh.next_index) == (agent, None, None, (), 1)
        assert (fresh.state, fresh.pending, fresh.snapshot) == ({}, (), None)
        first = await a_cycle(jay, 1)
        begun = await agents.begin_cycle("builder", **HOME)
        there = await agents.resume("builder", **HOME)
        assert (there.last, there.cycle, there.waiting, there.next_index) == (first, begun, (), 3)
        assert "0 steps done" in str(there)
        proposal = await agents.propose("builder", "read", **HOME)
        there = await agents.resume("builder", **HOME)
        assert (there.proposal, there.waiting) == (proposal, (proposal,))
        assert "step 1 waits for its result: read()" in str(there)
        result = await agents.result("builder", artifacts=["notes.md"], **HOME)
        there = await agents.resume("builder", **HOME)
        assert ([step.result for step in there.steps], there.waiting) == ([result], ())
        assert there.pending == ("page-1.md", "notes.md")
        ended = await agents.end_cycle("builder", state={"read": True}, **HOME)
        there = await agents.resume("builder", **HOME)
        assert (there.last, there.cycle, there.state, there.next_index) == (ended, None, {"read": True}, 3)
        assert str(there) == "builder is between cycles: cycle 3 is next"

    async def test_what_waits_for_a_snapshot_is_told_however_long_ago_it_was_made(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        many: list[Telling] = [
            {
                "content": f"Cycle 1 step {step} succeeded",
                "kind": "result",
                "key": f"result:1:{step}",
                "data": {"cycle": 1, "step": step, "outcome": "succeeded"},
            }
            for step in range(2, 300)
        ]
        await jay.remember_many(many, agent="builder", **HOME)
        assert (await jay.agents.resume("builder", **HOME)).pending == ("page-1.md",)

    async def test_the_last_complete_cycle_is_found_behind_those_that_failed(self, jay: Jay) -> None:
        await an_agent(jay)
        done = await a_cycle(jay, 1)
        for _ in range(10):
            await jay.agents.begin_cycle("builder", **HOME)
            await jay.agents.end_cycle("builder", status="failed", **HOME)
        there = await jay.agents.resume("builder", **HOME)
        assert (there.last, there.next_index) == (done, 12)

    async def test_a_replay_tells_everything_in_order(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        await jay.agents.update("builder", directives="Build on", **HOME)
        await a_cycle(jay, 2)
        await jay.agents.begin_cycle("builder", **HOME)
        assert await told_of(jay) == [
            ("created", None, None),
            ("began", 1, None),
            ("proposed", 1, 1),
            ("acted", 1, 1),
            ("recorded", 1, None),
            ("ended", 1, None),
            ("changed", None, None),
            ("began", 2, None),
            ("proposed", 2, 1),
            ("acted", 2, 1),
            ("recorded", 2, None),
            ("ended", 2, None),
            ("began", 3, None),
        ]
        said = [str(one) async for one in jay.agents.replay("builder", **HOME)]
        assert said[1:5] == [
            "cycle 1 began: Write page 1",
            'proposed write(path="page-1.md")',
            "succeeded, made page-1.md",
            "reflection: Page 1 is written",
        ]

    async def test_a_replay_leaves_out_what_was_forgotten_and_what_is_no_part_of_it(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        await jay.remember("A result of somebody's own", kind="result", agent="builder", **HOME)
        place = a_scope(HOME["user"], project=HOME["project"], agent="builder")
        await jay.import_lines(export_of(a_memory("A cycle of the moon", kind="cycle", scope=place)))
        [reflection] = await jay.list(kinds=["reflection"], **HOME)
        await jay.forget(reflection.id, **HOME)
        assert [what for what, _, _ in await told_of(jay)] == ["created", "began", "proposed", "acted", "ended"]
        assert (await jay.agents.resume("builder", **HOME)).next_index == 2

    async def test_two_cycles_differ_in_steps_and_in_state(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        await a_cycle(jay, 1)
        await a_cycle(jay, 1)
        diff = await agents.diff("builder", 1, 2, **HOME)
        assert not diff
        await agents.begin_cycle("builder", **HOME)
        await agents.propose("builder", "read", **HOME)
        await agents.result("builder", "failed", **HOME)
        await agents.end_cycle("builder", state={"pages": 2, "plan": {"items": ["a", "b"]}}, **HOME)
        await agents.begin_cycle("builder", **HOME)
        await agents.end_cycle("builder", state={"pages": 2, "plan": {"items": ["a"], "for": True}}, **HOME)
        diff = await agents.diff("builder", 1, 3, **HOME)
        assert [str(one) for one in diff.state] == ["~ pages: 1 → 2", "+ plan: {'items': ['a', 'b']}"]
        [(before, after)] = diff.steps
        assert (before.proposal.tool, after.proposal.tool) == ("write", "read")
        diff = await agents.diff("builder", 3, 4, **HOME)
        assert [str(one) for one in diff.state] == ["+ plan.for: True", "- plan.items[1]: 'b'"]
        [(before, after)] = diff.steps
        assert (before.proposal.tool, after) == ("read", None)
        with pytest.raises(NotFound, match="has no cycle 7"):
            await agents.diff("builder", 1, 7, **HOME)
