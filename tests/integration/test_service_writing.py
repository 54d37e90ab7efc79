"""Remember and update, on every set-up: what is stored, what is known already, and what is refused whole."""

import asyncio
import gc
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from scrubjay.errors import Closed, Conflict, IdTaken, InvalidInput, NotFound
from scrubjay.model import Scope, Trust
from scrubjay.testing import NOW
from scrubjay.write import remember
from scrubjay.write.garbage import garbage_later

HOUR = timedelta(hours=1)


async def test_a_memory_is_kept_as_it_was_told(jay):
    source = await jay.remember("The build log", user="anna")
    told = await jay.remember(
        "Prefers tabs over spaces",
        kind="preference",
        key="pref:indent",
        data={"files": ["*.py"], "width": 4},
        importance=0.9,
        trust="observed",
        source="task-7",
        author="anna",
        reason="she said so",
        derived_from=[source.id],
        valid_from=NOW - HOUR,
        expires_at=NOW + HOUR,
        user="anna",
        project="p-1",
    )
    memory = await jay.get(told.id, user="anna")
    assert told.outcome == "stored"
    assert told.replaced is None
    assert memory.scope == Scope(user="anna", project="p-1")
    assert (memory.kind, memory.key, memory.content) == ("preference", "pref:indent", "Prefers tabs over spaces")
    assert memory.data == {"files": ["*.py"], "width": 4}
    assert (memory.importance, memory.trust, memory.source) == (0.9, Trust.OBSERVED, "task-7")
    assert (memory.author, memory.reason, memory.derived_from) == ("anna", "she said so", (source.id,))
    assert (memory.created_at, memory.valid_from, memory.expires_at) == (NOW, NOW - HOUR, NOW + HOUR)


async def test_saying_it_again_changes_nothing(jay, clock):
    first = await jay.remember("The API is written in Go", user="anna", data={"a": 1, "b": 2})
    clock.advance()
    again = await jay.remember("The API is written in Go", user="anna", data={"b": 2, "a": 1})
    assert (again.outcome, again.id) == ("unchanged", first.id)
    assert (await jay.get(first.id, user="anna")).created_at == NOW
    assert await jay.count() == 1


async def test_what_was_forgotten_is_not_said_to_be_known_under_its_own_id(jay, clock):
    await jay.remember("Lunch at noon", id="lunch")
    await jay.forget("lunch")
    clock.advance()
    with pytest.raises(IdTaken, match=r"id lunch names what was told before and is not believed any more.* another id"):
        await jay.remember("Lunch at noon", id="lunch")
    # Of many, such as an import that is repeated, it stays forgotten.
    again, other = await jay.remember_many([{"content": "Lunch at noon", "id": "lunch"}, "Tea at four"])
    assert (again.outcome, again.memory.state(NOW)) == ("unchanged", "forgotten")
    assert other.outcome == "stored"
    assert (await jay.remember("Lunch at noon")).outcome == "stored"


async def test_what_another_value_replaced_is_not_said_to_be_known_under_its_own_id(jay):
    await jay.remember("Port is 80", key="port", id="p80")
    await jay.remember("Port is 81", key="port")
    with pytest.raises(IdTaken, match=r"id p80 .* is not believed any more"):
        await jay.remember("Port is 80", key="port", id="p80")
    [current] = await jay.list(key="port")
    assert current.content == "Port is 81"


@pytest.mark.parametrize("longer", [None, 2 * HOUR])
async def test_what_expired_is_kept_anew_when_it_is_told_again_under_its_own_id(jay, clock, longer):
    await jay.remember("Deploy freeze is on", id="freeze", expires_at=NOW + HOUR / 2)
    clock.advance(HOUR)
    assert list(await jay.recall("deploy freeze")) == []
    until = NOW + longer if longer else None
    again = await jay.remember("Deploy freeze is on", id="freeze", expires_at=until)
    assert (again.outcome, again.memory.expires_at) == ("stored", until)
    [hit] = await jay.recall("deploy freeze")
    assert (hit.memory.id, hit.memory.expires_at) == (again.id, until)
    assert await jay.count() == 1


