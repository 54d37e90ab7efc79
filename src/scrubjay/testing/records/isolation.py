"""Isolation: what lies in another tenant, or with another user, is neither read nor changed by any method."""

from typing import Final

import pytest

from scrubjay.model import Filter, Memory, Reach, Scope, new_id
from scrubjay.ports import Records
from scrubjay.testing.values import NOW, a_memory, all_rows, replace_by_key, told

THEIRS: Final = Scope(tenant="acme", user="anna", session="s")

STRANGERS: Final = {
    "another tenant": Scope(tenant="evil"),
    "another tenant, same names": Scope(tenant="evil", user="anna", session="s"),
    "a tenant whose name differs in case": Scope(tenant="Acme", user="anna", session="s"),
    "another user": Scope(tenant="acme", user="bob"),
    "another user, same session": Scope(tenant="acme", user="bob", session="s"),
    "another session": Scope(tenant="acme", user="anna", session="t"),
}


for_every_stranger: Final = pytest.mark.parametrize("stranger", STRANGERS)


class IsolationSuite:
    """A stranger asks for everything, by id and by filter, and gets nothing."""

    async def their_memories(self, store: Records) -> list[Memory]:
        """Three messages of somebody else, the last one with a key and made from the first."""
        first = a_memory("Hello", scope=THEIRS, kind="message")
        second = a_memory("Again", scope=THEIRS, kind="message")
        third = a_memory("Secret", scope=THEIRS, key="k", derived_from=(first.id,), data={"n": 1})
        return await told(store, first, second, third)

    @for_every_stranger
    async def test_get(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        assert await store.get(STRANGERS[stranger], [memory.id for memory in theirs]) == []

    @pytest.mark.parametrize("reach", ["sees", "holds"])
    @for_every_stranger
    async def test_find_scan_among_and_count(self, store: Records, stranger: str, reach: Reach) -> None:
        await self.their_memories(store)
        filters = [
            Filter(scope=STRANGERS[stranger], reach=reach),
            Filter(scope=STRANGERS[stranger], reach=reach, history=True),
            Filter(scope=STRANGERS[stranger], reach=reach, key="k"),
            Filter(scope=STRANGERS[stranger], reach=reach, data={"n": 1}),
        ]
        for asked in filters:
            assert await store.find(asked, now=NOW, limit=9) == []
            assert [batch async for batch in store.scan(asked, now=NOW)] == []
            assert await store.among(asked, now=NOW, limit=9) == []
            counts = await store.count(asked, now=NOW)
            assert (counts.current, counts.versions, counts.scopes, counts.kinds) == (0, 0, 0, {})

    @for_every_stranger
    async def test_versions(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        assert await store.versions(STRANGERS[stranger], key="k") == []
        assert await store.versions(STRANGERS[stranger], id=theirs[2].id) == []

    @for_every_stranger
    async def test_neighbours(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        assert await store.neighbours(STRANGERS[stranger], theirs[1], before=9, after=9) == []
        assert await store.following(STRANGERS[stranger], [one.id for one in theirs]) == []

    @for_every_stranger
    async def test_close_adjust_touch_and_purge(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        ids = [memory.id for memory in theirs]
        scope = STRANGERS[stranger]
        assert await store.close(scope, ids, at=NOW, because="malice") == []
        forgotten = await store.forget(scope, ids, at=NOW, because="malice", with_it="malice", elsewhere="malice")
        assert forgotten == ([], [])
        assert await store.adjust(scope, ids[0], importance=0.0, expires_at=NOW) is None
        await store.touch({scope: ids}, at=NOW)
        assert await store.purge(scope, ids) == []
        assert await all_rows(store, THEIRS) == theirs

    @for_every_stranger
    async def test_derived(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        scope = STRANGERS[stranger]
        found = await store.derived(scope, [theirs[0].id])
        # What is derived goes with its source, so it is found in the whole tenant; but never outside.
        assert found == ([theirs[2].id] if scope.tenant == THEIRS.tenant else [])

    @for_every_stranger
    async def test_write(self, store: Records, stranger: str) -> None:
        theirs = await self.their_memories(store)
        drafts = [a_memory("Mine", scope=STRANGERS[stranger], key="k"), a_memory("Secret", scope=STRANGERS[stranger])]
        remembered = await store.write(drafts, replace_by_key)
        assert [one.outcome for one in remembered] == ["stored", "stored"]
        assert await all_rows(store, THEIRS) == theirs

    @for_every_stranger
    async def test_lineage_and_versions_do_not_lead_across(self, store: Records, stranger: str) -> None:
        scope = STRANGERS[stranger]
        mine = a_memory("Mine", id=new_id(), scope=scope)
        theirs = a_memory("Theirs", scope=THEIRS).closed(NOW, because="replaced", by=mine.id)
        await store.load([mine, theirs])
        assert [memory.id for memory in await store.versions(scope, id=mine.id)] == [mine.id]
