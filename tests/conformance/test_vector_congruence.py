"""Random operations on every vector engine and on the reference give the same answers, and a fault is noticed."""

from contextlib import AsyncExitStack, asynccontextmanager
from uuid import uuid4

import numpy as np
import pytest

from lengths import sized
from scrubjay.backends.memory import MemoryVectors
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.vectors.chroma import ChromaVectors
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.testing import NOW, a_scope, congruence_of_vectors
from scrubjay.testing.vectors import HERE, an_entry, directions

SEEDS = range(sized(short=1, long=2))


@asynccontextmanager
async def on_database(made, url):
    database = Database(url)
    await migrate(database)
    engine = made(database)
    yield engine
    await engine.shut()
    await database.shut()


@asynccontextmanager
async def on_server(made, url):
    engine = made(url, prefix=f"test-{uuid4().hex}")
    yield engine
    for generation in (1, 2):
        await engine.drop(generation)
    await engine.shut()


@pytest.fixture(params=["memory", "embedded on SQLite", "embedded on PostgreSQL", "pgvector", "Qdrant", "Chroma"])
async def engine(request, tmp_path):
    """Every engine in turn, empty."""
    async with AsyncExitStack() as opened:
        match request.param:
            case "memory":
                yield MemoryVectors()
            case "embedded on SQLite":
                yield await opened.enter_async_context(on_database(EmbeddedVectors, f"sqlite:///{tmp_path}/one.db"))
            case "embedded on PostgreSQL":
                url = request.getfixturevalue("postgres_database")()
                yield await opened.enter_async_context(on_database(EmbeddedVectors, url))
            case "pgvector":
                url = request.getfixturevalue("postgres_database")()
                yield await opened.enter_async_context(on_database(PgVectors, url))
            case "Qdrant":
                url = request.getfixturevalue("qdrant_url").replace("http", "qdrant", 1)
                yield await opened.enter_async_context(on_server(QdrantVectors, url))
            case "Chroma":
                url = request.getfixturevalue("chroma_url").replace("http", "chroma", 1)
                yield await opened.enter_async_context(on_server(ChromaVectors, url))


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_engine_answers_like_the_reference(engine, seed):
    await congruence_of_vectors(MemoryVectors(), engine, seed)


async def test_every_engine_of_ours_knows_what_stands_alone(engine):
    [question] = directions(1)
    turn, fact = an_entry(question, scope=a_scope(session="s-1")), an_entry(question)
    message = an_entry(question, kind="message")
    await engine.upsert(1, [turn, fact, message])
    wanted = {turn.id: (False, False), fact.id: (True, True), message.id: (False, True)}
    for among in (None, list(wanted)):
        found = await engine.search(1, question, HERE, now=NOW, limit=9, among=among)
        assert {match.id: (match.alone, match.outside) for match in found} == wanted


class Undying(MemoryVectors):
    async def retire(self, ids):
        pass


class Sticky(MemoryVectors):
    async def remove(self, ids):
        await super().remove(ids[:1])


class Indiscreet(MemoryVectors):
    async def search(self, generation, vector, filter, **options):
        return await super().search(generation, vector, type(filter)(scope=filter.scope), **options)


class Timeless(MemoryVectors):
    async def search(self, generation, vector, filter, *, now, **options):
        return await super().search(generation, vector, filter, now=now.replace(year=2000), **options)


class Imprecise(MemoryVectors):
    async def search(self, generation, vector, filter, **options):
        return await super().search(generation, np.round(vector, 1), filter, **options)


class Overlooking(MemoryVectors):
    async def missing(self, generation, ids):
        return (await super().missing(generation, ids))[1:]


class Reticent(MemoryVectors):
    async def ids(self, generation, *, limit, after=None):
        return (await super().ids(generation, limit=limit, after=after))[1:]


@pytest.mark.parametrize("faulty", [Undying, Sticky, Indiscreet, Timeless, Imprecise, Overlooking, Reticent])
async def test_a_fault_of_an_engine_is_noticed(faulty):
    with pytest.raises(AssertionError, match="seed 0, step"):
        await congruence_of_vectors(MemoryVectors(), faulty(), 0)
