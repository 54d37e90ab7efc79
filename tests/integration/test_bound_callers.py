"""What a caller with bounds plants, imports and hears reaches nobody else."""

import hashlib
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from scrubjay.errors import Forbidden, InvalidInput, NotFound, StoreDamaged
from scrubjay.model import Scope, new_id
from scrubjay.model.access import Caller
from scrubjay.model.kinds import KEPT_BY
from scrubjay.testing import NOW, a_memory, a_scope
from scrubjay.testing.values import export_of

ANNA, BOB = {"users": ["anna"]}, {"users": ["bob"]}


@pytest.fixture
async def jay(new_setup):
    return await new_setup("memory").open()


# Kinds that only verbs write


@pytest.mark.parametrize("kind", sorted(KEPT_BY))
async def test_what_only_verbs_write_cannot_be_told(jay, kind):
    said = rf"kind is '{kind}', which only .+ keeps: use another one"
    note = (await jay.remember("a note")).memory
    for call in (
        jay.remember("x", kind=kind),
        jay.remember_many([{"content": "x", "kind": kind}]),
        jay.update(note.id, kind=kind),
    ):
        with pytest.raises(InvalidInput, match=said):
            await call
    with pytest.raises(InvalidInput, match="item 1: kind is"):
        await jay.remember_many(["another note", {"content": "x", "kind": kind}])
    assert [memory.id for memory in await jay.list()] == [note.id]


async def test_what_a_verb_wrote_is_changed_by_that_verb_alone(jay):
    await jay.agents.create("builder", directives="Build")
    [row] = await jay.list(kinds=["agent"])
    with pytest.raises(InvalidInput, match=r"only `agents\.create` keeps"):
        await jay.update(row.id, data={})
    assert (await jay.agents.get("builder")).directives == "Build"
    assert (await jay.update(row.id, importance=0.9)).memory.importance == 0.9


@pytest.mark.parametrize("kind", sorted(KEPT_BY))
async def test_what_only_verbs_write_is_not_imported_inside_bounds(jay, kind):
    lines = export_of(a_memory("x", kind=kind, scope=a_scope("bob")))
    for caller in (jay.narrowed(**BOB), jay.narrowed(**BOB).for_caller(Caller(key="sj1"))):
        with pytest.raises(Forbidden, match=rf"line 2: kind is '{kind}'.*Nothing was imported"):
            await caller.import_lines(lines)
    assert await jay.import_lines(lines) == (1, 0)


async def test_all_that_verbs_wrote_comes_back_from_an_export(new_setup, tmp_path):
    jay, other = await new_setup("memory").open(), await new_setup("memory").open()
    await jay.shape_context(budget=500, user="anna")
    await jay.facts.store("The office is in Berlin")
    await jay.facts.store("The office is not in Berlin")
    await jay.agents.create("builder")
    await jay.agents.begin_cycle("builder")
    await jay.agents.propose("builder", "look")
    await jay.workspace.store_completion(goal="a page", repo_path=tmp_path, files={"a.txt": "a\n"})
    lines = [line async for line in jay.export()]
    kinds = {json.loads(line).get("kind") for line in lines}
    assert kinds >= {"context_shape", "conflict", "agent", "cycle", "proposal", "completion"}
    assert await other.import_lines(lines) == (len(lines) - 1, 0)
    assert [line async for line in other.export()] == lines
    assert (len(await other.facts.conflicts()), len(await other.agents.list())) == (1, 1)
    assert (await other.context("x", user="anna")).budget == 500


# Readers pass by what cannot be read


async def test_a_flag_shows_and_closes_only_facts_of_its_own_scope(jay):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    hers = (await anna.remember("Anna is ill", kind="fact")).memory
    rule = (await jay.remember("Never on Friday", kind="rule")).memory
    mine = (await bob.remember("Bob is well", kind="fact")).memory
    place, data = a_scope("bob"), {"relation": "contradiction"}
    for other in (hers, rule):
        planted = a_memory(
            f"look at {other.id}", kind="conflict", scope=place, derived_from=(other.id, mine.id), data=data
        )
        await jay.import_lines(export_of(planted))
        assert await bob.facts.conflicts() == await jay.facts.conflicts() == []
        with pytest.raises(NotFound, match="no open conflict"):
            await bob.facts.resolve(planted.id, keep=mine.id)
    assert (await jay.get(hers.id)).superseded_at is (await jay.get(rule.id)).superseded_at is None


