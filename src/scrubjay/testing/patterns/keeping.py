"""A pattern is a memory: it has versions, hears feedback, fades, and goes with what it was made from."""

import asyncio
from datetime import timedelta

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.patterns import TaskPattern
from scrubjay.testing.events import eventually
from scrubjay.testing.patterns.executions import Jay, coin_tosses, deployments
from scrubjay.testing.values import NOW


async def learned(jay: Jay, **where: str) -> TaskPattern:
    """The success pattern of the deployments."""
    await jay.tasks.store_many(deployments(), **where)
    pattern: TaskPattern = await jay.patterns.extract_pattern("deploy", "success", **where)
    return pattern


class Keeping:
    """What `feedback`, `history`, `get` and forgetting promise."""

    async def test_feedback_moves_the_confidence_both_ways(self, jay: Jay) -> None:
        before = await learned(jay)
        up = await jay.patterns.feedback(before.id, helpful=True)
        down = await jay.patterns.feedback(before.id, helpful=False, confidence_adjustment=0.5)
        assert up.confidence > before.confidence > down.confidence
        assert (down.helpful, down.unhelpful, down.version, down.usage_count) == (1.0, 5.0, 3, 2)
        assert down.success_indicators == before.success_indicators
        assert down.evidence == before.evidence

    async def test_feedback_outlives_learning_anew(self, jay: Jay) -> None:
        before = await learned(jay)
        await jay.patterns.feedback(before.id, helpful=False, confidence_adjustment=0.3)
        await jay.tasks.store_many(deployments(40, start=60))
        after = await jay.patterns.extract_pattern("deploy", "success")
        assert (after.version, after.unhelpful, after.samples) == (3, 3.0, 100)

    async def test_feedback_at_once_is_all_counted(self, jay: Jay) -> None:
        pattern = await learned(jay)
        await asyncio.gather(*(jay.patterns.feedback(pattern.id, helpful=True) for _ in range(8)))
        assert (await jay.patterns.get(pattern.id)).helpful == 8.0

    async def test_history_has_every_version_in_order(self, jay: Jay) -> None:
        pattern = await learned(jay)
        for helpful in (True, False, True):
            await jay.patterns.feedback(pattern.id, helpful)
        versions = await jay.patterns.history(pattern.id)
        assert [one.version for one in versions] == [1, 2, 3, 4]
        assert [(one.helpful, one.unhelpful) for one in versions] == [(0, 0), (1, 0), (1, 1), (2, 1)]
        assert versions[0].confidence == pytest.approx(pattern.confidence, abs=0.01)
        assert len({one.created_at for one in versions}) == 1

    async def test_a_stale_pattern_fades(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(at=NOW - timedelta(days=3 * 365)), project="old")
        stale = await jay.patterns.extract_pattern("deploy", "success", project="old")
        fresh = await learned(jay, project="new")
        assert stale.confidence < 0.3 < fresh.confidence
        assert stale.success_indicators[0].hits == fresh.success_indicators[0].hits == 27
        heard = await jay.patterns.feedback(stale.id, helpful=True, confidence_adjustment=1.0, project="old")
        assert stale.confidence < heard.confidence

    async def test_forgetting_an_execution_forgets_what_was_learned_from_it(self, jay: Jay) -> None:
        pattern = await learned(jay)
        await jay.forget(pattern.evidence[0], purge=True)
        with pytest.raises(NotFound):
            await jay.patterns.get(pattern.id)
        again = await jay.patterns.extract_pattern("deploy", "success")
        assert (again.samples, again.version) == (59, 1)

    async def test_a_pattern_is_trusted_no_more_than_its_executions(self, jay: Jay) -> None:
        pattern = await learned(jay)
        [memory] = await jay.list(kinds=["pattern"])
        assert memory.trust == "concluded"
        assert set(memory.derived_from) == set(pattern.evidence)

    async def test_what_is_unknown_is_not_found(self, jay: Jay) -> None:
        for verb in (
            jay.patterns.get("nothing"),
            jay.patterns.history("nothing"),
            jay.patterns.feedback("nothing", helpful=True),
        ):
            with pytest.raises(NotFound):
                await verb

    async def test_bad_feedback_is_refused_and_changes_nothing(self, jay: Jay) -> None:
        pattern = await learned(jay)
        with pytest.raises(InvalidInput, match="helpful"):
            await jay.patterns.feedback(pattern.id, "yes")
        with pytest.raises(InvalidInput, match="confidence_adjustment"):
            await jay.patterns.feedback(pattern.id, helpful=True, confidence_adjustment=7)
        assert (await jay.patterns.get(pattern.id)).version == 1

    async def test_events_say_what_was_learned_and_matched(self, jay: Jay) -> None:
        heard: list[tuple[str, object]] = []
        stop = jay.subscribe("memory.pattern.*", lambda event: heard.append((event.name, event.data["patterns"])))
        pattern = await learned(jay)
        await jay.patterns.find_matching_patterns("Deploy the mail service to production")
        await jay.patterns.find_matching_patterns("something else entirely", 0.99)
        await eventually(lambda: len(heard) >= 2)
        stop()
        assert heard == [("memory.pattern.learned", [pattern.id]), ("memory.pattern.matched", [pattern.id])]

    async def test_search_is_by_type_and_surest_first(self, jay: Jay) -> None:
        sure = await learned(jay)
        await jay.tasks.store_many([{**one, "success": place < 6} for place, one in enumerate(coin_tosses(12))])
        weak = await jay.patterns.extract_pattern("translate|localize", "success")
        wrong = await jay.patterns.extract_pattern("translate|localize", "failure")
        everything = await jay.patterns.search_patterns()
        assert [one.confidence for one in everything] == sorted((one.confidence for one in everything), reverse=True)
        assert {one.id for one in everything} == {sure.id, weak.id, wrong.id}
        assert [one.id for one in await jay.patterns.search_patterns("deployment")] == [sure.id]
        assert [one.id for one in await jay.patterns.search_patterns("translate", "failure")] == [wrong.id]
        assert len(await jay.patterns.search_patterns(limit=1)) == 1
        with pytest.raises(InvalidInput, match="pattern_type"):
            await jay.patterns.search_patterns(pattern_type="luck")
