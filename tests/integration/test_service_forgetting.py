"""Forgetting, on every set-up: closed by default, or gone for good from every store, with proof."""

from pathlib import Path
from uuid import uuid4

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.testing import NOW


async def test_what_is_forgotten_no_longer_answers_but_can_be_asked_about(jay, clock):
    told = await jay.remember("Prefers tabs", user="anna", key="indent")
    clock.advance()
    receipt = await jay.forget(told.id, reason="she changed her mind", user="anna")
    assert (receipt.ids, receipt.derived, receipt.purged, receipt.at) == ((told.id,), (), False, clock.now)
    for mode in "hybrid", "words", "meaning":
        assert len(await jay.recall("tabs", mode=mode)) == 0
        assert len(await jay.recall("tabs", mode=mode, as_of=NOW)) == 1
    memory = await jay.get(told.id, user="anna")
    assert memory.state(clock.now) == "forgotten"
    assert memory.closed_because == "forgotten: she changed her mind"
    assert (await jay.remember("Prefers tabs", user="anna", key="indent")).outcome == "stored"


async def test_of_several_ids_all_are_there_or_none_is_forgotten(jay):
    await jay.remember("Lunch at noon", id="lunch")
    for purge in (False, True):
        with pytest.raises(NotFound, match=r"nothing to forget in .*: nope, never"):
            await jay.forget(["lunch", "nope", "never"], purge=purge)
    assert await jay.count() == 1
    tea = await jay.remember("Tea at four")
    assert len((await jay.forget(["lunch", tea.id])).ids) == 2
    assert await jay.count() == 0


async def test_an_own_id_names_the_newest_version_to_forget(jay):
    await jay.remember("First", id="own")
    newest = await jay.update("own", content="Second")
    assert (await jay.forget("own")).ids == (newest.id,)
    assert await jay.count() == 0
    with pytest.raises(NotFound, match="own"):
        await jay.forget("own")
    assert len((await jay.forget("own", purge=True)).derived) == 1


async def test_by_key_everything_of_that_key_in_the_scope_goes(jay):
    await jay.remember("tabs", key="indent", user="anna")
    await jay.remember("spaces", key="indent", user="anna", project="p")
    await jay.remember("tabs", key="indent", user="bob")
    receipt = await jay.forget(key="indent", user="anna")
    assert len(receipt.ids) == 2
    assert [one.scope.user for one in await jay.list(key="indent")] == ["bob"]


async def test_everything_in_a_scope_and_nothing_around_it_goes(jay):
    await jay.remember("everybody's")
    await jay.remember_many(["one", "two", {"content": "three", "session": "s"}], user="anna")
    await jay.remember("bob's", user="bob")
    assert len((await jay.forget(everything=True, user="anna")).ids) == 3
    assert {one.content for one in await jay.list()} == {"everybody's", "bob's"}
    with pytest.raises(NotFound):
        await jay.forget(everything=True, user="anna")


async def test_what_was_made_from_it_goes_with_it(jay):
    source = await jay.remember("A log", user="anna")
    summary = await jay.remember("A summary", derived_from=[source.id])
    lesson = await jay.remember("A lesson", derived_from=[summary.id], user="anna")
    receipt = await jay.forget(source.id, user="anna")
    assert receipt.ids == (source.id,)
    assert set(receipt.derived) == {summary.id, lesson.id}
    assert await jay.count() == 0
    assert (await jay.get(lesson.id)).closed_because == "forgotten, with its source"


async def test_one_has_to_say_what_to_forget(jay):
    told = await jay.remember("x")
    for wrong in {}, {"key": "k", "everything": True}:
        with pytest.raises(InvalidInput, match="say what to forget"):
            await jay.forget(**wrong)
    with pytest.raises(InvalidInput):
        await jay.forget(told.id, key="k")
    for missing in uuid4(), "unknown", []:
        with pytest.raises(NotFound):
            await jay.forget(missing)
    await jay.forget(told.id)
    with pytest.raises(NotFound):
        await jay.forget(told.id)


async def test_only_what_the_scope_holds_can_be_forgotten(jay):
    wide = await jay.remember("for everybody")
    other = await jay.remember("bob's", user="bob")
    for purge in False, True:
        for one in wide, other:
            with pytest.raises(NotFound):
                await jay.forget(one.id, user="anna", purge=purge)
    assert await jay.count() == 2


async def test_of_many_ids_that_are_not_there_a_few_are_named(jay):
    with pytest.raises(NotFound, match=r"nothing to forget in .*: n-0, n-1, n-2, n-3, n-4, and 995 more$"):
        await jay.forget([f"n-{number}" for number in range(1_000)])


async def test_several_ids_are_forgotten_at_once(jay):
    done = await jay.remember_many([{"content": f"number {place}", "id": f"n-{place}"} for place in range(4)])
    receipt = await jay.forget(["n-1", done[3].id])
    assert receipt.ids == (done[1].id, done[3].id)
    assert {one.content for one in await jay.list()} == {"number 0", "number 2"}