async def test_a_flag_that_cannot_be_read_hides_no_other(jay):
    await jay.facts.store("The office is in Berlin")
    await jay.facts.store("The office is not in Berlin")
    note, fact = (await jay.remember("a note")).memory, (await jay.remember("a fact", kind="fact")).memory
    right, place = {"relation": "contradiction"}, Scope()
    await jay.import_lines(
        export_of(
            a_memory("on a note", kind="conflict", scope=place, derived_from=(note.id, fact.id), data=right),
            a_memory("on one", kind="conflict", scope=place, derived_from=(fact.id,), data=right),
            a_memory("on none", kind="conflict", scope=place, data=right),
            a_memory("of what?", kind="conflict", scope=place, derived_from=(fact.id, fact.id), data={"relation": 7}),
        )
    )
    [found] = await jay.facts.conflicts()
    assert {found.one.content, found.other.content} == {"The office is in Berlin", "The office is not in Berlin"}


async def test_a_shape_counts_where_it_lies_and_only_if_it_can_be_read(jay):
    await jay.shape_context(as_="xml")
    shape = {"kind": "context_shape", "key": "context:shape"}
    await jay.import_lines(
        export_of(
            a_memory("x", scope=a_scope("bob"), data={"budget": 7}, **shape),
            a_memory("y", scope=a_scope("carl"), data={"budget": "abc"}, **shape),
            a_memory("z", scope=a_scope("dora"), data={"sections": 7}, **shape),
        )
    )
    budgets = {user: (await jay.context("x", user=user)).budget for user in ("bob", "carl", "dora", None)}
    assert budgets == {"bob": 7, "carl": 1_000, "dora": 1_000, None: 1_000}
    assert (await jay.context("x")).as_ == "xml"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"success_indicators": 7},
        {"task_type_pattern": "("},
        {"samples": "many"},
        {"name": 7},
        {"words": [[]]},
        {"last_seen_at": "soon"},
        {"evidence": [7]},
        {"held": "x"},
        {"success_indicators": [{"kind": "tool"}]},
    ],
)
async def test_a_pattern_that_cannot_be_read_is_passed_by(jay, odd):
    whole = {
        "id": "x", "pattern_type": "success", "task_type_pattern": "deploy", "name": "deploy", "words": [],
        "success_indicators": [], "failure_indicators": [], "held": 1.0, "seen": 1.0, "samples": 1, "successes": 1,
        "helpful": 0.0, "unhelpful": 0.0, "version": 1, "evidence": [], "last_seen_at": NOW.isoformat(),
    }  # fmt: skip
    bob = jay.narrowed(**BOB)
    data = {**whole, **odd} if odd else {"pattern_type": "success"}
    await bob.remember("good", kind="pattern", key="pattern:good", data={**whole, "id": "good"})
    await bob.remember("odd", kind="pattern", key="pattern:x", data=data)
    assert [one.id for one in await jay.patterns.search_patterns("deploy")] == ["good"]
    found = await jay.patterns.find_matching_patterns("deploy it", min_confidence=0.0)
    assert [match.pattern.id for match in found] == ["good"]
    assert (await jay.tasks.get_task_context("deploy it")).text is not None
    for call in (bob.patterns.get("x"), bob.patterns.feedback("x", True)):
        if odd != {"task_type_pattern": "("}:
            with pytest.raises(InvalidInput, match="holds no pattern"):
                await call
        else:
            await call


async def test_learning_takes_the_place_of_a_pattern_that_cannot_be_read(jay):
    for number in range(4):
        await jay.tasks.store_execution(f"t-{number}", "Deployed", True, task_description="deploy the shop", user="bob")
    made = await jay.patterns.extract_pattern("deploy", user="bob")
    [row] = await jay.list(kinds=["pattern"], user="bob")
    await jay.update(row.id, data={"pattern_type": "success"}, user="bob")
    again = await jay.patterns.extract_pattern("deploy", user="bob")
    assert (again.id, again.samples) == (made.id, made.samples)
    assert [one.id for one in await jay.patterns.history(made.id, user="bob")][-1] == made.id


