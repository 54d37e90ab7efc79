"""Models that stand in while the configured one is down: real servers on the loopback that die and come back."""

import pytest
from embedding_server import MortalServer
from faulty_servers import eventually

import scrubjay
from scrubjay.errors import Misconfigured
from scrubjay.models import server as server_module
from scrubjay.testing import ToyEmbedder
from scrubjay.write import fallback, index

SOON = 60


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """What cannot be reached is given up at once, and asked again soon."""
    monkeypatch.setattr(server_module, "ATTEMPTS", 1)
    monkeypatch.setattr(fallback, "_DOWN_SECONDS", 0.5)
    monkeypatch.setattr(fallback, "_FRESH_SECONDS", 0.0)
    monkeypatch.setattr(index, "_FRESH_SECONDS", 0.1)


@pytest.fixture
def main():
    server = MortalServer(ToyEmbedder(version="main", dimensions=48)).rise()
    yield server
    server.fall()


@pytest.fixture
def spare():
    server = MortalServer(ToyEmbedder(version="spare", dimensions=32)).rise()
    yield server
    server.fall()


@pytest.fixture
def opened(tmp_path, main, spare):
    """How to open a memory whose model is on `main`, with `spare` and the static model behind it."""

    def open_one(**settings):
        chain = f"ollama:spare@{spare.url},static"
        given = {"embedder": "openai:main", "embedder_url": f"{main.url}/v1", "embedder_fallback": chain, **settings}
        return scrubjay.open_async(tmp_path, **given)

    return open_one


async def by_meaning(jay, question):
    hits = await jay.recall(question, mode="meaning")
    return [hit.memory.content for hit in hits], hits.degraded


async def states(jay):
    return {one.identity.model: one.state for one in (await jay.stats()).generations}


async def held(jay):
    """How many memories each model has vectors of."""
    generations = (await jay.stats()).generations
    return {one.identity.model: await jay.parts.stores.vectors.count(one.number) for one in generations}


async def is_caught_up(jay):
    return (await jay.stats()).pending == 0


async def test_an_outage_from_its_beginning_to_its_end(opened, main, spare):
    async with opened() as jay:
        await jay.remember("The harbour is closed on Mondays")
        assert await by_meaning(jay, "harbour") == (["The harbour is closed on Mondays"], ())
        main.fall()
        await jay.remember("Tickets for the lighthouse cost 12 euros")
        found, degraded = await by_meaning(jay, "lighthouse tickets")
        assert found == ["Tickets for the lighthouse cost 12 euros"]
        assert degraded == ("embedder",)
        assert await states(jay) == {"main": "active", "spare": "standby"}
        assert await held(jay) == {"main": 1, "spare": 1}
        assert (await jay.stats()).pending == 1
        assert any("stands in for it" in fault for fault in await jay.check())
        # What only words find is found as ever.
        hits = await jay.recall("harbour")
        assert hits[0].memory.content == "The harbour is closed on Mondays"
        main.rise()
        await eventually(lambda: is_caught_up(jay), within=SOON)

        async def is_well():
            return await by_meaning(jay, "lighthouse tickets")

        async def answers_itself():
            return (await is_well())[1] == ()

        await eventually(answers_itself, within=SOON)
        assert (await is_well())[0][0] == "Tickets for the lighthouse cost 12 euros"
        assert await held(jay) == {"main": 2, "spare": 1}
        assert await jay.check() == []


async def test_the_next_in_line_stands_in_when_the_first_cannot(opened, main, spare):
    main.fall()
    spare.fall()
    async with opened(background=False) as jay:
        await jay.remember("Tickets for the lighthouse cost 12 euros")
        assert await by_meaning(jay, "lighthouse tickets") == (
            ["Tickets for the lighthouse cost 12 euros"],
            ("embedder",),
        )
        assert list((await held(jay)).values()) == [1]


