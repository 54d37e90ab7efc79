"""An embedding server that is frozen, refuses or is away: one wait, then recall answers from words at once."""

import threading
import time

import pytest

import scrubjay
from scrubjay.backends.breaker import Breaker
from scrubjay.errors import EmbedderUnavailable
from scrubjay.jobs import runner
from scrubjay.models.guarded import GuardedEmbedder
from scrubjay.models.openai import OpenAI
from scrubjay.ports import Calibrated, Guarded
from scrubjay.testing import EmbedderSuite
from scrubjay.testing.events import eventually

NO_WAIT = 30
"""Seconds. A frozen server answers after twice as many."""


@pytest.fixture
def thawed():
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def freeze(server, thawed):
    """Let the server take requests and not answer them, until it is thawed."""

    def freeze():
        def wait(_):
            thawed.wait(2 * NO_WAIT)
            return 503, {}, "{}"

        server.always = wait

    return freeze


def guarded(server, *, clock=time.monotonic, **options):
    embedder = OpenAI("toy", url=f"{server.url}/v1", pause=0.01)
    return GuardedEmbedder(
        embedder, Breaker("openai:toy", failures=1, clock=clock), **{"question_seconds": 10, **options}
    )


class TestGuardedEmbedder(EmbedderSuite):
    @pytest.fixture
    async def embedder(self, server):
        embedder = guarded(server)
        await embedder.embed(["a first text, which tells the dimensions"])
        yield embedder
        await embedder.shut()


async def test_a_frozen_server_costs_one_wait(server, freeze, thawed):
    seconds = 0.0
    embedder = guarded(server, clock=lambda: seconds, question_seconds=0.2)
    await embedder.embed(["one"])
    assert embedder.health.state == "up"
    freeze()
    began = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match=r"openai:toy did not answer within 0.2 seconds"):
        await embedder.embed(["two"], question=True)
    assert time.monotonic() - began < NO_WAIT
    asked = len(server.requests)
    for _ in range(10):
        with pytest.raises(EmbedderUnavailable, match="is down since"):
            await embedder.embed(["three"])
    assert len(server.requests) == asked
    server.always = None
    thawed.set()
    embedder._question_seconds = 10  # A ping has as long as a question.
    seconds += 1
    assert len(await embedder.embed(["three"])) == 1
    await embedder.shut()


async def test_a_server_that_answered_lately_is_not_asked_again(server):
    embedder = guarded(server)
    await embedder.ping()
    asked = len(server.requests)
    await embedder.ping()
    assert len(server.requests) == asked == 1
    assert isinstance(embedder, Guarded)
    assert not isinstance(embedder, Calibrated)
    await embedder.shut()


async def test_a_whole_memory_goes_on_without_its_model(server, freeze, thawed, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "TICK", 0.1)
    settings = {"home": tmp_path, "embedder": "openai:toy", "embedder_url": f"{server.url}/v1"}
    async with scrubjay.open_async(**settings) as jay:
        await jay.remember("Deploys happen on Friday")
        assert (await jay.recall("when are deploys?")).degraded == ()
        freeze()
        began = time.monotonic()
        hits = await jay.recall("what about deploys?")
        assert (len(hits), hits.degraded) == (1, ("vectors",))
        assert time.monotonic() - began < NO_WAIT, "a question has three seconds"
        began = time.monotonic()
        await jay.remember("Deploys need a review")
        hits = await jay.recall("and which deploys?")
        assert (len(hits), hits.degraded) == (2, ("vectors",))
        assert time.monotonic() - began < NO_WAIT, "at most one ping lies between"
        health = await jay.health()
        assert (health.state, health.stores["embedder"].state, health.pending) == ("degraded", "down", 1)
        server.always = None
        thawed.set()

        async def has_caught_up():
            return (await jay.health()).pending == 0

        await eventually(has_caught_up)
        hits = await jay.recall("deploys", mode="meaning")
        assert (len(hits), hits.degraded) == (2, ())
