"""A model that is new to a store reads all of it in the background: once, whoever is open, and beside the rest."""

import asyncio
import contextlib
from uuid import uuid4

import pytest

from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

TOLD = [f"fact {place} about topic{place}" for place in range(40)]


class CountingEmbedder(ToyEmbedder):
    """Notes every text that it reads as a memory, and reads nothing while it is held up."""

    def __init__(self) -> None:
        super().__init__(version="new")
        self.read: list[str] = []
        self.free = asyncio.Event()
        self.free.set()

    async def embed(self, texts, *, question=False):
        if not question:
            await self.free.wait()
            self.read += texts
        return await super().embed(texts, question=question)


@pytest.fixture(params=["sqlite", "postgresql", "postgresql and qdrant"])
async def place(request, tmp_path):
    """Where records and vectors are: beside each other, or on two servers."""
    if request.param == "sqlite":
        yield {"home": tmp_path}
        return
    here = {"home": tmp_path, "records": request.getfixturevalue("postgres_database")()}
    if request.param == "postgresql":
        yield here
        return
    url = f"{request.getfixturevalue('qdrant_url').replace('http', 'qdrant', 1)}?prefix=test{uuid4().hex}"
    yield {**here, "vectors": url}
    engine = QdrantVectors(url)
    await engine.drop(1)
    await engine.drop(2)
    await engine.shut()


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr("scrubjay.jobs.runner.TICK", 0.02)
    monkeypatch.setattr("scrubjay.jobs.runner.DRAIN_EVERY", 0.1)
    monkeypatch.setattr("scrubjay.write.index.BATCH", 4)
    monkeypatch.setattr("scrubjay.write.index._FRESH_SECONDS", 0.0)


@pytest.fixture
async def old(place):
    async with wire(read_settings(**place, background=False), embedder=ToyEmbedder(version="old")) as jay:
        await jay.remember_many(TOLD)


def opened(place, model):
    return wire(read_settings(**place), embedder=model)


async def until(is_so):
    async with asyncio.timeout(60):
        while not await is_so():  # noqa: ASYNC110 -- it happens in the background, which tells nobody
            await asyncio.sleep(0.005)


async def is_ready(jay):
    async def is_whole():
        return not (await jay.recall("topic3")).degraded

    await until(is_whole)


async def test_several_processes_read_everything_once(old, place):
    model = CountingEmbedder()
    async with contextlib.AsyncExitStack() as stack:
        several = [await stack.enter_async_context(opened(place, model)) for _ in range(4)]
        for jay in several:
            await is_ready(jay)
            assert (await jay.recall("topic3", mode="meaning"))[0].memory.content == TOLD[3]
            assert await jay.check() == []
    assert sorted(model.read) == sorted(TOLD)


async def test_words_answer_and_uses_are_counted_meanwhile(old, place):
    model = CountingEmbedder()
    model.free.clear()
    async with opened(place, model) as jay:
        hits = await jay.recall("topic3")
        assert (hits.degraded, hits[0].memory.content) == (("vectors",), TOLD[3])

        async def is_counted():
            return (await jay.get(hits[0].memory.id)).uses > 0

        await until(is_counted)
        told = await jay.remember("news about topic99")
        assert (await jay.recall("topic99"))[0].memory.id == told.id
        assert not model.read
        model.free.set()
        await is_ready(jay)
        assert (await jay.recall("topic99", mode="meaning"))[0].memory.id == told.id


async def test_the_next_process_goes_on_where_one_was_closed(old, place, monkeypatch):
    monkeypatch.setattr("scrubjay.write.index.BATCH", 1)
    model = CountingEmbedder()

    async def has_begun():
        return len(model.read) >= 5

    async with opened(place, model):
        await until(has_begun)
    before = len(model.read)
    assert before < len(TOLD)
    async with opened(place, model) as jay:
        await is_ready(jay)
    # What was being read when it was closed may be read again.
    assert len(model.read) <= len(TOLD) + 1
