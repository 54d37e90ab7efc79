"""The service under the names that orchestration code expects: one object, whichever way it is called."""

import inspect

import pytest

import scrubjay
from scrubjay.adapters.hybrid import AsyncHybridMemoryService, HybridMemoryService
from scrubjay.errors import Closed, Conflict, InvalidInput, NotFound
from scrubjay.model.context import ContextShape
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import NOW, ToyEmbedder
from scrubjay.wiring import wire

pytestmark = pytest.mark.memory_suite


@pytest.fixture
async def memory(jay):
    """The service on the reference, on SQLite and on PostgreSQL."""
    return AsyncHybridMemoryService(jay)


async def test_what_is_stored_under_an_id_is_replaced_found_and_deleted_by_it(memory):
    stored = await memory.upsert_vector("doc-1", "Deploys go out on Tuesdays", metadata={"team": "shop"}, user="ada")
    again = await memory.upsert_vector("doc-1", "Deploys go out on Tuesdays", metadata={"team": "shop"}, user="ada")
    assert (stored.outcome, again.outcome) == ("stored", "unchanged")
    newer = await memory.upsert_vector("doc-1", "Deploys go out on Wednesdays", metadata={"team": "shop"}, user="ada")
    assert (newer.outcome, newer.replaced) == ("superseded", stored.id)
    found = await memory.search("when do deploys go out?", user="ada")
    assert [hit.memory.content for hit in found] == ["Deploys go out on Wednesdays"]
    assert (await memory.get("doc-1", user="ada")).id == newer.id
    assert (await memory.get(stored.id, user="ada")).content == "Deploys go out on Tuesdays"
    changed = await memory.update("doc-1", text="Deploys go out daily", user="ada")
    assert (await memory.get("doc-1", user="ada")).id == changed.id
    await memory.update("doc-1", importance=0.9, metadata={"team": "web"}, user="ada")
    assert (await memory.get("doc-1", user="ada")).data == {"team": "web"}
    await memory.delete("doc-1", user="ada")
    with pytest.raises(NotFound, match="doc-1"):
        await memory.get("doc-1", user="ada")
    assert len(await memory.search("deploys", user="ada")) == 0
    receipt = await memory.delete(stored.id, purge=True, user="ada")
    assert receipt.purged
    assert not any(receipt.remaining.values())


async def test_every_store_is_searched_and_changed_alike(memory):
    await memory.upsert_vector("doc-1", "The zebra is in the wiki", user="ada")
    episode = await memory.store_episode("the zebra escaped", id="step-7", session="s-1", user="ada")
    fact = await memory.jay.facts.store("The zebra is striped", user="ada")
    await memory.jay.tasks.store_execution("ZOO-1", "Caught the zebra", True, user="ada")
    kinds = {hit.memory.kind for hit in await memory.search("zebra", user="ada")}
    assert kinds == {"note", "message", "fact", "task"}
    assert await memory.count(user="ada") == 4
    assert (await memory.get("step-7", user="ada")).id == episode.id
    await memory.update(fact.id, text="The zebra has stripes", user="ada")
    await memory.delete("step-7", user="ada")
    assert [hit.memory.kind for hit in await memory.search("zebra", kinds=["message"], user="ada")] == []
    assert "stripes" in (await memory.context("zebra", user="ada")).text


async def test_metadata_narrows_a_search(memory):
    items = [{"id": f"d-{port}", "text": f"Service on port {port}", "metadata": {"port": port}} for port in (80, 8080)]
    seen = []
    await memory.upsert_vectors(items, progress=seen.append, project="shop")
    found = await memory.search("service", metadata={"port": {"gte": 1024}}, project="shop")
    assert [hit.memory.data["port"] for hit in found] == [8080]
    assert seen == [2]
    for wrong in ({"id": "x"}, {"id": "x", "text": "y", "vector": [1.0]}, "text"):
        with pytest.raises(InvalidInput, match="give `id` and `text`"):
            await memory.upsert_vectors([wrong])


