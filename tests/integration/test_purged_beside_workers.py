"""A purge while a worker has in memory what is purged: nothing of it comes back."""

import asyncio
import threading

import psycopg
import pytest
from sqlalchemy import make_url

from patience import LONG
from scrubjay.errors import InvalidInput
from scrubjay.jobs.sights import TRIES
from scrubjay.model import Scope
from scrubjay.ports import Purged
from scrubjay.testing import a_memory
from scrubjay.testing.patterns.executions import deployments
from scrubjay.testing.values import HOUR, keep_all

TALK = {"user": "anna", "session": "s-1"}
TOLD = ["I live in Oslo.", "I prefer tea over coffee.", "My dog is called Rex."]


async def talked(jay, **where):
    messages = await jay.working.append(TOLD, **where)
    await jay.working.end(**where)
    return messages


async def everything(jay, **where):
    return [memory.content for memory in await jay.list(history=True, order="oldest", **where)]


def refuse(message):
    raise InvalidInput(f"{message.content} cannot be stored")


def after(monkeypatch, owner, name, then, *, times=1):
    """Let something happen between what a worker reads by this method and what it makes of it, the first times."""
    reads, left = getattr(owner, name), [times]

    async def reading(*given, **named):
        found = await reads(*given, **named)
        if left[0] > 0:
            left[0] -= 1
            await then()
        return found

    monkeypatch.setattr(owner, name, reading)


async def purged(jay, **where):
    receipt = await jay.forget(everything=True, purge=True, **where)
    assert not any(receipt.remaining.values())


@pytest.fixture
async def both(setup):
    """The owner of what is purged, and a worker; as in two processes."""
    return await setup.open(), await setup.open()


async def test_messages_that_a_worker_drains_do_not_come_back(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)
    after(monkeypatch, worker.parts.working, "take", lambda: purged(jay, user="anna"))
    await worker.consolidate()
    assert await everything(jay, user="anna") == []
    assert await jay.working.sessions(user="anna") == []


async def test_what_others_said_is_drained_beside_a_purge(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)
    await talked(jay, user="ben", session="s-1")
    after(monkeypatch, worker.parts.working, "take", lambda: purged(jay, user="anna"), times=1)
    await worker.consolidate(steps="drain")
    assert sorted(await everything(jay)) == sorted(TOLD)


async def test_what_a_worker_distills_does_not_come_back(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)
    await jay.consolidate(steps="drain")
    after(monkeypatch, worker.parts.works.upkeep, "episodes", lambda: purged(jay, user="anna"))
    done = await worker.consolidate(steps="distill")
    assert await everything(jay, user="anna") == []
    assert (done["distill"].failed, await jay.parts.works.log.troubles(limit=9)) == (0, [])


async def test_the_rest_of_a_session_is_distilled_when_one_message_is_purged_meanwhile(both, monkeypatch):
    jay, worker = both
    _, tea, _ = await talked(jay, **TALK)
    await jay.consolidate(steps="drain")

    async def purge_one():
        await jay.forget(tea.id, purge=True, **TALK)

    after(monkeypatch, worker.parts.works.upkeep, "episodes", purge_one)
    await worker.consolidate(steps="distill")
    found = await everything(jay, user="anna")
    assert not [content for content in found if "tea" in content]
    assert [content for content in found if "Oslo" in content and content not in TOLD], "it is distilled"
    assert await jay.parts.works.upkeep.sessions("distill", within=None, limit=9) == []


async def test_what_a_worker_learns_from_is_not_learned_from_any_more(both, monkeypatch):
    jay, worker = both
    await jay.tasks.store_many(deployments(), user="anna", project="shop")
    after(monkeypatch, worker.parts.stores.records, "count", lambda: purged(jay, user="anna"))
    await worker.consolidate(steps="learn")
    assert await everything(jay, user="anna") == []


async def test_what_was_learned_from_before_a_purge_is_read_again(both):
    jay, worker = both
    where = {"user": "anna", "project": "shop"}
    await jay.tasks.store_many(deployments(task_description="Deploy the Zanzibar service"), **where)
    assert "Zanzibar" in repr(await worker.patterns.families(**where))
    await purged(jay, user="anna")
    await jay.tasks.store_many(deployments(start=60), **where)
    found = repr(await worker.patterns.families(**where))
    assert ("Deploy" in found, "Zanzibar" in found) == (True, False)


