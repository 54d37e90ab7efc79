"""What names a user is seen with that user's key, and with one that is bound to the project or agent it also names."""

import pytest

from scrubjay.errors import NotFound

PLACES = {
    "for all": {},
    "of ada": {"user": "ada"},
    "of the shop": {"project": "shop"},
    "of ada in the shop": {"user": "ada", "project": "shop"},
    "of ada with the planner": {"user": "ada", "agent": "planner"},
    "of the planner": {"agent": "planner"},
    "of ada with the planner in the shop": {"user": "ada", "agent": "planner", "project": "shop"},
}
SHARED = {"for all", "of the shop", "of the planner"}
OF_ADA = {"of ada", "of ada in the shop", "of ada with the planner", "of ada with the planner in the shop"}

SEEN = {
    "a project": ({"projects": ["shop"]}, SHARED | {"of ada in the shop", "of ada with the planner in the shop"}),
    "another project": ({"projects": ["blog"]}, SHARED - {"of the shop"}),
    "an agent": (
        {"agents": ["planner"]},
        SHARED | {"of ada with the planner", "of ada with the planner in the shop"},
    ),
    "a project and an agent": (
        {"projects": ["shop"], "agents": ["planner"]},
        SHARED | {"of ada with the planner in the shop"},
    ),
    "the user": ({"users": ["ada"]}, SHARED | OF_ADA),
    "another user": ({"users": ["bob"]}, SHARED),
    "the user and a project": ({"users": ["ada"], "projects": ["shop"]}, SHARED | OF_ADA),
    "nothing": ({}, SHARED | OF_ADA),
}


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def jay(request, new_setup):
    jay = await new_setup(request.param).open()
    for text, where in PLACES.items():
        await jay.remember(f"zebra {text}", key="animal", **where)
    return jay


@pytest.mark.parametrize("bound", SEEN)
async def test_a_key_sees_of_a_user_what_is_theirs_together(jay, bound):
    bounds, wanted = SEEN[bound]
    caller = jay.narrowed(**bounds) if bounds else jay
    wanted = {f"zebra {text}" for text in wanted}
    for where in ({}, {"user": "ada"}):
        if "bob" in bounds.get("users", ()) and where:
            continue
        hybrid, words, meaning = [
            {hit.memory.content for hit in await caller.recall("zebra", limit=100, mode=mode, **where)}
            for mode in ("hybrid", "words", "meaning")
        ]
        newest = {hit.memory.content for hit in await caller.recall("", limit=100, **where)}
        history = {memory.content for memory in await caller.history(key="animal", **where)}
        past = {hit.memory.content for hit in await caller.recall("zebra", limit=100, history=True, **where)}
        assert hybrid == words == meaning == newest == history == past == wanted
        text = (await caller.context("zebra", budget=4_000, **where)).text
        assert {one for one in (f"zebra {text}" for text in PLACES) if f"{one}\n" in f"{text}\n"} <= wanted
    for memory in await jay.list():
        if memory.content in wanted:
            assert (await caller.get(memory.id)).content == memory.content
        else:
            with pytest.raises(NotFound):
                await caller.get(memory.id)


async def test_what_is_said_with_a_user_is_no_business_of_an_agent_that_is_not_named(jay):
    await jay.working.append("my password hint is zebra", session="s", user="ada")
    for bounds in ({"agents": ["planner"]}, {"projects": ["shop"]}):
        context = await jay.narrowed(**bounds).context("hint", session="s", user="ada")
        assert "hint" not in context.text.replace("# hint", "")
    assert "my password hint" in (await jay.context("hint", session="s", user="ada")).text


async def test_nothing_is_made_from_what_cannot_be_seen(jay):
    [hers] = [memory for memory in await jay.list() if memory.content == "zebra of ada"]
    shop = jay.narrowed(projects=["shop"])
    with pytest.raises(Exception, match="which is not stored"):
        await shop.remember("Made of it", derived_from=[hers.id])
