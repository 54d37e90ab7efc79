"""Vectors that can be carried, and listed."""

from typing import Protocol
from uuid import UUID

import numpy as np

from scrubjay.model import new_id
from scrubjay.ports import Entry, Listed, PortableVectors, Vectors
from scrubjay.testing.values import DAY, NOW, a_scope
from scrubjay.testing.vectors import an_entry, directions, entries_of


class PortableEngine(Vectors, PortableVectors, Protocol):
    """A vector engine that gives back what it was given."""


class ListedEngine(Vectors, Listed, Protocol):
    """A vector engine that can say of which memories it has vectors."""


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


async def listed_ids(vectors: Listed, generation: int, *, limit: int = 100) -> list[UUID]:
    """All ids of a generation, a page at a time."""
    found: list[UUID] = []
    while page := await vectors.ids(generation, limit=limit, after=found[-1] if found else None):
        assert len(page) <= limit
        found += page
        if len(page) < limit:
            break
    return found


class ListedSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `vectors` that yields an empty engine."""

    async def test_an_empty_engine_lists_nothing(self, vectors: ListedEngine) -> None:
        assert await vectors.ids(1, limit=10) == []
        assert await vectors.ids(1, limit=10, after=new_id()) == []

    async def test_every_memory_is_listed_once_whatever_its_parts_and_its_state(self, vectors: ListedEngine) -> None:
        entries = [
            *entries_of(directions(5)),
            an_entry(*directions(3), scope=a_scope(tenant="other", session="s")),
            an_entry(*directions(1), until=NOW - DAY),
        ]
        await vectors.upsert(1, entries)
        await vectors.retire([entries[0].id])
        assert set(await vectors.ids(1, limit=100)) == {entry.id for entry in entries}
        assert len(await vectors.ids(1, limit=100)) == len(entries)
        assert await vectors.ids(2, limit=100) == []

    async def test_pages_follow_each_other(self, vectors: ListedEngine) -> None:
        entries = entries_of(directions(25))
        await vectors.upsert(1, entries)
        whole = await listed_ids(vectors, 1)
        assert set(whole) == {entry.id for entry in entries}
        for limit in (1, 4, 5, 25):
            assert await listed_ids(vectors, 1, limit=limit) == whole

    async def test_a_page_goes_on_behind_one_that_was_removed(self, vectors: ListedEngine) -> None:
        entries = entries_of(directions(10))
        await vectors.upsert(1, entries)
        first = await vectors.ids(1, limit=4)
        rest = await vectors.ids(1, limit=10, after=first[-1])
        assert len(rest) == 6
        await vectors.remove([first[-1]])
        assert await vectors.ids(1, limit=10, after=first[-1]) == rest
        assert await vectors.ids(1, limit=10) == [*first[:-1], *rest]
