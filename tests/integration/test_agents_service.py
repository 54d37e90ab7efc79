"""Agents in the company of everything else: carried away, tidied around, and driven by machines whose clocks differ."""

from datetime import timedelta
from pathlib import Path

import pytest

from scrubjay.model import Scope
from scrubjay.model.work import Policy
from scrubjay.testing import Ticking, a_memory
from scrubjay.testing.agents.driving import HOME, a_cycle, an_agent, told_of
from scrubjay.testing.values import export_of

YEARS = timedelta(days=2_000)


@pytest.fixture
def setup(new_setup):
    """SQLite: what is shown here is not of the store."""
    return new_setup("sqlite")


async def test_an_agent_that_is_exported_and_imported_goes_on_elsewhere(jay, new_setup):
    await an_agent(jay)
    await a_cycle(jay, 1)
    await jay.agents.begin_cycle("builder", **HOME)
    await jay.agents.propose("builder", "read", **HOME)
    elsewhere = await new_setup("memory").open()
    await elsewhere.import_lines([line async for line in jay.export()])
    assert await told_of(elsewhere) == await told_of(jay)
    assert await elsewhere.agents.resume("builder", **HOME) == await jay.agents.resume("builder", **HOME)
    await elsewhere.agents.result("builder", **HOME)
    assert (await elsewhere.agents.end_cycle("builder", **HOME)).index == 2


async def test_a_step_that_others_take_while_one_resumes_is_seen_whole_or_not_at_all(jay, setup, monkeypatch):
    await an_agent(jay)
    await jay.agents.begin_cycle("builder", **HOME)
    other, scans = await setup.open(), []
    scan = jay.parts.stores.records.scan

    async def interrupted(filter, **given):
        scans.append(filter.kinds)
        if len(scans) == 2:
            await other.agents.propose("builder", "read", **HOME)
            await other.agents.result("builder", **HOME)
        async for batch in scan(filter, **given):
            yield batch

    monkeypatch.setattr(jay.parts.stores.records, "scan", interrupted, raising=False)
    there = await jay.agents.resume("builder", **HOME)
    assert len(scans) >= 2
    assert there.next_step == len(there.steps) + 1


async def test_what_only_says_where_an_agent_is_has_no_vectors(jay):
    await an_agent(jay)
    await a_cycle(jay, 1)
    harbour = a_memory("A snapshot of the harbour", kind="snapshot", scope=Scope(**HOME))
    await jay.import_lines(export_of(harbour))
    rows = await jay.list(limit=100, history=True, **HOME)
    vectors = jay.parts.stores.vectors
    kinds = {one.kind for one in rows if not await vectors.missing(1, [one.id])}
    assert kinds == {"proposal", "result", "reflection", "snapshot"}
    assert (await jay.stats()).pending == 0
    words = await jay.recall("cycle", mode="words", kinds=["cycle"], **HOME)
    assert [hit.memory.kind for hit in words] == ["cycle"]


async def test_what_an_agent_did_is_not_tidied_away(jay, setup):
    await an_agent(jay)
    await a_cycle(jay, 1)
    await jay.remember("An old note nobody needs", importance=0.1, **HOME)
    setup.clock.advance(YEARS)
    policy = Policy(half_life=YEARS, prune_after=timedelta(days=1), prune_below=0.9)
    for _ in range(2):
        await jay.consolidate(steps=["decay", "prune"], policy=policy)
        setup.clock.advance(YEARS)
    kinds = [one.kind for one in await jay.list(**HOME)]
    assert "note" not in kinds
    assert {"agent", "cycle", "proposal", "result"} <= set(kinds)
    assert (await jay.agents.resume("builder", **HOME)).next_index == 2


async def test_a_machine_whose_clock_is_behind_sees_what_the_other_did(jay, setup):
    await an_agent(jay)
    await a_cycle(jay, 1)
    begun = await jay.agents.begin_cycle("builder", goal="Of the future", **HOME)
    setup.clock = Ticking(setup.clock() - timedelta(hours=1))
    behind = await setup.open()
    there = await behind.agents.resume("builder", **HOME)
    assert (there.cycle, there.state) == (begun, {"pages": 1})
    await behind.agents.propose("builder", "write", **HOME)
    await behind.agents.result("builder", **HOME)
    ended = await behind.agents.end_cycle("builder", state={"pages": 2}, **HOME)
    assert (ended.index, ended.began_at > ended.ended_at) == (2, True)
    assert (await behind.agents.resume("builder", **HOME)).last == ended
    assert [what for what, cycle, _ in await told_of(jay) if cycle == 2] == ["began", "proposed", "acted", "ended"]


async def test_files_that_come_and_go_for_ever_are_no_burden(jay, tmp_path):
    await an_agent(jay)
    for turn in range(3):
        deep = Path(*(letter * 240 for letter in "abcd"))
        (tmp_path / "files" / str(turn) / deep).mkdir(parents=True)
        for number in range(400):
            (tmp_path / "files" / str(turn) / deep / f"{turn}-{number}").touch()
        (tmp_path / "files" / str(turn) / "kept.txt").write_text(str(turn))
        taken = await jay.agents.snapshot("builder", tmp_path / "files" / str(turn), **HOME)
        assert taken["kept.txt"].version == turn + 1
    (tmp_path / "files" / "2" / "kept.txt").unlink()
    await jay.agents.snapshot("builder", tmp_path / "files" / "2", **HOME)
    (tmp_path / "files" / "2" / "kept.txt").write_text("back")
    taken = await jay.agents.snapshot("builder", tmp_path / "files" / "2", **HOME)
    assert taken["kept.txt"].version == 4
