"""A fork has the same past and a future of its own."""

import asyncio

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.testing.agents.driving import HOME, Jay, a_cycle, an_agent, told_of
from scrubjay.testing.values import NOW, a_memory, a_scope, export_of


class Forking:
    """What `fork` promises."""

    async def test_a_fork_has_the_past_up_to_its_cycle_and_goes_its_own_way(self, jay: Jay) -> None:
        agents = jay.agents
        source = await an_agent(jay, configuration={"model": "small"})
        for number in (1, 2, 3):
            await a_cycle(jay, number)
        before = await told_of(jay)
        fork = await agents.fork("builder", "twin", at=2, directives="Build otherwise", **HOME)
        assert (fork.status, fork.directives, fork.configuration) == (
            "active",
            "Build otherwise",
            source.configuration,
        )
        assert str(fork.forked_from) == "builder at cycle 2"
        shared = [one for one in before if one[1] in (1, 2)]
        assert [one for one in await told_of(jay, "twin") if one[1] is not None] == shared
        there = await agents.resume("twin", **HOME)
        assert (there.next_index, there.state, there.pending) == (3, {"pages": 2}, ("page-1.md", "page-2.md"))
        for index in (1, 2):
            assert not await agents.diff("builder", index, index, other="twin", **HOME)
        await a_cycle(jay, 30, "twin")
        assert [str(one) for one in (await agents.diff("builder", 3, 3, other="twin", **HOME)).state] == [
            "~ pages: 3 → 30"
        ]
        assert await told_of(jay) == before
        found = await agents.recall("twin", "page written", namespaces=["long-term"], recent=0, **HOME)
        assert {item.memory.content for item in found.items} == {f"Page {page} is written" for page in (1, 2, 30)}

    async def test_what_becomes_of_one_leaves_the_other_alone(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        await jay.agents.fork("builder", "twin", **HOME)
        told = await told_of(jay, "twin")
        await jay.forget(everything=True, purge=True, agent="builder", **HOME)
        assert await told_of(jay, "twin") == told
        with pytest.raises(NotFound):
            await jay.agents.get("builder", **HOME)

    async def test_forked_again_it_is_the_same_fork_also_at_once(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        await a_cycle(jay, 2)
        forks = await asyncio.gather(*(jay.agents.fork("builder", "twin", at=1, **HOME) for _ in range(3)))
        assert {(fork.name, fork.status) for fork in forks} == {("twin", "active")}
        again = await jay.agents.fork("builder", "twin", at=1, **HOME)
        assert again == await jay.agents.get("twin", **HOME)
        assert len(await jay.agents.cycles("twin", **HOME)) == 1
        with pytest.raises(Conflict, match="twin is there already"):
            await jay.agents.fork("builder", "twin", at=2, **HOME)
        with pytest.raises(Conflict, match="builder is there already"):
            await jay.agents.fork("twin", "builder", **HOME)

    async def test_a_fork_that_was_interrupted_acts_only_when_it_is_completed(self, jay: Jay) -> None:
        await an_agent(jay)
        await a_cycle(jay, 1)
        # What is left when the process is killed before the first cycle is copied.
        left = {"status": "forking", "version": 1, "forked_from": {"agent": "builder", "cycle": 1}}
        left["created_at"] = NOW.isoformat()
        place = a_scope(HOME["user"], project=HOME["project"], agent="twin")
        await jay.import_lines(export_of(a_memory("Agent twin", kind="agent", key="agent", data=left, scope=place)))
        with pytest.raises(Conflict, match="its fork was interrupted, so fork it again"):
            await jay.agents.begin_cycle("twin", **HOME)
        with pytest.raises(Conflict, match="is being forked"):
            await jay.agents.update("twin", status="active", **HOME)
        fork = await jay.agents.fork("builder", "twin", **HOME)
        assert (fork.status, fork.version) == ("active", 2)
        assert (await jay.agents.begin_cycle("twin", **HOME)).index == 2

    async def test_where_a_fork_may_begin(self, jay: Jay) -> None:
        agents = jay.agents
        await an_agent(jay)
        await agents.fork("builder", "empty", **HOME)
        await a_cycle(jay, 1)
        await agents.begin_cycle("builder", **HOME)
        with pytest.raises(Conflict, match="cycle 2 of agent builder is open"):
            await agents.fork("builder", "twin", at=2, **HOME)
        with pytest.raises(NotFound, match="has no cycle 3"):
            await agents.fork("builder", "twin", at=3, **HOME)
        with pytest.raises(InvalidInput, match="name of its own"):
            await agents.fork("builder", "builder", **HOME)
        begun = {
            name: (await agents.resume(name, **HOME)).next_index
            for name, at in (("empty", None), ("fresh", 0), ("last", None))
            if name == "empty" or await agents.fork("builder", name, at=at, **HOME)
        }
        assert begun == {"empty": 1, "fresh": 1, "last": 2}