async def test_an_id_means_what_its_scope_says(memory):
    await memory.upsert_vector("doc", "For everybody")
    await memory.upsert_vector("doc", "For Ada", user="ada")
    await memory.upsert_vector("doc", "For Bob", user="bob")
    assert (await memory.get("doc", user="ada")).content == "For Ada"
    assert (await memory.get("doc", user="eve")).content == "For everybody"
    assert (await memory.get("doc")).content == "For everybody"
    await memory.delete("doc")
    with pytest.raises(Conflict, match="names 2 texts"):
        await memory.get("doc")
    with pytest.raises(NotFound):
        await memory.delete("doc", user="eve")
    with pytest.raises(InvalidInput, match="nothing"):
        await memory.update("doc", user="ada")


async def test_an_id_of_yours_may_look_like_one_of_ours(memory):
    own = "0b6f2c4e-4a55-4a8e-9a52-0d2f6a1c9e11"
    stored = await memory.upsert_vector(own, "Deploys go out on Tuesdays")
    assert (await memory.get(own)).id == stored.id
    assert (await memory.get(str(stored.id))).id == stored.id
    await memory.delete(own)
    with pytest.raises(NotFound):
        await memory.get(own)


async def test_episodes_go_in_and_come_out_in_order(memory):
    await memory.store_episodes(["one", "two"], session="s-1", user="ada")
    await memory.store_episode(parties=["a", "b"], outcome="agreed", session="s-1", user="ada", at=NOW)
    assert [one.kind for one in await memory.timeline(user="ada")] == ["message", "message", "negotiation"]
    assert [one.kind for one in await memory.timeline(until=NOW.replace(year=2027), user="ada")][-1] == "negotiation"
    recent = await memory.fetch_recent_context("s-1", budget=50, user="ada")
    assert recent.text.startswith("user: one\nuser: two\nnegotiation: ")
    assert recent.tokens <= 50


@pytest.fixture
def sync_jay(tmp_path):
    with SyncScrubjay(wire(read_settings(home=tmp_path, background=False), embedder=ToyEmbedder())).start() as jay:
        yield jay


def test_the_same_without_awaiting(sync_jay):
    with HybridMemoryService(sync_jay) as memory:
        memory.upsert_vector("doc-1", "Deploys go out on Tuesdays", user="ada")
        memory.store_episode("deployed", kind="result", session="s-1", user="ada")
        assert memory.search("deploys", user="ada")[0].memory.kind == "note"
        assert memory.fetch_recent_context("s-1", user="ada").text == "result: deployed"
        assert memory.jay is sync_jay
        assert memory.health().state == "ready"
    assert sync_jay.count() == 2, "a memory that was given stays open"


def test_it_opens_and_closes_a_memory_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    with scrubjay.HybridMemoryService() as memory:
        memory.store_episode("it began")
    memory.close()
    with pytest.raises(Closed):
        memory.search("it")


async def test_it_opens_one_when_awaited_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path))
    monkeypatch.setenv("SCRUBJAY_EMBEDDER", "none")
    async with scrubjay.AsyncHybridMemoryService() as memory:
        await memory.store_episode("it began")
        assert await memory.count() == 1
        assert await memory.jay.shape_context(budget=7) == ContextShape(budget=7)
    with pytest.raises(Closed):
        await memory.count()


def test_both_have_the_same_verbs(sync_jay):
    def verbs(of):
        return {name for name in dir(of) if not name.startswith("_") and callable(getattr(of, name))}

    assert verbs(HybridMemoryService) == verbs(AsyncHybridMemoryService)
    for verb in verbs(HybridMemoryService):
        blocking, awaited = getattr(HybridMemoryService, verb), getattr(AsyncHybridMemoryService, verb)
        assert list(inspect.signature(blocking).parameters) == list(inspect.signature(awaited).parameters)
        assert blocking.__doc__
    with pytest.raises(InvalidInput, match="AsyncHybridMemoryService"):
        HybridMemoryService(wire(read_settings(home="/nowhere"), embedder=ToyEmbedder()))
    with pytest.raises(InvalidInput, match="HybridMemoryService for it"):
        AsyncHybridMemoryService(sync_jay)
