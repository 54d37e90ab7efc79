"""The default threshold belongs to calibrated models, and what cannot be compared is said."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.memories.tasks.similar import LEAST_SIMILARITY
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


class CalibratedToy(ToyEmbedder):
    """Says that a cosine means half of itself."""

    def calibrate(self, cosine: float) -> float:
        return max(0.0, cosine) / 2


@pytest.fixture
def opened(tmp_path):
    def opened(embedder):
        return wire(read_settings(home=tmp_path, background=False, embedder="none"), embedder=embedder)

    return opened


async def tell(jay):
    for task_id, description in (("same", "rename the cart page"), ("far", "something else about the invoice")):
        await jay.tasks.store_execution(task_id, description, True, task_description=description)


async def test_a_calibrated_model_has_a_default(opened):
    async with opened(CalibratedToy()) as jay:
        await tell(jay)
        found = await jay.tasks.search_similar("rename the cart page")
        assert found.threshold == LEAST_SIMILARITY
        assert [task.task_id for task in found] == ["same"]
        assert found[0].similarity == pytest.approx(found[0].semantic_score / 2, abs=0.01)
        assert len(await jay.tasks.search_similar("rename the cart page", similarity_threshold=0.0)) == 2


async def test_a_model_that_nobody_calibrated_has_none(opened):
    async with opened(ToyEmbedder()) as jay:
        await tell(jay)
        found = await jay.tasks.search_similar("rename the cart page")
        assert (found.threshold, len(found)) == (None, 2)


async def test_without_a_model_words_answer_and_nothing_else_is_pretended(opened):
    async with opened(None) as jay:
        await tell(jay)
        [found] = await jay.tasks.search_similar("cart")
        assert (found.task_id, found.similarity) == ("same", None)
        with pytest.raises(InvalidInput, match="no embedding model"):
            await jay.tasks.search_similar("cart", mode="semantic")
        with pytest.raises(InvalidInput, match="no embedding model"):
            await jay.tasks.search_similar("cart", similarity_threshold=0.5)
