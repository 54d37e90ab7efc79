"""What agents record is linked to its cycle, kept in its namespaces, and found again within a budget."""

from typing import Any

import pytest

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model.agents import RECORD_KINDS
from scrubjay.model.namespaces import namespaces_of
from scrubjay.testing.agents.driving import HOME, Jay, a_cycle, an_agent


class Remembering:
    """What `record_memory` and `recall` promise."""

    async def test_a_record_is_a_memory_that_is_linked_to_its_cycle(self, jay: Jay) -> None:
        record = jay.agents.record_memory
        await an_agent(jay)
        with pytest.raises(Conflict, match="no cycle yet"):
            await record("builder", "plan", "Too early", **HOME)
        await a_cycle(jay, 1)
        await a_cycle(jay, 2)
        names = ["short-term", "long-term"]
        for kind in RECORD_KINDS:
            done = await record("builder", kind, "The heron nests", namespaces=names, data={"sure": 1}, **HOME)
            memory = await jay.get(done.id)
            assert (memory.kind, memory.content, memory.source) == (kind, "The heron nests", "cycle:2")
            assert (memory.data["cycle"], memory.data["sure"]) == (2, 1)
            assert namespaces_of(memory) == ("long-term", "short-term")
            [hit] = await jay.recall("who nests", kinds=[kind], limit=1, **HOME)
            assert hit.memory.id == done.id
        earlier = await record("builder", "plan", "Earlier", cycle=1, id="my-own", **HOME)
        again = await record("builder", "plan", "Earlier", cycle=1, id="my-own", **HOME)
        assert (earlier.memory.data["cycle"], again.id, again.outcome) == (1, earlier.id, "unchanged")
        # A result of its own is nobody's action.
        assert (await jay.agents.resume("builder", **HOME)).next_index == 3

    async def test_recall_finds_what_fits_in_the_namespaces_asked_for(self, jay: Jay) -> None:
        await an_agent(jay)
        await jay.agents.begin_cycle("builder", **HOME)
        told = {
            "The heron nests in May": ["long-term"],
            "The heron was seen today": ["short-term"],
            "The heron eats frogs": ["short-term", "long-term"],
            "The heron is grey": [],
        }
        for content, namespaces in told.items():
            await jay.agents.record_memory("builder", "observation", content, namespaces=namespaces, **HOME)
        await jay.remember("The heron of another agent", agent="other", kind="observation", **HOME)

        async def found(*namespaces: str) -> set[str]:
            context = await jay.agents.recall("builder", "heron", namespaces=namespaces, **HOME)
            return {item.memory.content for item in context.items}

        assert await found() == set(told)
        assert await found("long-term") == {"The heron nests in May", "The heron eats frogs"}
        assert await found("short-term") == {"The heron was seen today", "The heron eats frogs"}
        assert await found("short-term", "long-term") == set(told) - {"The heron is grey"}
        assert await found("another") == set()

    async def test_recall_is_merged_with_the_newest_results_and_keeps_its_budget(self, jay: Jay) -> None:
        await an_agent(jay)
        for number in range(1, 6):
            await a_cycle(jay, number)
        context = await jay.agents.recall("builder", "Which page is written?", recent=3, budget=2_000, **HOME)
        recent = [item.memory.data["cycle"] for item in context.items if item.section == "Recent"]
        assert recent == [3, 4, 5]
        assert "Page 1 is written" in context.text
        none = await jay.agents.recall("builder", "Which page is written?", recent=0, **HOME)
        assert "Recent" not in none.sections
        for budget in (20, 60, 200):
            small = await jay.agents.recall("builder", "Which page is written?", budget=budget, **HOME)
            assert small.tokens <= budget
            assert small.left_out

    async def test_bad_records_are_refused(self, jay: Jay) -> None:
        await an_agent(jay)
        await jay.agents.begin_cycle("builder", **HOME)
        wrong: dict[str, dict[str, Any]] = {
            "kind": {"kind": "fact"},
            "content": {"content": ""},
            "namespaces": {"namespaces": "long-term"},
            "namespace": {"namespaces": ["Long Term"]},
            "data": {"data": [1]},
            "colour": {"colour": "blue"},
        }
        for named, given in wrong.items():
            with pytest.raises(InvalidInput, match=f"^{named}\\b"):
                await jay.agents.record_memory("builder", **{"kind": "plan", "content": "x", **given}, **HOME)
        with pytest.raises(InvalidInput, match="budget"):
            await jay.agents.recall("builder", "x", budget=0, **HOME)