@pytest.mark.parametrize("told", [{}, {"key": "freeze"}, {"kind": "event"}, {"session": "s"}])
@pytest.mark.parametrize("many", [False, True])
async def test_what_expired_is_kept_anew_however_far_the_worker_is(jay, clock, told, many):
    telling = {"content": "Deploy freeze is on", "id": "freeze", "user": "anna", **told}
    first = await jay.remember(**telling, expires_at=NOW + HOUR / 2)
    for hours in (1, 2):  # It may expire as often as it is told.
        clock.advance(HOUR)
        await jay.consolidate(steps=["expire"])
        assert (await jay.get("freeze")).closed_because == "expired"
        until = NOW + hours * HOUR + HOUR / 2
        if many:
            [again] = await jay.remember_many([{**telling, "expires_at": until}])
        else:
            again = await jay.remember(**telling, expires_at=until)
        assert (again.outcome, again.id, again.memory.expires_at) == ("stored", first.id, until)
        assert (again.memory.superseded_at, again.memory.closed_because) == (None, None)
        for mode in ("words", "meaning"):
            [hit] = await jay.recall("deploy freeze", mode=mode, user="anna")
            assert (hit.memory.id, hit.memory.expires_at) == (first.id, until)
    assert await jay.count(user="anna") == len(await jay.history("freeze")) == 1
    assert await jay.check() == []


async def test_what_expired_is_not_kept_anew_beside_what_took_its_place(jay, clock):
    await jay.remember("Port is 80", key="port", id="p80", expires_at=NOW + HOUR / 2)
    await jay.remember("Lunch at noon", id="lunch", expires_at=NOW + HOUR / 2)
    clock.advance(HOUR)
    await jay.consolidate(steps=["expire"])
    await jay.remember("Port is 81", key="port")
    await jay.remember("Lunch at noon")
    for telling in ({"content": "Port is 80", "key": "port", "id": "p80"}, {"content": "Lunch at noon", "id": "lunch"}):
        with pytest.raises(IdTaken, match="is not believed any more"):
            await jay.remember(**telling)
    assert [one.content for one in await jay.list()] == ["Lunch at noon", "Port is 81"]


async def test_an_own_id_names_the_newest_version_for_who_updates_it(jay):
    await jay.remember("First", id="own")
    await jay.update("own", content="Second")
    third = await jay.update("own", content="Third")
    assert [memory.content for memory in await jay.list()] == ["Third"]
    assert [memory.content for memory in await jay.history("own")] == ["First", "Second", "Third"]
    await jay.forget(third.id)
    with pytest.raises(NotFound, match="memory own is superseded"):
        await jay.update("own", content="Fourth")
    with pytest.raises(NotFound, match="there is no memory nope"):
        await jay.update("nope", content="Fourth")


async def test_the_same_words_about_something_else_are_another_memory(jay):
    await jay.remember("The API is written in Go", user="anna")
    for difference in {"user": "bob"}, {"kind": "fact"}, {"key": "k"}, {"data": {"a": 1}}:
        other = await jay.remember("The API is written in Go", **{"user": "anna", **difference})
        assert other.outcome == "stored"
    assert await jay.count() == 5


async def test_the_callers_id_makes_it_one_memory(jay):
    for own in "ticket 7", "ünïcode 🐦", "3f2504e0-4f89-41d3-9a0c-0305e82c3301":
        first = await jay.remember(f"About {own}", id=own)
        again = await jay.remember(f"About {own}", id=own)
        assert (again.outcome, again.id) == ("unchanged", first.id)
        assert (await jay.get(own)).content == f"About {own}"
        assert (await jay.get(str(first.id))).id == first.id


async def test_an_id_that_names_another_memory_is_refused(jay):
    await jay.remember("Deploys happen on Friday", id="deploy")
    with pytest.raises(IdTaken, match="names another memory already") as refused:
        await jay.remember("Deploys happen on Monday", id="deploy")
    assert "Friday" not in str(refused.value), "who may write is not told what is stored"
    with pytest.raises(IdTaken):
        await jay.remember("Deploys happen on Friday", id="deploy", user="bob")
    assert await jay.count() == 1