async def test_a_message_that_fails_after_it_was_purged_is_not_parked(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)

    after(monkeypatch, worker.parts.working, "take", lambda: purged(jay, user="anna"))
    monkeypatch.setattr("scrubjay.jobs.drain.telling_of", refuse)
    await worker.consolidate(steps="drain")
    assert await jay.parts.works.log.troubles(limit=9) == []


async def test_a_message_that_is_tried_again_does_not_come_back(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)

    with monkeypatch.context() as failing:
        failing.setattr("scrubjay.jobs.drain.telling_of", refuse)
        for _ in range(5):
            await jay.consolidate(steps="drain")
            jay.parts.clock.advance(HOUR)
    assert await jay.work.retry()
    await jay.remember("something to purge", user="anna")
    after(monkeypatch, worker.parts.works.log, "troubles", lambda: purged(jay, user="anna"))
    await worker.consolidate(steps="drain")
    assert await everything(jay, user="anna") == []


async def test_a_message_that_is_purged_by_id_goes_from_its_session_too(both, monkeypatch):
    jay, worker = both
    first, second, third = await talked(jay, **TALK)

    async def killed(*given, **named):
        raise asyncio.CancelledError

    with monkeypatch.context() as dying:
        dying.setattr(worker.parts.working, "drained", killed)
        with pytest.raises(asyncio.CancelledError):
            await worker.consolidate(steps="drain")
    await jay.forget(second.id, purge=True, **TALK)
    assert [one.id for one in await jay.parts.working.take(Scope(**TALK), limit=9)] == [first.id, third.id]
    await jay.consolidate(steps="drain")
    assert await everything(jay, user="anna") == [TOLD[0], TOLD[2]]


async def test_work_comes_to_an_end_beside_a_stream_of_purges(both, monkeypatch):
    jay, worker = both
    await talked(jay, **TALK)
    seen = []

    async def purge_something():
        seen.append(await jay.remember(f"note {len(seen)}", **TALK))
        await jay.forget(seen[-1].memory.id, purge=True, **TALK)

    after(monkeypatch, worker.parts.working, "take", purge_something, times=3 * TRIES)
    await worker.consolidate(steps="drain")
    assert (len(seen), await everything(jay, user="anna")) == (TRIES, [])
    monkeypatch.undo()
    await worker.consolidate(steps="drain")
    assert await everything(jay, user="anna") == TOLD


async def test_a_session_that_was_purged_is_distilled_again(jay):
    for city in ("Oslo", "Lima"):
        await jay.remember_many([{"kind": "message", "content": f"I live in {city}.", **TALK}])
        await jay.consolidate(steps="distill")
        kinds = {memory.kind for memory in await jay.list(user="anna")}
        assert kinds == {"message", "summary", "fact"}, city
        await purged(jay, user="anna")


async def test_on_postgresql_a_purge_waits_for_what_is_being_written(new_setup):
    setup = new_setup("postgresql")
    worker, jay = await setup.open(), await setup.open()
    scope, begun, may_end = Scope(**TALK), threading.Event(), threading.Event()
    records = worker.parts.stores.records
    sight = await records.sight(scope)

    def decide(draft, known):
        begun.set()
        assert may_end.wait(LONG)
        return keep_all(draft, known)

    writing = asyncio.create_task(records.write([a_memory(TOLD[0], scope=scope)], decide, sight=sight))
    assert await asyncio.to_thread(begun.wait, LONG)
    purging = asyncio.create_task(jay.parts.stores.records.purging(Scope(user="anna")))
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    url = make_url(setup.url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        async with asyncio.timeout(LONG):
            while True:
                if await (await other.execute(waiting)).fetchall():
                    break
                await asyncio.sleep(0.01)
    assert not purging.done()
    may_end.set()
    await asyncio.gather(writing, purging)
    assert await everything(jay, user="anna") == [TOLD[0]]
    with pytest.raises(Purged):
        await records.write([a_memory(TOLD[1], scope=scope)], keep_all, sight=sight)
