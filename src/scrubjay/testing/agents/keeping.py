"""Agents are kept: created once, changed by one at a time, archived and never lost."""

import asyncio
from typing import Any

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.testing.agents.driving import HOME, Jay, a_cycle, an_agent


class Keeping:
    """What `create`, `get`, `update`, `list` and `archive` promise."""

    async def test_an_agent_is_kept_as_it_was_told(self, jay: Jay) -> None:
        made = await jay.agents.create("builder", directives="Build", configuration={"model": {"heat": 0.2}}, **HOME)
        assert await jay.agents.get("builder", **HOME) == made
        assert await jay.agents.get(made) == made
        assert (made.name, made.directives, made.configuration) == ("builder", "Build", {"model": {"heat": 0.2}})
        assert (made.version, made.status, made.forked_from) == (1, "active", None)
        assert (made.scope.user, made.scope.project, made.scope.agent) == ("ada", "shop", "builder")

    async def test_created_again_just_so_it_is_the_same_and_otherwise_a_conflict(self, jay: Jay) -> None:
        made = await an_agent(jay)
        assert await an_agent(jay) == made
        with pytest.raises(Conflict, match="builder is there already"):
            await an_agent(jay, directives="Paint the shop")
        with pytest.raises(Conflict, match="builder is there already"):
            await an_agent(jay, configuration={"model": "large"})
        assert await jay.agents.list(**HOME) == [made]

    async def test_agents_of_one_name_in_two_places_know_nothing_of_each_other(self, jay: Jay) -> None:
        wide = await jay.agents.create("builder", directives="Build anything")
        narrow = await an_agent(jay)
        await a_cycle(jay, 1)
        assert (await jay.agents.get("builder")) == wide
        assert (await jay.agents.resume("builder")).next_index == 1
        assert (await jay.agents.resume(narrow)).next_index == 2
        assert [one.what async for one in jay.agents.replay("builder")] == ["created"]
        assert await jay.agents.cycles("builder") == []
        with pytest.raises(NotFound, match="no agent 'builder'"):
            await jay.agents.get("builder", user="bob", project="shop")

    async def test_an_update_changes_what_is_given_and_keeps_the_version_before(self, jay: Jay) -> None:
        made = await an_agent(jay, configuration={"model": "small"})
        changed = await jay.agents.update("builder", directives="Build well", **HOME)
        assert (changed.directives, changed.configuration, changed.version) == ("Build well", {"model": "small"}, 2)
        assert changed.created_at == made.created_at
        emptied = await jay.agents.update(changed, directives=None, configuration={})
        assert (emptied.directives, emptied.configuration, emptied.version) == (None, {}, 3)
        assert await jay.agents.update(emptied, directives=None) == emptied
        versions = await jay.history(key="agent", agent="builder", **HOME)
        assert [one.data.get("directives") for one in versions] == ["Build the shop", "Build well", None]

    async def test_of_two_updates_at_once_none_is_overwritten_unseen(self, jay: Jay) -> None:
        made = await an_agent(jay)
        await jay.agents.update("builder", directives="First", expected=made.version, **HOME)
        with pytest.raises(Conflict, match="version 2, not 1"):
            await jay.agents.update("builder", directives="Second", expected=made.version, **HOME)
        tried = [jay.agents.update("builder", directives=f"Try {number}", expected=2, **HOME) for number in range(4)]
        done = await asyncio.gather(*tried, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Agent", "Conflict", "Conflict", "Conflict"]
        assert (await jay.agents.get("builder", **HOME)).version == 3

    async def test_an_archived_agent_acts_no_more_until_it_is_active_again(self, jay: Jay) -> None:
        await an_agent(jay)
        await jay.agents.begin_cycle("builder", **HOME)
        archived = await jay.agents.archive("builder", **HOME)
        assert (archived.status, await jay.agents.list(**HOME)) == ("archived", [])
        assert await jay.agents.list(archived=True, **HOME) == [archived]
        with pytest.raises(Conflict, match="is archived"):
            await jay.agents.propose("builder", "write", **HOME)
        # What was under way can be brought to its end.
        await jay.agents.end_cycle("builder", status="abandoned", **HOME)
        with pytest.raises(Conflict, match="is archived"):
            await jay.agents.begin_cycle("builder", **HOME)
        await jay.agents.update("builder", status="active", **HOME)
        assert (await jay.agents.begin_cycle("builder", **HOME)).index == 2

    async def test_agents_are_listed_inside_a_scope_newest_first(self, jay: Jay) -> None:
        for name in ("one", "two", "three"):
            await an_agent(jay, name)
        await jay.agents.create("elsewhere", user="bob")
        await jay.agents.archive("two", **HOME)
        assert [one.name for one in await jay.agents.list(**HOME)] == ["three", "one"]
        assert [one.name for one in await jay.agents.list(user="bob")] == ["elsewhere"]
        assert len(await jay.agents.list()) == 3
        [newest] = await jay.agents.list(limit=1, **HOME)
        assert [one.name for one in await jay.agents.list(after=newest.id, **HOME)] == ["one"]

    async def test_secrets_are_taken_out(self, jay: Jay) -> None:
        secret = "ghp_" + "x8Kq2LmN7pRt4VwZ9bCd" + "1FgH3jSk5TyU6aEo"
        made = await an_agent(jay, directives=f"Use {secret}", configuration={"token": secret})
        await jay.agents.begin_cycle("builder", goal=f"Spend {secret}", **HOME)
        proposal = await jay.agents.propose("builder", "call", arguments={"with": secret}, thoughts=[secret], **HOME)
        result = await jay.agents.result("builder", "failed", error={"said": secret}, output=secret, **HOME)
        ended = await jay.agents.end_cycle("builder", state={"kept": secret}, summary=secret, **HOME)
        assert secret not in str([made.data, proposal.data, result.data, ended.data, ended.content])
        assert secret not in "".join([line async for line in jay.export()])

    async def test_bad_input_gets_one_clear_error(self, jay: Jay) -> None:
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("agent", {"agent": ""}),
            ("agent", {"agent": 7}),
            ("directives", {"directives": ""}),
            ("configuration", {"configuration": ["model"]}),
            ("configuration", {"configuration": {"a": object()}}),
            ("status", {"status": "forking"}),
            ("session", {"session": "s-1"}),
        ]
        for named, given in wrong:
            with pytest.raises(InvalidInput, match=named):
                await jay.agents.create(**{"agent": "builder", **given})
        assert await jay.count() == 0
        with pytest.raises(InvalidInput, match="update got nothing"):
            await jay.agents.update("builder")
