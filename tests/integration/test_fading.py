"""Records of agents fade by age and relevance, namespace by namespace; a dry run says which would, and why."""

from datetime import timedelta

import pytest

from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.model.work import Fading, Policy, relevance
from scrubjay.settings import read_settings

pytestmark = pytest.mark.memory_suite

DAY = timedelta(days=1)
LONG_TERM = Policy(namespaces={"long-term": Fading(after=90 * DAY, below=0.3)})


@pytest.fixture
async def agent(jay):
    agent = await jay.agents.create("planner", user="anna")
    await jay.agents.begin_cycle(agent)
    return agent


async def record(jay, agent, content, *, importance=0.1, namespaces=("long-term",)):
    told = await jay.agents.record_memory(
        agent, "observation", content, importance=importance, namespaces=list(namespaces)
    )
    return told.memory.id


async def use(jay, id, times):
    for _ in range(times):
        jay.parts.uses.count(jay.scoped({}), [id])
        await jay.parts.uses.flush()


async def test_what_is_old_and_irrelevant_fades_and_a_dry_run_says_why(jay, clock, agent):
    gone = await record(jay, agent, "The build took four minutes")
    matters = await record(jay, agent, "Deploys need two approvals", importance=0.8)
    pinned = await record(jay, agent, "Never deploy on Fridays", importance=1.0)
    used = await record(jay, agent, "Tests are run with make")
    elsewhere = await record(jay, agent, "Only for now", namespaces=["short-term"])
    both = await record(jay, agent, "For now and for later", namespaces=["short-term", "long-term"])
    plain = (await jay.remember("Not of an agent", importance=0.0, user="anna")).id
    clock.advance(100 * DAY)
    await use(jay, used, 6)
    young = await record(jay, agent, "The build took five minutes")

    dry = await jay.consolidate(steps="prune", policy=LONG_TERM, dry_run=True)
    [planned] = dry.planned
    assert planned.id == gone
    assert planned.why == (
        "in long-term for 100 days, more than 90, recalled 0 times, and its relevance 0.10 is below 0.3"
    )
    assert (await jay.get(gone)).superseded_at is None
    done = await jay.consolidate(steps="prune", policy=LONG_TERM)
    assert done["prune"].done == 1
    closed = await jay.get(gone)
    assert closed.closed_because == "pruned: long-term, older than 90 days, relevance below 0.3"
    for kept in (matters, pinned, used, elsewhere, both, plain, young):
        assert (await jay.get(kept)).superseded_at is None
    found = await jay.agents.recall(agent, "build minutes", namespaces=["long-term"])
    assert gone not in {item.memory.id for item in found.items}
    assert (await jay.consolidate(steps="prune", policy=LONG_TERM))["prune"].done == 0


async def test_who_is_in_several_namespaces_goes_when_each_lets_it_go(jay, clock, agent):
    both = await record(jay, agent, "For now and for later", namespaces=["short-term", "long-term"])
    short = await record(jay, agent, "Only for now", importance=0.9, namespaces=["short-term"])
    policy = Policy(
        namespaces={"short-term": Fading(after=7 * DAY, below=1.0), "long-term": Fading(after=90 * DAY, below=0.3)}
    )
    clock.advance(8 * DAY)
    assert (await jay.consolidate(steps="prune", policy=policy))["prune"].done == 1
    assert [(await jay.get(one)).superseded_at is None for one in (both, short)] == [True, False]
    clock.advance(90 * DAY)
    assert (await jay.consolidate(steps="prune", policy=policy))["prune"].done == 0, "nothing was pruned for so long"
    clock.advance(timedelta(hours=1))
    planned = (await jay.consolidate(steps="prune", policy=policy, dry_run=True)).planned
    assert [one.id for one in planned] == [both], "once, though two namespaces have it"
    await jay.consolidate(steps="prune", policy=policy)
    assert (await jay.get(both)).superseded_at is not None


async def test_it_keeps_to_the_agent_it_is_asked_for(jay, clock, agent):
    other = await jay.agents.create("reviewer", user="anna")
    await jay.agents.begin_cycle(other)
    mine, theirs = await record(jay, agent, "Mine"), await record(jay, other, "Theirs")
    clock.advance(100 * DAY)
    await jay.consolidate(steps="prune", policy=LONG_TERM, user="anna", agent="planner")
    assert [(await jay.get(one)).superseded_at is None for one in (mine, theirs)] == [False, True]


async def test_use_makes_up_for_what_importance_lacks(jay, clock, agent):
    told = await record(jay, agent, "Tests are run with make", importance=0.2)
    clock.advance(60 * DAY)
    assert relevance(await jay.get(told), clock()) == pytest.approx(0.2)
    await use(jay, told, 2)
    assert relevance(await jay.get(told), clock()) == pytest.approx(0.6, abs=0.01)


def test_a_rule_checks_itself():
    for wrong in ({"after": timedelta(0)}, {"after": 7}, {"after": DAY, "below": 1.5}):
        with pytest.raises(InvalidInput, match=r"after|below"):
            Fading(**wrong)
    for wrong in ({"Long Term": Fading(after=DAY)}, {"long-term": 7}, "long-term"):
        with pytest.raises(InvalidInput, match="namespace"):
            Policy(namespaces=wrong)


def test_rules_are_read_from_the_environment():
    policy = read_settings(prune_namespaces="long-term:180:0.3,short-term:7:1").policy
    assert policy.namespaces == {
        "long-term": Fading(after=180 * DAY, below=0.3),
        "short-term": Fading(after=7 * DAY, below=1.0),
    }
    assert policy.prunes
    assert not read_settings().policy.prunes
    with pytest.raises(Misconfigured, match="SCRUBJAY_PRUNE_NAMESPACES"):
        read_settings(prune_namespaces="long-term:soon")
