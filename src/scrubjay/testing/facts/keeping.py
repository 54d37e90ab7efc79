"""Keeping: importance, deleting, restoring, purging and expiry."""

import asyncio

import pytest

from scrubjay.core import Core
from scrubjay.errors import Conflict, NotFound
from scrubjay.memories.facts import Facts
from scrubjay.model import new_id
from scrubjay.testing.values import DAY, NOW, Ticking


class KeepingFactsSuite:
    """A deleted fact can come back; a purged one is gone."""

    async def test_importance_is_set(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", key="fact:db", project="atlas")).fact
        changed = await facts.update_importance(fact.id, 0.9, project="atlas")
        assert (changed.id, changed.importance) == (fact.id, 0.9)
        assert len(await facts.history("fact:db", project="atlas")) == 1, "it says the same, so it is the same version"

    async def test_a_boost_is_kept_within_bounds_and_says_so(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", importance=0.5)).fact
        boosted = await facts.boost_importance(fact.id, 0.25)
        assert (boosted.fact.importance, boosted.before, boosted.was_clamped) == (0.75, 0.5, False)
        boosted = await facts.boost_importance(fact.id, 0.5)
        assert (boosted.fact.importance, boosted.was_clamped) == (1.0, True)
        assert "kept within 0 and 1" in boosted.explanation
        boosted = await facts.boost_importance(fact.id, -1.0)
        assert (boosted.fact.importance, boosted.was_clamped) == (0.0, False)

    async def test_of_many_boosts_at_once_none_is_lost(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", importance=0.0)).fact
        await asyncio.gather(*(facts.boost_importance(fact.id, 0.0625) for _ in range(8)))
        assert (await facts.get_by_id(fact.id)).importance == 0.5

    async def test_what_is_deleted_is_gone_but_for_its_history(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", key="fact:db", project="atlas")).fact
        before = clock.now
        clock.advance()
        receipt = await facts.delete(fact.id, reason="moved to the cloud", project="atlas")
        assert (receipt.ids, receipt.purged) == ((fact.id,), False)
        with pytest.raises(NotFound):
            await facts.get_by_key("fact:db", project="atlas")
        assert not await facts.search("PostgreSQL", project="atlas")
        [version] = await facts.history("fact:db", project="atlas")
        assert (version.is_deleted, version.memory.closed_because) == (True, "forgotten: moved to the cloud")
        assert [one.content for one in await facts.as_of("fact:db", known_at=before, project="atlas")] == ["PostgreSQL"]
        with pytest.raises(NotFound, match="forgotten"):
            await facts.delete(fact.id, project="atlas")

    async def test_deleting_by_key_reaches_its_own_scope_only(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("Everybody's", key="k")
        await facts.store("Anna's", key="k", user="anna")
        await facts.store("Anna's in atlas", key="k", user="anna", project="atlas")
        await facts.delete_by_key("k", user="anna")
        assert {one.content for one in await facts.list()} == {"Everybody's", "Anna's in atlas"}
        assert (await facts.get_by_key("k", user="anna")).content == "Everybody's"
        with pytest.raises(NotFound, match="in user=anna itself"):
            await facts.delete_by_key("k", user="anna")

    async def test_what_was_deleted_is_restored_as_a_new_version(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", key="fact:db", data={"port": 5432}, importance=0.7)).fact
        deleted = clock.advance(DAY)
        await facts.delete(fact.id)
        clock.advance(DAY)
        [restored] = await facts.restore(fact.id, reason="it was right")
        assert (restored.content, restored.data, restored.importance) == ("PostgreSQL", {"port": 5432}, 0.7)
        assert (restored.valid_from, restored.known_from) == (fact.valid_from, clock.now)
        assert restored.memory.reason == "restored: it was right"
        assert (await facts.get_by_key("fact:db")).id == restored.id
        assert [hit.memory.id for hit in await facts.search("PostgreSQL")] == [restored.id]
        assert await facts.as_of("fact:db", known_at=deleted) == [], "in between it was not believed"
        for history in (await facts.history("fact:db"), await facts.history(id=restored.id)):
            assert [one.id for one in history] == [fact.id, restored.id]
        with pytest.raises(NotFound):
            await facts.restore(restored.id)

    async def test_restoring_a_key_brings_its_whole_timeline_back(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("Ann leads", key="lead", valid_from=NOW - 30 * DAY)
        await facts.store("Bob leads", key="lead", valid_from=NOW - 10 * DAY)
        clock.advance()
        await facts.delete_by_key("lead")
        assert await facts.as_of("lead", valid_at=NOW - 20 * DAY) == []
        clock.advance()
        restored = await facts.restore(key="lead")
        assert {one.content for one in restored} == {"Ann leads", "Bob leads"}
        assert [one.content for one in await facts.as_of("lead", valid_at=NOW - 20 * DAY)] == ["Ann leads"]
        assert (await facts.get_by_key("lead")).content == "Bob leads"

    async def test_restoring_over_another_value_is_refused(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        for key in ("k", None):
            old = (await facts.store("Prefers tabs", key=key, user="anna")).fact
            await facts.delete(old.id)
            clock.advance()
            await facts.store("Prefers spaces" if key else "Prefers tabs", key=key, user="anna")
            with pytest.raises(Conflict, match="has a value in user=anna"):
                await facts.restore(old.id)
            assert (await facts.get_by_id(old.id)).is_deleted
        assert len(await facts.list(user="anna")) == 2

    async def test_restoring_a_stretch_of_the_past_that_is_taken_is_refused(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        old = (await facts.store("Ann led", key="lead", valid_from=NOW - 30 * DAY, valid_to=NOW - 10 * DAY)).fact
        await facts.delete(old.id)
        clock.advance()
        taken = await facts.store("Cleo led", key="lead", valid_from=NOW - 20 * DAY, valid_to=NOW - 15 * DAY)
        with pytest.raises(Conflict, match=str(taken.fact.id)):
            await facts.restore(old.id)
        await facts.delete_by_key("lead")
        [restored] = await facts.restore(old.id)
        assert (restored.valid_from, restored.valid_to) == (NOW - 30 * DAY, NOW - 10 * DAY)

    async def test_of_many_who_restore_at_once_one_wins(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL", key="fact:db")).fact
        await facts.delete(fact.id)
        done = await asyncio.gather(*(facts.restore(fact.id) for _ in range(6)), return_exceptions=True)
        assert sum(isinstance(one, Conflict) for one in done) == 5
        assert len(await facts.list()) == 1

    async def test_purging_leaves_no_trace(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        first = await facts.store("PostgreSQL 14", key="fact:db", project="atlas")
        clock.advance()
        await facts.store("PostgreSQL 18", key="fact:db", project="atlas")
        await facts.store("Elsewhere", key="fact:db", project="atlas", user="anna")
        receipt = await facts.purge(key="fact:db", project="atlas")
        assert (receipt.purged, set(receipt.remaining.values())) == (True, {0})
        with pytest.raises(NotFound):
            await facts.get_by_id(first.id)
        [kept] = await facts.list()
        assert kept.content == "Elsewhere"
        await facts.delete(kept.id)
        [restored] = await facts.restore(kept.id)
        receipt = await facts.purge(restored.id)
        assert {kept.id, restored.id} <= {*receipt.ids, *receipt.derived}, "with what it was restored from"
        with pytest.raises(NotFound):
            await facts.purge(kept.id)

    async def test_what_has_expired_is_cleaned_up(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        short = (await facts.store("Freeze this week", expires_at=NOW + DAY, project="atlas")).fact
        await facts.store("Freeze this year", expires_at=NOW + 99 * DAY, project="atlas")
        elsewhere = (await facts.store("Freeze elsewhere", expires_at=NOW + DAY, project="other")).fact
        assert (await facts.cleanup_expired()).ids == ()
        clock.advance(2 * DAY)
        assert [one.content for one in await facts.list(project="atlas")] == ["Freeze this year"]
        assert (await facts.cleanup_expired(project="atlas")).ids == (short.id,)
        assert (await facts.get_by_id(short.id)).memory.closed_because == "forgotten: expired"
        [restored] = await facts.restore(short.id)
        assert restored.expires_at is None
        assert (await facts.cleanup_expired(purge=True)).ids == (elsewhere.id,)
        with pytest.raises(NotFound):
            await facts.get_by_id(elsewhere.id)

    async def test_purging_the_expired_leaves_the_newer_value_of_the_key(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("Freeze until Friday", key="rule:freeze", expires_at=NOW + DAY)
        clock.advance()
        await facts.store("No freeze", key="rule:freeze")
        clock.advance(2 * DAY)
        assert (await facts.cleanup_expired(purge=True)).purged
        assert [one.content for one in await facts.list()] == ["No freeze"]
        assert (await facts.get_by_key("rule:freeze")).content == "No freeze"

    async def test_what_the_scope_does_not_hold_is_not_changed(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("Everybody's", key="k")).fact
        for change in (
            facts.update_importance(fact.id, 0.9, user="anna"),
            facts.boost_importance(fact.id, 0.1, user="anna"),
            facts.delete(fact.id, user="anna"),
            facts.update_importance(new_id(), 0.9),
        ):
            with pytest.raises(NotFound):
                await change
        kept = await facts.get_by_key("k")
        assert (kept.id, kept.importance, kept.known_to) == (fact.id, 0.5, None)