async def test_messages_are_never_merged(jay):
    said = [await jay.remember("ok", kind="message", user="anna", session="s") for _ in range(3)]
    assert [one.outcome for one in said] == ["stored"] * 3
    assert [one.memory.position for one in said] == [0, 1, 2]
    many = await jay.remember_many(["ok", "ok"], user="anna", session="s")
    assert [one.outcome for one in many] == ["stored", "unchanged"]
    twice = [{"content": "ok", "kind": "message", "id": "m-1"}] * 2
    assert len({one.id for one in await jay.remember_many(twice, session="s")}) == 1


async def test_many_are_remembered_in_order_with_their_own_places(jay):
    seen = []
    done = await jay.remember_many(
        ["first", {"content": "second", "project": "p"}, {"content": "third", "user": "bob"}, "first"],
        user="anna",
        progress=seen.append,
    )
    assert [one.memory.content for one in done] == ["first", "second", "third", "first"]
    assert [one.outcome for one in done] == ["stored", "stored", "stored", "unchanged"]
    assert done[0].id == done[3].id
    assert [one.memory.scope for one in done[1:3]] == [Scope(user="anna", project="p"), Scope(user="bob")]
    assert seen == [4]


async def test_a_key_told_twice_in_one_batch_ends_with_the_last_value(jay):
    done = await jay.remember_many([{"content": f"value {place}", "key": "k"} for place in range(3)])
    assert [one.outcome for one in done] == ["stored", "superseded", "superseded"]
    assert [one.content for one in await jay.list(key="k")] == ["value 2"]
    assert [one.content for one in await jay.history(key="k")] == ["value 0", "value 1", "value 2"]
    assert done[0].memory.superseded_by == done[1].id


BAD_ITEMS = (
    {"content": ""},
    {"content": "x", "importance": 2},
    {"content": "x", "kind": "Not A Kind"},
    {"content": "x", "valid_from": datetime(2026, 1, 1)},  # noqa: DTZ001 -- a naive one is what is refused
    {"content": "x", "valid_from": NOW, "valid_to": NOW},
    {"content": "x", "data": {"n": float("nan")}},
    {"content": "x", "colour": "blue"},
    {"content": "x", "trust": "blind"},
    {"content": "x", "user": ""},
    {"kind": "fact"},
    42,
)


async def test_one_bad_item_refuses_all_and_is_named(jay):
    for bad in BAD_ITEMS:
        for items, place in (["good", "fine", bad], 2), ([bad, "good"], 0):
            with pytest.raises(InvalidInput, match=f"^item {place}: "):
                await jay.remember_many(items)
    assert await jay.count() == 0


async def test_a_taken_id_in_mid_batch_leaves_nothing_of_the_batch(jay):
    await jay.remember("Deploys happen on Friday", id="deploy")
    with pytest.raises(IdTaken):
        await jay.remember_many(["good", {"content": "another", "id": "deploy"}])
    assert await jay.count() == 1


async def test_a_single_bad_value_is_named_without_a_place(jay):
    with pytest.raises(InvalidInput, match=r"^importance is 2"):
        await jay.remember("x", importance=2)
    with pytest.raises(InvalidInput, match="colour"):
        await jay.remember("x", colour="blue")
    with pytest.raises(InvalidInput, match="team='x' is not a known option"):
        await jay.remember_many(["x"], team="x")


async def test_times_of_any_zone_are_kept_in_utc(jay):
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    told = await jay.remember("x", valid_from=moment)
    assert (await jay.get(told.id)).valid_from == datetime(2026, 1, 1, 7, tzinfo=UTC)


async def test_what_is_derived_is_trusted_no_more_than_its_weakest_source(jay):
    page = await jay.remember("A web page says so", trust="foreign")
    log = await jay.remember("The log says so", trust="observed")
    both = await jay.remember("It is so", derived_from=[page.id, log.id])
    assert both.memory.trust is Trust.FOREIGN
    further = await jay.remember("So it must be", derived_from=[both.id], trust="told")
    assert further.memory.trust is Trust.FOREIGN
    with pytest.raises(InvalidInput, match="not stored"):
        await jay.remember("From nowhere", derived_from=[uuid4()])


