"""Uses that were seen are written once, whoever is stopped meanwhile."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from scrubjay.errors import Unavailable
from scrubjay.model import Scope
from scrubjay.testing import Ticking
from scrubjay.write.uses import Uses

HERE, THERE = Scope(user="anna"), Scope(user="bob")


class Slow:
    """Records that take a use when they are let, or fail as often as they are told to."""

    def __init__(self) -> None:
        self.written = Counter()
        self.may = asyncio.Event()
        self.began = asyncio.Event()
        self.failing = 0
        self.calls = 0

    async def touch(self, uses, *, at):
        assert at is not None
        self.calls += 1
        self.began.set()
        await self.may.wait()
        if self.failing:
            self.failing -= 1
            raise Unavailable("the records are gone")
        self.written.update((scope, one) for scope, ids in uses.items() for one in ids)


async def test_who_is_stopped_while_writing_loses_none_and_doubles_none():
    records, one = Slow(), uuid4()
    uses = Uses(records, Ticking())
    uses.count(HERE, [one, one])
    first = asyncio.create_task(uses.flush())
    await records.began.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    uses.count(THERE, [one])
    last = asyncio.create_task(uses.flush())
    await asyncio.sleep(0)
    assert not last.done(), "it waits for what the first one began"
    records.may.set()
    await last
    assert records.written == {(HERE, one): 2, (THERE, one): 1}


async def test_a_write_that_was_stopped_before_it_began_stops_no_later_one():
    records, one = Slow(), uuid4()
    uses = Uses(records, Ticking())
    records.may.set()
    uses.count(HERE, [one])
    first = asyncio.create_task(uses.flush())
    await asyncio.sleep(0)
    uses._writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not records.began.is_set()
    await uses.flush()
    assert records.written == {(HERE, one): 1}


async def test_what_many_readers_used_is_written_at_once():
    records, ids = Slow(), [uuid4() for _ in range(3)]
    uses = Uses(records, Ticking())
    records.may.set()
    uses.count(HERE, ids)
    uses.count(THERE, ids[:1])
    await uses.flush()
    assert (records.calls, len(records.written)) == (1, 4)


async def test_several_who_write_at_once_write_each_use_once():
    records, ids = Slow(), [uuid4() for _ in range(3)]
    uses = Uses(records, Ticking())
    records.may.set()
    uses.count(HERE, ids)
    await asyncio.gather(*(uses.flush() for _ in range(5)))
    assert records.written == {(HERE, one): 1 for one in ids}


async def test_what_a_store_cannot_take_for_the_moment_is_noted_still():
    records, one = Slow(), uuid4()
    uses = Uses(records, Ticking())
    records.may.set()
    records.failing = 1
    uses.count(HERE, [one])
    uses.count(THERE, [one])
    with pytest.raises(Unavailable):
        await uses.flush()
    await uses.flush()
    assert records.written == {(HERE, one): 1, (THERE, one): 1}
