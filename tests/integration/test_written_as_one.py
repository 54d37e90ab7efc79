"""What many tell at the same time is stored as if they had come one after the other, whatever they bring."""

import asyncio
import random
import threading
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from scrubjay.errors import ScrubjayError
from scrubjay.model import AsOf
from scrubjay.settings import read_settings
from scrubjay.testing import NOW, Ticking, ToyEmbedder
from scrubjay.wiring import wire

SEEDS = (0, 1, 2, 106)
ROUNDS = 4
CALLERS = 24

PLACES = [{}, {"user": "anna"}, {"user": "anna", "session": "s-1"}, {"user": "bob"}]
KEYS = ["deploy", "indent", "naïve 🦉"]
WORDS = ["kettle", "train", "zebra", "garden", "copper"]
LATER = NOW + timedelta(days=30)


@pytest.fixture
async def twins(tmp_path, monkeypatch):
    """Two memories that make the same ids at the same time, and what sets their clock and their ids."""
    clock, chance = Ticking(), random.Random()

    def new_ids(many):
        return [UUID(int=chance.getrandbits(128), version=4) for _ in range(many)]

    monkeypatch.setattr("scrubjay.wiring.memory.utc_now", clock)
    monkeypatch.setattr("scrubjay.write.remember.new_ids", new_ids)
    monkeypatch.setattr("scrubjay.write.prepare.new_id", lambda: new_ids(1)[0])
    settings = [read_settings(home=tmp_path / name, background=False) for name in ("together", "alone")]
    jays = [await wire(one, embedder=ToyEmbedder(dimensions=16)).start() for one in settings]
    for jay in jays:
        # A model that is known to be quick is not preceded by a read, so that all come in the order they are told.
        jay.parts.index._pace.append(0.0)
        monkeypatch.setattr("scrubjay.write.index._FRESH_SECONDS", 3_600)
        await jay.remember("Somebody else's", id="taken", user="other")
    yield *jays, clock, chance
    for jay in jays:
        await jay.close()


def a_telling(chance, clock):
    """Something to tell that may bear on what others tell, by a key or by the same words."""
    told = {"content": " ".join(chance.choices(WORDS, k=chance.randint(1, 2))), **chance.choice(PLACES)}
    maybe = {
        "key": lambda: chance.choice(KEYS),
        "kind": lambda: chance.choice(["fact", "message"]),
        "valid_from": lambda: clock.now + timedelta(hours=chance.randint(-48, 24)),
        # Nothing is told again to be kept longer: that is written after the rest, when others may have been faster.
        "expires_at": lambda: chance.choice([clock.now - timedelta(hours=1), LATER]),
        "data": lambda: {"n": chance.randint(0, 1)},
        "trust": lambda: chance.choice(["told", "foreign"]),
    }
    return told | {name: value() for name, value in maybe.items() if chance.random() < 0.2}


async def told(jay, calls):
    """What came of each, all of them told while the writer is held up."""
    gate = threading.Event()
    database = jay.parts.stores.generations._database
    first = asyncio.create_task(database.write(lambda _: gate.wait(60)))
    await asyncio.sleep(0)
    tasks = [asyncio.create_task(call) for call in calls]
    async with asyncio.timeout(60):
        while database._scribe._orders.qsize() < len(tasks):  # noqa: ASYNC110 -- the writer's queue tells nobody
            await asyncio.sleep(0.001)
    gate.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


async def told_in_turn(calls):
    answers = []
    for call in calls:
        try:
            answers.append(await call)
        except ScrubjayError as error:
            answers.append(error)
    return answers


def calls_of(jay, tellings, corrected):
    yield from (jay.remember(**one) for one in tellings)
    yield from (jay.parts.writer.correct(old, {"content": content}) for old, content in corrected)


def as_told(answer):
    if isinstance(answer, BaseException):
        return type(answer), str(answer)
    if answer.outcome == "unchanged":
        # Another may have closed it since, or let it be kept longer.
        return answer.outcome, answer.id
    return answer.outcome, answer.replaced, replace(answer.memory, generation=None)


async def everything(jay, clock):
    # Who comes first of those who come at the same moment is nobody's affair.
    rows = sorted(await jay.list(history=True, limit=10_000), key=lambda one: one.id)
    entries = await jay.parts.stores.vectors.entries(1, [one.id for one in rows])
    found = [
        {hit.memory.id for hit in await jay.recall(word, mode=mode, limit=1_000, touch=False, **narrow)}
        for word in WORDS
        for mode in ("words", "meaning")
        for narrow in ({}, {"user": "anna"}, {"as_of": AsOf(known_at=clock.now)})
    ]
    vectors = [(one.id, one.live, one.since, one.until, one.spans, one.vectors.tolist()) for one in entries]
    return [replace(one, generation=None) for one in rows], vectors, found


@pytest.mark.parametrize("seed", SEEDS)
async def test_many_at_once_leave_what_they_would_have_left_one_after_the_other(twins, seed):
    together, alone, clock, ids = twins
    chance = random.Random(seed)
    for step in range(ROUNDS):
        clock.advance(timedelta(seconds=chance.randint(1, 7_200)))
        known = [one for one in await together.list(limit=100) if one.key is None]
        tellings = [a_telling(chance, clock) for _ in range(CALLERS)]
        tellings.append({**tellings[0], "id": f"mine-{step}"})
        tellings.append(tellings[-1])
        if step % 2:  # Somebody is refused, so that each is done alone.
            tellings[chance.randrange(CALLERS)]["id"] = chance.choice(["taken", f"mine-{step - 1}"])
        corrected = [(old, f"step {step}") for old in chance.sample(known, min(3, len(known)))]
        ids.seed(seed * 100 + step)
        at_once = [as_told(one) for one in await told(together, calls_of(together, tellings, corrected))]
        ids.seed(seed * 100 + step)
        assert at_once == [as_told(one) for one in await told_in_turn(calls_of(alone, tellings, corrected))]
    assert await everything(together, clock) == await everything(alone, clock)
    for jay in (together, alone):
        assert await jay.check() == []
