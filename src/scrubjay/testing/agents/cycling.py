"""Cycles: one after the other without gaps, each step taken by one of those who try."""

import asyncio
from typing import Any

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.model import Trust
from scrubjay.testing.agents.driving import HOME, Jay, a_cycle, an_agent


class Cycling:
    """What `begin_cycle`, `propose`, `result`, `end_cycle`, `cycles` and `steps` promise."""

    async def test_a_cycle_keeps_all_that_was_told(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        begun = await agents.begin_cycle("builder", goal="Write the page", **HOME)
        assert (begun.index, begun.status, begun.goal, begun.state) == (1, "open", "Write the page", {})
        proposal = await agents.propose(
            "builder",
            "write",
            arguments={"path": "page.md", "lines": 3},
            reasoning="The page is missing",
            plan=["write", "check"],
            thoughts={"raw": "I should write it"},
            **HOME,
        )
        assert (proposal.cycle, proposal.step, proposal.call) == (1, 1, 'write(path="page.md", lines=3)')
        assert (proposal.plan, proposal.thoughts) == (["write", "check"], {"raw": "I should write it"})
        result = await agents.result(
            "builder", "failed", output={"bytes": 0}, error={"type": "DiskFull"}, artifacts=["page.md"], **HOME
        )
        assert (result.outcome, result.output, result.error) == ("failed", {"bytes": 0}, {"type": "DiskFull"})
        assert result.artifacts == ("page.md",)
        ended = await agents.end_cycle("builder", state={"page": None}, summary="No room", **HOME)
        assert (ended.status, ended.state, ended.summary, ended.goal) == (
            "completed",
            {"page": None},
            "No room",
            "Write the page",
        )
        assert ended.began_at == begun.began_at
        [step] = await agents.steps("builder", 1, **HOME)
        assert (step.proposal, step.result) == (proposal, result)
        assert await agents.cycles("builder", **HOME) == [ended]

    async def test_the_next_cycle_takes_over_the_state(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        begun = await jay.agents.begin_cycle("builder", **HOME)
        assert (begun.index, begun.state) == (2, {"pages": 1})
        ended = await jay.agents.end_cycle("builder", status="failed", **HOME)
        assert (ended.status, ended.state) == ("failed", {"pages": 1})
        assert (await jay.agents.begin_cycle("builder", index=3, **HOME)).state == {"pages": 1}

    async def test_of_many_who_begin_a_cycle_at_once_one_does(self, jay: Jay) -> None:
        await an_agent(jay)
        for index in range(1, 4):
            tried = [jay.agents.begin_cycle("builder", **HOME) for _ in range(5)]
            done = await asyncio.gather(*tried, return_exceptions=True)
            begun = [one for one in done if not isinstance(one, BaseException)]
            assert [one.index for one in begun] == [index]
            assert {type(one) for one in done if isinstance(one, BaseException)} == {Conflict}
            await jay.agents.end_cycle("builder", **HOME)
        assert [one.index for one in await jay.agents.cycles("builder", order="oldest", **HOME)] == [1, 2, 3]

    async def test_of_many_who_propose_a_step_at_once_one_acts(self, jay: Jay) -> None:
        await an_agent(jay)
        await jay.agents.begin_cycle("builder", **HOME)
        tried = [jay.agents.propose("builder", "write", arguments={"path": "same.md"}, **HOME) for _ in range(5)]
        done = await asyncio.gather(*tried, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["ActionProposal", *["Conflict"] * 4]
        told = [jay.agents.result("builder", output=number, **HOME) for number in range(5)]
        done = await asyncio.gather(*told, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["ActionResult", *["Conflict"] * 4]

    async def test_a_step_that_was_forgotten_does_not_stop_the_cycle(self, jay: Jay) -> None:
        await an_agent(jay)
        await jay.agents.begin_cycle("builder", **HOME)
        for tool in ("read", "think", "write"):
            proposal = await jay.agents.propose("builder", tool, **HOME)
            await jay.agents.result("builder", **HOME)
            if tool == "read":
                await jay.forget(proposal.id)
        assert (await jay.agents.resume("builder", **HOME)).next_step == 4
        assert (await jay.agents.propose("builder", "check", **HOME)).step == 4
        await jay.agents.result("builder", **HOME)
        assert (await jay.agents.end_cycle("builder", **HOME)).status == "completed"
        assert [one.number for one in await jay.agents.steps("builder", 1, **HOME)] == [2, 3, 4]

    async def test_told_again_to_the_letter_it_is_the_same_also_with_secrets_and_tuples(self, jay: Jay) -> None:
        told: dict[str, Any] = {"pages": (1, 2), "token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}
        again = [await jay.agents.create("builder", configuration=told, **HOME) for _ in range(2)]
        assert again[0] == again[1]
        await jay.agents.begin_cycle("builder", **HOME)
        await jay.agents.propose("builder", "read", **HOME)
        results = [await jay.agents.result("builder", output=told, step=1, **HOME) for _ in range(2)]
        assert results[0] == results[1]
        summary = f"With {told['token']}"
        ends = [await jay.agents.end_cycle("builder", state=told, summary=summary, cycle=1, **HOME) for _ in range(2)]
        assert ends[0] == ends[1]
        assert "ghp_" not in f"{ends} {ends[0].state}"
        with pytest.raises(Conflict, match="completed already"):
            await jay.agents.end_cycle("builder", state={**told, "pages": (1, 3)}, summary=summary, cycle=1, **HOME)

    async def test_of_who_proposes_and_who_ends_at_once_one_is_refused(self, jay: Jay) -> None:
        await an_agent(jay)
        for _ in range(5):
            await jay.agents.begin_cycle("builder", **HOME)
            both = [jay.agents.end_cycle("builder", **HOME), jay.agents.propose("builder", "write", **HOME)]
            ended, proposed = await asyncio.gather(*both, return_exceptions=True)
            assert isinstance(ended, Conflict) != isinstance(proposed, Conflict)
            if isinstance(ended, Conflict):
                await jay.agents.end_cycle("builder", status="abandoned", **HOME)

    async def test_steps_are_taken_one_after_the_other(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        with pytest.raises(Conflict, match="no open cycle"):
            await agents.propose("builder", "write", **HOME)
        await agents.begin_cycle("builder", **HOME)
        with pytest.raises(Conflict, match="cycle 1 of agent builder is open"):
            await agents.begin_cycle("builder", **HOME)
        with pytest.raises(Conflict, match="waits for a result"):
            await agents.result("builder", **HOME)
        await agents.propose("builder", "write", **HOME)
        with pytest.raises(Conflict, match="step 1 of cycle 1 waits for its result"):
            await agents.propose("builder", "read", **HOME)
        with pytest.raises(Conflict, match="step 1 of cycle 1 waits for its result"):
            await agents.end_cycle("builder", **HOME)
        await agents.result("builder", **HOME)
        assert (await agents.propose("builder", "read", **HOME)).step == 2
        with pytest.raises(Conflict, match="cycle is 2"):
            await agents.result("builder", cycle=2, **HOME)
        ended = await agents.end_cycle("builder", status="abandoned", **HOME)
        assert [step.result is None for step in await agents.steps("builder", ended.index, **HOME)] == [False, True]

    async def test_several_steps_can_be_under_way_when_they_are_numbered(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        await agents.begin_cycle("builder", **HOME)
        for step in (1, 2, 3):
            await agents.propose("builder", f"tool-{step}", step=step, **HOME)
        with pytest.raises(Conflict, match="step before this one"):
            await agents.propose("builder", "far", step=5, **HOME)
        with pytest.raises(Conflict, match="steps 1, 2, 3 of cycle 1"):
            await agents.result("builder", **HOME)
        for step in (3, 1):
            await agents.result("builder", step=step, output=step, **HOME)
        assert [one.step for one in (await agents.resume("builder", **HOME)).waiting] == [2]
        await agents.result("builder", **HOME)
        with pytest.raises(Conflict, match="step before this one"):
            await agents.result("builder", step=4, **HOME)
        assert (await agents.end_cycle("builder", **HOME)).status == "completed"

    async def test_a_result_that_is_told_twice_is_one_and_another_one_is_refused(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        await agents.begin_cycle("builder", **HOME)
        await agents.propose("builder", "write", **HOME)
        first = await agents.result("builder", output=1, step=1, **HOME)
        assert await agents.result("builder", output=1, step=1, **HOME) == first
        with pytest.raises(Conflict, match="result:1:1 of agent builder was taken"):
            await agents.result("builder", output=2, step=1, **HOME)
        ended = await agents.end_cycle("builder", summary="Done", **HOME)
        assert await agents.end_cycle("builder", cycle=1, summary="Done", **HOME) == ended
        with pytest.raises(Conflict, match="completed already"):
            await agents.end_cycle("builder", cycle=1, summary="Done otherwise", **HOME)
        with pytest.raises(Conflict, match="no open cycle"):
            await agents.end_cycle("builder", summary="Done", **HOME)

    async def test_cycles_are_listed_by_their_index_page_by_page(self, jay: Jay) -> None:
        await an_agent(jay)
        for _ in range(5):
            await jay.agents.begin_cycle("builder", **HOME)
            await jay.agents.end_cycle("builder", **HOME)
        cycles = jay.agents.cycles
        assert [one.index for one in await cycles("builder", limit=2, **HOME)] == [5, 4]
        assert [one.index for one in await cycles("builder", limit=2, after=4, **HOME)] == [3, 2]
        assert [one.index for one in await cycles("builder", order="oldest", after=3, **HOME)] == [4, 5]
        with pytest.raises(NotFound, match="has no cycle 9"):
            await jay.agents.steps("builder", 9, **HOME)

    async def test_what_an_agent_did_is_kept_with_the_memories(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        kinds = {one.kind: one for one in await jay.list(agent="builder", **HOME)}
        assert kinds.keys() == {"agent", "cycle", "proposal", "result", "reflection"}
        assert (kinds["proposal"].trust, kinds["result"].trust) == (Trust.CONCLUDED, Trust.OBSERVED)
        [hit] = await jay.recall("page-1.md", kinds=["proposal"], mode="words", **HOME)
        assert "It is missing" in hit.memory.content
        # Where an agent is, is bookkeeping: no other agent reads it unasked.
        assert {one.memory.kind for one in (await jay.context("page", **HOME)).items} == {"result", "reflection"}

    async def test_bad_input_writes_nothing(self, jay: Jay) -> None:
        wrong: dict[str, list[tuple[str, dict[str, Any]]]] = {
            "begin_cycle": [("goal", {"goal": ""}), ("index", {"index": 0})],
            "propose": [
                ("tool", {"tool": ""}),
                ("arguments", {"tool": "write", "arguments": "path"}),
                ("colour", {"tool": "write", "colour": "blue"}),
                ("step", {"tool": "write", "step": 0}),
            ],
            "result": [
                ("outcome", {"outcome": "fine"}),
                ("artifacts", {"artifacts": "page.md"}),
                ("output", {"output": {1, 2}}),
            ],
            "end_cycle": [("status", {"status": "open"}), ("state", {"state": [1]})],
        }
        await an_agent(jay)
        for verb, cases in wrong.items():
            before = await jay.count()
            for named, given in cases:
                with pytest.raises(InvalidInput, match=named):
                    await getattr(jay.agents, verb)("builder", **given, **HOME)
            assert await jay.count() == before
            if verb == "begin_cycle":
                await jay.agents.begin_cycle("builder", **HOME)
            elif verb == "propose":
                await jay.agents.propose("builder", "write", **HOME)