async def test_an_agent_that_cannot_be_read_hides_no_other(jay):
    await jay.agents.create("builder")
    place, whole = {"kind": "agent", "key": "agent"}, {"status": "active", "version": 1, "created_at": NOW.isoformat()}
    odd = ({}, {"status": 3}, {**whole, "created_at": 7}, {**whole, "forked_from": "x"})
    rows = [a_memory("x", scope=Scope(agent=f"odd-{number}"), data=data, **place) for number, data in enumerate(odd)]
    await jay.import_lines(export_of(*rows))
    assert [agent.name for agent in await jay.agents.list()] == ["builder"]


# What one memory holds is not another's


async def test_a_completion_shows_only_the_files_that_it_holds(jay, tmp_path):
    text = "ceo 900000\n"
    anna = jay.narrowed(**ANNA)
    kept = await anna.workspace.store_completion(goal="salaries", repo_path=tmp_path, files={"s.txt": text})
    file = {"path": "s.txt", "size": len(text), "hash": hashlib.sha256(text.encode()).hexdigest(), "kept": "whole"}
    data = {"goal": "g", "repo": str(tmp_path), "status": "succeeded", "files": [file]}
    planted = a_memory("g", kind="completion", key="completion:x", data=data, scope=a_scope("bob"))
    await jay.import_lines(export_of(planted))
    [shown] = (await jay.narrowed(**BOB).workspace.get(planted.id)).files
    assert (shown.file.path, shown.text) == ("s.txt", None)
    assert (await anna.workspace.get(kept.id)).files[0].text == text


async def test_a_snapshot_restores_only_the_files_that_it_holds(jay, tmp_path):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    (tmp_path / "hers").mkdir()
    (tmp_path / "hers" / "s.txt").write_text("ceo 900000\n")
    for caller in (anna, bob):
        await caller.agents.create("keeper")
    await anna.agents.snapshot("keeper", tmp_path / "hers")
    [row] = await jay.list(kinds=["snapshot"], user="anna")
    await jay.import_lines(export_of(replace(row, id=new_id(), scope=a_scope("bob", agent="keeper"))))
    with pytest.raises(StoreDamaged, match="files of a snapshot of agent keeper are not kept"):
        await bob.agents.restore("keeper", tmp_path / "his")
    assert (await anna.agents.restore("keeper", tmp_path / "again")).written == 1


async def test_what_a_caller_cannot_see_cannot_be_told_from_what_is_not_stored(jay):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    await anna.remember("Anna is ill", id="anna-1")
    shared = (await jay.remember("For all")).memory
    said = []
    for name in ("anna-1", "nothing-1"):
        with pytest.raises(InvalidInput, match="which is not stored: store the sources first") as refused:
            await bob.remember("Made of it", derived_from=[name])
        said.append(str(refused.value).split()[3:])
    assert said[0] == said[1]
    assert (await bob.remember("Made of it", derived_from=[shared.id])).memory.derived_from == (shared.id,)
    with pytest.raises(InvalidInput, match="is not stored"):
        await bob.facts.store("Made of it", derived_from=["anna-1"])


async def test_nothing_is_imported_as_made_from_what_the_caller_cannot_see(jay):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    hers, shared = (await anna.remember("Anna is ill")).memory, (await jay.remember("For all")).memory
    with pytest.raises(InvalidInput, match=rf"line 3: derived_from names {hers.id}, which is not stored.*Nothing was"):
        await bob.import_lines(
            export_of(a_memory("x", scope=a_scope("bob")), a_memory(scope=a_scope("bob"), derived_from=(hers.id,)))
        )
    assert await bob.count(history=True) == 0
    mine = a_memory("of what all see", scope=a_scope("bob"), derived_from=(shared.id,))
    made = a_memory("of that", scope=a_scope("bob"), derived_from=(mine.id,))
    assert await bob.import_lines(export_of(made, mine)) == (2, 0)
    assert await jay.import_lines(export_of(a_memory("y", scope=a_scope("bob"), derived_from=(hers.id,)))) == (1, 0)


async def test_an_import_does_not_tell_which_ids_are_stored(jay):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    hers, place = (await anna.remember("Anna is ill")).memory, a_scope("bob")
    said = []
    for known in (hers.id, new_id()):
        with pytest.raises(InvalidInput, match="which is not stored") as refused:
            await bob.import_lines(export_of(a_memory("x", scope=place, derived_from=(known,))))
        said.append(str(refused.value).replace(str(known), "ID"))
        heir = replace(a_memory("heir", scope=place), id=known)
        assert await bob.import_lines(export_of(closed_by(heir, place))) == (1, 0)
    assert said[0] == said[1]
    assert [memory.id for memory in await anna.history(hers.id)] == [hers.id]


