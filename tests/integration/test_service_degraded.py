"""When a part is down: writes succeed, recall answers by words and says so, and later everything catches up."""

import pytest

from scrubjay.errors import EmbedderUnavailable
from scrubjay.model import Identity
from scrubjay.testing import ToyEmbedder


async def test_without_the_model_writes_succeed_and_words_answer(setup, moody_embedder):
    jay = await setup.open(embedder=moody_embedder)
    await jay.remember("Deploys happen on Friday")
    moody_embedder.down = True
    told = await jay.remember("Deploys need a review")
    assert told.outcome == "stored"
    hits = await jay.recall("deploys")
    assert len(hits) == 2
    assert hits.degraded == ("vectors",)
    assert (await jay.recall("deploys", mode="words")).degraded == ()
    assert (await jay.context("deploys")).degraded == ("vectors",)
    assert (await jay.stats()).pending == 1
    assert await jay.check() == ["1 memories wait to be indexed by meaning: run `scrubjay reindex`"]
    with pytest.raises(EmbedderUnavailable):
        await jay.reindex()
    moody_embedder.down = False
    assert await jay.reindex() == 1
    hits = await jay.recall("deploys", mode="meaning")
    assert (len(hits), hits.degraded) == (2, ())
    assert await jay.check() == []


async def test_without_the_vector_engine_writes_succeed_and_words_answer(setup, moody_vectors):
    jay = await setup.open(vectors=moody_vectors)
    [vectors] = moody_vectors.made
    await jay.remember("Deploys happen on Friday", key="deploy")
    gone = await jay.remember("Deploys are fun")
    vectors.down = True
    await jay.remember("Deploys need a review", key="review")
    await jay.remember("Deploys happen on Monday", key="deploy")
    await jay.forget(gone.id)
    hits = await jay.recall("deploys")
    assert {hit.memory.content for hit in hits} == {"Deploys happen on Monday", "Deploys need a review"}
    assert hits.degraded == ("vectors",)
    vectors.down = False
    assert await jay.reindex() > 0
    hits = await jay.recall("deploys", mode="meaning")
    assert {hit.memory.content for hit in hits} == {"Deploys happen on Monday", "Deploys need a review"}
    assert (await jay.stats()).pending == 0


async def test_a_batch_that_could_not_be_indexed_is_indexed_later(setup, moody_embedder):
    jay = await setup.open(embedder=moody_embedder)
    moody_embedder.down = True
    await jay.remember_many([f"fact {place}" for place in range(600)])
    moody_embedder.down = False
    seen = []
    assert await jay.reindex(lambda done, total: seen.append((done, total))) == 600
    assert seen == [(256, 600), (512, 600), (600, 600)]
    assert await jay.reindex() == 0
    assert (await jay.stats()).vectors == 600


async def test_an_import_without_the_model_is_indexed_later(setup, new_setup, moody_embedder):
    source = await setup.open()
    await source.remember("Deploys happen on Friday")
    lines = [line async for line in source.export()]
    moody_embedder.down = True
    jay = await new_setup(setup.name).open(embedder=moody_embedder)
    assert await jay.import_lines(lines) == (1, 0)
    assert len(await jay.recall("deploys")) == 1
    moody_embedder.down = False
    assert await jay.reindex() == 1


class UnknownSize(ToyEmbedder):
    """A model on a server that tells its size with its first vector, and cannot be reached."""

    @property
    def identity(self):
        return Identity(provider="toy", model="remote", version="1", dimensions=0)

    async def embed(self, texts, *, question=False):
        raise EmbedderUnavailable


async def test_a_model_that_was_never_reached_does_not_stop_anything(setup):
    jay = await setup.open(embedder=UnknownSize())
    await jay.remember("Deploys happen on Friday")
    hits = await jay.recall("deploys")
    assert (len(hits), hits.degraded) == (1, ("vectors",))
    assert (await jay.context("deploys")).degraded == ("vectors",)
    await jay.update(hits[0].memory.id, content="Deploys happen on Monday")
    assert (await jay.stats()).memories == 1
    waiting, unreachable = await jay.check()
    assert waiting.startswith("2 memories wait")
    assert "embedding model" in unreachable
    await jay.forget(everything=True)
    with pytest.raises(EmbedderUnavailable):
        await jay.reindex()


async def test_without_any_model_words_are_all_there_is(setup):
    jay = await setup.open(words_only=True)
    await jay.remember("Deploys happen on Friday")
    hits = await jay.recall("deploys")
    assert (len(hits), hits.degraded) == (1, ())
    assert len(await jay.recall("deploys", mode="meaning")) == 0
    stats = await jay.stats()
    assert (stats.pending, stats.vectors, stats.generations) == (0, 0, ())
    assert await jay.check() == []
    assert await jay.reindex() == 0
    assert await (await setup.open()).reindex() == 1


async def test_the_word_index_can_be_built_again(jay):
    await jay.remember_many([f"fact {place}" for place in range(20)])
    assert await jay.reindex(words=True) == 20
    assert len(await jay.recall("fact", mode="words", limit=30)) == 20


async def test_all_vectors_can_be_made_again(jay):
    await jay.remember_many([f"fact {place}" for place in range(20)])
    assert await jay.reindex(rebuild=True) == 20
    assert len(await jay.recall("fact", mode="meaning", limit=30)) == 20
