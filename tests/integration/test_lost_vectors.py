"""A vector engine that lost all it held or a part, while others write or not: it is said at once, and made good."""

import asyncio
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx
import numpy as np
import psycopg
import pytest
from faulty_servers import Stopwatch
from whole_store import CountingEmbedder

from lengths import sized
from patience import LONG
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.chroma.connection import NO_GRAPH
from scrubjay.backends.vectors.chroma.records import Records
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.jobs import runner
from scrubjay.settings import read_settings
from scrubjay.testing.events import eventually
from scrubjay.wiring import wire
from scrubjay.write.keeper import CHECK_SECONDS

MANY = sized(short=300, long=20_000)
ASKED = 30
QUESTION = "the tide and the moon"


def texts(count, of="moon"):
    return [f"The {of} and the tide, {number}" for number in range(count)]


class Engine:
    """The collection or table of one test, and what can happen to it behind our back."""

    def __init__(self, kind, url, database=""):
        self.kind, self.url, self.database = kind, url, database

    async def ask(self, method, path, **body):
        async with httpx.AsyncClient(base_url=self.url.partition("?")[0].replace(self.kind, "http", 1)) as client:
            (await client.request(method, path, timeout=60, **({"json": body} if body else {}))).raise_for_status()

    @property
    def prefix(self):
        return self.url.rpartition("=")[2]

    async def vanish(self):
        """The collection is deleted, as by hand, or the table dropped."""
        match self.kind:
            case "qdrant":
                await self.ask("DELETE", f"/collections/{self.prefix}-g1-1")
            case "chroma":
                await self._all_of_chroma()
            case "pgvector":
                self.sql("DROP TABLE vectors_g1")

    async def empty(self):
        """It stays, with nothing in it."""
        match self.kind:
            case "qdrant":
                await self.ask("POST", f"/collections/{self.prefix}-g1-1/points/delete?wait=true", filter={})
            case "pgvector":
                self.sql("TRUNCATE vectors_g1")

    async def misshape(self):
        """Somebody makes a collection of this name for vectors of eight dimensions."""
        if self.kind == "chroma":
            connection = await (vectors := ChromaVectors(self.url))._reach()
            name = vectors._where.collection(1, "default")
            await connection.create(name, graph=NO_GRAPH, about={"tenant": "default"})
            fields, vectors_of_eight = [{"live": False}], np.ones((1, 8), np.float32)
            await connection.upsert(name, Records(ids=[f"{uuid4()}:0:0"], fields=fields, vectors=vectors_of_eight))
            await vectors.shut()
            return
        await self.ask("PUT", f"/collections/{self.prefix}-g1-1", vectors={"size": 8, "distance": "Cosine"})
        alias = {"collection_name": f"{self.prefix}-g1-1", "alias_name": f"{self.prefix}-g1"}
        await self.ask("POST", "/collections/aliases", actions=[{"create_alias": alias}])

    async def lose(self, ids):
        """What is stored of these goes."""
        condition = {"must": [{"key": "memory", "match": {"any": [str(one) for one in ids]}}]}
        await self.ask("POST", f"/collections/{self.prefix}-g1-1/points/delete?wait=true", filter=condition)

    def sql(self, statement):
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(statement)

    async def _all_of_chroma(self):
        root = "/api/v2/tenants/default_tenant/databases/default_database/collections"
        async with httpx.AsyncClient(base_url=self.url.partition("?")[0].replace("chroma", "http", 1)) as client:
            for one in (await client.get(root, params={"limit": 1_000})).json():
                if one["name"].startswith(f"{self.prefix}-g1-"):
                    (await client.delete(f"{root}/{one['name']}")).raise_for_status()


@pytest.fixture
async def engine(request):
    """An engine of this kind with nothing in it; what is in it goes after the test."""
    kind = getattr(request, "param", "qdrant")
    if kind == "pgvector":
        yield Engine(kind, "pgvector:", request.getfixturevalue("postgres_database")())
        return
    url = f"{request.getfixturevalue(f'{kind}_url').replace('http', kind, 1)}?prefix=test{uuid4().hex}"
    yield Engine(kind, url)
    vectors = (QdrantVectors if kind == "qdrant" else ChromaVectors)(url)
    await vectors.drop(1)
    await vectors.shut()


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(runner, "TICK", 0.2)


@asynccontextmanager
async def opened(tmp_path, engine, model=None, *, mirror="on", background=False):
    """As another process would open it."""
    records = engine.database or f"sqlite:///{tmp_path}/scrubjay.db"
    settings = read_settings(records=records, vectors=engine.url, mirror=mirror, background=background)
    async with wire(settings, embedder=model or CountingEmbedder()) as jay:
        yield jay


async def by_meaning(jay, limit=ASKED):
    hits = await jay.recall(QUESTION, mode="meaning", limit=limit, touch=False)
    return len(hits), hits.degraded


async def is_whole(jay):
    """Everything that is marked is there, and recall says nothing is missing."""
    vectors, records = jay.parts.stores.vectors, jay.parts.stores.records
    if await jay.parts.index.backlog():
        return False
    after = None
    while page := await records.marked(1, limit=1_000, after=after):
        if await vectors.missing(1, page):
            return False
        after = page[-1]
    return await by_meaning(jay) == (ASKED, ())


@asynccontextmanager
async def somebody_writing(jay):
    """A task that remembers one memory after the other; gives the list of what was acknowledged."""
    told = []

    async def write():
        while True:
            told.append((await jay.remember(f"Something else entirely, {len(told)}")).id)
            await asyncio.sleep(0.002)

    writing = asyncio.create_task(write())
    await eventually(lambda: len(told) > 3)
    try:
        yield told
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


