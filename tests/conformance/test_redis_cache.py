"""Vectors that processes share: found when they are there, computed when they are not, and never in anybody's way."""

import logging
import signal

import numpy as np
import pytest
import redis
from redis_servers import Mortal

from patience import LONG, at_most
from scrubjay.backends.redis.cache import KEPT_SECONDS, WITHIN, RedisVectorCache, vector_key
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.errors import StoreUnavailable
from scrubjay.models import Cached
from scrubjay.settings import read_settings
from scrubjay.testing import EmbedderSuite, ToyEmbedder
from scrubjay.testing.events import eventually
from scrubjay.wiring import wire
from scrubjay.write.leftovers import FADED, ONCE_MORE

MANY = 100
"""Who waits for a cache that is away waits so many times."""


class Counting(ToyEmbedder):
    """Notes what it was asked. With `late`, it tells its dimensions only with its first answer."""

    def __init__(self, *, late=False, **options):
        super().__init__(**options)
        self.asked = []
        self.late = late

    @property
    def identity(self):
        whole = super().identity
        return type(whole)(provider="toy", model="words", version=whole.version, dimensions=0) if self.late else whole

    async def embed(self, texts, *, question=False):
        self.asked += texts
        self.late = False
        return await super().embed(texts, question=question)


@pytest.fixture
def server(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
        yield client


@pytest.fixture
async def process(server, redis_url):
    """Makes embedders that share vectors, each as in another process. They wait for a slow machine."""
    made = []

    def make(url=redis_url, *, within=LONG, **options):
        model = Counting(**options)
        shared = RedisVectorCache(RedisConnection(url), within=within)
        made.append(Cached(model, shared=shared))
        return made[-1], model, shared

    yield make
    for cached in made:
        await cached.shut()


class TestContract(EmbedderSuite):
    @pytest.fixture
    async def embedder(self, process):
        return process()[0]


async def test_what_one_process_embedded_another_finds(process):
    (one, first, shared), (two, second, found) = process(), process()
    texts = [f"text {number}" for number in range(300)]
    rows = await one.embed(texts)
    await shared._finish_writes()
    assert (await two.embed([*texts, "another"]))[:300].tobytes() == rows.tobytes()
    assert (first.asked, second.asked) == (texts, ["another"])
    assert (shared.hits, shared.misses) == (0, 300)
    assert (found.hits, found.misses) == (300, 1)
    assert two.counts == {"remembered": 0, "shared": 300, "embedded": 1}
    await two.embed(texts)
    assert two.counts == {"remembered": 300, "shared": 300, "embedded": 1}
    assert found.hits == 300  # What is remembered in the process is not looked up again.


async def test_questions_and_models_are_apart(process):
    one, _, shared = process()
    await one.embed(["text"])
    await shared._finish_writes()
    for options in {"version": "2"}, {"dimensions": 32}:
        other, model, _ = process(**options)
        rows = await other.embed(["text"])
        assert model.asked == ["text"]
        assert rows.shape[1] == other.identity.dimensions
    two, model, _ = process()
    await two.embed(["text"], question=True)
    assert model.asked == ["text"]


async def test_a_model_that_is_not_known_yet_is_asked_first(process):
    one, _, shared = process()
    await one.embed(["text", "other"])
    await shared._finish_writes()
    late, model, found = process(late=True)
    await late.embed(["text"])
    assert (model.asked, found.hits) == (["text"], 0)
    await late.embed(["other"])
    assert (model.asked, found.hits) == (["text"], 1)


async def test_no_text_is_given_away_and_nothing_is_kept_for_ever(process, server):
    one, _, shared = process()
    await one.embed(["the secret recipe", "lone surrogate \ud800"])
    await shared._finish_writes()
    keys = list(server.scan_iter())
    assert len(keys) == 2
    for key in keys:
        assert key.startswith(b"scrubjay:embedding:toy%3Awords@1/64:document:")
        assert b"secret" not in key + server.get(key)
        assert KEPT_SECONDS - 60 < server.ttl(key) <= KEPT_SECONDS


@pytest.mark.parametrize("value", [b"", b"short", b"\x00" * 255, np.full(64, np.nan, dtype="<f4").tobytes()])
async def test_what_can_be_no_vector_is_computed(process, server, value):
    one, model, _ = process()
    server.set(vector_key(model.identity, "text", question=False), value)
    rows = await one.embed(["text"])
    assert model.asked == ["text"]
    assert np.linalg.norm(rows[0]) == pytest.approx(1)


async def test_what_is_forgotten_is_nowhere(process, server):
    one, model, shared = process()
    await one.embed(["keep", "forget"])
    await one.embed(["forget"], question=True)
    assert await one.remove(one.forget(["forget", "unknown"]))
    assert list(server.scan_iter()) == [vector_key(model.identity, "keep", question=False).encode()]
    await one.embed(["keep", "forget"])
    assert model.asked == ["keep", "forget", "forget", "forget"]
    one.clear()
    await one.embed(["keep"])
    assert (model.asked[4:], shared.hits) == ([], 1)


async def test_without_redis_it_is_computed_and_said_once(process, caplog):
    caplog.set_level(logging.WARNING)
    one, model, shared = process("redis://127.0.0.1:1", within=WITHIN)
    with at_most(MANY * WITHIN / 2):
        for number in range(MANY):
            await one.embed([f"text {number}"])
    assert len(model.asked) == MANY
    assert (shared.hits, shared.misses) == (0, MANY)
    assert caplog.text.count("store is down") == 1
    with pytest.raises(StoreUnavailable):
        await one.remove(one.forget(["text 1"]))


async def test_a_frozen_redis_holds_nobody_up_for_long_and_is_used_again(process):
    server = Mortal()
    try:
        server.start()
        one, model, shared = process(server.url, within=WITHIN)
        await one.embed(["text"])
        await shared._finish_writes()
        one.clear()
        server.send(signal.SIGSTOP)
        with at_most(MANY * WITHIN / 2):
            for number in range(MANY):
                await one.embed([f"text {number}"])
        assert len(model.asked) == MANY + 1
        # Whoever is more patient is not kept from trying.
        assert shared._connection.health.state != "down"
        server.send(signal.SIGCONT)
        await shared._connection.ping()

        async def is_used():
            one.clear()
            await one.embed(["text"])
            return bool(shared.hits)

        await eventually(is_used)
    finally:
        server.stop()


async def test_a_purge_takes_the_shared_vectors_too(process, server, tmp_path):
    model, _, shared = process()
    async with wire(read_settings(home=tmp_path, background=False), embedder=model) as jay:
        told = await jay.remember("Prefers tabs", user="anna", author="anna", session="s")
        await jay.remember("Prefers nothing", user="anna")
        await shared._finish_writes()
        assert (await jay.stats()).texts == {"remembered": 0, "shared": 0, "embedded": 2}
        before = len(list(server.scan_iter("scrubjay:embedding:*")))
        await jay.forget(told.id, user="anna", session="s", purge=True)
        assert len(list(server.scan_iter("scrubjay:embedding:*"))) == before - 1


async def test_a_purge_by_a_process_that_never_asked_its_model_takes_the_shared_vectors_too(process, server, tmp_path):
    model, _, shared = process()
    async with wire(read_settings(home=tmp_path, background=False), embedder=model) as jay:
        told = await jay.remember("Prefers tabs", user="anna")
    await shared._finish_writes()
    assert list(server.scan_iter("scrubjay:embedding:*:document:*"))
    late, asked, _ = process(late=True)
    async with wire(read_settings(home=tmp_path, background=False), embedder=late) as jay:
        await jay.forget(told.id, user="anna", purge=True)
        assert asked.asked == []
    assert list(server.scan_iter("scrubjay:embedding:*:document:*")) == []


async def test_what_is_purged_while_redis_is_away_goes_when_it_is_back(process, server, tmp_path):
    model, _, shared = process()
    settings = read_settings(home=tmp_path, background=False)
    async with wire(settings, embedder=model) as jay:
        told = await jay.remember("Prefers tabs", user="anna")
        await jay.remember("Prefers nothing", user="anna")
        await shared._finish_writes()
    gone = vector_key(model.identity, "Prefers tabs", question=False)
    before = set(server.scan_iter())
    away, _, _ = process("redis://127.0.0.1:1", within=WITHIN)
    async with wire(settings, embedder=away) as jay:
        receipt = await jay.forget(told.id, user="anna", purge=True)
        assert receipt.remaining == {"records": 0, "vectors": 0, "blobs": 0, "shared": 1}
        assert [one.content for one in await jay.list(user="anna")] == ["Prefers nothing"]
        await jay.parts.index.drain()
        assert gone.encode() in set(server.scan_iter()), "so far it is there"
    # Whoever works with the store next knows of it.
    back, _, _ = process()
    async with wire(settings, embedder=back) as jay:
        await jay.parts.index.drain()
        assert before - set(server.scan_iter()) == {gone.encode()}
        generations, now = jay.parts.stores.generations, jay.parts.clock()
        assert await generations.shared_leftovers(now=now, limit=9) == []
        # As a question and as a text, until nobody can be embedding it any more.
        assert len(await generations.shared_leftovers(now=now + ONCE_MORE, limit=9)) == 2


async def test_who_does_not_share_leaves_what_is_to_be_removed_to_others(tmp_path):
    settings = read_settings(home=tmp_path, background=False)
    async with wire(settings, embedder=ToyEmbedder()) as jay:
        generations, now = jay.parts.stores.generations, jay.parts.clock()
        await generations.leave_shared(["new"], at=now, due=now)
        await generations.leave_shared(["faded"], at=now - FADED, due=now)
        await jay.parts.index.drain()
        assert [one.name for one in await generations.shared_leftovers(now=now, limit=9)] == ["new"]
