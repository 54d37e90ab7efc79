"""Truth without a model to ask: what repeats a fact is merged, what may contradict one is flagged."""

import pytest

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.facts import Facts
from scrubjay.model.facts import CONFLICT_KIND, FactConflict
from scrubjay.testing.values import Ticking


class TruthFactsSuite:
    """Nothing is dropped: a flag names both sides until somebody decides."""

    async def test_what_says_the_same_in_other_words_is_merged(self, core: Core) -> None:
        facts = Facts(core)
        first = await facts.store("The shop sells used bicycles", project="atlas")
        for again in ("the shop sells used BICYCLES!", "Used bicycles the shop sells"):
            done = await facts.store(again, project="atlas")
            assert (done.outcome, done.id) == ("duplicate_of", first.id), done
            assert "telling words in common" in done.explanation
        await core.parts.uses.flush()
        [kept] = await facts.list(project="atlas")
        assert (kept.content, kept.access_count) == ("The shop sells used bicycles", 2)

    async def test_what_differs_in_a_number_or_has_data_is_not_merged(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("Reports are archived on day 3")
        assert (await facts.store("Reports are archived on day 4")).outcome == "stored"
        assert (await facts.store("reports are archived on day 3", data={"by": "cron"})).outcome == "stored"
        assert (await facts.store("REPORTS are archived on day 3", insert_only=True)).outcome == "stored"
        assert len(await facts.list()) == 4

    async def test_only_facts_of_the_same_scope_and_type_are_merged(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("The shop sells used bicycles", project="atlas")
        assert (await facts.store("The shop sells used bicycles!", project="other")).outcome == "stored"
        assert (await facts.store("The shop sells used bicycles!", project="atlas", user="u")).outcome == "stored"
        assert (await facts.store("The shop sells used bicycles!", project="atlas", type="rule")).outcome == "stored"

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("The office is in Berlin", "The office is in Munich"),
            ("The payment service retries three times", "The payment service retries five times"),
            ("We deploy on Fridays", "We do not deploy on Fridays"),
            ("Feature flags are enabled in staging", "Feature flags are disabled in staging"),
        ],
    )
    async def test_a_contradiction_is_flagged_with_both_sides(self, core: Core, one: str, other: str) -> None:
        facts = Facts(core)
        first = await facts.store(one, project="atlas")
        second = await facts.store(other, project="atlas")
        assert second.outcome == "stored"
        [flagged] = second.conflicts
        assert (flagged.relation, flagged.one.id, flagged.other.id) == ("contradiction", first.id, second.id)
        assert flagged.explanation
        [raised] = await facts.conflicts(project="atlas")
        assert (raised.id, raised.one.id, raised.other.id) == (flagged.id, first.id, second.id)
        assert await facts.conflicts(project="other") == []
        assert {one.id for one in await facts.list(project="atlas")} == {first.id, second.id}, "both stay"

    async def test_a_flag_is_no_knowledge(self, core: Core) -> None:
        await self._flagged(core)
        assert await core.count(kinds=[CONFLICT_KIND]) == 0
        assert all(hit.memory.kind != CONFLICT_KIND for hit in await core.recall("office Berlin Munich"))
        assert all(hit.memory.kind != CONFLICT_KIND for hit in await core.recall(""))
        assert "another value" not in (await core.context("office")).text

    async def test_keeping_one_side_closes_the_other(self, core: Core, clock: Ticking) -> None:
        facts, flagged = Facts(core), await self._flagged(core)
        clock.advance()
        [kept] = await facts.resolve(flagged.id, keep=flagged.other.id, reason="they moved")
        assert kept.id == flagged.other.id
        assert [one.id for one in await facts.list()] == [kept.id]
        lost = await facts.get_by_id(flagged.one.id)
        assert (lost.memory.superseded_by, lost.memory.closed_because) == (kept.id, "resolved: they moved")
        assert [one.id for one in await facts.history(id=kept.id)] == [lost.id, kept.id]
        assert await facts.conflicts() == []
        with pytest.raises(NotFound, match="no open conflict"):
            await facts.resolve(flagged.id, keep=flagged.one.id)

    async def test_keeping_both_is_not_asked_again(self, core: Core) -> None:
        facts, flagged = Facts(core), await self._flagged(core)
        assert len(await facts.resolve(flagged.id, keep="both")) == 2
        assert await facts.conflicts() == []
        assert (await facts.store("The office is in Munich")).outcome == "refreshed"
        assert await facts.conflicts() == []
        assert len(await facts.list()) == 2

    async def test_a_flag_ends_with_either_side(self, core: Core) -> None:
        facts, flagged = Facts(core), await self._flagged(core)
        await facts.delete(flagged.one.id)
        assert await facts.conflicts() == []
        with pytest.raises(NotFound):
            await facts.resolve(flagged.id, keep="both")

    async def test_resolving_wants_one_of_the_sides(self, core: Core) -> None:
        facts, flagged = Facts(core), await self._flagged(core)
        with pytest.raises(InvalidInput, match="keep is"):
            await facts.resolve(flagged.id, keep="neither")
        assert [one.id for one in await facts.conflicts()] == [flagged.id]

    async def test_facts_told_together_are_compared_too(self, core: Core) -> None:
        facts = Facts(core)
        first, second, third, fourth = await facts.store_many(
            [
                "The office is in Berlin",
                "The office is in Munich",
                "the office is in Berlin.",
                "The lift was repaired",
            ],
            project="atlas",
        )
        assert (third.outcome, third.id) == ("duplicate_of", first.id)
        assert [one.one.id for one in second.conflicts] == [first.id]
        assert fourth.conflicts == ()
        assert len(await facts.conflicts()) == 1

    @pytest.mark.parametrize(
        "thing", ["build server", "main database", "release branch", "test runner", "backup window"]
    )
    async def test_what_contradicts_a_fact_that_is_told_again_with_it_is_flagged_once(
        self, core: Core, clock: Ticking, thing: str
    ) -> None:
        facts = Facts(core)
        known = await facts.store(f"The {thing} is staging", project="atlas")
        clock.advance()
        again, other = await facts.store_many(
            [f"The {thing} is staging", f"The {thing} is production"], project="atlas"
        )
        assert (again.outcome, again.id) == ("refreshed", known.id)
        [flagged] = other.conflicts
        assert (flagged.one.id, flagged.other.id) == (known.id, other.id)
        assert [one.id for one in await facts.conflicts(project="atlas")] == [flagged.id]

    async def test_what_contradicts_a_fact_that_stays_forgotten_is_not_flagged(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("The office is in Berlin", id="office")
        await facts.delete("office")
        again, other = await facts.store_many(
            [{"content": "The office is in Berlin", "id": "office"}, "The office is in Munich"]
        )
        assert (again.outcome, again.fact.known_to is None) == ("refreshed", False)
        assert (other.outcome, other.conflicts) == ("stored", ())
        assert (await facts.store("The office is in Berlin", id="office")).conflicts == ()

    async def test_a_fact_with_a_key_replaces_and_is_not_compared(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("The office is in Berlin", key="fact:office")
        done = await facts.store("The office is in Munich", key="fact:office")
        assert (done.outcome, done.conflicts) == ("superseded", ())
        beside = await facts.store("The office is in Hamburg")
        assert [one.one.key for one in beside.conflicts] == ["fact:office"]

    async def _flagged(self, core: Core) -> FactConflict:
        facts = Facts(core)
        await facts.store("The office is in Berlin")
        [flagged] = (await facts.store("The office is in Munich")).conflicts
        return flagged
