"""Patterns are learned from what happened, all of it, and from nothing else."""

import asyncio
from dataclasses import replace

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.testing.patterns.executions import Jay, coin_tosses, deployments


class Learning:
    """What `learn`, `extract_pattern` and `families` promise."""

    async def test_an_effect_is_learned_with_its_counts(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        patterns = await jay.patterns.learn()
        success = next(one for one in patterns if one.pattern_type == "success")
        failure = next(one for one in patterns if one.pattern_type == "failure")
        best = success.success_indicators[0]
        assert (best.kind, best.what) == ("order", ("migrate", "test"))
        assert best.evidence == ("27 of 30 similar tasks that ran migrate before test succeeded; 3 of 30 that did not")
        assert failure.failure_indicators[0].what == ("test", "migrate")
        assert 0.7 < success.confidence < 27 / 30
        assert (success.samples, success.successes, success.success_rate) == (60, 30, 0.5)
        assert "migrate before test" in success.recommended_context

    async def test_evidence_names_executions_that_have_it(self, jay: Jay) -> None:
        done = await jay.tasks.store_many(deployments())
        good = {one.id for one in done if one.memory.data["tools"][-1] == "test" and one.memory.data["success"]}
        success = next(one for one in await jay.patterns.learn() if one.pattern_type == "success")
        assert set(success.evidence) == good

    async def test_nothing_is_learned_where_outcomes_follow_from_nothing(self, jay: Jay) -> None:
        await jay.tasks.store_many(coin_tosses())
        assert await jay.patterns.learn() == []
        assert await jay.patterns.search_patterns() == []

    async def test_learning_again_changes_nothing(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        assert await jay.patterns.learn()
        before = await jay.patterns.search_patterns()
        assert await jay.patterns.learn() == []
        after = await jay.patterns.search_patterns()
        # Confidence fades while the clock goes on, if only by a little.
        assert [replace(one, confidence=0.5) for one in after] == [replace(one, confidence=0.5) for one in before]

    async def test_learning_twice_at_once_makes_one_of_each(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        await asyncio.gather(*(jay.patterns.learn() for _ in range(4)))
        kept = await jay.patterns.search_patterns()
        assert len({one.id for one in kept}) == len(kept)
        assert all(one.version == 1 for one in kept)

    async def test_new_executions_are_learned_from(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        first = next(one for one in await jay.patterns.learn() if one.pattern_type == "success")
        await jay.tasks.store_many(deployments(60, start=60))
        second = next(one for one in await jay.patterns.learn() if one.pattern_type == "success")
        assert (second.id, second.version, second.samples) == (first.id, 2, 120)
        assert second.confidence > first.confidence
        assert second.created_at == first.created_at <= second.updated_at

    async def test_what_no_longer_holds_is_closed(self, jay: Jay) -> None:
        done = await jay.tasks.store_many(deployments())
        [*_, pattern] = await jay.patterns.learn()
        await jay.forget([one.id for one in done[6:]], reason="a mistake")
        await jay.tasks.store_many(coin_tosses())
        await jay.patterns.learn()
        assert await jay.patterns.search_patterns() == []
        assert [one.id for one in await jay.patterns.history(pattern.id)] == [pattern.id]

    async def test_a_corrected_execution_counts_as_corrected(self, jay: Jay) -> None:
        told = deployments()
        await jay.tasks.store_many(told)
        await jay.patterns.learn()
        await jay.tasks.store_many([{**one, "success": False} for one in told])
        await jay.patterns.learn()
        assert await jay.patterns.search_patterns() == []

    async def test_extraction_looks_at_what_the_expression_finds(self, jay: Jay) -> None:
        await jay.tasks.store_many([*deployments(), *coin_tosses()])
        pattern = await jay.patterns.extract_pattern("DEPLOY(ment)?", "success")
        assert (pattern.samples, pattern.successes) == (60, 30)
        assert pattern.success_indicators[0].what == ("migrate", "test")
        assert (await jay.patterns.get(pattern.id)).id == pattern.id

    async def test_a_success_rate_is_over_all_similar_tasks(self, jay: Jay) -> None:
        lucky = [{**one, "success": place < 3} for place, one in enumerate(coin_tosses(10))]
        await jay.tasks.store_many(lucky)
        pattern = await jay.patterns.extract_pattern("translate", "success")
        assert (pattern.samples, pattern.successes, pattern.success_rate) == (10, 3, 0.3)
        assert pattern.success_indicators == ()
        assert pattern.confidence < 0.3

    async def test_three_lucky_runs_are_not_certainty(self, jay: Jay) -> None:
        await jay.tasks.store_many([{**one, "success": True} for one in coin_tosses(3)])
        pattern = await jay.patterns.extract_pattern("translate", "success")
        assert pattern.success_rate == 1
        assert pattern.confidence < 0.5

    async def test_too_few_executions_are_no_pattern(self, jay: Jay) -> None:
        assert await jay.patterns.extract_pattern("deploy", "success") is None
        await jay.tasks.store_many([{**one, "success": True} for one in coin_tosses(2)])
        assert await jay.patterns.extract_pattern("translate", "success") is None
        assert await jay.patterns.extract_pattern("translate", "success", 2) is not None
        assert await jay.patterns.extract_pattern("translate", "failure", 1) is None

    async def test_what_makes_success_cheap(self, jay: Jay) -> None:
        told = [
            {**one, "success": True, "cost": 1 + place % 2 + place / 1_000} for place, one in enumerate(deployments())
        ]
        await jay.tasks.store_many(told)
        pattern = await jay.patterns.extract_pattern("deploy", "optimization")
        assert pattern.success_indicators[0].what == ("migrate", "test")
        assert "cheaper half" in pattern.success_indicators[0].evidence
        assert pattern.success_rate == 1

    async def test_projects_are_learned_from_apart_unless_allowed(self, jay: Jay) -> None:
        told = deployments()
        for project, half in (("shop", told[:30]), ("blog", told[30:])):
            await jay.tasks.store_many(half, project=project)
        assert await jay.patterns.extract_pattern("deploy", "success") is None
        alone = await jay.patterns.extract_pattern("deploy", "success", project="shop")
        assert alone.samples == 30
        both = await jay.patterns.extract_pattern("deploy", "success", across_projects=True)
        assert both.samples == 60
        assert {one.scope.project for one in await jay.patterns.search_patterns(project="blog")} == {None}
        with pytest.raises(InvalidInput, match="across_projects"):
            await jay.patterns.learn(across_projects=True, project="shop")

    async def test_users_are_learned_from_apart_unless_allowed(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(), user="anna", project="shop")
        await jay.tasks.store_many(coin_tosses(), project="shop")
        assert await jay.patterns.learn(project="shop") == []
        assert await jay.patterns.learn(user="anna", project="shop")
        assert await jay.patterns.search_patterns(user="bert", project="shop") == []
        shared = await jay.patterns.learn(across_users=True, project="shop")
        assert {one.id for one in await jay.patterns.search_patterns(user="bert", project="shop")} == {
            one.id for one in shared
        }

    async def test_agents_are_learned_from_apart_unless_allowed(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(), project="shop", agent="a")
        assert await jay.patterns.learn(project="shop") == []
        own = {one.id for one in await jay.patterns.learn(project="shop", agent="a")}
        assert own
        assert {one.id for one in await jay.patterns.search_patterns(project="shop", agent="a")} == own
        assert await jay.patterns.search_patterns(project="shop", agent="b") == []
        shared = {one.id for one in await jay.patterns.learn(across_users=True, project="shop")}
        assert {one.id for one in await jay.patterns.search_patterns(project="shop", agent="b")} == shared

    async def test_one_way_of_learning_leaves_the_patterns_of_another_alone(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(), project="shop")
        across = await jay.patterns.learn(across_projects=True)
        assert across
        assert await jay.patterns.learn() == []
        kept = await jay.patterns.search_patterns()
        assert {one.id for one in kept} == {one.id for one in across}

    async def test_tenants_are_apart(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        [*_, pattern] = await jay.patterns.learn()
        other = jay.for_tenant(f"{jay.tenant}-other")
        assert await other.patterns.learn() == []
        assert await other.patterns.search_patterns() == []
        assert await other.patterns.families() == []
        with pytest.raises(LookupError):
            await other.patterns.get(pattern.id)

    async def test_families_are_found_by_themselves(self, jay: Jay) -> None:
        await jay.tasks.store_many([*deployments(40), *coin_tosses(30)])
        families = [one for one in await jay.patterns.families() if one.parent is None]
        deploy = next(one for one in families if "deploy" in one.name)
        assert (deploy.size, deploy.successes) == (40, sum(one["success"] for one in deployments(40)))
        assert deploy.precision > 0.9
        assert deploy.recall > 0.9
        assert all("Deploy" in example for example in deploy.examples)

    async def test_a_memory_of_the_kind_that_is_no_execution_is_passed_over(self, jay: Jay) -> None:
        await jay.remember("not told by the verbs of tasks", kind="task")
        await jay.tasks.store_many(deployments(10))
        assert (await jay.patterns.extract_pattern(".", "success")).samples == 10

    @pytest.mark.parametrize("pattern", ["(deploy", "", r"(a)\1", "x" * 2_000])
    async def test_a_bad_expression_is_refused(self, jay: Jay, pattern: str) -> None:
        with pytest.raises(InvalidInput, match="task_type_pattern"):
            await jay.patterns.extract_pattern(pattern, "success")

    async def test_a_bad_type_is_refused(self, jay: Jay) -> None:
        with pytest.raises(InvalidInput, match="pattern_type"):
            await jay.patterns.extract_pattern("deploy", "luck")
        with pytest.raises(InvalidInput, match="min_samples"):
            await jay.patterns.extract_pattern("deploy", "success", 0)
