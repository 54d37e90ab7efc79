"""A caller that is bound to users, projects or agents stays inside: by any verb of any memory, with any arguments.

The walk is the one of test_isolation.py, by the same stranger with the same knowledge. This time the stranger is of the
same tenant, and nothing but the bounds stands between.
"""

import operator
from functools import reduce
from uuid import uuid4

import pytest
from every_verb import verbs_of
from test_isolation import MARK, Owned, answer_of, calls_of, lines_with, texts_in

from scrubjay.errors import Forbidden, InvalidInput, NotFound
from scrubjay.model import Scope
from scrubjay.model.access import Bounds, Caller, bounds_of
from scrubjay.model.citations import hash_of
from scrubjay.testing import a_memory
from scrubjay.testing.values import export_of

BOUND = {
    "to another user": {"users": ["bob"]},
    "to another project": {"projects": ["other"]},
}

PLACES = ({}, {"user": "anna", "project": "shop"})


@pytest.mark.parametrize("bound", BOUND)
async def test_a_bound_caller_neither_reads_nor_changes_what_lies_outside(new_setup, tmp_path, bound):
    jay = (await new_setup("memory").open()).for_tenant(uuid4().hex)
    owned = Owned(jay, tmp_path)
    before = await owned.fill()
    assert MARK in str(before)
    there = {memory.id for memory in await jay.list(limit=10_000, history=True)}
    known = owned.known(lines_with(owned.ids))
    narrowed = jay.narrowed(**BOUND[bound])
    walked = refused = 0
    for dotted in verbs_of(jay):
        try:
            verb = reduce(getattr, dotted.split("."), narrowed)
        except Forbidden:
            refused += 1
            continue
        for where in PLACES:
            for given in calls_of(verb, known, where):
                answer = await answer_of(verb, given)
                leaked = [text for text in texts_in(answer) if MARK in text]
                assert not leaked, f"{dotted}({given}) tells {leaked[0][:200]}"
                walked += 1
    assert walked > 500
    assert refused
    assert await owned.kept() == before
    written = [memory for memory in await jay.list(limit=10_000, history=True) if memory.id not in there]
    assert written
    for memory in written:
        narrowed.caller.bounds.check(memory.scope)


async def test_a_name_is_filled_in_where_there_is_one_choice(new_setup):
    jay = (await new_setup("memory").open()).narrowed(users=["anna"], projects=["shop", "blog"])
    told = await jay.remember("Prefers tabs", project="shop")
    assert (told.memory.scope.user, told.memory.scope.project) == ("anna", "shop")
    assert [one.id for one in await jay.list(project="shop")] == [told.memory.id]
    with pytest.raises(Forbidden, match=r"project is not given: .* 'shop', 'blog', say which"):
        await jay.list()
    with pytest.raises(Forbidden, match="user is 'bob': this key is bound to user 'anna'"):
        await jay.list(user="bob", project="shop")


async def test_each_item_of_many_is_looked_at_before_any_is_written(new_setup):
    jay = await new_setup("memory").open()
    narrowed = jay.narrowed(users=["anna", "bob"])
    items = [{"content": "one", "user": "anna"}, {"content": "two", "user": "bob"}]
    with pytest.raises(Forbidden, match="item 2: user is 'carl'"):
        await narrowed.remember_many([*items, {"content": "three", "user": "carl"}])
    with pytest.raises(Forbidden, match="item 2: user is not given"):
        await narrowed.remember_many([*items, "three"])
    assert await jay.count() == 0
    assert len(await narrowed.remember_many(items)) == 2


async def test_a_bound_caller_reads_what_holds_for_everybody_and_cannot_change_it(new_setup):
    jay = await new_setup("memory").open()
    rule = (await jay.remember("Deploys are on Monday", kind="rule")).memory
    narrowed = jay.narrowed(users=["anna"])
    assert (await narrowed.get(rule.id)).content == rule.content
    assert [hit.memory.id for hit in await narrowed.recall("deploys")] == [rule.id]
    for change in (narrowed.update(rule.id, content="never"), narrowed.forget(rule.id, purge=True)):
        with pytest.raises(NotFound):
            await change
    assert (await jay.get(rule.id)).content == rule.content


