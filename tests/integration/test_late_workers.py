"""Workers who believe in a lease that has lapsed, as who stood still for a while does: nothing is done twice."""

import asyncio
import time
from dataclasses import replace
from datetime import timedelta

import pytest

from scrubjay.backends.sql.leases import SqlLeases
from scrubjay.jobs.consolidate import take
from scrubjay.jobs.work import orders_of
from scrubjay.model import new_id
from scrubjay.model.work import STEPS, Policy
from scrubjay.ports.leases import Lease
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import NOW, ToyEmbedder
from scrubjay.wiring import wire

HERE = {"user": "anna", "project": "p"}


@pytest.fixture
def leases_mean_nothing(monkeypatch):
    """Everybody gets every lease, as if all before had just lapsed."""

    async def given(self, name, worker, *, ttl):
        return Lease(name=name, worker=worker, token=str(new_id()), until=NOW + ttl)

    monkeypatch.setattr(SqlLeases, "take", given)


async def talked(jay, session, many=6):
    for place in range(many):
        await jay.working.append(f"We decided on plan {place} of {session}", session=session, role="user", **HERE)
    await jay.working.end(session=session, **HERE)


async def a_store_with_work(setup, tmp_path):
    """Sessions to drain and to distill, what has expired, what is to be archived, and more than a place may hold."""
    setup.archive = tmp_path / "archive"
    setup.policy = Policy(
        archive_after=timedelta(days=30),
        half_life=timedelta(days=60),
        most_memories=30,
        prune_after=timedelta(days=900),
    )
    jay = await setup.open()
    for session in ("s-1", "s-2"):
        await talked(jay, session)
    await jay.consolidate(steps=["drain", "distill"])
    setup.clock.advance(timedelta(days=40))
    for number in range(50):
        await jay.remember(f"note {number}", importance=number / 100, user="ben")
    for number in range(10):
        await jay.remember(f"soon over {number}", expires_at=setup.clock() + timedelta(hours=1), user="cleo")
    await talked(jay, "s-3")
    setup.clock.advance(timedelta(days=8))
    return jay


async def what_is_there(jay):
    """What is believed, by what it says and how important it is; and what was archived."""
    found = [
        one
        async for batch in jay.parts.stores.records.scan(jay.filtered({}, "holds"), now=jay.parts.clock())
        for one in batch
    ]
    archives = await jay.work.archives()
    return sorted((one.content, one.kind, round(one.importance, 6)) for one in found), sum(
        one.episodes for one in archives
    )


async def test_every_step_may_be_taken_by_several_at_once(new_setup, tmp_path, leases_mean_nothing):
    alone, crowded = new_setup("sqlite"), new_setup("sqlite")
    first = await a_store_with_work(alone, tmp_path / "alone")
    await first.consolidate(steps=STEPS)
    second = await a_store_with_work(crowded, tmp_path / "crowded")
    others = [await crowded.open() for _ in range(2)]
    done = await asyncio.gather(*(jay.consolidate(steps=STEPS) for jay in (second, *others)))
    assert [step.error for one in done for step in one.steps if step.error] == []
    believed, archived = await what_is_there(second)
    assert (believed, archived) == await what_is_there(first)
    assert archived == 12


async def test_who_prunes_late_leaves_as_much_as_a_place_may_hold(new_setup, leases_mean_nothing, monkeypatch):
    setup = new_setup("sqlite")
    setup.policy = Policy(most_memories=20)
    late, quick = await setup.open(), await setup.open()
    for number in range(50):
        await late.remember(f"note {number}", importance=number / 100)
    upkeep = late.parts.works.upkeep
    weigh = upkeep.weights

    async def weighed_before(**options):
        weights = await weigh(**options)
        await quick.consolidate(steps="prune")
        return weights

    monkeypatch.setattr(upkeep, "weights", weighed_before)
    await late.consolidate(steps="prune")
    assert await late.count() == 20


async def test_what_is_extended_while_it_is_closed_as_expired_is_kept(setup, clock, monkeypatch):
    worker, user = await setup.open(), await setup.open()
    kept, gone = await user.remember_many(
        [{"content": one, "expires_at": clock.now + timedelta(hours=1)} for one in ("the door code", "the old code")]
    )
    clock.advance(timedelta(hours=2))
    later = clock.now + timedelta(days=365)

    async def extended(_found):
        await user.update(kept.id, expires_at=later)

    interrupted(worker, "expired", extended, monkeypatch)
    assert (await worker.consolidate(steps="expire"))["expire"].done == 1
    assert [(one.id, one.expires_at) for one in await user.list()] == [(kept.id, later)]
    assert (await user.get(gone.id)).closed_because == "expired"


@pytest.mark.parametrize("rule", [{"prune_after": timedelta(days=1)}, {"most_memories": 1}])
async def test_what_is_pinned_while_it_is_pruned_is_kept(setup, clock, monkeypatch, rule):
    setup.policy = Policy(**rule)
    worker, user = await setup.open(), await setup.open()
    kept, gone, _ = await user.remember_many(
        [{"content": f"note {place}", "importance": place / 100} for place in (1, 2, 90)]
    )
    clock.advance(timedelta(days=2))

    async def pinned(found):
        if any(one.id == kept.id for one in found):
            await user.update(kept.id, importance=1.0)

    if "prune_after" in rule:
        interrupted(worker, "idle", pinned, monkeypatch)
    else:
        records = worker.parts.stores.records
        scan = records.scan

        async def scanned(*args, **options):
            async for batch in scan(*args, **options):
                await pinned(batch)
                yield batch

        monkeypatch.setattr(records, "scan", scanned)
    await worker.consolidate(steps="prune")
    stands, went = await user.get(kept.id), await user.get(gone.id)
    assert (stands.importance, stands.superseded_at) == (1.0, None)
    assert went.closed_because.startswith("pruned")


def interrupted(worker, question, meanwhile, monkeypatch):
    """Let something happen between what this worker reads and what it does about it."""
    upkeep = worker.parts.works.upkeep
    ask = getattr(upkeep, question)

    async def asked(**options):
        found = await ask(**options)
        await meanwhile(found)
        return found

    monkeypatch.setattr(upkeep, question, asked)


async def test_who_drains_late_brings_nothing_back_that_was_purged(new_setup, monkeypatch):
    setup = new_setup("sqlite")
    late = await setup.open()
    await talked(late, "s-1")
    working = late.parts.working
    taken = working.take

    async def stands_still(scope, *, limit):
        messages = await taken(scope, limit=limit)
        # No sign of life comes from a loop that is blocked, and another process takes over.
        time.sleep(0.6)  # noqa: ASYNC251 -- see above
        settings = read_settings(records=setup.url, background=False)
        with SyncScrubjay(wire(settings, embedder=ToyEmbedder())).start() as quick:
            assert quick.consolidate(steps="drain")["drain"].done == 6
            for one in quick.list(limit=50):
                quick.forget(one.id, purge=True)
        return messages

    monkeypatch.setattr(working, "take", stands_still)
    done = await take(replace(orders_of(late), ttl=timedelta(seconds=0.3)), "drain")
    assert "another worker has taken over" in done.error
    assert await late.list(limit=50) == []
