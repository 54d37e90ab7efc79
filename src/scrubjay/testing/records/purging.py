"""Purges beside those who read before, and write after: what they made of what is gone is refused."""

from dataclasses import replace

import pytest

from scrubjay.model import Scope
from scrubjay.ports import Purged, Records
from scrubjay.testing.values import a_memory, a_scope, keep_all, told

HERE = a_scope(session="s-1")


class PurgingSuite:
    """A part of `RecordsSuite`."""

    async def test_what_is_made_of_what_was_purged_meanwhile_is_refused(self, store: Records) -> None:
        [source, other] = await told(store, a_memory("source", scope=HERE), a_memory("other", scope=HERE))
        sight = await store.sight(HERE)
        await store.purge(Scope(), [source.id])
        with pytest.raises(Purged):
            await store.write([a_memory("made of it", scope=a_scope())], keep_all, sight=sight)
        now = await store.sight(HERE)
        assert now.purges > sight.purges
        [made] = await store.write([a_memory("made of the other", derived_from=(other.id,))], keep_all, sight=now)
        assert made.outcome == "stored"

    async def test_nothing_of_a_batch_that_is_refused_stays(self, store: Records) -> None:
        sight = await store.sight(HERE)
        await store.purging(HERE)
        batch = [a_memory(f"Message {place}", scope=HERE) for place in range(100)]
        with pytest.raises(Purged):
            await store.write(batch, keep_all, sight=sight)
        assert await store.get(HERE, [one.id for one in batch]) == []

    async def test_who_brings_no_sight_is_not_refused(self, store: Records) -> None:
        await store.purging(HERE)
        await told(store, a_memory("told after it", scope=HERE))

    @pytest.mark.parametrize(
        "purged", [Scope(), a_scope(), HERE, replace(HERE, workflow="w"), a_scope(project="elsewhere")], ids=str
    )
    async def test_a_place_that_is_purged_concerns_whoever_sees_it(self, store: Records, purged: Scope) -> None:
        sight = await store.sight(HERE)
        await store.purging(purged)
        assert (await store.sight(HERE) != sight) == HERE.sees(purged)

    @pytest.mark.parametrize(
        "purged", [a_scope(session="s-2"), Scope(user="somebody else"), Scope(tenant="another")], ids=str
    )
    async def test_what_is_purged_elsewhere_stops_nobody(self, store: Records, purged: Scope) -> None:
        sight = await store.sight(HERE)
        [there] = await told(store, a_memory("theirs", scope=purged))
        await store.purge(purged, [there.id])
        await store.purging(purged)
        await store.write([a_memory("ours", scope=HERE)], keep_all, sight=sight)

    async def test_a_purge_that_finds_nothing_is_none(self, store: Records) -> None:
        [stored] = await told(store, a_memory("kept", scope=HERE))
        sight = await store.sight(HERE)
        assert await store.purge(Scope(user="somebody else"), [stored.id]) == []
        assert await store.sight(HERE) == sight
