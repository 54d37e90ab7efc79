"""The vectors are somewhere else than the marks say, or gone: it is noticed, said, and made good by itself."""

from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from whole_store import CountingEmbedder

from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.errors import Conflict
from scrubjay.ports import UNSURE
from scrubjay.settings import read_settings
from scrubjay.wiring import engine_name, utc_now, wire

TEXTS = [f"The moon and the tide, {number}" for number in range(30)]


@pytest.fixture
async def qdrant(qdrant_url):
    """The URL of an empty Qdrant, whose collections go after the test."""
    url = f"{qdrant_url.replace('http', 'qdrant', 1)}?prefix=test{uuid4().hex}"
    yield url
    engine = QdrantVectors(url)
    await engine.drop(1)
    await engine.shut()


@asynccontextmanager
async def opened(records, vectors="embedded", model=None):
    """As another process would open it. Without a mirror: test_mirror.py has what changes with one."""
    settings = read_settings(records=records, vectors=vectors, mirror="off", background=False)
    async with wire(settings, embedder=model or CountingEmbedder()) as jay:
        yield jay


async def left_alone(jay):
    """As if nobody had worked with the engine for two minutes."""
    keeping = await jay.parts.stores.generations.keeping()
    await jay.parts.stores.generations.keep(keeping.engine, at=utc_now() - timedelta(minutes=2))


async def by_meaning(jay):
    hits = await jay.recall("the tide and the moon", mode="meaning", touch=False)
    return len(hits), hits.degraded


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/scrubjay.db"


async def test_another_engine_is_filled_and_says_so_until_it_is(url, qdrant):
    async with opened(url) as jay:
        await jay.remember_many(TEXTS)
        assert await jay.reindex() == 0
        assert await by_meaning(jay) == (10, ())
        await left_alone(jay)
    model = CountingEmbedder()
    async with opened(url, qdrant, model) as jay:
        assert await by_meaning(jay) == (0, ("vectors",))
        [fault] = await jay.check()
        assert "SCRUBJAY_VECTORS" in fault
        seen = []
        await jay.reindex(lambda done, total: seen.append((done, total)))
        assert seen == [(30, 30)]
        assert model.kept == 30
        assert await by_meaning(jay) == (10, ())
        assert await jay.check() == []


async def test_going_back_embeds_only_what_is_missing(url, qdrant):
    async with opened(url) as jay:
        told = await jay.remember_many(TEXTS)
        await jay.reindex()
        await left_alone(jay)
    async with opened(url, qdrant) as jay:
        await jay.reindex()
        await jay.remember("Written while the vectors were elsewhere")
        await jay.forget(told[3].memory.id)
        await left_alone(jay)
    model = CountingEmbedder()
    async with opened(url, "embedded", model) as jay:
        assert await jay.reindex() == 31
        assert model.kept == 1
        # What was forgotten there is not live here either.
        [entry] = await jay.parts.stores.vectors.entries(1, [told[3].memory.id])
        assert not entry.live
        assert await by_meaning(jay) == (10, ())


async def test_two_processes_with_different_engines_do_not_fight(url, qdrant):
    async with opened(url) as first:
        await first.remember_many(TEXTS)
        await first.reindex()
        async with opened(url, qdrant) as second:
            # The first one is at work: the second answers by words, says so, and changes nothing.
            assert await by_meaning(second) == (0, ("vectors",))
            assert await second.parts.index.drain() == 0
            with pytest.raises(Conflict, match=r"keeps vectors in embedded.*same for both"):
                await second.reindex(rebuild=True)
            told = await second.remember("Told to the second")
            assert told.memory.generation is None
            assert await second.parts.stores.vectors.count(1) == 0
            assert await first.reindex() == 1
            assert await by_meaning(first) == (10, ())
            # Once the first one is gone, the second takes over; should the first come back, it is the one to wait.
            await left_alone(first)
            assert await second.reindex() == 31
            assert await by_meaning(second) == (10, ())
            first.parts.index.look_again()
            assert await by_meaning(first) == (0, ("vectors",))
            assert await first.parts.index.drain() == 0


async def test_an_engine_that_lost_everything_is_filled_again(postgres_database):
    url = postgres_database()
    async with opened(url, "pgvector:") as jay:
        await jay.remember_many(TEXTS)
        await jay.reindex()
    with psycopg.connect(url) as connection:
        connection.execute("TRUNCATE vectors_g1")
    async with opened(url, "pgvector:") as jay:
        assert await by_meaning(jay) == (0, ("vectors",))
        assert await jay.reindex() == 30
        assert await by_meaning(jay) == (10, ())
        assert (await jay.parts.stores.generations.keeping()).filling is False


async def test_some_that_were_lost_are_made_again(postgres_database):
    url = postgres_database()
    async with opened(url, "pgvector:") as jay:
        told = await jay.remember_many(TEXTS)
        await jay.reindex()
        with psycopg.connect(url) as connection:
            connection.execute("DELETE FROM vectors_g1 WHERE memory_id = %s", [told[7].memory.id])
        assert await jay.reindex() == 1
        assert await jay.parts.stores.vectors.missing(1, [one.memory.id for one in told]) == []


async def test_recall_says_so_while_another_process_fills(url):
    async with opened(url) as filling, opened(url) as asking:
        await filling.remember_many(TEXTS)
        await filling.reindex()
        assert await by_meaning(asking) == (10, ())
        await filling.parts.stores.generations.refill("embedded", at=utc_now())
        asking.parts.index.look_again()
        assert (await by_meaning(asking))[1] == ("vectors",)
        assert {one.generation for one in await filling.list()} == {UNSURE}
        await filling.reindex()
        asking.parts.index.look_again()
        assert await by_meaning(asking) == (10, ())


async def test_a_store_from_before_engines_were_noted_is_left_as_it_is(url):
    model = CountingEmbedder()
    async with opened(url, "embedded", model) as jay:
        await jay.remember_many(TEXTS)
        assert (await jay.parts.stores.generations.keeping()).engine == ""
        assert await jay.reindex() == 0
        assert (await jay.parts.stores.generations.keeping()).engine == "embedded"
        assert model.kept == 30


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("embedded", "pgvector:", False),
        ("qdrant://here:6333", "qdrant://there:6333", False),
        ("qdrant://here:6333", "qdrant://here:6333?prefix=mine", False),
        ("qdrant://here:6333", "qdrants://:secret@HERE:6333/?timeout=3&shards=2", True),
    ],
)
def test_an_engine_is_named_by_where_it_is(one, other, same):
    assert (engine_name(one) == engine_name(other)) is same
    assert len(engine_name(other)) <= 24
    assert "secret" not in engine_name(other)
