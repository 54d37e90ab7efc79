"""The confidence of an answer, from a whole memory on every set-up: what it rests on, and when it is not known."""

from datetime import timedelta

import pytest

from scrubjay.errors import EmbedderUnavailable
from scrubjay.testing import ToyEmbedder

pytestmark = pytest.mark.memory_suite


class CalibratedToy(ToyEmbedder):
    """Says that a cosine means its square, and answers only while it is up."""

    down = False

    def calibrate(self, cosine: float) -> float:
        return max(0.0, cosine) ** 2

    async def embed(self, texts, *, question=False):
        if self.down:
            raise EmbedderUnavailable
        return await super().embed(texts, question=question)


@pytest.fixture
def model():
    return CalibratedToy()


@pytest.fixture
async def jay(setup, model):
    jay = await setup.open(embedder=model)
    await jay.remember("Deploys happen on Friday", user="anna")
    await jay.remember("Lunch is at noon", user="anna", importance=1.0)
    return jay


async def test_it_tells_what_is_known_from_what_is_not(jay):
    known = await jay.recall("deploys happen on friday", user="anna")
    unknown = await jay.recall("zebras eat grass", user="anna")
    assert known.confidence > 0.99
    assert not known.is_off_topic
    assert f"confidence {known.confidence:.2f}" in repr(known)
    assert unknown, "what is closest is there all the same"
    assert unknown.is_off_topic
    assert (await jay.recall("deploys happen on friday", user="bob")).confidence == 0


async def test_it_does_not_depend_on_how_many_are_wanted(jay):
    whole = await jay.recall("deploys happen on friday", user="anna")
    assert (await jay.recall("deploys happen on friday", user="anna", limit=1)).confidence == whole.confidence
    asked = await jay.recall("deploys on zebras", user="anna")
    cut = await jay.recall("deploys on zebras", user="anna", least_similarity=1.0)
    assert (len(cut), cut.confidence) == (0, asked.confidence)


async def test_the_reason_tells_the_number_that_a_bound_compares_with(jay):
    asked = "deploys on zebras"
    best = (await jay.recall(asked, user="anna"))[0]
    assert f"close in meaning ({best.similarity:.2f})" in best.why
    told = next(one for one in (await jay.context(asked, user="anna")).items if one.memory.id == best.memory.id)
    assert told.why == best.why
    kept = await jay.recall(asked, user="anna", least_similarity=best.similarity)
    assert best.memory.id in {hit.memory.id for hit in kept}


async def test_the_closest_of_few_need_not_be_as_close(jay):
    await jay.remember("Deploys happen on Friday", user="bob")
    await jay.remember_many([f"Shelf {place} has {place} tins" for place in range(30)], user="anna")
    alone, among_many = [await jay.recall("deploys on zebras", user=user) for user in ("bob", "anna")]
    assert alone[0].similarity == pytest.approx(among_many[0].similarity, abs=1e-3)
    assert alone.confidence > among_many.confidence + 0.1


async def test_it_is_not_known_without_meaning(jay, model, setup):
    assert (await jay.recall("deploys", mode="words")).confidence is None
    assert (await jay.recall("", user="anna")).confidence is None, "the newest answer no question"
    model.down = True
    degraded = await jay.recall("deploys", user="anna")
    assert (len(degraded), degraded.degraded, degraded.confidence) == (1, ("vectors",), None)
    by_words = await setup.open(words_only=True)
    assert (await by_words.recall("deploys", user="anna")).confidence is None


async def test_it_is_not_known_of_a_model_that_nobody_calibrated(setup):
    jay = await setup.open(embedder=ToyEmbedder())
    await jay.remember("Deploys happen on Friday")
    [hit] = hits = await jay.recall("deploys happen on friday")
    assert hit.similarity > 0.9
    assert hits.confidence is None


async def test_what_happened_then_is_about_a_question_for_that_time_alone(jay):
    now = jay.parts.clock()
    await jay.remember("The boiler broke", user="anna", kind="event", valid_from=now - timedelta(days=1))
    asked = await jay.recall("zebras yesterday", user="anna")
    assert asked.confidence < 0.5
    told = await jay.recall("what happened yesterday?", user="anna")
    assert (told[0].memory.content, told.confidence) == ("The boiler broke", 1.0)
    assert (await jay.recall("what happened in May 1999?", user="anna")).confidence < 0.5