@pytest.mark.parametrize("engine", ["qdrant", "chroma", "pgvector"], indirect=True)
async def test_a_collection_that_vanishes_under_a_writer_is_said_at_once_and_filled_from_the_mirror(engine, tmp_path):
    async with opened(tmp_path, engine, model := CountingEmbedder()) as jay:
        await jay.remember_many(texts(MANY))
        assert await by_meaning(jay) == (ASKED, ())
        async with somebody_writing(jay) as told:
            await engine.vanish()
            before = len(told)
            await eventually(lambda: len(told) > before + 3)
            await asyncio.sleep(CHECK_SECONDS["short"])
            for _ in range(5):
                assert await by_meaning(jay) == (ASKED, ("vectors",)), "from the mirror, and it says so"
            assert (await jay.health()).state == "degraded"
            async with opened(tmp_path, engine, other := CountingEmbedder(), background=True):
                with Stopwatch() as watch:
                    await asyncio.wait_for(until(lambda: is_whole(jay)), sized(short=1, long=20) * LONG)
        print(f"{engine.kind}: {MANY:,} memories are back after {watch.seconds:.1f} s")  # noqa: T201 -- for the page
        assert model.kept + other.kept <= MANY + 2 * len(told) + 9, "only what was just being written, twice at most"
        await jay.reindex()
        assert (await jay.health()).state == "ready"
        assert await jay.check() == []


async def until(holds):
    while not await holds():  # noqa: ASYNC110 -- servers tell nobody
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("engine", ["qdrant", "pgvector"], indirect=True)
async def test_one_that_was_emptied_while_nobody_writes_is_said_in_the_next_answer(engine, tmp_path):
    async with opened(tmp_path, engine) as jay:
        await jay.remember_many(texts(40))
        assert await by_meaning(jay) == (ASKED, ())
        await engine.empty()
        assert await by_meaning(jay) == (ASKED, ("vectors",))
        health = await jay.health()
        assert (health.state, health.stores["vectors"].state) == ("degraded", "incomplete")
        assert "lacks vectors" in health.stores["vectors"].error
        assert await jay.reindex() == 40
        assert await by_meaning(jay) == (ASKED, ())
        assert (await jay.health()).state == "ready"


@pytest.mark.parametrize("engine", ["qdrant", "pgvector"], indirect=True)
async def test_without_a_mirror_it_is_said_too_and_embedded_again(engine, tmp_path):
    async with opened(tmp_path, engine, mirror="off") as jay:
        await jay.remember_many(texts(40))
        await engine.vanish()
        assert (await by_meaning(jay))[1] == ("vectors",)
        async with opened(tmp_path, engine, model := CountingEmbedder(), mirror="off", background=True):
            await eventually(lambda: is_whole(jay))
        assert model.kept == 40


async def test_a_part_that_was_lost_is_noticed_and_comes_back(engine, tmp_path):
    async with opened(tmp_path, engine, model := CountingEmbedder()) as jay:
        ids = [one.memory.id for one in await jay.remember_many(texts(MANY))]
        await engine.lose(ids[-MANY // 3 :])
        await eventually(lambda: is_degraded(jay))
        async with opened(tmp_path, engine, background=True):
            await eventually(lambda: is_whole(jay))
        # So few that hardly any sample shows them: the counts differ.
        await engine.lose(ids[7:8])
        assert await jay.reindex() == 1
        assert (await is_whole(jay), model.kept) == (True, MANY)


async def is_degraded(jay):
    return (await by_meaning(jay))[1] == ("vectors",)


async def test_two_processes_that_fill_at_once_and_one_that_is_killed_leave_it_whole(engine, tmp_path):
    async with opened(tmp_path, engine) as first, opened(tmp_path, engine, model := CountingEmbedder()) as second:
        await first.remember_many(texts(MANY))
        await engine.vanish()

        def stop(_done, _total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await first.reindex(stop)
        assert (await second.health()).stores["vectors"].error.startswith("qdrant-")
        assert "is being filled" in (await second.health()).stores["vectors"].error
        await asyncio.gather(first.reindex(), second.reindex())
        await eventually(lambda: is_whole(first))
        await eventually(lambda: is_whole(second))
        assert model.kept <= 1, "all of it came from the mirror; health had the model say something"


@pytest.mark.parametrize("engine", ["qdrant", "chroma"], indirect=True)
async def test_a_collection_of_another_size_fails_no_write_and_is_made_again_by_reindex(engine, tmp_path):
    async with opened(tmp_path, engine) as jay:
        await jay.remember_many(texts(40))
    for mirror in ("on", "off"):
        await engine.vanish()
        await engine.misshape()
        async with opened(tmp_path, engine, mirror=mirror) as jay:
            told = await jay.remember("Written while the collection does not fit")
            assert told.outcome == "stored" or mirror == "off"
            assert (await by_meaning(jay))[1] == ("vectors",)
            health = await jay.health()
            assert (health.state, health.stores["vectors"].state) == ("degraded", "incomplete")
            assert "dimensions" in health.stores["vectors"].error
            said = [f"{one.said} {one.remedy}" for one in await jay.examine()]
            assert any("of 8 dimensions" in one and "scrubjay reindex" in one for one in said)
            # Nobody drops it unasked: it may be another installation's.
            assert await jay.parts.index.drain() == 0
            assert await jay.reindex() == 41
            assert await by_meaning(jay) == (ASKED, ())
            assert await jay.check() == []
