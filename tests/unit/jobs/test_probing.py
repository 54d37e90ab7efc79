"""Asking every part whether it is there: in bounded time, and seldom when it is not."""

import asyncio

import pytest

from scrubjay.backends.breaker import Breaker
from scrubjay.errors import EmbedderUnavailable, StoreUnavailable
from scrubjay.jobs import probing
from scrubjay.jobs.probing import Embedding, InProcess, ask_while_down, down_among, look
from scrubjay.model import Health, StoreHealth
from scrubjay.testing import ToyEmbedder
from scrubjay.testing.events import eventually


class Store:
    """Something behind a breaker that can be away."""

    def __init__(self):
        self.away = False
        self.asked = 0
        self.seconds = 0.0
        self._breaker = Breaker("there", failures=1, clock=lambda: self.seconds, chance=lambda: 0.0)

    @property
    def health(self):
        return self._breaker.health

    async def ping(self):
        await self._breaker.call(self._answer)

    async def _answer(self):
        self.asked += 1
        if self.away:
            raise StoreUnavailable("nobody is there. Check that it runs")


async def test_one_that_answers_is_up():
    found = await look("vectors", Store(), name="vectors")
    assert (found.name, found.state, found.error, found.remedy) == ("there", "up", "", "")
    assert found.milliseconds is not None


async def test_one_that_does_not_is_down_with_a_remedy():
    store = Store()
    store.away = True
    found = await look("vectors", store, name="vectors")
    assert (found.state, found.error, found.milliseconds) == ("down", "nobody is there. Check that it runs", None)
    assert found.since is not None
    assert "recall answers from words" in found.remedy
    again = await look("vectors", store, name="vectors")
    assert (again.error, store.asked) == (found.error, 1), "it is known to be down, and not asked again so soon"


async def test_one_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr(probing, "PROBE_SECONDS", 0.05)

    class Hanging:
        async def ping(self):
            await asyncio.sleep(60)

    found = await look("working", Hanging(), name="redis://there")
    assert (found.state, found.error) == (
        "down",
        "redis://there did not answer within 0.05 seconds. Check that it runs and is not overloaded",
    )


async def test_a_model_of_this_process_is_loaded_once():
    class Counting(ToyEmbedder):
        calls = 0
        broken = True

        async def embed(self, texts, *, question=False):
            self.calls += 1
            if self.broken:
                raise EmbedderUnavailable
            return await super().embed(texts, question=question)

    model = Counting()
    probe = Embedding(model)
    with pytest.raises(EmbedderUnavailable):
        await probe.ping()
    model.broken = False
    await probe.ping()
    await probe.ping()
    assert model.calls == 2


@pytest.fixture
async def asking(monkeypatch):
    """Asks a store in the background while it is down, every few milliseconds."""
    monkeypatch.setattr(probing, "ASK_EVERY", 0.002)
    tasks = []
    yield lambda store: tasks.append(asyncio.create_task(ask_while_down(store)))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_who_is_down_is_asked_in_the_background_however_long_its_pause_is(asking):
    store, other = Store(), Store()
    probes = {"vectors": store, "records": other, "embedder": InProcess()}
    asking(store)
    await asyncio.sleep(0.02)
    assert (down_among(probes), store.asked) == (set(), 0), "who is not known to be down is not asked"
    store.away = True
    await look("vectors", store, name="vectors")
    assert down_among(probes) == {"vectors"}
    await eventually(lambda: store.asked > 8)  # Its clock stands still, and no pause would ever be over.
    store.away = False
    await eventually(lambda: not down_among(probes))


async def test_nobody_else_is_let_through_while_somebody_asks_in_the_background(asking):
    store = Store()
    store.away = True
    await look("vectors", store, name="vectors")
    asking(store)
    await eventually(lambda: store.asked > 2)
    store.seconds = 4.0  # Every pause is over, and it was asked just now.
    with pytest.raises(StoreUnavailable, match="is down since"):
        await store.ping()


async def test_without_anybody_who_asks_in_the_background_callers_try_when_it_is_due():
    store = Store()
    store.away = True
    await look("vectors", store, name="vectors")
    store.away = False
    with pytest.raises(StoreUnavailable):
        await store.ping()
    store.seconds = 1.0
    await store.ping()
    assert store.asked == 2


@pytest.mark.parametrize(
    ("down", "state"), [((), "ready"), (("vectors",), "degraded"), (("embedder", "working"), "degraded")]
)
def test_the_whole_is_as_good_as_its_parts(down, state):
    parts = ("records", "vectors", "embedder", "working")
    stores = {part: StoreHealth(name=part, state="down" if part in down else "up") for part in parts}
    assert Health(stores=stores).state == state


def test_without_records_there_is_nothing():
    stores = {"records": StoreHealth(name="r", state="down"), "vectors": StoreHealth(name="v", state="up")}
    assert Health(stores=stores).state == "down"


async def test_what_is_slow_to_load_says_nothing_of_whoever_is_asked(monkeypatch):
    monkeypatch.setattr(probing, "PROBE_SECONDS", 0.2)

    class Slow(Store):
        async def warm_up(self):
            await asyncio.sleep(0.5)

    assert (await look("vectors", Slow(), name="vectors")).state == "up"
    monkeypatch.setattr(probing, "LOAD_SECONDS", 0.05)
    found = await look("vectors", Slow(), name="vectors")
    assert (found.state, found.error.partition(". ")[0]) == ("down", "there did not answer within 0.05 seconds")
