"""A purge while the vector engine is away, or while somebody writes to it: what was asked to go goes, by itself."""

from datetime import timedelta

import pytest

from scrubjay.backends.memory import MemoryVectors
from scrubjay.errors import StoreUnavailable
from scrubjay.write.leftovers import ONCE_MORE

TEXTS = [f"Deploys happen on day {place}" for place in range(5)]


@pytest.fixture
def moody_engine(moody_vectors):
    """An engine apart from the records, as one on a server is; each who opens it may find it down."""
    engine = MemoryVectors()

    def apart(_beside_the_records):
        return moody_vectors(engine)

    apart.made = moody_vectors.made
    return apart


async def traces(jay, ids):
    """How many of these have vectors, whatever the records say."""
    return await jay.parts.stores.vectors.traces(ids)


async def noted(jay):
    """How many purged memories still wait to be removed for the last time."""
    far = jay.parts.clock.now + timedelta(days=1)
    return len(await jay.parts.stores.generations.leftovers(now=far, limit=99))


async def told(jay):
    return [one.memory.id for one in await jay.remember_many(TEXTS, user="anna")]


@pytest.mark.parametrize("what", ["one", "everything"])
async def test_what_is_purged_while_the_engine_is_away_goes_when_it_is_back(setup, moody_engine, what):
    jay = await setup.open(vectors=moody_engine)
    [vectors] = moody_engine.made
    ids = await told(jay)
    kept = [] if what == "everything" else ids[1:]
    vectors.down = True
    named = {"everything": True} if what == "everything" else {"id": ids[0]}
    receipt = await jay.forget(**named, user="anna", purge=True)
    gone = [one for one in ids if one not in kept]
    assert (receipt.ids, receipt.remaining["records"]) == (tuple(gone), 0)
    assert receipt.remaining["vectors"] == len(gone), "the receipt does not say that all is gone"
    assert {one.id for one in await jay.list(user="anna")} == set(kept)
    assert await jay.parts.index.drain() == 0
    vectors.down = False
    assert await traces(jay, gone) == len(gone), "so far they are there"
    await jay.parts.index.drain()
    assert (await traces(jay, ids), await traces(jay, gone)) == (len(kept), 0)
    assert await jay.check() == []


async def test_who_opens_the_store_next_removes_what_was_left(setup, moody_engine):
    jay = await setup.open(vectors=moody_engine)
    ids = await told(jay)
    moody_engine.made[0].down = True
    await jay.forget(ids[0], user="anna", purge=True)
    later = await setup.open(vectors=moody_engine)
    await later.parts.index.drain()
    assert await traces(later, ids) == len(ids) - 1


async def test_without_a_model_what_was_left_is_removed_too(setup, moody_engine):
    jay = await setup.open(vectors=moody_engine)
    ids = await told(jay)
    by_words = await setup.open(vectors=moody_engine, words_only=True)
    moody_engine.made[1].down = True
    assert (await by_words.forget(ids[0], user="anna", purge=True)).remaining["vectors"] == 1
    moody_engine.made[1].down = False
    await by_words.parts.index.drain()
    assert await traces(by_words, ids) == len(ids) - 1


async def test_what_is_stored_by_somebody_who_was_embedding_it_does_not_stay(setup):
    jay = await setup.open()
    ids = await told(jay)
    [late] = await jay.parts.stores.vectors.entries(1, ids[:1])
    await jay.forget(ids[0], user="anna", purge=True)
    await jay.parts.stores.vectors.upsert(1, [late])  # And then that process is killed.
    await jay.parts.index.drain()
    assert await noted(jay) == 1
    setup.clock.advance(ONCE_MORE)
    await jay.parts.index.drain()
    assert (await traces(jay, ids), await noted(jay)) == (len(ids) - 1, 0)


class Stopping:
    """Fails once, before anything is deleted."""

    def __init__(self, purge):
        self._purge = purge

    async def __call__(self, scope, ids, **how):
        if self._purge is None:
            raise AssertionError
        purge, self._purge = self._purge, None
        raise StoreUnavailable(f"before {purge.__name__}")


async def test_a_purge_that_is_cut_short_takes_no_vectors_of_what_stays(setup, monkeypatch):
    jay = await setup.open()
    ids = await told(jay)
    records = jay.parts.stores.records
    with monkeypatch.context() as patch:
        patch.setattr(records, "purge", Stopping(records.purge))
        with pytest.raises(StoreUnavailable):
            await jay.forget(ids[0], user="anna", purge=True)
    for _ in range(2):
        await jay.parts.index.drain()
        assert await traces(jay, ids) == len(ids)
        setup.clock.advance(ONCE_MORE)
    assert await noted(jay) == 0
    assert (await jay.forget(ids[0], user="anna", purge=True)).remaining["vectors"] == 0


class Meanwhile:
    """Does something else right before it purges."""

    def __init__(self, purge, happens):
        self._purge = purge
        self._happens = happens

    async def __call__(self, scope, ids, **how):
        await self._happens()
        return await self._purge(scope, ids, **how)


@pytest.mark.parametrize("times", [1, 2])
async def test_who_drains_beside_a_purge_does_not_let_go_of_what_it_noted(setup, moody_engine, monkeypatch, times):
    jay = await setup.open(vectors=moody_engine)
    [vectors] = moody_engine.made
    ids = await told(jay)
    if times == 2:
        lines = [line async for line in jay.export(user="anna")]
        await jay.forget(ids[0], user="anna", purge=True)
        await jay.import_lines(lines, user="anna")
        await jay.parts.index.drain()
        setup.clock.advance(ONCE_MORE)
    records = jay.parts.stores.records

    async def drained():
        await jay.parts.index.drain()
        vectors.down = True

    with monkeypatch.context() as patch:
        patch.setattr(records, "purge", Meanwhile(records.purge, drained))
        await jay.forget(ids[0], user="anna", purge=True)
    vectors.down = False
    assert await traces(jay, ids[:1]) == 1, "the engine was away"
    setup.clock.advance(ONCE_MORE)
    await jay.parts.index.drain()
    assert (await traces(jay, ids), await noted(jay)) == (len(ids) - 1, 0)


async def test_after_a_purge_everything_noted_goes_within_minutes(setup):
    jay = await setup.open()
    ids = await told(jay)
    receipt = await jay.forget(everything=True, user="anna", purge=True)
    assert set(receipt.remaining.values()) == {0}
    assert await noted(jay) == len(ids)
    setup.clock.advance(ONCE_MORE)
    await jay.parts.index.drain()
    assert await noted(jay) == 0
