"""Rows and generations that can be carried."""

import pytest

from scrubjay.errors import Conflict
from scrubjay.model import Memory
from scrubjay.ports import Outline, Piece
from scrubjay.testing.generations import an_identity
from scrubjay.testing.portable.stores import SOURCE, PortableStore, carry, outline_of, pieces_of, rows_of
from scrubjay.testing.values import DAY, NOW, a_memory, a_scope, replace_by_key, some_memories, told


async def filled(store: PortableStore) -> list[Memory]:
    """Rows of two tenants in every state, in the order of storing, and three generations, the last one dropped."""
    await told(store, a_memory("A plain fact"), a_memory("Elsewhere", scope=a_scope(tenant="other")))
    for city in ("Bonn", "Rome"):
        await store.write([a_memory(f"Lives in {city}", key="city")], replace_by_key)
    said = [a_memory(f"turn {turn}", kind="message", scope=a_scope(session="s")) for turn in range(3)]
    await told(store, *said)
    # As an import of an earlier version may have left them: to be carried all the same.
    for city in ("Oslo", "Graz"):
        await told(store, a_memory(f"Was in {city}", key="past", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY))
    await told(store, a_memory("Made from it", derived_from=(said[0].id,), data={"n": 1e22, "deep": [1, None, "é"]}))
    await store.close(a_scope(), [said[1].id], at=NOW + DAY, because="forgotten")
    await store.touch({a_scope(): [said[0].id]}, at=NOW + DAY)
    old = await store.add(an_identity(), state="active", at=NOW)
    new = await store.add(an_identity("new"), state="building", at=NOW + DAY)
    await store.switch(new.number, at=NOW + 2 * DAY)
    dropped = await store.add(an_identity("dropped"), state="building", at=NOW)
    await store.drop(dropped.number)
    await store.mark([said[0].id], old.number)
    await store.mark([said[2].id], new.number)
    return await rows_of(store)


