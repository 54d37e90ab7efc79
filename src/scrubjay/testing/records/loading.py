"""What `load` does with what is stored already: it closes what the rows say is closed, and opens nothing again."""

from dataclasses import replace

import pytest

from scrubjay.errors import Conflict, IdTaken
from scrubjay.model import Memory, new_id
from scrubjay.ports import Records
from scrubjay.testing.values import DAY, HOUR, NOW, a_memory, a_scope, all_rows, told


def replaced(old: Memory, content: str) -> tuple[Memory, Memory]:
    """The memory as it is once another has taken its key, and that other one."""
    new = a_memory(content, key=old.key, scope=old.scope, created_at=NOW + HOUR)
    return old.closed(NOW + HOUR, because="replaced", by=new.id), new


class LoadingSuite:
    """A record store is brought up to date by rows that know more."""

    async def test_load_closes_what_was_replaced_since_and_opens_the_new_one(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Tabs", key="k"))
        await store.mark([stored.id], 3)
        old, new = replaced(stored, "Spaces")
        assert await store.load([new, replace(old, generation=3)]) == 1
        assert await all_rows(store, a_scope()) == [old, new]
        assert await store.load([old, new]) == 0
        assert await all_rows(store, a_scope()) == [old, new]

    async def test_load_closes_one_that_was_forgotten_since(self, store: Records) -> None:
        one, other = await told(store, a_memory("A rumour"), a_memory("Kept"))
        forgotten = one.closed(NOW + HOUR, because="asked to: not true")
        assert await store.load([forgotten]) == 0
        assert await all_rows(store, a_scope()) == [forgotten, other]

    async def test_load_ends_what_ended_since(self, store: Records) -> None:
        [stored] = await told(store, a_memory("In Rome", key="city"))
        ended = replace(stored, valid_to=NOW + HOUR)
        new = a_memory("In Oslo", key="city", valid_from=NOW + HOUR)
        assert await store.load([ended, new]) == 1
        assert await all_rows(store, a_scope()) == [ended, new]

    async def test_load_frees_the_words_of_what_it_closes(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Tea"))
        earlier = a_memory("Tea", valid_from=NOW - DAY)
        closed = stored.closed(NOW + HOUR, because="corrected", by=earlier.id)
        assert await store.load([closed, earlier]) == 1
        assert await all_rows(store, a_scope()) == [closed, earlier]

    async def test_load_keeps_how_it_is_kept_here(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Tabs", key="k"))
        await store.adjust(a_scope(), stored.id, importance=0.9, expires_at=NOW + DAY)
        await store.touch({a_scope(): [stored.id]}, at=NOW)
        old, new = replaced(stored, "Spaces")
        await store.load([replace(old, content="Changed", uses=7), new])
        kept = replace(old, importance=0.9, expires_at=NOW + DAY, uses=1, used_at=NOW)
        assert await all_rows(store, a_scope()) == [kept, new]

    async def test_load_opens_nothing_again(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Tabs", key="k"))
        old, new = replaced(stored, "Spaces")
        await store.load([old, new])
        assert await store.load([stored]) == 0
        assert await store.load([replace(stored, valid_to=NOW + DAY)]) == 0
        assert await store.load([stored.closed(NOW + DAY, because="otherwise")]) == 0
        assert await all_rows(store, a_scope()) == [old, new]

    async def test_load_refuses_two_current_values_by_name_and_closes_nothing(self, store: Records) -> None:
        [theirs, other] = await told(store, a_memory("Tabs", key="k"), a_memory("Rome", key="city"))
        mine, new = replaced(theirs, "Spaces")
        await store.load([mine, new])
        closed, rival = replaced(theirs, "Both")
        moved, there = replaced(other, "Oslo")
        before = await all_rows(store, a_scope())
        with pytest.raises(Conflict) as refused:
            await store.load([moved, there, closed, rival])
        for named in ("key 'k'", str(a_scope()), str(new.id), str(rival.id), "Forget"):
            assert named in str(refused.value)
        assert await all_rows(store, a_scope()) == before

    async def test_load_names_everything_that_it_refuses(self, store: Records) -> None:
        stored = await told(
            store, *(a_memory(f"Value {place}", key=f"k{place}") for place in range(3)), a_memory("Tea")
        )
        rivals = [a_memory("Other", key="k0"), a_memory("Other", key="k2"), a_memory("Tea")]
        with pytest.raises(Conflict) as refused:
            await store.load([rivals[0], a_memory("Fine"), *rivals[1:]])
        named = zip(rivals, [stored[0], stored[2], stored[3]], strict=True)
        assert refused.value.rivals == {one.id: other.id for one, other in named}
        assert await all_rows(store, a_scope()) == stored

    async def test_load_refuses_stretches_of_a_key_that_overlap(self, store: Records) -> None:
        [stored] = await told(store, a_memory("Rome", key="city", valid_from=NOW - DAY, valid_to=NOW - HOUR))
        rival = a_memory("Oslo", key="city", valid_from=NOW - 2 * HOUR, valid_to=NOW)
        with pytest.raises(Conflict, match="key 'city' has two values for the same time") as refused:
            await store.load([rival])
        assert refused.value.rivals == {rival.id: stored.id}
        beside = [
            a_memory("Bonn", key="city", valid_from=NOW - HOUR, valid_to=NOW),
            a_memory("Oslo", key="other", valid_from=NOW - 2 * HOUR, valid_to=NOW),
            rival.closed(NOW, because="not true"),
        ]
        assert await store.load(beside) == 3
        assert await all_rows(store, a_scope()) == [stored, *beside]

    async def test_load_closes_nothing_of_another_place_under_the_same_id(self, store: Records) -> None:
        stored = await told(
            store, a_memory("Mine", key="k"), a_memory("Theirs", key="k", scope=replace(a_scope(), tenant="acme"))
        )
        for one in stored:
            for scope in (replace(one.scope, user="bob"), replace(one.scope, project="elsewhere")):
                closed = replace(one, scope=scope).closed(NOW + HOUR, because="guessed", by=new_id())
                assert await store.load([closed]) == 0
        for other in (replace(stored[0], key="other"), replace(stored[0], created_at=NOW - DAY)):
            assert await store.load([other.closed(NOW + HOUR, because="another one")]) == 0
        for one in stored:
            assert await store.get(one.scope, [one.id]) == [one]

    async def test_load_refuses_an_id_of_another_tenant_and_says_nothing_of_it(self, store: Records) -> None:
        [theirs] = await told(store, a_memory("Theirs", key="k", scope=replace(a_scope(), tenant="acme")))
        mine = replace(theirs, scope=a_scope(), content="Mine")
        with pytest.raises(IdTaken) as refused:
            await store.load([a_memory("Fine"), mine])
        assert str(theirs.id) in str(refused.value)
        assert "acme" not in str(refused.value)
        assert "Theirs" not in str(refused.value)
        assert await all_rows(store, a_scope()) == []
        assert await store.get(theirs.scope, [theirs.id]) == [theirs]

    async def test_what_bears_on_memories_is_believed_and_has_their_key_or_their_words(self, store: Records) -> None:
        tabs, rome, tea, past, other, gone = await told(
            store,
            a_memory("Tabs", key="k"),
            a_memory("Rome", key="city", valid_from=NOW - DAY, valid_to=NOW - HOUR),
            a_memory("Tea"),
            a_memory("Ended", valid_to=NOW + HOUR),
            a_memory("Tabs", key="k", scope=replace(a_scope(), tenant="acme")),
            a_memory("Gone", key="gone"),
        )
        await store.close(a_scope(), [gone.id], at=NOW, because="not true")
        asked = [
            a_memory("Spaces", key="k"),
            a_memory("Oslo", key="city"),
            a_memory("Tea"),
            a_memory("Ended", valid_to=NOW + HOUR),
            a_memory("Here", key="gone"),
            a_memory("Tabs", scope=replace(a_scope(), project="elsewhere")),
            *(a_memory(f"New {place}") for place in range(300)),
        ]
        found = await store.bearing(asked)
        assert sorted(one.id for one in found) == sorted(one.id for one in (tabs, rome, tea, past))
        assert len(await all_rows(store, a_scope())) == 5
        [only] = await store.bearing([replace(other, id=new_id())])
        assert only == other
        assert await store.bearing([a_memory("Nothing", scope=replace(a_scope(), user="nobody"))]) == []

    async def test_load_closes_many_at_once(self, store: Records) -> None:
        stored = await told(store, *(a_memory(f"Value {place}", key=f"k{place}") for place in range(700)))
        pairs = [replaced(one, f"New {one.content}") for one in stored]
        assert await store.load([row for pair in pairs for row in pair]) == 700
        assert await all_rows(store, a_scope()) == [old for old, _ in pairs] + [new for _, new in pairs]