async def test_a_model_that_was_never_reached_takes_its_place_when_it_comes(opened, main):
    main.fall()
    async with opened() as jay:
        await jay.remember("Tickets for the lighthouse cost 12 euros")
        assert await states(jay) == {"spare": "standby"}
        assert (await jay.stats()).pending == 1
        main.rise()
        await eventually(lambda: is_caught_up(jay), within=SOON)
        assert await states(jay) == {"spare": "standby", "main": "active"}
        assert await by_meaning(jay, "lighthouse tickets") == (["Tickets for the lighthouse cost 12 euros"], ())


async def test_a_generation_from_before_stands_in_with_all_it_has(opened, main):
    async with opened(embedder="static", embedder_fallback="") as jay:
        await jay.remember("The harbour is closed on Mondays")
    async with opened(embedder_fallback="static", background=False) as jay:
        await jay.reindex()
        assert list((await states(jay)).values()) == ["retired", "active"]
        main.fall()
        found, degraded = await by_meaning(jay, "when is the port shut?")
        assert found == ["The harbour is closed on Mondays"]
        assert degraded == ("embedder",)


async def test_what_is_replaced_or_purged_meanwhile_is_gone_there_too(opened, main):
    async with opened(background=False) as jay:
        await jay.remember("Tea is at four", key="tea")
        main.fall()
        await jay.remember("Tea is at five", key="tea")
        secret = await jay.remember("The code of the door is 4711")
        await jay.remember("Tea is at six", key="tea")
        assert (await by_meaning(jay, "tea"))[0][0] == "Tea is at six"
        assert "Tea is at five" not in (await by_meaning(jay, "tea"))[0]
        receipt = await jay.forget(secret.id, purge=True)
        assert set(receipt.remaining.values()) == {0}
        assert "The code of the door is 4711" not in (await by_meaning(jay, "code of the door"))[0]


async def test_without_one_that_has_vectors_words_answer(opened, main):
    async with opened(background=False) as jay:
        await jay.remember("The harbour is closed on Mondays")
        main.fall()
        hits = await jay.recall("harbour")
        assert [hit.memory.content for hit in hits] == ["The harbour is closed on Mondays"]
        assert hits.degraded == ("vectors",)


async def test_while_the_model_answers_nobody_else_is_asked(opened, spare):
    async with opened(background=False) as jay:
        await jay.remember("The harbour is closed on Mondays")
        await jay.recall("harbour")
    assert spare.asked == []


async def test_vectors_of_a_fallback_that_is_none_any_more_are_swept(opened, main):
    async with opened(background=False) as jay:
        await jay.remember("The harbour is closed on Mondays")
        main.fall()
        await jay.remember("Tickets for the lighthouse cost 12 euros")
        assert await jay.sweep() == []
    main.rise()
    async with opened(background=False, embedder_fallback="static") as jay:
        await jay.reindex()
        assert [one.identity.model for one in await jay.sweep()] == ["spare"]
        assert await states(jay) == {"main": "active"}


async def test_a_fallback_that_becomes_the_model_takes_over_with_what_it_has(opened, main, spare):
    async with opened(background=False) as jay:
        await jay.remember("The harbour is closed on Mondays")
        main.fall()
        await jay.remember("Tickets for the lighthouse cost 12 euros")
    async with opened(
        background=False, embedder="ollama:spare", embedder_url=spare.url, embedder_fallback="static"
    ) as jay:
        await jay.reindex()
        assert await states(jay) == {"main": "retired", "spare": "active"}
        assert await held(jay) == {"main": 1, "spare": 2}
        assert (await by_meaning(jay, "lighthouse"))[1] == ()


@pytest.mark.parametrize(
    ("chain", "error"),
    [
        ("openai:main", "it cannot stand in"),
        ("static,none", "'none': it cannot stand in"),
        ("gpt", "SCRUBJAY_EMBEDDER_FALLBACK holds 'gpt'. .*use minilm"),
    ],
)
def test_a_chain_that_cannot_be_is_refused(opened, chain, error):
    with pytest.raises(Misconfigured, match=error):
        opened(embedder_fallback=chain)
