"""What is replaced while its vectors are being made is not found by meaning for having been indexed late."""

import asyncio
from datetime import timedelta

import pytest

from scrubjay.model import Filter, Scope
from scrubjay.testing import NOW, ToyEmbedder


class Held(ToyEmbedder):
    """Makes no vector of a text about Friday before it is let go."""

    def __init__(self):
        super().__init__()
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def embed(self, texts, *, question=False):
        if any("Friday" in text for text in texts):
            self.is_asked.set()
            await self.may_answer.wait()
        return await super().embed(texts, question=question)


async def nearest(jay, embedder):
    """What the vectors find, before the records have their say."""
    [asked] = await embedder.embed(["Deploys happen"], question=True)
    found = await jay.parts.stores.vectors.search(1, asked, Filter(scope=Scope()), now=jay.parts.clock(), limit=10)
    return [match.id for match in found]


# Where vectors are written with the records, there is no moment between.
@pytest.mark.parametrize("name", ["memory", "postgresql"])
async def test_what_was_closed_before_it_had_vectors_is_not_live(new_setup, name):
    embedder = Held()
    jay = await new_setup(name).open(embedder=embedder)
    await jay.remember("The kettle is red")
    slow = asyncio.create_task(jay.remember("Deploys happen on Friday", key="deploy"))
    await asyncio.wait_for(embedder.is_asked.wait(), 60)
    told = await jay.remember("Deploys happen on Monday", key="deploy")
    embedder.may_answer.set()
    assert (await slow).id == told.replaced
    found = await nearest(jay, embedder)
    assert told.replaced not in found
    assert told.id in found


@pytest.mark.parametrize("name", ["memory", "postgresql"])
async def test_what_was_told_again_as_of_earlier_before_it_had_vectors_is_not_live(new_setup, name):
    embedder = Held()
    setup = new_setup(name)
    jay = await setup.open(embedder=embedder)
    await jay.remember("The kettle is red")
    slow = asyncio.create_task(jay.remember("Deploys happen on Friday"))
    await asyncio.wait_for(embedder.is_asked.wait(), 60)
    quick = await setup.open()  # As another process, with a model of its own.
    told = await quick.remember("Deploys happen on Friday", valid_from=NOW - timedelta(days=9))
    embedder.may_answer.set()
    assert (await slow).id == told.replaced
    found = await nearest(jay, embedder)
    assert told.replaced not in found
    assert told.id in found