async def test_nobody_hears_why_another_ones_memory_was_forgotten(jay):
    anna, bob = jay.narrowed(**ANNA), jay.narrowed(**BOB)
    hers = (await anna.remember("Anna is ill")).memory
    lesson = await anna.remember("Send flowers", derived_from=[hers.id])
    made = await jay.remember("Somebody is ill", derived_from=[hers.id])
    receipt = await jay.forget(hers.id, reason="she asked for it")
    assert set(receipt.derived) == {lesson.id, made.id}
    assert (await anna.get(lesson.id)).closed_because == "forgotten: she asked for it, with its source"
    assert (await bob.get(made.id)).closed_because == "forgotten, with its source"


# Versions


def closed_by(heir, scope):
    return a_memory(
        "old",
        scope=scope,
        created_at=NOW - timedelta(days=2),
        superseded_at=NOW - timedelta(days=1),
        superseded_by=heir.id,
        closed_because="replaced",
    )


async def test_no_import_makes_a_version_of_what_lies_elsewhere(jay):
    rule = (await jay.remember("Never on Friday", kind="rule")).memory
    bob = jay.narrowed(**BOB)
    with pytest.raises(InvalidInput, match=r"line 2: superseded_by is .* another scope.*Nothing was imported"):
        await bob.import_lines(export_of(closed_by(rule, a_scope("bob"))))
    assert await bob.count(history=True) == 0
    mine = (await bob.remember("new")).memory
    assert await bob.import_lines(export_of(closed_by(mine, a_scope("bob")))) == (1, 0)
    assert len(await bob.history(mine.id)) == 2


async def test_a_purge_takes_no_version_that_lies_in_another_scope(jay):
    heir = a_memory("Never on Friday", kind="rule", scope=Scope())
    old = closed_by(heir, a_scope("bob"))
    bob = jay.narrowed(**BOB)
    # The line comes first, and what it names is stored after it.
    await bob.import_lines(export_of(old))
    await jay.import_lines(export_of(heir))
    made = (await jay.narrowed(**ANNA).remember("I follow it", derived_from=[heir.id])).memory
    receipt = await bob.forget(old.id, purge=True)
    assert (receipt.ids, receipt.derived) == ((old.id,), ())
    assert {memory.id for memory in await jay.list()} == {heir.id, made.id}


# Events


async def test_nobody_hears_the_ids_of_what_they_cannot_see(jay):
    anna = jay.narrowed(**ANNA)
    for number in range(4):
        await anna.tasks.store_execution(f"t-{number}", "Moved it", True, task_description="move the payroll database")
    await jay.tasks.store_execution("shared", "Moved it", True, task_description="move the payroll database again")
    pattern = await jay.patterns.extract_pattern("payroll", user="anna")
    await jay.tasks.get_task_context("move the payroll database")
    await jay.tasks.get_task_context("move the payroll database", user="bob")
    [shared] = [memory.id for memory in await jay.list(kinds=["task"]) if memory.scope.user is None]
    names = ("memory.context.suggested", "memory.pattern.matched")

    async def heard(caller):
        events = [event for event in await caller.missed() if event.name in names]
        return {str(one) for event in events for name in ("ids", "patterns") for one in event.data.get(name, [])}

    assert await heard(jay.narrowed(**BOB)) == {str(shared)}
    hers = {str(memory.id) for memory in await jay.list(user="anna")} & await heard(anna)
    assert hers
    assert pattern.id in await heard(anna)
    assert await heard(jay) >= hers | {str(shared), pattern.id}


async def test_a_project_does_not_hear_the_ids_of_a_user_who_is_asked_for_there(jay):
    for number in range(4):
        told = {"task_description": "move the payroll database", "user": "anna"}
        await jay.tasks.store_execution(f"t-{number}", "Moved it", True, **told)
    await jay.tasks.get_task_context("move the payroll database", project="shop")
    hers = {str(memory.id) for memory in await jay.list(user="anna")}

    def ids(events):
        return {one for event in events for one in event.data.get("ids", [])}

    assert hers & ids(await jay.missed())
    assert hers & ids(await jay.narrowed(**ANNA).missed())
    assert not hers & ids(await jay.narrowed(projects=["shop"]).missed())
