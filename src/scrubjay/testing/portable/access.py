"""Keys, the audit log and notes that can be carried."""

import pytest

from scrubjay.errors import Conflict
from scrubjay.model.access import AuditEntry
from scrubjay.testing.access import a_key
from scrubjay.testing.portable.stores import SOURCE, PortableStore, carry, outline_of, pieces_of
from scrubjay.testing.values import DAY, NOW, a_memory


def an_entry(target: str, *, tenant: str = "acme") -> AuditEntry:
    """Something that was done."""
    ids = (a_memory().id,)
    return AuditEntry(at=NOW, tenant=tenant, key="aa", action="memory.purged", target=target, ids=ids, request="r")


class AccessSuite:
    """Keys and notes come with the outline, and the log in pieces, after all else."""

    async def test_keys_of_all_tenants_are_carried_as_they_are(
        self, store: PortableStore, other: PortableStore
    ) -> None:
        await store.api_keys.add(a_key("bb", expires_at=NOW + DAY, used_at=NOW))
        await store.api_keys.add(a_key("aa", tenant="zeta"))
        await store.api_keys.revoke("zeta", "aa", at=NOW)
        await carry(store, other)
        for known in ("aa", "bb"):
            assert await other.api_keys.find(known) == await store.api_keys.find(known)
        assert [one.key.id for one in (await outline_of(other)).api_keys] == ["aa", "bb"]

    async def test_the_log_is_carried_with_its_numbers(self, store: PortableStore, other: PortableStore) -> None:
        for number in range(5):
            await store.audit.note(an_entry(str(number), tenant="acme" if number % 2 else "zeta"))
        outline = await outline_of(store)
        assert (outline.audit, outline.items) == ({"acme": 2, "zeta": 3}, 5)
        pieces = await pieces_of(store, batch=2)
        assert [len(piece.audit) for piece in pieces] == [2, 2, 1]
        assert await pieces_of(store, after=pieces[0].place, batch=2) == pieces[1:]
        await carry(store, other, batch=2)
        await carry(store, other, batch=3)
        for tenant in ("acme", "zeta"):
            assert await other.audit.entries(tenant, limit=9) == await store.audit.entries(tenant, limit=9)
        await other.audit.note(an_entry("next"))
        [last] = await other.audit.entries("acme", limit=1)
        assert last.number > pieces[-1].audit[-1].number

    async def test_notes_of_what_is_kept_elsewhere_are_carried(
        self, store: PortableStore, other: PortableStore
    ) -> None:
        await store.elsewhere.keep("sessions", "redis://one", at=NOW - DAY)
        await store.elsewhere.keep("sessions", "redis://two", at=NOW)
        await other.elsewhere.keep("sessions", "redis://three", at=NOW + DAY)
        await carry(store, other)
        await carry(store, other)
        places = [note.place for note in await other.elsewhere.kept("sessions")]
        assert places == ["redis://one", "redis://two", "redis://three"]

    async def test_a_store_that_has_any_is_not_filled(self, store: PortableStore, other: PortableStore) -> None:
        await store.api_keys.add(a_key())
        await other.audit.note(an_entry("one"))
        for one in (store, other):
            with pytest.raises(Conflict):
                await one.begun(SOURCE)
