"""Reading: by id, by key, by type, by search, as a context, and as it was."""

from datetime import timedelta

import pytest

from scrubjay.core import Core
from scrubjay.errors import NotFound
from scrubjay.memories.facts import Facts
from scrubjay.model import AsOf
from scrubjay.testing.values import DAY, NOW, Ticking


class ReadingFactsSuite:
    """What applies in a place is that of the place itself and of every wider one, the narrowest of each key."""

    async def test_a_narrower_scope_overrides_a_wider_one(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("Everybody: tabs", key="pref:indent", type="preference")
        await facts.store("Anna: spaces", key="pref:indent", type="preference", user="anna")
        await facts.store("Atlas: four spaces", key="pref:indent", type="preference", project="atlas")
        await facts.store("Anna in atlas: two", key="pref:indent", type="preference", user="anna", project="atlas")
        await facts.store("In this session: none", key="pref:indent", type="preference", user="anna", session="s")
        for where, expected in (
            ({}, "Everybody: tabs"),
            ({"user": "bob"}, "Everybody: tabs"),
            ({"user": "anna"}, "Anna: spaces"),
            ({"user": "bob", "project": "atlas"}, "Atlas: four spaces"),
            ({"user": "anna", "project": "atlas"}, "Anna in atlas: two"),
            ({"user": "anna", "project": "atlas", "session": "s"}, "In this session: none"),
        ):
            fact = await facts.get_by_key("pref:indent", **where)  # type: ignore[arg-type]  # places
            assert fact.content == expected, where
            written = await facts.get_context_for_prompt(**where)  # type: ignore[arg-type]  # places
            assert [one.content for one in written.categories["preferences"]] == [expected], where
            assert all("overridden by" in one.why for one in written.left_out)

    async def test_what_belongs_elsewhere_does_not_apply(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("Bob's", key="k", user="bob")
        await facts.store("In another project", key="k", user="anna", project="other")
        with pytest.raises(NotFound, match="'k' that applies in user=anna project=atlas"):
            await facts.get_by_key("k", user="anna", project="atlas")
        assert (await facts.get_context_for_prompt("anna", "atlas")).text == ""

    async def test_the_typed_getters(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store_user_preference("anna", "indent", "Prefers tabs", importance=0.3)
        await facts.store_user_preference("anna", "theme", "Prefers a dark theme", importance=0.9)
        await facts.store_user_preference("bob", "theme", "Prefers a light theme")
        await facts.store_project_fact("atlas", "db", "PostgreSQL 18")
        await facts.store("Reviews are required", project="atlas", type="convention")
        await facts.store_skill("release", "Tag, then push", project="atlas")
        preferences = await facts.get_user_preferences("anna")
        assert [one.key for one in preferences] == ["pref:theme", "pref:indent"]
        assert [one.key for one in await facts.get_project_facts("atlas", user="anna")] == ["fact:db"]
        assert [one.key for one in await facts.get_skills(project="atlas")] == ["skill:release"]
        assert await facts.get_skills(project="other") == []

    async def test_reading_counts_as_access_unless_it_is_not_to(self, core: Core) -> None:
        facts = Facts(core)
        fact = (await facts.store("PostgreSQL 18", key="fact:db", project="atlas")).fact
        for touch in (False, True):
            await facts.get_by_id(fact.id, touch=touch)
            await facts.get_by_key("fact:db", project="atlas", touch=touch)
            await facts.get_project_facts("atlas", touch=touch)
            await facts.search("PostgreSQL", project="atlas", touch=touch)
            await facts.get_context_for_prompt(None, "atlas", touch=touch)
            await facts.list(project="atlas")
            await facts.history("fact:db", project="atlas")
            await facts.as_of(project="atlas")
            await core.parts.uses.flush()
            counted = (await facts.get_by_id(fact.id, touch=False)).access_count
            assert counted == (5 if touch else 0)

    async def test_search_filters(self, core: Core) -> None:
        facts = Facts(core)
        told = await facts.store_many(
            [
                {"content": "The database is PostgreSQL", "importance": 0.9, "data": {"tier": 1}, "project": "atlas"},
                {"content": "The cache database is Valkey", "type": "tech_stack", "project": "atlas"},
                {"content": "Old database facts", "valid_from": NOW - 90 * DAY, "project": "atlas"},
                {"content": "A database elsewhere", "project": "other"},
            ]
        )
        await core.remember("A note about the database", project="atlas")

        async def found(**narrow: object) -> set[int]:
            hits = await facts.search("database", limit=20, **{"project": "atlas", **narrow})  # type: ignore[arg-type]  # any filter
            ids = [one.id for one in told]
            return {ids.index(hit.memory.id) for hit in hits}

        assert await found() == {0, 1, 2}
        assert await found(types=["PROJECT_FACT"]) == {0, 2}
        assert await found(types="tech_stack") == {1}
        assert await found(least_importance=0.8) == {0}
        assert await found(data={"tier": {"gte": 1}}) == {0}
        assert await found(since=NOW - DAY) == {0, 1}
        assert await found(until=NOW - DAY) == {2}
        assert await found(project="other") == {3}

    async def test_the_score_is_explained(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("The build is green on the first floor", importance=0.9, type="feedback")
        await facts.store("Lunch is at noon")
        clock.advance(timedelta(days=90))
        [hit, *_] = await facts.search("is the build green?", explain=True, touch=False)
        assert {"relevance", "importance", "recency", "use", "total"} <= set(hit.signals)
        assert hit.signals["importance"] == pytest.approx(0.4)
        assert hit.signals["recency"] == pytest.approx(0.125), "feedback has a half-life of 90 days"

    async def test_a_context_has_every_category_and_the_most_useful_first(self, core: Core) -> None:
        facts = Facts(core)
        for importance, content in ((0.2, "Seldom needed"), (0.9, "Often needed"), (0.5, "Now and then")):
            await facts.store(f"{content} fact", importance=importance, project="atlas")
        await facts.store("Never deploy on Fridays", type="rule", project="atlas")
        await facts.store("Answer in German", type="instruction", user="anna")
        await facts.store("Tag, then push", type="skill", key="skill:release")
        written = await facts.get_context_for_prompt("anna", "atlas", budget=500)
        assert list(written.categories) == [
            *("instructions", "rules", "preferences", "conventions", "tech_stack"),
            *("facts", "skills", "patterns", "feedback"),
        ]
        assert written.text.splitlines() == [
            *("## Instructions", "- Answer in German", "", "## Rules", "- Never deploy on Fridays", ""),
            *("## Facts", "- Often needed fact", "- Now and then fact", "- Seldom needed fact", ""),
            *("## Skills", "- Tag, then push"),
        ]
        narrowed = await facts.get_context_for_prompt("anna", "atlas", types=["RULE"])
        assert narrowed.text == "## Rules\n- Never deploy on Fridays"

    async def test_a_question_brings_its_answers_to_the_front(self, core: Core) -> None:
        facts = Facts(core)
        await facts.store("Wombats dig burrows", importance=0.2)
        for place in range(12):
            await facts.store(f"Invoice number {place} was paid late", importance=0.6)
        asked = await facts.get_context_for_prompt(query="where do wombats dig?", budget=40)
        plain = await facts.get_context_for_prompt(budget=40)
        assert asked.categories["facts"][0].content == "Wombats dig burrows"
        assert "Wombats" not in plain.text
        assert all(one.tokens <= one.budget for one in (asked, plain))
        assert plain.left_out

    async def test_history_tells_who_when_and_why(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("14", key="fact:db", project="atlas", author="anna", reason="kickoff", valid_from=NOW - DAY)
        first = clock.advance()
        await facts.store("18", key="fact:db", project="atlas", author="bob", reason="upgrade")
        versions = await facts.history("fact:db", project="atlas", user="anna")
        told = [(one.content, one.memory.author, one.memory.reason, one.state(clock.now)) for one in versions]
        assert told[0] == ("14", "anna", "kickoff", "superseded")
        assert ("18", "bob", "upgrade", "current") in told
        assert ("14", "anna", "kickoff", "past") in told, "what is left of it: it held until then"
        assert (versions[0].known_to, versions[0].memory.closed_because) == (first, "replaced")
        assert [one.id for one in await facts.history(id=versions[0].id)] != []
        with pytest.raises(NotFound):
            await facts.history("fact:db", project="other")

    async def test_what_did_we_believe_and_what_was_true(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("Ann leads", key="lead", valid_from=NOW - 30 * DAY)
        monday = clock.now
        clock.advance(DAY)
        await facts.store("Bob leads", key="lead", valid_from=NOW - 10 * DAY)

        async def lead(**when: object) -> list[str]:
            return [one.content for one in await facts.as_of("lead", **when)]  # type: ignore[arg-type]  # moments

        assert await lead() == ["Bob leads"]
        assert await lead(valid_at=NOW - 20 * DAY) == ["Ann leads"]
        assert await lead(known_at=monday) == ["Ann leads"]
        assert await lead(known_at=monday, valid_at=NOW - 5 * DAY) == ["Ann leads"]
        assert await lead(valid_at=NOW - 5 * DAY) == ["Bob leads"]
        assert await lead(known_at=monday - DAY) == []
        then = await facts.get_by_key("lead", as_of=AsOf(known_at=monday))
        assert then.content == "Ann leads"
