"""Facts over the reference, SQLite and PostgreSQL."""

import pytest

from scrubjay.errors import IdTaken, NotFound
from scrubjay.testing import FactsSuite

pytestmark = pytest.mark.memory_suite


class TestFacts(FactsSuite):
    @pytest.fixture
    async def core(self, jay):
        return jay


async def test_facts_are_stored_while_the_model_is_down(setup, moody_embedder):
    facts = (await setup.open(embedder=moody_embedder)).facts
    await facts.store("The office is in Berlin", project="atlas")
    moody_embedder.down = True
    assert (await facts.store("the office is in BERLIN", project="atlas")).outcome == "duplicate_of"
    flagged = await facts.store("The office is in Munich", project="atlas")
    assert [one.one.content for one in flagged.conflicts] == ["The office is in Berlin"]
    written = await facts.get_context_for_prompt(None, "atlas", query="where is the office?")
    assert len(written.categories["facts"]) == 2
    assert written.degraded == ("vectors",)


async def test_facts_are_stored_while_the_vector_engine_is_down(setup, moody_vectors):
    facts = (await setup.open(vectors=moody_vectors)).facts
    await facts.store("The office is in Berlin", project="atlas")
    moody_vectors.made[0].down = True
    assert (await facts.store("The office is in Munich", project="atlas")).conflicts
    assert (await facts.store("PostgreSQL", key="fact:db", project="atlas")).outcome == "stored"


async def test_tenants_have_facts_of_their_own(jay):
    mine, theirs = jay.facts, jay.for_tenant("acme").facts
    fact = (await mine.store("The office is in Berlin", key="fact:office")).fact
    told = await theirs.store("The office is in Munich")
    assert told.conflicts == ()
    assert await theirs.store("The office is in Oslo", key="fact:office", insert_only=True)
    for ask in (theirs.get_by_id(fact.id), theirs.delete(fact.id), theirs.boost_importance(fact.id)):
        with pytest.raises(NotFound):
            await ask
    assert [one.content for one in await mine.list()] == ["The office is in Berlin"]
    assert "Berlin" not in (await theirs.get_context_for_prompt()).text


async def test_what_is_private_is_redacted_in_facts_and_flags(jay):
    token = "ghp_" + "a1B2c3D4e5" * 4
    await jay.facts.store(f"The token is {token}")
    [flagged] = (await jay.facts.store("The token is hunter-two-three")).conflicts
    assert token not in flagged.explanation + flagged.one.content


async def test_a_fact_and_its_flags_are_written_together_or_not_at_all(jay):
    facts = jay.facts
    first = (await facts.store("The office is in Berlin")).fact
    with pytest.raises(IdTaken):
        await facts.store_many(["The office is in Munich", {"content": "Taken", "id": first.id}])
    assert await facts.conflicts() == []
    assert await jay.count(history=True) == 1


async def test_an_export_carries_facts_flags_and_history(jay, new_setup):
    await jay.facts.store("Tabs", key="pref:indent", user="anna")
    await jay.facts.store("Spaces", key="pref:indent", user="anna")
    await jay.facts.store_many(["The office is in Berlin", "The office is in Munich"])
    lines = [line async for line in jay.export()]
    other = await new_setup("memory").open()
    await other.import_lines(lines)
    assert len(await other.facts.conflicts()) == 1
    versions = [[one.id for one in await store.facts.history("pref:indent", user="anna")] for store in (jay, other)]
    assert versions[0] == versions[1]