async def test_changing_what_it_says_opens_a_new_version(jay, clock):
    old = await jay.remember("Deploys on Friday", key="deploy", user="anna", importance=0.8, session="s")
    clock.advance()
    new = await jay.update(old.id, content="Deploys on Monday", reason="new rule", user="anna")
    assert (new.outcome, new.replaced) == ("superseded", old.id)
    assert (new.memory.key, new.memory.importance, new.memory.position) == ("deploy", 0.8, 0)
    closed = await jay.get(old.id, user="anna")
    assert (closed.superseded_by, closed.superseded_at, closed.closed_because) == (new.id, clock.now, "corrected")
    assert [one.id for one in await jay.history(new.id, user="anna")] == [old.id, new.id]
    assert [one.content for one in await jay.list(user="anna")] == ["Deploys on Monday"]


async def test_importance_and_expiry_are_changed_in_place(jay, clock):
    told = await jay.remember("Deploys on Friday", user="anna")
    changed = await jay.update(told.id, importance=1.0, expires_at=NOW + HOUR, user="anna")
    assert (changed.id, changed.outcome) == (told.id, "unchanged")
    assert (changed.memory.importance, changed.memory.expires_at) == (1.0, NOW + HOUR)
    assert len(await jay.history(told.id, user="anna")) == 1
    assert len(await jay.recall("deploys", user="anna")) == 1
    clock.advance(HOUR)
    assert len(await jay.recall("deploys", user="anna")) == 0


@pytest.mark.parametrize("beside", [{}, {"importance": 0.9}, {"content": "Deploys on Monday"}])
async def test_what_was_to_expire_can_be_kept_for_ever(jay, clock, beside):
    told = await jay.remember("Deploys on Friday", user="anna", expires_at=NOW + HOUR)
    changed = await jay.update(told.id, expires_at=None, user="anna", **beside)
    assert (changed.memory.expires_at, changed.id == told.id) == (None, "content" not in beside)
    clock.advance(2 * HOUR)
    for mode in ("words", "meaning"):
        assert [hit.memory.id for hit in await jay.recall("deploys", mode=mode, user="anna")] == [changed.id]
    await jay.consolidate(steps="expire")
    assert (await jay.get(changed.id, user="anna")).superseded_at is None


@pytest.mark.parametrize("beside", [{}, {"expires_at": None}, {"content": "Deploys on Monday"}])
async def test_an_importance_that_is_none_is_refused(jay, beside):
    told = await jay.remember("Deploys on Friday", importance=0.9)
    with pytest.raises(InvalidInput, match="importance is None: use a number from 0 to 1"):
        await jay.update(told.id, importance=None, **beside)
    with pytest.raises(InvalidInput, match="kind is None: leave it out"):
        await jay.update(told.id, kind=None, **beside)
    assert (await jay.get(told.id)).importance == 0.9


async def test_what_is_closed_before_it_can_be_kept_longer_is_not_said_to_be_kept(jay, clock, monkeypatch):
    told = await jay.remember("Deploys on Friday", expires_at=NOW + HOUR)
    clock.advance(HOUR)
    records = jay.parts.stores.records
    adjust = records.adjust

    async def adjusted_late(*args, **changes):
        await jay.consolidate(steps="expire")
        return await adjust(*args, **changes)

    monkeypatch.setattr(records, "adjust", adjusted_late)
    with pytest.raises(NotFound, match="has just been closed"):
        await jay.update(told.id, expires_at=None)


async def test_only_the_newest_version_inside_the_scope_can_be_changed(jay):
    told = await jay.remember("Deploys on Friday", user="anna")
    for wrong in {"user": "bob"}, {"user": "anna", "project": "p"}:
        with pytest.raises(NotFound):
            await jay.update(told.id, content="x", **wrong)
    await jay.update(told.id, content="Deploys on Monday", user="anna")
    with pytest.raises(NotFound, match="newest version"):
        await jay.update(told.id, content="x", user="anna")
    with pytest.raises(InvalidInput, match="update got nothing"):
        await jay.update(told.id, user="anna")
    with pytest.raises(InvalidInput, match="colour"):
        await jay.update(told.id, colour="blue", user="anna")


