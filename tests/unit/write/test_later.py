"""Work that is left for later: bounded, counted, done beside, and never anybody else's problem."""

import asyncio
import threading
import time

import pytest

from scrubjay.errors import StoreUnavailable
from scrubjay.write import later as module
from scrubjay.write.later import Later


@pytest.fixture
async def later():
    later = Later(most=3, weight=100, pauses=(0.0, 0.0))
    later.open()
    yield later
    await later.close()


class Work:
    """Fails as often as it is told to, then is done."""

    def __init__(self, *errors: BaseException, result: bool = True) -> None:
        self.errors = list(errors)
        self.result = result
        self.done = 0

    async def __call__(self) -> bool:
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)
        self.done += 1
        return self.result


async def test_it_is_done_in_order_and_counted(later):
    seen = []

    def work(number):
        async def one():
            seen.append(number)
            return number != 1

        return one

    for number in range(3):
        assert later.put("it", work(number))
    assert (later.waiting, seen) == (3, [])
    await later.flush()
    assert seen == [0, 1, 2]
    assert dict(later.counts) == {"queued": 3, "written": 2, "skipped": 1}


async def test_a_full_queue_drops_and_counts(later):
    work = Work()
    assert [later.put("it", work) for _ in range(5)] == [True, True, True, False, False]
    await later.flush()
    assert (later.counts["dropped"], work.done) == (2, 3)
    assert later.put("heavy", work, weight=60)
    assert not later.put("heavy", work, weight=60)
    await later.flush()
    assert later.put("heavy", work, weight=60)


async def test_a_store_that_is_away_is_asked_again(later):
    work = Work(StoreUnavailable(), StoreUnavailable())
    later.put("it", work)
    await later.flush()
    assert (work.done, later.counts["written"], later.counts["failed"]) == (1, 1, 0)
    gone = Work(*[StoreUnavailable() for _ in range(9)])
    later.put("it", gone)
    await later.flush()
    assert (gone.done, len(gone.errors), later.counts["failed"]) == (0, 6, 1)


@pytest.mark.parametrize("error", [ValueError("no"), ZeroDivisionError(), asyncio.CancelledError()])
async def test_no_failure_ends_the_queue(later, error, caplog):
    work = Work()
    later.put("a faulty one", Work(error))
    later.put("the next", work)
    await later.flush()
    assert (work.done, later.counts["failed"]) == (1, 1)
    assert "a faulty one" in caplog.text


async def test_any_thread_may_leave_work():
    later = Later(most=1_000)
    later.open()
    work = Work()
    threads = [threading.Thread(target=lambda: [later.put("it", work) for _ in range(100)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    await later.flush()
    assert work.done == 400


async def test_no_task_is_there_while_there_is_no_work(later):
    def tasks():
        return [task for task in asyncio.all_tasks() if task.get_name() == "scrubjay-later"]

    assert tasks() == []
    later.put("it", Work())
    await later.flush()
    await asyncio.sleep(0)
    assert tasks() == []


async def test_closing_finishes_what_there_is_and_takes_no_more(later):
    work = Work()
    later.put("it", work)
    await later.close()
    await later.close()
    assert work.done == 1
    assert not later.put("it", work)
    assert later.counts["dropped"] == 1


async def test_closing_has_patience_and_an_end(later, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.05)

    async def endless():
        await asyncio.sleep(60)
        return True

    later.put("endless", endless)
    later.put("behind it", Work())
    began = time.monotonic()
    await later.close()
    assert time.monotonic() - began < 30
    assert later.counts["dropped"] == 2


async def test_before_it_is_open_nothing_is_taken():
    later = Later()
    assert not later.put("it", Work())
    await later.close()
