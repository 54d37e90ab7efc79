"""Servers fall in the middle of consolidation. Whatever was acknowledged is there afterwards, once."""

import asyncio
import signal
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from faulty_servers import Faulty, FaultyPostgres, FaultyQdrant, eventually, running

from scrubjay.errors import EmbedderUnavailable, Unavailable
from scrubjay.jobs.consolidate import consolidate
from scrubjay.jobs.work import orders_of
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire
from services import Redis

# Redis has half a second of the real clock to answer: a machine that stands still for longer makes it look away.
pytestmark = pytest.mark.flaky(reruns=2)

BACK = 90
"""Seconds within which everything has caught up after the server is back, on a slow machine."""

LEASE = timedelta(seconds=3)
"""How long work stays with a worker whose records fell before it could give it back. Usually nobody waits for that."""


class ForgetfulRedis(Faulty, Redis):
    """A Redis that keeps nothing: when it comes back, it is empty."""


@pytest.fixture(scope="module")
def servers():
    with ExitStack() as stack:
        yield {
            "records": stack.enter_context(running(FaultyPostgres)),
            "working": stack.enter_context(running(ForgetfulRedis)),
            "vectors": stack.enter_context(running(FaultyQdrant)),
        }


class MoodyModel(ToyEmbedder):
    """A model that falls and rises as a server does."""

    down = False

    async def embed(self, texts, *, question=False):
        if self.down:
            raise EmbedderUnavailable
        return await super().embed(texts, question=question)

    def fall(self, _how=None):
        self.down = True

    def rise(self):
        self.down = False


@pytest.fixture
async def jay(servers):
    for server in servers.values():
        server.mend()
    model = MoodyModel(dimensions=16)
    address = servers["vectors"].url.partition("//")[2]
    settings = read_settings(
        records=f"{servers['records'].url}?connect_timeout=2",
        working=f"{servers['working'].url}/0?timeout=0.5",
        vectors=f"qdrant://{address}",
        background=False,
    )
    async with wire(settings, embedder=model) as jay:
        jay.falling = {**servers, "embedder": model}
        yield jay


class Life:
    """Sessions are held and ended, facts are told, and all of it is consolidated, whatever happens meanwhile."""

    def __init__(self, jay, name):
        self.jay = jay
        self.name = name
        self.said = {}
        self.told = {}
        self.stop = asyncio.Event()

    def where(self, number):
        return {"user": self.name, "session": f"{self.name}-{number}"}

    async def said_more(self):
        """Wait until some more was said and acknowledged."""
        before = len(self.said)

        async def enough():
            return len(self.said) >= before + 9

        await eventually(enough, within=BACK)

    async def talk(self):
        for number in count():
            if self.stop.is_set():
                return
            try:
                stored = await self.jay.working.append(
                    [f"m{number} part {part}" for part in range(3)], **self.where(number)
                )
                self.said |= {message.id: (number, message.content) for message in stored}
                await self.jay.working.end(**self.where(number))
                fact = await self.jay.remember(f"fact {number} of {self.name}", user=self.name)
                self.told[fact.id] = fact.memory.content
            except Unavailable:
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.02)

    async def consolidate(self):
        while not self.stop.is_set():
            await self.consolidated()
            await asyncio.sleep(0.02)

    async def consolidated(self):
        orders = replace(orders_of(self.jay), ttl=LEASE)
        return await consolidate(orders, ["drain", "distill", "index"])

    async def has_ended(self):
        try:
            for number in {number for number, _ in self.said.values()}:
                if await self.jay.working.session(**self.where(number)) is not None:
                    await self.jay.working.end(**self.where(number))
        except Unavailable:
            return False
        return True

    async def has_caught_up(self):
        try:
            done = await self.consolidated()
            status = await self.jay.work.status()
        except Unavailable:
            return False
        waits = (status.sessions, status.undistilled, status.pending)
        return not done.errors and waits == (0, 0, 0)


@pytest.mark.parametrize("part", ["records", "working", "vectors", "embedder"])
async def test_what_was_acknowledged_is_there_afterwards(jay, part):
    life = Life(jay, f"{part}-user")
    tasks = [asyncio.create_task(life.talk()), asyncio.create_task(life.consolidate())]
    server = jay.falling[part]
    await life.said_more()
    server.fall(signal.SIGKILL if part == "working" else None)
    await asyncio.sleep(1.5)
    server.rise()
    await life.said_more()
    life.stop.set()
    await asyncio.gather(*tasks)
    # A session that was being spoken in when its server fell may be left open.
    await eventually(life.has_ended, within=BACK)
    await eventually(life.has_caught_up, within=BACK)
    rows = await jay.list(limit=10_000, order="oldest", user=life.name)
    messages = [one for one in rows if one.kind == "message"]
    stored = {one.id: one.content for one in messages}
    assert {one: stored.get(one) for one in life.said} == {one: content for one, (_, content) in life.said.items()}
    assert max(Counter((one.scope, one.content) for one in messages).values()) == 1
    for one in {message.scope for message in messages}:
        place = [message for message in messages if message.scope == one]
        assert [message.position for message in place] == list(range(len(place)))
    assert life.told.items() <= {one.id: one.content for one in rows}.items()
    assert await jay.work.parked() == []
    number, content = next(iter(life.said.values()))
    hits = await jay.recall(content, session=life.where(number)["session"], user=life.name, mode="meaning")
    assert hits.degraded == ()
    assert content in [hit.memory.content for hit in hits]
