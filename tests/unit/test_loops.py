"""A memory that is awaited belongs to one event loop, and says so on another."""

import asyncio

import pytest

from scrubjay.errors import Closed
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


def test_a_memory_used_from_a_second_loop_says_what_to_do(tmp_path):
    jay = wire(read_settings(home=tmp_path, background=False), embedder=ToyEmbedder())

    async def opened():
        await jay.start()
        await jay.remember("Deploys happen on Friday")

    async def used():
        for verb in (jay.remember("Told later"), jay.recall("deploys"), jay.facts.history("x"), jay.count()):
            with pytest.raises(Closed, match=r"another event loop.*scrubjay\.open_async\(\).*scrubjay\.open\(\)"):
                await verb

    asyncio.run(opened())
    asyncio.run(used())
    asyncio.run(jay.close())


def test_one_that_blocks_serves_every_loop(tmp_path):
    settings = read_settings(home=tmp_path, background=False)
    with SyncScrubjay(wire(settings, embedder=ToyEmbedder())).start() as jay:

        async def used(told):
            await asyncio.gather(*(asyncio.to_thread(jay.remember, f"{told} {place}") for place in range(8)))

        for told in ("first", "second", "third"):
            asyncio.run(used(told))
        assert jay.count() == 24
