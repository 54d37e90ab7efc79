"""What patterns say about the task at hand: concrete, with evidence, and nothing when there is too little of it."""

from scrubjay.testing.patterns.executions import Jay, coin_tosses, deployments


class Advising:
    """What `find_matching_patterns`, `recommend` and `predict` promise."""

    async def test_a_pattern_matches_by_its_expression(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        pattern = await jay.patterns.extract_pattern(r"deploy.*production", "success")
        [match] = await jay.patterns.find_matching_patterns("please DEPLOY it all to Production")
        assert match.pattern.id == pattern.id
        assert "deploy.*production" in match.why
        assert await jay.patterns.find_matching_patterns("please DEPLOY it to Production", 0.99) == []

    async def test_a_pattern_matches_by_meaning(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        patterns = await jay.patterns.learn()
        # To the toy model, meaning is made of words: the pattern's own, in another order.
        alike = await jay.patterns.find_matching_patterns("succeeded. “deploy service production”: Tasks like 30 of 60")
        assert {match.pattern.id for match in alike} <= {one.id for one in patterns}
        assert all(match.similarity is None or match.similarity >= 0.5 for match in alike)

    async def test_a_pattern_matches_by_the_words_of_its_family(self, jay: Jay) -> None:
        told = [{**one, "task_description": "Deploy the billing service to production"} for one in deployments()]
        await jay.tasks.store_many(told)
        patterns = await jay.patterns.learn()
        found = await jay.patterns.find_matching_patterns("Deploy one more service to production, the newest")
        assert {match.pattern.id for match in found} == {one.id for one in patterns}
        assert await jay.patterns.find_matching_patterns("Water the plants on the balcony") == []

    async def test_recommendations_cite_their_evidence_and_name_what_failed(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments())
        await jay.patterns.learn()
        told = await jay.patterns.recommend("Deploy the orders service to production")
        do = next(one for one in told if one.advice == "do")
        avoid = next(one for one in told if one.advice == "avoid")
        assert do.text == (
            "Run migrate before test: 27 of 30 similar tasks that ran migrate before test succeeded; "
            "3 of 30 that did not."
        )
        assert avoid.text.startswith("Avoid: run test before migrate: 27 of 30 similar tasks")
        assert 0.7 < do.confidence < 0.9
        assert do.evidence
        stored = await jay.patterns.get(do.pattern_id)
        assert do.indicator in stored.success_indicators

    async def test_thin_evidence_recommends_nothing(self, jay: Jay) -> None:
        await jay.tasks.store_many(coin_tosses(20))
        await jay.patterns.learn()
        await jay.patterns.extract_pattern("translate", "success")
        assert await jay.patterns.recommend("Translate the billing pages") == []
        assert await jay.patterns.recommend("Something never seen") == []

    async def test_without_a_past_there_is_no_basis(self, jay: Jay) -> None:
        empty = await jay.patterns.predict("Deploy the mail service")
        assert (empty.probability, empty.base_rate, empty.has_basis) == (None, None, False)
        await jay.tasks.store_many(deployments(20))
        few = await jay.patterns.predict("Deploy the mail service", tools=["migrate", "test"])
        assert few.probability is None
        assert "20 past tasks" in few.basis
        assert few.base_rate == 0.5

    async def test_a_trace_that_tells_is_predicted_from(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(160))
        description = "Deploy the mail service to production"
        good = await jay.patterns.predict(description, tools=["read", "migrate", "test"])
        bad = await jay.patterns.predict(description, tools=["read", "test", "migrate"])
        assert good.stage == bad.stage == "during"
        assert good.probability > 0.6
        assert bad.probability < 0.4
        assert good.skill > 0.2
        assert good.evaluated == 130
        assert "Brier" in good.basis
        before = await jay.patterns.predict(description)
        assert before.probability is None
        assert "not surely better" in before.basis

    async def test_coin_tosses_are_not_predicted(self, jay: Jay) -> None:
        await jay.tasks.store_many(coin_tosses(100, seed=3))
        told = await jay.patterns.predict("Translate the billing pages", tools=["read", "grep"])
        assert told.probability is None
        assert str(told).startswith("no basis")

    async def test_a_new_execution_is_known_to_the_next_prediction(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(10))
        assert "10 past tasks" in (await jay.patterns.predict("Deploy")).basis
        await jay.tasks.store_many(deployments(5, start=10))
        assert "15 past tasks" in (await jay.patterns.predict("Deploy")).basis

    async def test_a_reader_is_told_only_of_what_is_seen(self, jay: Jay) -> None:
        await jay.tasks.store_many(deployments(10), user="anna", project="shop")
        await jay.tasks.store_many(deployments(7, start=10), project="shop")
        await jay.tasks.store_many(deployments(3, start=17), project="blog")
        assert "7 past tasks" in (await jay.patterns.predict("Deploy", user="bert", project="shop")).basis
        assert "17 past tasks" in (await jay.patterns.predict("Deploy", user="anna", project="shop")).basis
        assert "20 past tasks" in (await jay.patterns.predict("Deploy", across_projects=True)).basis