async def test_bounds_only_ever_narrow(new_setup):
    jay = (await new_setup("memory").open()).narrowed(users=["anna", "bob"])
    assert jay.narrowed(users=["bob", "carl"]).caller.bounds == Bounds(users=("bob",))
    assert jay.narrowed(projects=["shop"]).caller.bounds == Bounds(users=("anna", "bob"), projects=("shop",))
    with pytest.raises(Forbidden, match="already"):
        jay.narrowed(users=["carl"])
    with pytest.raises(Forbidden):
        jay.for_tenant("other")


@pytest.mark.parametrize("name", ["work", "vectors", "encryption"])
async def test_what_concerns_the_installation_is_closed_to_them(new_setup, name):
    jay = (await new_setup("memory").open()).narrowed(agents=["planner"])
    with pytest.raises(Forbidden, match=f"{name} concerns more than agent 'planner'"):
        operator.attrgetter(name)(jay)


@pytest.mark.parametrize("verb", ["check", "examine", "reindex", "rollback", "sweep"])
async def test_so_are_its_verbs(new_setup, verb):
    jay = (await new_setup("memory").open()).narrowed(agents=["planner"])
    with pytest.raises(Forbidden, match=f"{verb} concerns more"):
        await getattr(jay, verb)()


async def test_nothing_is_learned_across_projects_for_a_bound_caller(new_setup):
    jay = (await new_setup("memory").open()).narrowed(users=["anna"])
    for verb in (jay.patterns.learn, jay.patterns.families):
        with pytest.raises(Forbidden, match="across_projects"):
            await verb(across_projects=True)
    with pytest.raises(Forbidden, match="across_projects"):
        await jay.patterns.predict("deploy", across_projects=True)


async def test_an_event_stream_stays_inside(new_setup):
    jay = await new_setup("memory").open()
    heard = []
    jay.narrowed(users=["anna"]).subscribe("memory.stored", heard.append)
    for user in ("anna", "bob", None):
        await jay.remember(f"of {user}", user=user)
    await jay.parts.events.shut()
    assert [event.scope.user for event in heard] == ["anna", None]


@pytest.mark.parametrize(
    "wrong", ["anna", [None], [""], [5], ["a\x00b"], ["x"] * 3 + [[]], [f"u-{n}" for n in range(101)]]
)
def test_bounds_are_names(wrong):
    with pytest.raises(InvalidInput, match="users"):
        bounds_of(users=wrong)


async def test_a_caller_bound_to_one_agent_reaches_no_other(new_setup):
    jay = await new_setup("memory").open()
    await jay.agents.create("planner", directives="Plan the day")
    narrowed = jay.narrowed(agents=["reviewer"])
    for call in (
        narrowed.agents.begin_cycle("planner", goal="Take over"),
        narrowed.remember("Mine now", agent="planner"),
        narrowed.recall("plan", agent="planner"),
    ):
        with pytest.raises(Forbidden, match="agent is 'planner': this key is bound to agent 'reviewer'"):
            await call
    assert await narrowed.agents.list() == []
    assert not await narrowed.recall("plan the day")


async def test_the_holder_of_a_key_learns_nothing_of_the_disk(new_setup, tmp_path):
    jay = await new_setup("sqlite").open()
    secret = tmp_path / "etc"
    secret.mkdir()
    (secret / "hostname").write_text("raven\n")
    caller = jay.for_caller(Caller(key="sj1"))
    trap = {"kind": "repository", "key": "repository", "data": {"root": str(secret)}, "scope": Scope(project="trap")}
    await caller.import_lines(export_of(a_memory("repository", **trap)))
    cite = {"path": "hostname", "start": 1, "stop": 1, "hash": hash_of("raven")}
    guess = await caller.remember("It is called raven", data={"cites": [cite]}, project="trap")
    stored = await caller.workspace.store_completion(
        repo_path=secret, goal="guess", status="succeeded", files={"hostname": "raven\n"}, artifact="hostname"
    )
    assert [one.state for one in await jay.workspace.check(guess.id, project="trap")] == ["fresh"]
    assert await caller.workspace.check(guess.id, project="trap") == ()
    assert [hit.cited for hit in await caller.recall("called", project="trap", kinds=["note"])] == [()]
    assert [hit.cited for hit in await caller.workspace.recall("called", project="trap", kinds=["note"])] == [()]
    detail = await caller.workspace.get(stored.id)
    assert ([one.state for one in detail.files], detail.artifact.exists) == (["unknown"], None)
    assert [one.state for one in (await jay.workspace.get(stored.id)).files] == ["fresh"]
