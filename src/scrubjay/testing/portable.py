"""What every store has to do that can be carried elsewhere as it is."""

from typing import Protocol

import numpy as np
import pytest

from scrubjay.errors import Conflict
from scrubjay.model import Memory, new_id
from scrubjay.ports import Entry, Generations, Outline, Portable, PortableVectors, Records, Vectors
from scrubjay.testing.generations import an_identity
from scrubjay.testing.values import DAY, NOW, a_memory, a_scope, replace_by_key, some_memories, told
from scrubjay.testing.vectors import an_entry, directions, entries_of

SOURCE = "sqlite:///elsewhere.db"


class PortableStore(Records, Generations, Portable, Protocol):
    """Records and generations that can be carried: one object, or several on one database."""


class PortableEngine(Vectors, PortableVectors, Protocol):
    """A vector engine that gives back what it was given."""


async def carried_rows(store: Portable, *, after: int = 0, batch: int = 500) -> list[tuple[int, list[Memory]]]:
    """All batches, with the place where each ends."""
    async with store.still() as still:
        return [page async for page in still.rows(after=after, batch=batch)]


async def outline_of(store: Portable) -> Outline:
    """What the store holds."""
    async with store.still() as still:
        return await still.outline()


async def filled(store: PortableStore) -> list[Memory]:
    """Rows of two tenants in every state, in the order of storing, and three generations, the last one dropped."""
    await told(store, a_memory("A plain fact"), a_memory("Elsewhere", scope=a_scope(tenant="other")))
    for city in ("Bonn", "Rome"):
        await store.write([a_memory(f"Lives in {city}", key="city")], replace_by_key)
    said = [a_memory(f"turn {turn}", kind="message", scope=a_scope(session="s")) for turn in range(3)]
    await told(store, *said)
    await told(store, a_memory("Made from it", derived_from=(said[0].id,), data={"n": 1e22, "deep": [1, None, "é"]}))
    await store.close(a_scope(), [said[1].id], at=NOW + DAY, because="forgotten")
    await store.touch(a_scope(), [said[0].id], at=NOW + DAY)
    old = await store.add(an_identity(), state="active", at=NOW)
    new = await store.add(an_identity("new"), state="building", at=NOW + DAY)
    await store.switch(new.number, at=NOW + 2 * DAY)
    dropped = await store.add(an_identity("dropped"), state="building", at=NOW)
    await store.drop(dropped.number)
    await store.mark([said[0].id], old.number)
    await store.mark([said[2].id], new.number)
    return [memory for _, page in await carried_rows(store) for memory in page]


