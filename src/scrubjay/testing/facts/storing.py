"""Storing: one current value per key and scope, and a history of all of them."""

import asyncio

import pytest

from scrubjay.core import Core
from scrubjay.errors import Conflict
from scrubjay.memories.facts import Facts
from scrubjay.model.facts import FactType, Level
from scrubjay.testing.values import DAY, NOW, Ticking


class StoringFactsSuite:
    """Storing again replaces, refreshes or is refused, and says which."""

    async def test_a_fact_has_what_was_told(self, core: Core, clock: Ticking) -> None:
        done = await Facts(core).store(
            "Deploys go to Frankfurt",
            type="PROJECT_FACT",
            key="fact:region",
            data={"region": {"code": "fra"}},
            importance=0.8,
            execution="run-7",
            author="anna",
            reason="told in the kickoff",
            expires_at=NOW + DAY,
            valid_from=NOW - DAY,
            level="PROJECT",
            project="atlas",
        )
        fact = done.fact
        assert (done.outcome, done.replaced, done.conflicts) == ("stored", None, ())
        assert (fact.type, fact.level, fact.key) == (FactType.PROJECT_FACT, Level.PROJECT, "fact:region")
        assert (fact.content, fact.data, fact.importance) == (
            "Deploys go to Frankfurt",
            {"region": {"code": "fra"}},
            0.8,
        )
        assert (fact.execution, fact.memory.author, fact.memory.reason) == ("run-7", "anna", "told in the kickoff")
        assert (fact.valid_from, fact.valid_to, fact.known_from, fact.known_to) == (NOW - DAY, None, clock.now, None)
        assert (fact.expires_at, fact.access_count, fact.is_deleted) == (NOW + DAY, 0, False)

    @pytest.mark.parametrize("type", list(FactType))
    async def test_every_type_is_a_kind_of_memory(self, core: Core, type: FactType) -> None:
        facts = Facts(core)
        for place, word in enumerate((type, type.name, type.name.lower(), type.value)):
            assert (await facts.store(f"Number {place}", type=word)).fact.type is type
        assert await core.count(kinds=[type.value]) == 4

    @pytest.mark.parametrize("key", ["fact:region", None])
    async def test_what_had_expired_and_is_told_again_is_there_again(
        self, core: Core, clock: Ticking, key: str | None
    ) -> None:
        facts = Facts(core)
        first = await facts.store("Deploys go to Frankfurt", key=key, expires_at=clock.now + DAY)
        clock.advance(2 * DAY)
        assert await facts.list() == []
        again = await facts.store("Deploys go to Frankfurt", key=key)
        assert (again.outcome, again.replaced) == ("superseded", first.id)
        assert [one.id for one in await facts.list()] == [again.id]
        assert [hit.memory.id for hit in await facts.search("Where do deploys go?")] == [again.id]

    async def test_nothing_is_merged_into_what_expires_before_it(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("The build takes ten minutes on the old machine", expires_at=clock.now + DAY)
        kept = await facts.store("The build takes ten minutes on the old machine.")
        assert kept.outcome == "stored"
        clock.advance(2 * DAY)
        assert [one.id for one in await facts.list()] == [kept.id]

    async def test_another_value_closes_the_old_version(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        first = await facts.store("Tabs", key="pref:indent", user="anna")
        clock.advance()
        second = await facts.store("Spaces", key="pref:indent", user="anna")
        assert (second.outcome, second.replaced) == ("superseded", first.id)
        assert (await facts.get_by_key("pref:indent", user="anna")).content == "Spaces"
        assert [one.content for one in await facts.list(user="anna")] == ["Spaces"]
        old = await facts.get_by_id(first.id, user="anna")
        assert (old.known_to, old.memory.superseded_by, old.is_deleted) == (clock.now, second.id, False)

    async def test_the_same_again_is_one_more_use(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        for key in ("pref:indent", None):
            first = await facts.store("Prefers tabs", key=key, user="anna")
            clock.advance(DAY)
            again = await facts.store("Prefers tabs", key=key, user="anna", importance=0.9)
            assert (again.outcome, again.id, again.fact.importance) == ("refreshed", first.id, 0.5)
            await core.parts.uses.flush()
            fact = await facts.get_by_id(first.id, touch=False)
            assert (fact.access_count, fact.last_accessed_at) == (1, clock.now)
            assert len(await facts.history(id=first.id)) == 1

    async def test_other_data_is_another_value(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("The port", key="fact:port", data={"port": 1})
        clock.advance()
        assert (await facts.store("The port", key="fact:port", data={"port": 2})).outcome == "superseded"

    async def test_keys_of_two_scopes_are_two_facts(self, core: Core) -> None:
        facts = Facts(core)
        for where in ({}, {"user": "anna"}, {"user": "bob"}, {"user": "anna", "project": "atlas"}):
            assert (await facts.store(f"Value in {where}", key="k", **where)).outcome == "stored"  # type: ignore[arg-type]  # places
        assert len(await facts.list()) == 4

    async def test_insert_only_replaces_nothing(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("Tabs", key="k", user="anna", insert_only=True)
        clock.advance()
        for content in ("Spaces", "Tabs"):
            with pytest.raises(Conflict, match="'k' has a value in user=anna"):
                await facts.store(content, key="k", user="anna", insert_only=True)
        assert [one.content for one in await facts.history("k", user="anna")] == ["Tabs"]
        await facts.delete_by_key("k", user="anna")
        assert (await facts.store("Spaces", key="k", user="anna", insert_only=True)).outcome == "stored"

    async def test_of_many_who_insert_at_once_one_wins(self, core: Core) -> None:
        facts = Facts(core)
        told = [facts.store(f"Value {place}", key="k", insert_only=True) for place in range(8)]
        done = await asyncio.gather(*told, return_exceptions=True)
        assert sum(isinstance(one, Conflict) for one in done) == 7
        assert len(await facts.history("k")) == 1

    async def test_the_shortcuts_know_type_scope_and_prefix(self, core: Core) -> None:
        facts = Facts(core)
        preference = await facts.store_user_preference("anna", "indent", "Prefers tabs", project="atlas")
        fact = await facts.store_project_fact("atlas", "fact:db", "PostgreSQL 18", importance=0.9)
        skill = await facts.store_skill("release", "Tag, then push", user="anna")
        assert [one.fact.key for one in (preference, fact, skill)] == ["pref:indent", "fact:db", "skill:release"]
        assert [one.fact.type.name for one in (preference, fact, skill)] == [
            "USER_PREFERENCE",
            "PROJECT_FACT",
            "SKILL",
        ]
        assert [str(one.fact.scope) for one in (preference, fact, skill)] == [
            "user=anna project=atlas",
            "project=atlas",
            "user=anna",
        ]

    async def test_many_are_stored_in_one_call(self, core: Core) -> None:
        facts = Facts(core)
        done = await facts.store_many(
            [
                "The shop sells bicycles",
                {"content": "Tabs", "key": "pref:indent", "type": "preference", "user": "anna"},
                {"content": "Spaces", "key": "pref:indent", "type": "preference", "user": "anna"},
                {"content": "Spaces", "key": "pref:indent", "type": "preference", "user": "anna"},
                "The shop sells bicycles",
            ],
            project="atlas",
        )
        assert [one.outcome for one in done] == ["stored", "stored", "superseded", "refreshed", "refreshed"]
        assert done[4].id == done[0].id
        assert {str(one.fact.scope) for one in done} == {"project=atlas", "user=anna project=atlas"}
        assert await facts.store_many([]) == []

    async def test_a_backdated_fact_fits_into_the_timeline(self, core: Core, clock: Ticking) -> None:
        facts = Facts(core)
        await facts.store("Ann leads", key="lead", valid_from=NOW - 60 * DAY)
        clock.advance()
        await facts.store("Bob leads", key="lead", valid_from=NOW - 10 * DAY)
        clock.advance()
        await facts.store("Cleo led", key="lead", valid_from=NOW - 30 * DAY, valid_to=NOW - 20 * DAY)

        async def lead(days: int) -> list[str]:
            return [one.content for one in await facts.as_of("lead", valid_at=NOW - days * DAY)]

        assert [await lead(days) for days in (61, 60, 25, 15, 5, 0)] == [
            [],
            ["Ann leads"],
            ["Cleo led"],
            ["Ann leads"],
            ["Bob leads"],
            ["Bob leads"],
        ]
        assert (await facts.get_by_key("lead")).content == "Bob leads"