async def test_a_purge_takes_every_version_and_all_that_was_made_from_it(jay, clock):
    old = await jay.remember("Lives in Bonn", key="city", user="anna")
    made = await jay.remember("Speaks German", derived_from=[old.id], user="anna")
    further = await jay.remember("Reads Goethe", derived_from=[made.id], user="bob")
    kept = await jay.remember("Likes tea", user="anna")
    clock.advance()
    new = await jay.remember("Lives in Rome", key="city", user="anna")
    receipt = await jay.forget(new.id, purge=True, user="anna")
    assert receipt.purged
    assert receipt.ids == (new.id,)
    assert {old.id, made.id, further.id} < set(receipt.derived)
    assert receipt.remaining == {"records": 0, "vectors": 0, "blobs": 0}
    assert [one.id for one in await jay.list(history=True)] == [kept.id]
    for gone in old, made, further, new:
        with pytest.raises(NotFound):
            await jay.get(gone.id)
    for mode in "hybrid", "words", "meaning":
        hits = await jay.recall("Lives Bonn Rome German Goethe", mode=mode, history=True)
        assert {hit.memory.id for hit in hits} <= {kept.id}
    assert (await jay.stats()).vectors == 1
    assert await jay.check() == []


async def test_what_was_forgotten_can_still_be_purged(jay):
    told = await jay.remember("Lives in Bonn", key="city")
    await jay.forget(told.id)
    receipt = await jay.forget(key="city", purge=True)
    assert receipt.ids == (told.id,)
    assert (await jay.stats()).versions == 0


async def test_everything_of_a_user_can_be_purged(jay):
    await jay.remember_many([f"fact {place} of Anna" for place in range(50)], user="anna")
    await jay.remember("bob's fact", user="bob")
    receipt = await jay.forget(everything=True, purge=True, user="anna")
    assert len(receipt.ids) == 50
    assert not any(receipt.remaining.values())
    assert (await jay.stats()).versions == 1


async def test_no_byte_of_what_was_purged_stays_in_the_files(new_setup, tmp_path):
    setup = new_setup("sqlite")
    jay = await setup.open()
    await jay.remember_many([f"ordinary fact number {place} about the weather" for place in range(100)])
    words = ["Zanzibarquux", "Wolpertingerish", "Kauderwelschian"]
    long = f"{words[0]} " + "and then some more of it " * 2_000 + words[1]
    told = await jay.remember(long, key="secretplace", data={"where": words[2]}, source=words[2], user=words[2])
    made = await jay.remember(f"{words[0]} is a place", derived_from=[told.id])
    await jay.update(made.id, content=f"{words[1]} is a place")
    assert _found(tmp_path, words[:2])
    await jay.forget(told.id, purge=True)
    # The name of a scope is no content: it stays, as an id of a user that nothing belongs to.
    assert _found(tmp_path, [*words[:2], "secretplace"]) == []
    other = await setup.open()
    assert len(await other.recall("ordinary fact", limit=200)) == 100
    await other.close()
    await jay.close()
    assert _found(tmp_path, [*words[:2], "secretplace"]) == []


def _found(folder: Path, words: list[str]) -> list[str]:
    """Which of the words, in any case and as the index stems them, are in any file of the folder, and where."""
    stems = [word.lower()[:-2].encode() for word in words]
    return [
        f"{stem.decode()} in {path.name}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for stem in stems
        if stem in path.read_bytes().lower()
    ]


async def test_purging_what_was_restored_takes_what_it_was_restored_from(jay):
    told = await jay.facts.store("The vault is in Lisbon")
    await jay.facts.delete(told.id)
    [again] = await jay.facts.restore(told.id)
    await jay.facts.delete(again.id)
    [third] = await jay.facts.restore(again.id, reason="needed after all")
    changed = await jay.update(third.id, content="The vault is in Porto")
    receipt = await jay.forget(changed.id, purge=True)
    assert {*receipt.ids, *receipt.derived} == {told.id, again.id, third.id, changed.id}
    assert not any(receipt.remaining.values())
    assert [line async for line in jay.export()][1:] == []


@pytest.mark.parametrize("purge", ["forget", "facts"])
async def test_a_reason_that_reads_like_a_restoration_takes_nothing_else_along(jay, purge):
    source = await jay.facts.store("The vault is in Lisbon")
    made = await jay.facts.store("Take the tram", derived_from=[source.id], reason="restored: from the minutes")
    assert [fact.id for fact in await jay.facts.history(id=made.id)] == [made.id]
    await (jay.forget(made.id, purge=True) if purge == "forget" else jay.facts.purge(made.id))
    assert (await jay.facts.get_by_id(source.id)).content == "The vault is in Lisbon"
