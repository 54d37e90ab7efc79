"""An id of one's own names a memory in its newest version, wherever it is given; one that was made names a version."""

import hashlib
import uuid
from dataclasses import replace

import pytest

from scrubjay.errors import Conflict, NotFound
from scrubjay.testing.values import DAY, HOUR, NOW

OWN = ["note-1", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", hashlib.md5(b"doc", usedforsecurity=False).hexdigest()]


def having_seen(jay, memory):
    """The same, for a caller who changes what was seen and nothing else."""
    return jay.for_caller(replace(jay.caller, seen=memory))


@pytest.mark.parametrize("own", OWN)
async def test_it_names_the_newest_version_whatever_it_looks_like(jay, own):
    first = (await jay.remember("v1", id=own)).memory
    for content in ("v2", "v3"):
        assert (await jay.update(own, content=content)).replaced is not None
        assert (await jay.get(own)).content == content
    assert [memory.content for memory in await jay.history(own)] == ["v1", "v2", "v3"]
    await jay.forget(own)
    assert await jay.count() == 0
    assert (await jay.get(own)).state(NOW) == "forgotten"
    for call in (jay.update(own, content="v4"), jay.forget(own)):
        with pytest.raises(NotFound):
            await call
    receipt = await jay.forget(own, purge=True)
    assert first.id in (*receipt.ids, *receipt.derived)
    with pytest.raises(NotFound):
        await jay.history(own)


async def test_an_id_that_was_made_names_one_version(jay):
    first = await jay.remember("v1")
    second = await jay.update(first.id, content="v2")
    for given in (first.id, str(first.id)):
        assert (await jay.get(given)).content == "v1"
        with pytest.raises(NotFound, match="is superseded"):
            await jay.update(given, content="v3")
    own = await jay.remember("own v1", id="own")
    await jay.update("own", content="own v2")
    assert (await jay.get(own.id)).content == "own v1", "as the history names it"
    assert (await jay.get(second.id)).content == "v2"


async def test_what_was_seen_under_it_can_be_changed(jay, clock):
    await jay.remember("tea", id="mine")
    await jay.update("mine", content="coffee")
    clock.advance()
    seen = await jay.get("mine")
    assert (await having_seen(jay, seen).update("mine", content="water")).replaced == seen.id
    for late in (
        having_seen(jay, seen).update("mine", content="milk"),
        having_seen(jay, seen).update("mine", importance=0.9),
        having_seen(jay, seen).forget("mine"),
        having_seen(jay, seen).forget("mine", purge=True),
    ):
        with pytest.raises(Conflict, match="changed or deleted meanwhile"):
            await late
    assert [(one.content, one.importance) for one in await jay.list()] == [("water", 0.5)]
    await having_seen(jay, await jay.get("mine")).forget("mine", purge=True)
    assert await jay.count(history=True) == 0


@pytest.mark.parametrize("own", [True, False])
async def test_a_purge_of_what_was_seen_takes_no_version_that_was_not(jay, clock, own):
    told = await jay.remember("tea", **({"id": "mine"} if own else {}))
    clock.advance()
    newer = await jay.update("mine" if own else told.id, content="coffee")
    with pytest.raises(Conflict):
        await having_seen(jay, told.memory).forget("mine" if own else newer.id, purge=True)
    assert await jay.count() == 1


async def test_a_restored_fact_is_the_same_memory(jay, clock):
    fact = (await jay.facts.store("Prefers tabs", id="style", user="anna")).fact
    clock.advance()
    await jay.forget("style", user="anna")
    [restored] = await jay.facts.restore(fact.id, user="anna")
    assert (await jay.get("style")).id == restored.id
    await jay.update("style", content="Prefers spaces", user="anna")
    await jay.forget("style", user="anna")
    assert await jay.count() == 0


async def test_another_memory_that_took_its_place_is_no_version_of_it(jay, clock):
    await jay.remember("Anna drinks tea", key="drink", id="note-1")
    clock.advance(30 * DAY)
    await jay.remember("Anna drinks coffee", key="drink", id="note-2")
    clock.advance(HOUR)
    with pytest.raises(NotFound, match="memory note-1 is superseded"):
        await jay.update("note-1", content="Anna drinks cocoa")
    assert (await jay.get("note-1")).content == "Anna drinks tea"
    # What it said of the time before is believed still, and is what is forgotten with it.
    await jay.forget("note-1")
    assert [one.content for one in await jay.list(history=True) if not one.superseded_at] == ["Anna drinks coffee"]
    with pytest.raises(NotFound):
        await jay.forget("note-1")
    await jay.forget("note-2")
    assert await jay.count() == 0


async def test_what_was_replaced_several_times_is_forgotten_as_far_as_it_is_believed(jay, clock):
    await jay.remember("tea", key="drink", id="first")
    clock.advance(30 * DAY)
    await jay.remember("coffee", key="drink")
    await jay.remember("cocoa", key="drink", valid_from=NOW + 10 * DAY, valid_to=NOW + 11 * DAY)
    believed = [one.content for one in await jay.list(key="drink", history=True) if not one.superseded_at]
    assert sorted(believed) == ["cocoa", "coffee", "tea", "tea"]
    assert len((await jay.forget("first")).ids) == 2
    left = [one.content for one in await jay.list(key="drink", history=True) if not one.superseded_at]
    assert sorted(left) == ["cocoa", "coffee"]


async def test_one_by_a_library_may_be_any_but_ours(jay):
    told = await jay.remember("v1", id=uuid.UUID("c232ab00-9414-11ec-b3c8-9f6bdeced846"))
    await jay.update(told.id, content="v2")
    assert (await jay.get(told.id)).content == "v2"