class PortableSuite:
    """Derive from it, name the class `Test…`, and give it fixtures `store` and `other` that yield two empty ones."""

    async def test_an_empty_store_has_nothing_to_carry(self, store: PortableStore) -> None:
        assert await carried_rows(store) == []
        outline = await outline_of(store)
        assert (outline.tenants, outline.generations, outline.last_number, outline.memories) == ({}, (), 0, 0)

    async def test_all_rows_of_all_tenants_come_in_the_order_of_storing(self, store: PortableStore) -> None:
        here = some_memories(3)
        there = some_memories(3, scope=a_scope(tenant="other"))
        mixed = [memory for pair in zip(here, there, strict=True) for memory in pair]
        for memory in mixed:
            await told(store, memory)
        [(_, rows)] = await carried_rows(store)
        assert rows == mixed

    async def test_a_stream_goes_on_behind_any_place(self, store: PortableStore) -> None:
        rows = await told(store, *some_memories(7))
        pages = await carried_rows(store, batch=3)
        assert [page for _, page in pages] == [rows[:3], rows[3:6], rows[6:]]
        places = [place for place, _ in pages]
        assert places == sorted(set(places))
        assert places[0] > 0
        assert [page for _, page in await carried_rows(store, after=places[0], batch=3)] == [rows[3:6], rows[6:]]
        assert await carried_rows(store, after=places[-1]) == []

    async def test_what_is_held_still_does_not_change(self, store: PortableStore) -> None:
        first, second = await told(store, *some_memories(2))
        await store.add(an_identity(), state="active", at=NOW)
        async with store.still() as still:
            before = await still.outline()
            await told(store, a_memory("Written meanwhile"))
            await store.close(a_scope(), [first.id], at=NOW + DAY, because="forgotten")
            await store.add(an_identity("new"), state="building", at=NOW)
            assert [memory async for _, page in still.rows() for memory in page] == [first, second]
            after = await still.outline()
            assert (after.tenants, after.generations) == (before.tenants, before.generations)
        assert [len(page) for _, page in await carried_rows(store)] == [3]

    async def test_an_outline_counts_every_version_of_every_tenant(self, store: PortableStore) -> None:
        rows = await filled(store)
        outline = await outline_of(store)
        assert outline.tenants == {"default": len(rows) - 1, "other": 1}
        assert list(outline.generations) == await store.generations()
        assert outline.last_number == 3

    async def test_what_is_carried_is_the_same_there(self, store: PortableStore, other: PortableStore) -> None:
        rows = await filled(store)
        assert await other.begun(SOURCE) is None
        await other.begin(SOURCE, await outline_of(store))
        for place, page in await carried_rows(store, batch=3):
            await other.fill(SOURCE, page, place=place)
        await other.finish(SOURCE)
        assert [memory for _, page in await carried_rows(other) for memory in page] == rows
        assert await outline_of(other) == await outline_of(store)
        assert await other.generations() == await store.generations()
        assert await other.check() == []
        turn = next(memory for memory in rows if memory.content == "turn 0")
        made = next(memory for memory in rows if memory.content == "Made from it")
        assert await other.derived(a_scope(), [turn.id]) == [made.id]

    async def test_a_filled_store_goes_on_counting(self, store: PortableStore, other: PortableStore) -> None:
        await filled(store)
        await other.begin(SOURCE, await outline_of(store))
        for place, page in await carried_rows(store):
            await other.fill(SOURCE, page, place=place)
        await other.finish(SOURCE)
        # A number that was dropped may still be the mark of a memory.
        assert (await other.add(an_identity("next"), state="building", at=NOW)).number == 4
        [said] = await told(other, a_memory("turn 3", kind="message", scope=a_scope(session="s")))
        assert said.position == 3
        [(_, rows)] = await carried_rows(other)
        assert rows[-1] == said

    async def test_a_store_says_how_far_it_was_filled(self, store: PortableStore) -> None:
        rows = some_memories(4)
        assert await store.begun(SOURCE) is None
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        assert await store.begun(SOURCE) == 0
        await store.fill(SOURCE, rows[:2], place=17)
        assert await store.begun(SOURCE) == 17
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        assert await store.begun(SOURCE) == 17
        await store.fill(SOURCE, rows[2:], place=2**40)
        assert await store.begun(SOURCE) == 2**40

    async def test_filling_twice_stores_once(self, store: PortableStore) -> None:
        rows = some_memories(4)
        await store.begin(SOURCE, Outline(tenants={"default": 4}))
        await store.fill(SOURCE, rows[:3], place=3)
        await store.fill(SOURCE, rows[:3], place=3)
        await store.fill(SOURCE, rows[2:], place=4)
        assert [page for _, page in await carried_rows(store)] == [rows]

    async def test_a_store_with_memories_of_its_own_is_refused(self, store: PortableStore) -> None:
        await told(store, a_memory("Mine"))
        with pytest.raises(Conflict, match=SOURCE):
            await store.begun(SOURCE)

    async def test_a_store_that_is_filled_from_elsewhere_is_refused(self, store: PortableStore) -> None:
        await store.begin("another", Outline(tenants={}))
        assert await store.begun(SOURCE) is None  # nothing came from there yet
        await store.begin("another", Outline(tenants={}))
        await store.fill("another", some_memories(1), place=1)
        with pytest.raises(Conflict, match=SOURCE):
            await store.begun(SOURCE)
        assert await store.begun("another") == 1

    async def test_a_store_that_was_filled_is_a_store_like_any_other(self, store: PortableStore) -> None:
        await store.begin(SOURCE, Outline(tenants={}))
        await store.fill(SOURCE, some_memories(1), place=1)
        await store.finish(SOURCE)
        with pytest.raises(Conflict):
            await store.begun(SOURCE)

    async def test_only_what_was_begun_is_filled(self, store: PortableStore) -> None:
        with pytest.raises(Conflict):
            await store.fill(SOURCE, some_memories(1), place=1)
        assert await carried_rows(store) == []

    async def test_a_generation_that_opening_made_gives_way(self, store: PortableStore, other: PortableStore) -> None:
        await filled(store)
        await other.add(an_identity("made by opening"), state="active", at=NOW)
        assert await other.begun(SOURCE) is None
        await other.begin(SOURCE, await outline_of(store))
        assert await other.generations() == await store.generations()


class PortableVectorsSuite:
    """Derive from it, name the class `Test…`, and give it fixtures `vectors` and `other`: two empty engines."""

    async def test_entries_come_back_in_the_order_asked(self, vectors: PortableEngine) -> None:
        entries = entries_of(directions(3), until=NOW + DAY, kind="fact")
        await vectors.upsert(1, entries)
        back = await vectors.entries(1, [entries[2].id, new_id(), entries[0].id])
        assert back == [entries[2], entries[0]]
        assert np.allclose(back[0].vectors, entries[2].vectors, atol=1e-3)
        assert await vectors.entries(2, [entries[0].id]) == []
        assert await vectors.entries(1, []) == []

    async def test_all_parts_come_back(self, vectors: PortableEngine) -> None:
        whole = an_entry(*directions(5), scope=a_scope(tenant="other", session="s"))
        await vectors.upsert(1, [whole])
        [back] = await vectors.entries(1, [whole.id])
        assert back == whole
        assert np.allclose(back.vectors, whole.vectors, atol=1e-3)

    async def test_what_is_retired_comes_back_as_such(self, vectors: PortableEngine) -> None:
        [entry] = entries_of(directions(1))
        await vectors.upsert(1, [entry])
        await vectors.retire([entry.id])
        [back] = await vectors.entries(1, [entry.id])
        assert not back.live

    async def test_what_is_removed_does_not(self, vectors: PortableEngine) -> None:
        entries = entries_of(directions(2))
        await vectors.upsert(1, entries)
        await vectors.remove([entries[0].id])
        assert await vectors.entries(1, [entry.id for entry in entries]) == [entries[1]]

    async def test_what_is_carried_is_the_same_to_the_last_bit(
        self, vectors: PortableEngine, other: PortableEngine
    ) -> None:
        entries: list[Entry] = [*entries_of(directions(20)), an_entry(*directions(3, seed=9))]
        ids = [entry.id for entry in entries]
        await vectors.upsert(1, entries)
        once = await vectors.entries(1, ids)
        await other.upsert(1, once)
        twice = await other.entries(1, ids)
        assert twice == once
        assert all((one.vectors == two.vectors).all() for one, two in zip(once, twice, strict=True))

    async def test_more_than_one_request_can_name(self, vectors: PortableEngine) -> None:
        entries = entries_of(directions(1_200))
        await vectors.upsert(1, entries)
        assert await vectors.entries(1, [entry.id for entry in entries]) == entries
