"""What every log of work has to do."""

import asyncio
from typing import Any, Final

from scrubjay.model import Scope
from scrubjay.model.work import StepDone, Trouble
from scrubjay.ports import Worklog
from scrubjay.testing.values import HOUR, NOW, SECOND, a_scope

HERE: Final = a_scope(session="s-1")


async def failed(log: Worklog, item: str = "an item", **overrides: Any) -> Trouble:  # noqa: ANN401 -- any argument of it
    """Let an item of `drain` fail at `NOW`, once more; it is parked after three."""
    given = {"error": "IdTaken: taken", "at": NOW, "tries": 3, "pause": SECOND, **overrides}
    return await log.failed("drain", item, given.pop("scope", HERE), **given)


class WorklogSuite:
    """Give it a fixture `log`: a store without entries."""

    async def test_it_begins_empty(self, log: Worklog) -> None:
        assert await log.runs() == {}
        assert await log.troubles(limit=10) == []
        assert await log.counted() == (0, 0)
        assert await log.resting("drain", now=NOW) == set()

    async def test_runs_add_up(self, log: Worklog) -> None:
        await log.ran(StepDone(step="drain", done=3, seconds=1.5), worker="one", at=NOW)
        await log.ran(StepDone(step="drain", done=4, error="away"), worker="two", at=NOW + HOUR)
        [run] = (await log.runs()).values()
        assert (run.step, run.done, run.total, run.runs, run.failures) == ("drain", 4, 7, 2, 1)
        assert (run.finished_at, run.succeeded_at, run.worker, run.error) == (NOW + HOUR, NOW, "two", "away")
        await log.ran(StepDone(step="drain"), worker="one", at=NOW + 2 * HOUR)
        run = (await log.runs())["drain"]
        assert (run.succeeded_at, run.error, run.failures) == (NOW + 2 * HOUR, "", 1)

    async def test_a_failure_rests_longer_each_time_and_is_parked_in_the_end(self, log: Worklog) -> None:
        first = await failed(log)
        assert (first.tries, first.retry_at, first.parked_at) == (1, NOW + SECOND, None)
        second = await failed(log, at=NOW + HOUR, error="again")
        assert (second.tries, second.retry_at, second.error) == (2, NOW + HOUR + 2 * SECOND, "again")
        assert (second.first_at, second.last_at) == (NOW, NOW + HOUR)
        third = await failed(log, at=NOW + 2 * HOUR)
        assert (third.tries, third.parked_at) == (3, NOW + 2 * HOUR)
        assert await log.troubles(limit=10) == [third]
        assert await log.counted() == (0, 1)

    async def test_what_rests_is_told(self, log: Worklog) -> None:
        await failed(log)
        assert await log.resting("drain", now=NOW) == {"an item"}
        assert await log.resting("distill", now=NOW) == set()
        assert await log.resting("drain", now=NOW + SECOND) == set()
        assert await log.resting("drain", now=NOW - SECOND) == set(), "the clock was set back"
        await failed(log)
        await failed(log)
        assert await log.resting("drain", now=NOW + HOUR) == {"an item"}

    async def test_what_is_dealt_with_is_forgotten(self, log: Worklog) -> None:
        await failed(log)
        await failed(log, "another")
        await log.settled("drain", "an item")
        await log.settled("drain", "an item")
        assert [one.item for one in await log.troubles(limit=10)] == ["another"]
        assert (await failed(log)).tries == 1

    async def test_what_would_be_lost_is_kept(self, log: Worklog) -> None:
        assert (await failed(log, body='{"content": "Grüße"}')).body == '{"content": "Grüße"}'
        assert (await failed(log)).body == '{"content": "Grüße"}'
        [stored] = await log.troubles(limit=10)
        assert stored.body == '{"content": "Grüße"}'
        assert stored.scope == HERE

    async def test_parked_ones_come_first_and_tenants_apart(self, log: Worklog) -> None:
        await failed(log, "early")
        await failed(log, "parked", at=NOW + HOUR, tries=1)
        await failed(log, "theirs", scope=Scope(tenant="other"), tries=1)
        assert [one.item for one in await log.troubles("default", limit=10)] == ["parked", "early"]
        assert [one.item for one in await log.troubles("other", limit=10)] == ["theirs"]
        assert len(await log.troubles(limit=10)) == 3
        assert len(await log.troubles(limit=1)) == 1
        assert await log.counted() == (1, 2)

    async def test_what_is_parked_can_be_tried_again(self, log: Worklog) -> None:
        mine = await failed(log, "mine", tries=1, body="{}")
        theirs = await failed(log, "theirs", tries=1, scope=Scope(tenant="other"))
        assert await log.retry("default", [theirs.id], now=NOW) == []
        assert await log.retry("default", now=NOW + HOUR) == [mine]
        assert await log.resting("drain", now=NOW + HOUR) == {"theirs"}
        again = next(one for one in await log.troubles("default", limit=10))
        assert (again.tries, again.parked_at, again.retry_at, again.body) == (0, None, NOW + HOUR, "{}")
        assert await log.retry("other", [theirs.id], now=NOW) == [theirs]
        assert await log.counted() == (2, 0)

    async def test_no_failure_is_lost_among_many_at_once(self, log: Worklog) -> None:
        await asyncio.gather(*(failed(log, tries=100) for _ in range(10)))
        [found] = await log.troubles(limit=10)
        assert found.tries == 10
