"""The cache in front of an embedder."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from scrubjay.model import Identity
from scrubjay.models import Cached
from scrubjay.models.static import Static
from scrubjay.ports import Calibrated
from scrubjay.testing.embedder import EmbedderSuite


class Counting:
    """A real, tiny embedder without calibration that notes what it was asked."""

    identity = Identity(provider="test", model="letters", version="1", dimensions=3)
    window = 10

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], bool]] = []
        self.shut_times = 0

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    async def embed(self, texts: Sequence[str], *, question: bool = False):
        self.asked.append((list(texts), question))
        await asyncio.sleep(0)
        rows = np.array([[len(text), question, 1] for text in texts], dtype=np.float32).reshape(-1, 3)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    async def shut(self) -> None:
        self.shut_times += 1


@pytest.fixture
def behind() -> Counting:
    return Counting()


@pytest.fixture
def embedder() -> Cached:
    return Cached(Static(), size=16)


class TestContract(EmbedderSuite):
    """What every embedder has to do."""


async def test_what_is_known_is_not_embedded_again(behind):
    cached = Cached(behind)
    first = await cached.embed(["a", "bb"])
    second = await cached.embed(["bb", "ccc", "a"])
    assert behind.asked == [(["a", "bb"], False), (["ccc"], False)]
    assert (second[[2, 0]] == first).all()
    assert (cached.hits, cached.misses) == (2, 3)


async def test_questions_are_apart(behind):
    cached = Cached(behind)
    [answer] = await cached.embed(["a"])
    [question] = await cached.embed(["a"], question=True)
    assert (answer != question).any()
    assert len(behind.asked) == 2


async def test_a_text_twice_in_one_call_is_embedded_once(behind):
    cached = Cached(behind)
    rows = await cached.embed(["a", "bb", "a"])
    assert behind.asked == [(["a", "bb"], False)]
    assert (rows[0] == rows[2]).all()
    assert (cached.hits, cached.misses) == (1, 2)


async def test_the_least_recently_used_goes_first(behind):
    cached = Cached(behind, size=2)
    await cached.embed(["a"])
    await cached.embed(["bb"])
    await cached.embed(["a"])
    await cached.embed(["ccc"])
    behind.asked.clear()
    await cached.embed(["a", "ccc"])
    assert behind.asked == []
    await cached.embed(["bb"])
    assert behind.asked == [(["bb"], False)]


async def test_a_call_larger_than_the_cache_is_answered_whole(behind):
    cached = Cached(behind, size=2)
    rows = await cached.embed(["a" * length for length in range(1, 9)])
    assert (np.diff(rows[:, 0]) > 0).all()
    assert len(cached._rows) == 2


async def test_changing_an_answer_does_not_change_the_cache(behind):
    cached = Cached(behind)
    rows = await cached.embed(["a"])
    rows[:] = 0
    again = await cached.embed(["a"])
    again[:] = 0
    assert np.linalg.norm(await cached.embed(["a"])) == pytest.approx(1)


async def test_no_texts_give_no_rows(behind):
    assert (await Cached(behind).embed([])).shape == (0, 3)


async def test_the_rest_is_that_of_the_embedder_behind(behind):
    cached = Cached(behind)
    assert cached.identity is behind.identity
    assert cached.window == 10
    assert cached.count(["abc"]) == [3]
    await cached.embed(["a"])
    await cached.shut()
    assert behind.shut_times == 1
    await cached.embed(["a"])
    assert len(behind.asked) == 2


def test_it_is_calibrated_when_the_embedder_behind_is(behind):
    assert not isinstance(Cached(behind), Calibrated)
    cached = Cached(Static())
    assert isinstance(cached, Calibrated)
    assert cached.calibrate(0.7) == Static().calibrate(0.7)


async def test_many_tasks_at_once(behind):
    cached = Cached(behind, size=8)
    answers = await asyncio.gather(*(cached.embed(["a" * (number % 12 + 1)]) for number in range(200)))
    for number, [row] in enumerate(answers):
        assert row[0] / row[2] == pytest.approx(number % 12 + 1, rel=1e-5)
    assert cached.hits + cached.misses == 200