async def test_what_changes_nothing_makes_no_version(jay, clock):
    told = (await jay.remember("Deploys on Friday", data={"on": True}, importance=0.5)).memory
    clock.advance(HOUR)
    same = await jay.update(told.id, content="Deploys on Friday", data={"on": True}, valid_from=told.valid_from)
    assert (same.outcome, same.memory.id) == ("unchanged", told.id)
    kept = await jay.update(told.id, content="Deploys on Friday", importance=0.9)
    assert (kept.memory.id, kept.memory.importance) == (told.id, 0.9)
    assert len(await jay.history(told.id)) == 1
    changed = await jay.update(told.id, data={"on": 1})
    assert (changed.outcome, changed.memory.data) == ("superseded", {"on": 1})


async def test_what_is_told_again_before_it_expires_is_kept_longer(jay, clock):
    many = [{"content": "Anna is away", "expires_at": clock.now + HOUR}, {"content": "Bob is here", "key": "bob"}]
    first, _ = await jay.remember_many(many)
    for _ in range(3):
        clock.advance(HOUR / 2)
        again, other = await jay.remember_many([{**many[0], "expires_at": clock.now + HOUR}, many[1]])
        assert (again.outcome, again.memory.id, other.outcome) == ("unchanged", first.memory.id, "unchanged")
        assert again.memory.expires_at == clock.now + HOUR
    assert (await jay.recall("Anna is away"))[0].memory.id == again.id, "although it would have expired by now"
    shorter = await jay.remember("Anna is away", expires_at=clock.now + HOUR / 2)
    assert shorter.memory.expires_at == clock.now + HOUR
    clock.advance(2 * HOUR)
    assert await jay.count() == 1
    anew = await jay.remember("Anna is away", expires_at=clock.now + HOUR)
    assert (anew.outcome, len(await jay.history(anew.memory.id))) == ("superseded", 2)


async def test_what_is_kept_longer_and_replaced_in_one_batch_was_kept_longer(jay, clock):
    until, later = clock.now + HOUR, clock.now + 9 * HOUR
    told = (await jay.remember("Anna is away", key="anna", expires_at=until)).memory
    clock.advance(HOUR / 2)
    changed = clock.now
    await jay.remember_many(
        [
            {"content": "Anna is away", "key": "anna", "expires_at": later},
            {"content": "Anna is back", "key": "anna", "valid_from": changed},
        ]
    )
    old, *rest = await jay.history(key="anna")
    assert (old.id, old.expires_at, old.superseded_at) == (told.id, later, changed)
    assert {one.content: one.expires_at for one in rest} == {"Anna is away": later, "Anna is back": None}
    assert (await jay.recall("Anna is away", as_of=changed - HOUR / 4))[0].memory.content == "Anna is away"
    assert await jay.check() == []


async def test_of_two_corrections_at_once_one_is_told_that_it_came_late(jay):
    told = await jay.remember("Deploys on Friday")
    done = await asyncio.gather(
        *(jay.update(told.id, content=f"Deploys on {day}") for day in ("Monday", "Tuesday")), return_exceptions=True
    )
    assert sorted(type(one) in (Conflict, NotFound) for one in done) == [False, True]
    assert len(await jay.history(told.id)) == 2
    assert await jay.count() == 1


async def test_the_scope_wide_open_holds_everything_of_the_tenant(jay):
    told = await jay.remember("Deploys on Friday", user="anna", project="p")
    new = await jay.update(told.id, content="Deploys on Monday")
    assert new.memory.scope == Scope(user="anna", project="p")


async def test_nothing_works_after_closing(setup):
    jay = await setup.open()
    other = jay.for_tenant("acme")
    await jay.close()
    await jay.close()
    for closed in jay, other:
        with pytest.raises(Closed):
            await closed.remember("x")
        with pytest.raises(Closed):
            await closed.recall("x")
        with pytest.raises(Closed):
            await closed.stats()


async def test_the_search_for_garbage_waits_while_a_batch_is_made_and_stored(jay, monkeypatch):
    waiting = []

    @contextmanager
    def noting(objects):
        with garbage_later(objects):
            waiting.append((objects, gc.isenabled()))
            yield

    monkeypatch.setattr(remember, "garbage_later", noting)
    await jay.remember_many([f"Note {number}" for number in range(150)])
    await jay.remember("One more")
    assert waiting == [(150, False), (150, False), (1, True), (1, True)]
    assert gc.isenabled()