class RowsSuite:
    """Rows and generations, and how far a store was filled."""

    async def test_an_empty_store_has_nothing_to_carry(self, store: PortableStore) -> None:
        assert await pieces_of(store) == []
        assert await outline_of(store) == Outline(tenants={})

    async def test_all_rows_of_all_tenants_come_in_the_order_of_storing(self, store: PortableStore) -> None:
        here = some_memories(3)
        there = some_memories(3, scope=a_scope(tenant="other"))
        mixed = [memory for pair in zip(here, there, strict=True) for memory in pair]
        for memory in mixed:
            await told(store, memory)
        assert await rows_of(store) == mixed

    async def test_a_stream_goes_on_behind_any_place(self, store: PortableStore) -> None:
        rows = await told(store, *some_memories(7))
        pieces = await pieces_of(store, batch=3)
        assert [list(piece.memories) for piece in pieces] == [rows[:3], rows[3:6], rows[6:]]
        places = [piece.place for piece in pieces]
        assert places == sorted(set(places))
        assert places[0] > 0
        assert await pieces_of(store, after=places[0], batch=3) == pieces[1:]
        assert await pieces_of(store, after=places[-1]) == []

    async def test_what_is_held_still_does_not_change(self, store: PortableStore) -> None:
        first, second = await told(store, *some_memories(2))
        await store.add(an_identity(), state="active", at=NOW)
        async with store.still() as still:
            before = await still.outline()
            await told(store, a_memory("Written meanwhile"))
            await store.close(a_scope(), [first.id], at=NOW + DAY, because="forgotten")
            await store.add(an_identity("new"), state="building", at=NOW)
            assert [memory async for piece in still.pieces() for memory in piece.memories] == [first, second]
            after = await still.outline()
            assert (after.tenants, after.generations) == (before.tenants, before.generations)
        assert len(await rows_of(store)) == 3

    async def test_an_outline_counts_every_version_of_every_tenant(self, store: PortableStore) -> None:
        rows = await filled(store)
        outline = await outline_of(store)
        assert outline.tenants == {"default": len(rows) - 1, "other": 1}
        assert list(outline.generations) == await store.generations()
        assert outline.last_number == 3

    async def test_what_is_carried_is_the_same_there(self, store: PortableStore, other: PortableStore) -> None:
        rows = await filled(store)
        assert await other.begun(SOURCE) is None
        await carry(store, other, batch=3)
        assert await rows_of(other) == rows
        assert await outline_of(other) == await outline_of(store)
        assert await other.generations() == await store.generations()
        # Nothing is wrong there but what was here: a key with two values at one moment.
        [fault] = await other.check()
        assert [fault] == await store.check()
        turn = next(memory for memory in rows if memory.content == "turn 0")
        made = next(memory for memory in rows if memory.content == "Made from it")
        assert await other.derived(a_scope(), [turn.id]) == [made.id]

    async def test_a_filled_store_goes_on_counting(self, store: PortableStore, other: PortableStore) -> None:
        await filled(store)
        await carry(store, other)
        # A number that was dropped may still be the mark of a memory.
        assert (await other.add(an_identity("next"), state="building", at=NOW)).number == 4
        [said] = await told(other, a_memory("turn 3", kind="message", scope=a_scope(session="s")))
        assert said.position == 3
        assert (await rows_of(other))[-1] == said

    async def test_a_store_says_how_far_it_was_filled(self, store: PortableStore) -> None:
        rows = some_memories(4)
        assert await store.begun(SOURCE) is None
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        assert await store.begun(SOURCE) == 0
        await store.fill(SOURCE, Piece(place=17, memories=rows[:2]))
        assert await store.begun(SOURCE) == 17
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        assert await store.begun(SOURCE) == 17
        await store.fill(SOURCE, Piece(place=2**40, memories=rows[2:]))
        assert await store.begun(SOURCE) == 2**40

    async def test_filling_twice_stores_once(self, store: PortableStore) -> None:
        rows = some_memories(4)
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        await store.fill(SOURCE, Piece(place=3, memories=rows[:3]))
        await store.fill(SOURCE, Piece(place=3, memories=rows[:3]))
        await store.fill(SOURCE, Piece(place=4, memories=rows[2:]))
        assert await rows_of(store) == rows

    async def test_a_store_with_memories_of_its_own_is_refused(self, store: PortableStore) -> None:
        await told(store, a_memory("Mine"))
        with pytest.raises(Conflict, match=SOURCE):
            await store.begun(SOURCE)

    async def test_a_store_that_is_filled_from_elsewhere_is_refused(self, store: PortableStore) -> None:
        await store.begin("another", Outline(tenants={}))
        assert await store.begun(SOURCE) is None  # nothing came from there yet
        await store.begin("another", Outline(tenants={}))
        await store.fill("another", Piece(place=1, memories=some_memories(1)))
        with pytest.raises(Conflict, match=SOURCE):
            await store.begun(SOURCE)
        assert await store.begun("another") == 1

    async def test_a_store_that_was_filled_is_a_store_like_any_other(self, store: PortableStore) -> None:
        await store.begin(SOURCE, Outline(tenants={}))
        await store.fill(SOURCE, Piece(place=1, memories=some_memories(1)))
        await store.finish(SOURCE)
        with pytest.raises(Conflict):
            await store.begun(SOURCE)

    async def test_only_what_was_begun_is_filled(self, store: PortableStore) -> None:
        with pytest.raises(Conflict):
            await store.fill(SOURCE, Piece(place=1, memories=some_memories(1)))
        assert await pieces_of(store) == []

    async def test_a_generation_that_opening_made_gives_way(self, store: PortableStore, other: PortableStore) -> None:
        await filled(store)
        await other.add(an_identity("made by opening"), state="active", at=NOW)
        assert await other.begun(SOURCE) is None
        await other.begin(SOURCE, await outline_of(store))
        assert await other.generations() == await store.generations()
