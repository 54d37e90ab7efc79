"""A use counts when it is reported, once for each receipt, and for nobody else's memories."""

import asyncio

import pytest

from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.testing.tasks.searching import QUESTION
from scrubjay.testing.tasks.storing import Jay, an_execution


class Reusing:
    """What receipts and `used` promise."""

    async def test_listing_counts_as_no_use(self, jay: Jay) -> None:
        done = await jay.tasks.store_execution(**an_execution())
        for _ in range(3):
            [task] = await jay.tasks.search_similar(QUESTION)
            assert task.reused_count == 0
        await jay.parts.uses.flush()
        assert (await jay.get(done.id)).uses == 0

    async def test_a_receipt_counts_once(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        [task] = await jay.tasks.search_similar(QUESTION)
        used = await jay.tasks.used(task.receipt, "helped", note="saved an hour", task_id="next")
        assert (used.counted, used.memories, used.credits[0].helped) == (True, (task.memory_id,), 1)
        again = await jay.tasks.used(task.receipt, "helped")
        assert (again.counted, again.credits[0].reused_count) == (False, 1)
        with pytest.raises(Conflict, match="counts once"):
            await jay.tasks.used(task.receipt, "hurt")
        [task] = await jay.tasks.search_similar(QUESTION)
        assert (task.reused_count, task.credit.hurt) == (1, 0)

    async def test_every_use_is_counted_also_when_many_report_at_once(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        receipts = [(await jay.tasks.search_similar(QUESTION))[0].receipt for _ in range(9)]
        outcomes = ["helped", "hurt", "neutral"] * 3
        # Each is reported twice.
        await asyncio.gather(
            *(jay.tasks.used(*one) for one in [*zip(receipts, outcomes, strict=True)] * 2),
        )
        [task] = await jay.tasks.search_similar(QUESTION)
        assert (task.credit.helped, task.credit.hurt, task.credit.neutral, task.reused_count) == (3, 3, 3, 9)

    async def test_a_corrected_execution_keeps_its_credit(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        [task] = await jay.tasks.search_similar(QUESTION)
        await jay.tasks.used(task.receipt, "helped")
        await jay.tasks.store_execution(**an_execution(success=False))
        [corrected] = await jay.tasks.search_similar(QUESTION)
        assert corrected.memory_id != task.memory_id
        assert corrected.reused_count == 1
        late = await jay.tasks.used(corrected.receipt, "hurt")
        assert (late.credits[0].helped, late.credits[0].hurt) == (1, 1)

    async def test_of_two_alike_the_one_that_helped_comes_first(self, jay: Jay) -> None:
        for task_id in ("one", "two"):
            await jay.tasks.store_execution(**an_execution(task_id))
        first, second = await jay.tasks.search_similar(QUESTION)
        assert first.score == pytest.approx(second.score, abs=0.05)
        await jay.tasks.used(second.receipt, "helped")
        await jay.tasks.used(first.receipt, "hurt")
        again = await jay.tasks.search_similar(QUESTION)
        assert [task.task_id for task in again] == [second.task_id, first.task_id]
        assert abs(again[0].score - second.score) < 0.05

    async def test_a_receipt_that_was_changed_is_refused(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        [task] = await jay.tasks.search_similar(QUESTION)
        changed = task.receipt[:20] + ("A" if task.receipt[20] != "A" else "B") + task.receipt[21:]
        for wrong in ("", "use-", "use-x", "use-ÄÖ", "abc", task.receipt + "AAAA", task.receipt[:-3], changed, None):
            with pytest.raises(InvalidInput, match="receipt is"):
                await jay.tasks.used(wrong, "helped")
        with pytest.raises(InvalidInput, match="outcome is 'great'"):
            await jay.tasks.used(task.receipt, "great")
        assert (await jay.tasks.search_similar(QUESTION))[0].reused_count == 0

    async def test_a_receipt_is_worth_nothing_to_another_tenant_or_user(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution(), user="anna")
        [task] = await jay.tasks.search_similar(QUESTION, user="anna")
        with pytest.raises(InvalidInput, match="another tenant"):
            await jay.for_tenant("other").tasks.used(task.receipt, "hurt")
        with pytest.raises(NotFound):
            await jay.tasks.used(task.receipt, "hurt", user="bob")
        assert (await jay.tasks.search_similar(QUESTION))[0].reused_count == 0

    async def test_credit_goes_with_what_is_purged(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        [task] = await jay.tasks.search_similar(QUESTION)
        await jay.tasks.used(task.receipt, "helped")
        await jay.forget(task.memory_id, purge=True)
        assert await jay.count(kinds=["outcome"]) == 0
        with pytest.raises(NotFound, match="purged"):
            await jay.tasks.used(task.receipt, "helped")

    async def test_what_was_reported_can_be_read(self, jay: Jay) -> None:
        await jay.tasks.store_execution(**an_execution())
        [task] = await jay.tasks.search_similar(QUESTION)
        await jay.tasks.used(task.receipt, "helped", note="saved an hour")
        [outcome] = await jay.list(kinds=["outcome"])
        assert "saved an hour" in outcome.content
        assert outcome.derived_from == (task.memory_id,)
