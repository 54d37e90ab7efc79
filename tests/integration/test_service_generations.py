"""Changing the embedding model, on every set-up: built beside the old one, switched when complete, undone if wrong."""

import asyncio
from datetime import timedelta

import pytest

from scrubjay.errors import Conflict
from scrubjay.testing import ToyEmbedder
from scrubjay.write import index as indexing

OLD, NEW = ToyEmbedder(version="old"), ToyEmbedder(version="new", dimensions=32)
FACTS = [f"fact {place} about topic{place}" for place in range(10)]


@pytest.fixture(autouse=True)
def always_looking(monkeypatch):
    """Processes look at the generations at every step, not every two seconds."""
    monkeypatch.setattr(indexing, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(indexing, "BATCH", 4)


async def states(jay):
    return {one.identity.version: one.state for one in (await jay.stats()).generations}


async def finds(jay, number):
    hits = await jay.recall(f"topic{number}", mode="meaning")
    assert hits.degraded == ()
    return hits[0].memory.content == FACTS[number]


@pytest.fixture
async def old(setup):
    jay = await setup.open(embedder=OLD, models=[NEW])
    await jay.remember_many(FACTS)
    return jay


async def test_the_old_model_answers_until_the_new_one_is_complete(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    assert await finds(new, 3)
    assert await states(new) == {"old": "active", "new": "building"}
    assert (await new.stats()).pending == 10
    assert "not the one that answers" in (await new.check())[1]
    seen = []

    def progress(done, total):
        seen.append((done, total))

    assert await new.reindex(progress) == 10
    assert seen == [(4, 10), (8, 10), (10, 10)]
    assert await states(new) == {"old": "retired", "new": "active"}
    assert (await new.stats()).vectors == 10
    for jay in new, old:
        assert await finds(jay, 3)
    assert await new.check() == []


async def test_without_the_old_model_words_answer_meanwhile(setup, old):
    new = await setup.open(embedder=NEW)
    hits = await new.recall("topic3")
    assert hits[0].memory.content == FACTS[3]
    assert hits.degraded == ("vectors",)
    told = await new.remember("written in between")
    assert told.outcome == "stored"
    assert await new.reindex() == 11
    assert await finds(new, 3)
    assert len(await new.recall("written in between", mode="meaning", limit=1)) == 1


async def test_writes_during_the_build_are_in_both(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    both = [old, new]

    class Interrupted(Exception):
        pass

    def stop(done, total):
        raise Interrupted

    with pytest.raises(Interrupted):
        await new.reindex(stop)
    assert await states(new) == {"old": "active", "new": "building"}
    for place, jay in enumerate(both):
        told = await jay.remember(f"news {place} of writer{place}")
        for reader in both:
            hits = await reader.recall(f"writer{place}", mode="meaning")
            assert hits[0].memory.id == told.id
    gone = await old.recall("topic0", mode="meaning", limit=1)
    await old.forget(gone[0].memory.id)
    await new.forget((await new.recall("topic9", limit=1))[0].memory.id)
    assert await new.reindex() > 0
    assert await states(old) == {"old": "retired", "new": "active"}
    for reader in both:
        contents = {hit.memory.content for hit in await reader.recall("fact news", mode="meaning", limit=20)}
        assert contents == {*FACTS[1:9], "news 0 of writer0", "news 1 of writer1"}
    assert (await new.stats()).pending == 0


async def test_a_kill_between_batches_is_harmless(setup, old):
    class Killed(BaseException):
        pass

    def kill(done, total):
        raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            await (await setup.open(embedder=NEW, models=[OLD])).reindex(kill)
        assert await finds(old, 3)
    new = await setup.open(embedder=NEW, models=[OLD])
    assert (await new.stats()).pending == 2
    assert await new.reindex() == 2
    assert await finds(new, 3)
    assert (await new.stats()).vectors == 10


async def test_one_can_go_back(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    await new.reindex()
    later = await new.remember("told to the new model")
    back = await new.rollback()
    assert (back.identity, await states(new)) == (OLD.identity, {"old": "active", "new": "undone"})
    assert await finds(old, 3)
    assert await finds(new, 3)
    # What was told meanwhile is found by its words at once, and by its meaning when the old model has caught up.
    assert (await old.recall("told to the new model"))[0].memory.id == later.id
    await old.reindex()
    assert (await old.recall("told to the new model", mode="meaning"))[0].memory.id == later.id
    with pytest.raises(Conflict, match="no earlier"):
        await new.rollback()


async def test_what_was_undone_comes_back_only_when_it_is_adopted(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    await new.reindex()
    await new.rollback()
    await new.reindex()
    assert await states(new) == {"old": "active", "new": "undone"}
    await new.reindex(adopt=True)
    assert await states(new) == {"old": "retired", "new": "active"}
    assert await finds(new, 3)


async def test_what_no_longer_answers_can_be_swept(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    await new.reindex()
    assert [one.identity for one in await new.sweep()] == [OLD.identity]
    assert await states(new) == {"new": "active"}
    with pytest.raises(Conflict):
        await new.rollback()
    assert await finds(new, 3)
    assert await new.sweep() == []
    # The old model may come again: as a new generation, with a number of its own.
    again = await setup.open(embedder=OLD, models=[NEW])
    await again.reindex()
    assert await states(again) == {"new": "retired", "old": "active"}
    assert [one.number for one in (await again.stats()).generations] == [2, 3]


async def test_two_processes_with_different_models_do_not_take_turns(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    for _ in range(3):
        await old.reindex()
        await new.reindex()
    assert await states(old) == {"old": "retired", "new": "active"}
    for _ in range(3):
        assert await old.reindex() == 0
        assert await new.reindex() == 0


async def test_two_processes_draining_at_once_both_come_to_an_end(setup, old):
    new = await setup.open(embedder=NEW, models=[OLD])
    await old.remember_many([f"more {place}" for place in range(60)])

    async def busy(jay):
        for _ in range(5):
            await jay.reindex()

    await asyncio.wait_for(asyncio.gather(busy(old), busy(new)), 60)
    assert await states(old) == {"old": "retired", "new": "active"}
    assert (await old.stats()).pending == 0


async def test_a_later_expiry_reaches_a_generation_in_the_making(setup, old, clock):
    told = await old.remember("the offer stands", expires_at=clock.now + timedelta(days=1))
    new = await setup.open(embedder=NEW, models=[OLD])
    seen = []

    class Stopped(Exception):
        pass

    def stop_at_the_end(done, total):
        seen.append(done)
        if done == total:
            raise Stopped

    with pytest.raises(Stopped):
        await new.reindex(stop_at_the_end)
    await old.update(told.id, expires_at=clock.now + timedelta(days=9))
    await new.reindex()
    clock.advance(timedelta(days=2))
    assert (await new.recall("the offer stands", mode="meaning"))[0].memory.id == told.id
