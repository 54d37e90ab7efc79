"""Executions are learned from a moment after they are stored, by whoever keeps the memory open."""

import asyncio

import pytest

from scrubjay.errors import Closed
from scrubjay.jobs.learn import Learning
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.events import eventually
from scrubjay.testing.patterns.executions import coin_tosses, deployments
from scrubjay.wiring import wire


@pytest.fixture
def quick_looks(monkeypatch):
    monkeypatch.setattr("scrubjay.jobs.runner.TICK", 0.02)


def opened(home, **options):
    return wire(read_settings(home=home, **options), embedder=ToyEmbedder())


async def patterns_of(jay, *, within=60.0, **where):
    """The patterns of a place, as soon as there are any."""
    async with asyncio.timeout(within):
        learned = asyncio.Event()
        stop = jay.subscribe("memory.pattern.learned", lambda _: learned.set())
        if not await jay.patterns.search_patterns(**where):
            await learned.wait()
        stop()
    return await jay.patterns.search_patterns(**where)


async def test_patterns_appear_by_themselves(quick_looks, tmp_path):
    async with opened(tmp_path) as jay:
        heard = []
        jay.subscribe("memory.pattern.learned", lambda event: heard.append(event.scope))
        await jay.tasks.store_many(deployments(), project="shop")
        found = await patterns_of(jay, project="shop")
        assert {one.pattern_type for one in found} == {"success", "failure"}
        assert found[0].scope.project == "shop"
        await eventually(lambda: bool(heard))
        assert {scope.project for scope in heard} == {"shop"}
        assert await jay.patterns.search_patterns(project="blog") == []


async def test_what_is_learned_by_itself_stays_with_its_user_and_tenant(quick_looks, tmp_path):
    async with opened(tmp_path) as jay:
        other = jay.for_tenant("acme")
        await jay.tasks.store_many(deployments(), user="anna", project="shop")
        await other.tasks.store_many(coin_tosses(), project="shop")
        found = await patterns_of(jay, user="anna", project="shop")
        assert {one.scope.user for one in found} == {"anna"}
        assert await jay.patterns.search_patterns(user="bert", project="shop") == []
        assert await other.patterns.search_patterns(project="shop") == []


async def test_what_is_learned_by_itself_from_an_agent_is_not_shown_to_another(tmp_path):
    async with opened(tmp_path, background=False) as jay:
        learning = Learning(jay.parts)
        learning.start()
        one, other = jay.narrowed(agents=["one"]), jay.narrowed(agents=["other"])
        await one.tasks.store_many(deployments()[:30], session="a", user="anna")
        await one.tasks.store_many(deployments()[30:], session="b", user="anna")
        await eventually(lambda: learning.is_due)
        assert await learning.run() == 2
        await jay.consolidate(steps=["learn"])
        found = await one.patterns.search_patterns(user="anna")
        assert {(pattern.scope.agent, pattern.scope.session) for pattern in found} == {("one", None)}
        assert await other.patterns.search_patterns(user="anna") == []
        assert await other.patterns.search_patterns() == []


async def test_one_at_a_time_is_enough(quick_looks, tmp_path):
    async with opened(tmp_path) as jay:
        for one in deployments(40):
            await jay.tasks.store_many([one])
        assert await patterns_of(jay)


async def test_forgetting_is_learned_from_too(quick_looks, tmp_path):
    async with opened(tmp_path) as jay:
        done = await jay.tasks.store_many(deployments())
        assert await patterns_of(jay)
        await jay.forget([one.id for one in done], purge=True)
        assert await jay.patterns.search_patterns() == []
        assert await jay.patterns.learn() == []


async def test_two_processes_learn_the_same_once(tmp_path):
    async with opened(tmp_path, background=False) as one, opened(tmp_path, background=False) as other:
        await one.tasks.store_many(deployments(), project="shop")
        await asyncio.gather(*(jay.patterns.learn(project="shop") for jay in (one, other, one, other)))
        kept = await other.patterns.search_patterns(project="shop")
        assert sorted(pattern.pattern_type for pattern in kept) == ["failure", "success"]
        versions = [await one.patterns.history(pattern.id, project="shop") for pattern in kept]
        assert [len(history) for history in versions] == [1, 1]


async def test_after_a_restart_everything_is_known_again(tmp_path):
    async with opened(tmp_path, background=False) as jay:
        await jay.tasks.store_many(deployments())
        before = await jay.patterns.learn()
    async with opened(tmp_path, background=False) as jay:
        assert await jay.patterns.learn() == []
        assert {one.id for one in await jay.patterns.search_patterns()} == {one.id for one in before}
        await jay.tasks.store_many(deployments(60, start=60))
        assert {one.version for one in await jay.patterns.learn()} == {2}


async def test_a_place_that_fails_is_tried_again(tmp_path):
    async with opened(tmp_path, background=False) as jay:
        learning = Learning(jay.parts)
        learning.start()
        await jay.tasks.store_many(deployments())
        await eventually(lambda: learning.is_due)
        jay.parts.is_open.clear()
        with pytest.raises(Closed):
            await learning.run()
        jay.parts.is_open.set()
        assert await learning.run() == 2
        assert await learning.run() == 0


async def test_other_memories_are_not_learned_from(tmp_path):
    async with opened(tmp_path, background=False) as jay:
        learning = Learning(jay.parts)
        learning.start()
        await jay.remember_many(["one", "two"])
        await asyncio.sleep(0.05)
        assert await learning.run() == 0


async def test_a_pattern_that_was_changed_by_hand_is_learned_anew(tmp_path):
    async with opened(tmp_path, background=False) as jay:
        await jay.tasks.store_many(deployments(), user="bob")
        await jay.patterns.learn(user="bob")
        learned = await jay.list(kinds=["pattern"], user="bob")
        assert learned
        for memory in learned:
            data = {name: value for name, value in memory.data.items() if name != "learned"}
            await jay.update(memory.id, data=data, user="bob")
    async with opened(tmp_path, background=False) as jay:
        await jay.patterns.learn(user="bob")
        anew = await jay.list(kinds=["pattern"], user="bob")
        assert {one.key for one in anew} == {one.key for one in learned}
        assert all("learned" in one.data for one in anew)


async def test_a_place_that_fails_keeps_no_other_waiting(tmp_path, monkeypatch):
    async with opened(tmp_path, background=False) as jay:
        learning, places, learn = Learning(jay.parts), [], Learning._learned

        async def fails_for_anna(self, place, quick, sight):
            places.append(place.user)
            if place.user == "anna":
                raise KeyError("learned")
            return await learn(self, place, quick, sight)

        monkeypatch.setattr(Learning, "_learned", fails_for_anna)
        learning.start()
        for user in ("anna", "bob", "zoe"):
            await jay.tasks.store_many(deployments(), user=user)
        await eventually(lambda: len(learning._waiting) == 3)
        for _ in range(2):
            with pytest.raises(KeyError):
                await learning.run()
        assert places == ["anna", "bob", "zoe", "anna"]
        assert learning.is_due
