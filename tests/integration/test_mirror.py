"""The mirror in the record store: engines are rebuilt from it and moved by it, and nothing is embedded twice."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import pytest
from whole_store import CountingEmbedder

from patience import LONG
from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.mirrored import MirroredVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.errors import Conflict, Misconfigured, StoreUnavailable
from scrubjay.model import Scope
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import back_up, move_stores, restore_from, utc_now, wire

TEXTS = [f"The moon and the tide, {number}" for number in range(30)]
QUESTION = "the tide and the moon"


@pytest.fixture
async def engine_url(request):
    """Gives the URL of an empty engine on a server; what is in it goes after the test."""
    given = []

    def url_of(kind):
        address = request.getfixturevalue(f"{kind}_url").replace("http", kind, 1)
        given.append((kind, f"{address}?prefix=test{uuid4().hex}"))
        return given[-1][1]

    yield url_of
    for kind, url in given:
        engine = ChromaVectors(url) if kind == "chroma" else QdrantVectors(url)
        for number in (1, 2):
            await engine.drop(number)
        await engine.shut()


@pytest.fixture
def records(tmp_path):
    return f"sqlite:///{tmp_path}/scrubjay.db"


class Beside:
    """Opens memories on one SQLite file whose engine is the reference in this process, with or without the mirror."""

    def __init__(self, setup):
        self._setup = setup
        self.engine = MemoryVectors()

    async def open(self, model=None, *, mirrored=True):
        def wrapped(mirror):
            return MirroredVectors(self.engine, mirror) if mirrored else self.engine

        return await self._setup.open(embedder=model or CountingEmbedder(), vectors=wrapped)


@pytest.fixture
def beside(new_setup):
    return Beside(new_setup("sqlite"))


@asynccontextmanager
async def opened(records, vectors, model=None, *, mirror="auto"):
    """As another process would open it."""
    settings = read_settings(records=records, vectors=vectors, mirror=mirror, background=False)
    async with wire(settings, embedder=model or CountingEmbedder()) as jay:
        yield jay


async def left_alone(jay):
    """As if nobody had worked with the engine for two minutes."""
    keeping = await jay.parts.stores.generations.keeping()
    await jay.parts.stores.generations.keep(keeping.engine, at=utc_now() - timedelta(minutes=2))


async def found(jay):
    hits = await jay.recall(QUESTION, mode="meaning", limit=30, touch=False)
    return {hit.memory.id for hit in hits}, hits.degraded


@pytest.mark.parametrize("kind", ["qdrant", "chroma", "pgvector"])
async def test_any_engine_that_lost_everything_is_rebuilt_and_nothing_is_embedded(kind, request, engine_url, records):
    url = "pgvector:" if kind == "pgvector" else engine_url(kind)
    if kind == "pgvector":
        records = request.getfixturevalue("postgres_database")()
    model = CountingEmbedder()
    async with opened(records, url, model, mirror="on") as jay:
        ids = {one.memory.id for one in await jay.remember_many(TEXTS)}
        await jay.forget(gone := min(ids))
        before = await found(jay)
        assert before == (ids - {gone}, ())
        await jay.parts.stores.vectors.engine.drop(1)
        [lost] = (await jay.vectors.status()).generations
        assert (lost.marked, lost.engine, lost.mirror, lost.unmirrored) == (30, 0, 30, 0)
        assert "vectors rebuild" in (await jay.vectors.status()).advice
        seen = []
        done = await jay.vectors.rebuild(lambda *step: seen.append(step))
        assert (done.generations, done.memories, done.embedded) == ((1,), 30, 0)
        assert seen[-1] == (30, 30)
        assert model.kept == 30, "each was embedded once, when it was told"
        assert await found(jay) == before
        assert await jay.parts.stores.vectors.engine.count(1) == 30
        status = await jay.vectors.status()
        assert (status.is_filling, status.waiting, status.advice) == (False, 0, "")
        assert await jay.check() == []


async def test_an_engine_found_empty_is_filled_from_the_mirror_by_itself(beside):
    jay = await beside.open(model := CountingEmbedder())
    await jay.remember_many(TEXTS)
    await beside.engine.drop(1)
    assert await jay.reindex() == 30
    assert (model.kept, len((await found(jay))[0])) == (30, 30)


async def test_moving_to_another_engine_embeds_nothing(engine_url, records):
    async with opened(records, "embedded") as jay:
        told = await jay.remember_many(TEXTS)
        await left_alone(jay)
    there, model = engine_url("qdrant"), CountingEmbedder()
    async with opened(records, there, model) as jay:
        assert await jay.reindex() == 30
        assert len((await found(jay))[0]) == 30
        await jay.remember("Written while the vectors were in Qdrant")
        await jay.forget(told[3].memory.id)
        await jay.forget(told[4].memory.id, purge=True)
        assert model.kept == 1
        await left_alone(jay)
    model = CountingEmbedder()
    async with opened(records, "embedded", model) as jay:
        await jay.reindex()
        assert model.kept == 0, "the mirror was kept up, and is the embedded engine now"
        assert len((await found(jay))[0]) == 29
        assert await jay.parts.stores.vectors.traces([told[4].memory.id]) == 0


async def test_the_mirror_answers_while_the_engine_is_filled(beside):
    jay = await beside.open(model := CountingEmbedder())
    ids = {one.memory.id for one in await jay.remember_many(TEXTS)}

    def stop(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await jay.vectors.rebuild(stop)
    await beside.engine.drop(1)
    assert await found(jay) == (ids, ("vectors",))
    assert (await jay.vectors.status()).is_filling
    await jay.reindex()
    assert await found(jay) == (ids, ())
    assert model.kept == 30


async def test_a_model_that_was_replaced_is_rebuilt_too(beside):
    await (await beside.open(CountingEmbedder(version="1"))).remember_many(TEXTS)
    jay = await beside.open(new := CountingEmbedder(version="2"))
    await jay.reindex()
    seen = []
    done = await jay.vectors.rebuild(lambda *step: seen.append(step))
    assert (done.generations, done.memories, done.embedded, new.kept) == ((1, 2), 60, 0, 30)
    assert seen[-1] == (60, 60)
    assert [await beside.engine.count(number) for number in (1, 2)] == [30, 30]
    assert (await jay.rollback()).number == 1


async def test_what_the_mirror_lacks_is_embedded(beside):
    jay = await beside.open(model := CountingEmbedder())
    ids = [one.memory.id for one in await jay.remember_many(TEXTS)]
    await jay.parts.stores.vectors.mirror.remove(ids[:4])
    assert "vectors mirror" in (await jay.vectors.status()).advice
    done = await jay.vectors.rebuild()
    assert (done.memories, done.embedded, model.kept) == (30, 4, 34)
    assert (await jay.vectors.status()).generations[0].unmirrored == 0


async def test_a_mirror_that_is_switched_on_later_is_filled_from_the_engine(beside):
    jay = await beside.open(mirrored=False)
    ids = [one.memory.id for one in await jay.remember_many(TEXTS)]
    assert not (await jay.vectors.status()).is_mirrored
    for verb in (jay.vectors.rebuild, jay.vectors.mirror):
        with pytest.raises(Misconfigured, match="SCRUBJAY_MIRROR=on"):
            await verb()
    jay = await beside.open(model := CountingEmbedder())
    await jay.remember("Written since there is a mirror")
    assert [one.said for one in await jay.examine() if one.remedy] == ["it lacks vectors of 30 memories"]
    seen = []
    assert await jay.vectors.mirror(lambda *step: seen.append(step)) == 30
    assert seen == [(31, 31)]
    assert await jay.vectors.mirror() == 0
    assert [one.said for one in await jay.examine() if one.remedy] == []
    mirror = jay.parts.stores.vectors.mirror
    assert (await mirror.count(1), model.kept) == (31, 1)
    # An orphan in the mirror alone is found, and goes.
    [entry] = await mirror.entries(1, ids[:1])
    await jay.forget(ids[0], purge=True)
    await mirror.upsert(1, [entry])
    assert [one.about for one in await jay.examine() if one.remedy] == ["mirror of generation 1"]
    await jay.examine(fix=True)
    assert await mirror.traces(ids[:1]) == 0


async def test_what_is_purged_while_it_is_copied_does_not_stay(beside):
    jay = await beside.open(mirrored=False)
    ids = [one.memory.id for one in await jay.remember_many(TEXTS)]
    await jay.parts.stores.records.purge(Scope(tenant="default"), ids[:2])
    jay = await beside.open()
    assert await jay.vectors.mirror() == 28
    assert await jay.parts.stores.vectors.mirror.traces(ids[:2]) == 0


class Halting:
    """Records that halt where one of their verbs is called, until they are told to go on."""

    def __init__(self, records, verb):
        self._records = records
        self._verb = verb
        self.reached, self.may = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        return self._halted if name == self._verb else getattr(self._records, name)

    async def _halted(self, *given, **named):
        self.reached.set()
        await asyncio.wait_for(self.may.wait(), LONG)
        return await getattr(self._records, self._verb)(*given, **named)


async def test_what_another_process_stores_while_the_engine_is_emptied_is_stored_again(beside):
    jay, other = await beside.open(model := CountingEmbedder()), await beside.open()
    ids = {one.memory.id for one in await jay.remember_many(TEXTS)}
    marking, counting = (Halting(jay.parts.stores.records, verb) for verb in ("mark", "backlog"))
    other.parts.index._together._records, jay.parts.index._records = marking, counting
    # The other one gives the engine all that is doubted, and marks it after the engine was emptied and looked at.
    drop, filling = beside.engine.drop, []

    async def overtaken(generation):
        filling.append(asyncio.create_task(other.reindex()))
        await asyncio.wait_for(marking.reached.wait(), LONG)
        await drop(generation)

    beside.engine.drop = overtaken
    rebuilding = asyncio.create_task(jay.vectors.rebuild())
    await asyncio.wait_for(counting.reached.wait(), LONG)
    marking.may.set()
    await asyncio.gather(*filling)
    counting.may.set()
    done = await rebuilding
    assert (done.memories, done.embedded, model.kept) == (30, 0, 30)
    assert await beside.engine.count(1) == 30
    assert await found(jay) == (ids, ())
    assert await jay.check() == []


async def test_two_processes_with_different_engines_do_not_rebuild(engine_url, records):
    async with opened(records, "embedded") as first:
        await first.remember_many(TEXTS)
        await first.reindex()
        async with opened(records, engine_url("qdrant")) as second:
            with pytest.raises(Conflict, match="SCRUBJAY_VECTORS"):
                await second.vectors.rebuild()
            assert await second.parts.stores.vectors.mirror.count(1) == 30
        assert (await found(first))[1] == ()


async def test_an_empty_memory_has_nothing_to_rebuild(beside):
    jay = await beside.open()
    assert (await jay.vectors.rebuild()).memories == 0
    assert (await jay.vectors.status()).advice == ""


async def test_a_backup_needs_no_engine_and_a_restore_fills_both(engine_url, records, tmp_path):
    async with opened(records, engine_url("qdrant")) as jay:
        ids = {one.memory.id for one in await jay.remember_many(TEXTS)}
    nowhere = "qdrant://127.0.0.1:9?timeout=1"
    here = read_settings(records=records, vectors=nowhere)
    backed_up = await asyncio.to_thread(back_up, here, tmp_path / "all.backup")
    assert dict(backed_up.manifest.vectors) == {1: 30}
    there = read_settings(records=f"sqlite:///{tmp_path}/restored.db", vectors=engine_url("chroma"))
    await asyncio.to_thread(restore_from, there, tmp_path / "all.backup")
    moved, moved_to = f"sqlite:///{tmp_path}/moved.db", engine_url("qdrant")
    await asyncio.to_thread(
        move_stores, source=there.records, target=moved, source_vectors=nowhere, target_vectors=moved_to
    )
    for url, vectors in ((there.records, there.vectors), (moved, moved_to)):
        model = CountingEmbedder()
        async with opened(url, vectors, model) as jay:
            assert await found(jay) == (ids, ())
            assert await jay.parts.stores.vectors.mirror.count(1) == 30
            assert (await jay.reindex(), model.kept) == (0, 0)


async def test_the_embedded_engine_has_no_mirror_and_needs_none(records):
    async with opened(records, "embedded", ToyEmbedder(), mirror="on") as jay:
        await jay.remember_many(TEXTS)
        status = await jay.vectors.status()
        assert (status.engine, status.is_mirrored, status.advice) == ("", False, "")
        with pytest.raises(Misconfigured, match=r"reindex --rebuild"):
            await jay.vectors.rebuild()


async def test_what_is_purged_leaves_no_vector_behind_where_no_mirror_is_kept_up(beside):
    jay = await beside.open()
    told = (await jay.remember("In the mirror, which is switched off then")).id
    mirror = jay.parts.stores.vectors.mirror
    later = await beside.open(mirrored=False)
    assert await mirror.traces([told]) == 1
    await later.forget(told, purge=True)
    assert await mirror.traces([told]) == 0


@pytest.mark.parametrize("part", ["engine", "mirror"])
@pytest.mark.parametrize("kind", ["qdrant", "chroma", "pgvector"])
async def test_what_is_purged_while_one_of_the_two_fails_goes_from_both(
    kind, part, request, engine_url, records, monkeypatch
):
    url = "pgvector:" if kind == "pgvector" else engine_url(kind)
    if kind == "pgvector":
        records = request.getfixturevalue("postgres_database")()

    async def fail(_ids):
        raise StoreUnavailable

    async with opened(records, url, mirror="on") as jay:
        ids = [one.memory.id for one in await jay.remember_many(TEXTS)]
        vectors = jay.parts.stores.vectors
        with monkeypatch.context() as patch:
            patch.setattr(getattr(vectors, part), "remove", fail)
            receipt = await jay.forget(ids[:3], purge=True)
        assert (receipt.remaining["records"], receipt.remaining["vectors"]) == (0, 3)
    async with opened(records, url, mirror="on") as jay:
        await jay.parts.index.drain()
        vectors = jay.parts.stores.vectors
        assert (await vectors.engine.traces(ids), await vectors.mirror.traces(ids)) == (len(ids) - 3,) * 2
        assert await jay.check() == []
