"""Reading: get, find, scan, among, count, versions, neighbours and following; their order and their limits."""

import math
from typing import Any
from uuid import UUID

import pytest

from scrubjay.model import Filter, Memory, Order, Scope, new_id
from scrubjay.ports import Counts, Records
from scrubjay.testing.values import DAY, HOUR, NOW, a_memory, a_scope, replace_by_key, some_memories, told

HERE = Filter(scope=a_scope())


def ids_of(memories: list[Memory]) -> list[UUID]:
    """The ids, in order."""
    return [memory.id for memory in memories]


async def a_chain(store: Records, *contents: str, key: str = "k") -> list[Memory]:
    """Several versions of one memory, each told an hour after the one before, as they are stored in the end."""
    drafts = [a_memory(content, key=key, created_at=NOW + place * HOUR) for place, content in enumerate(contents)]
    await store.write(drafts, replace_by_key)
    return await store.get(a_scope(), ids_of(drafts))


class FindingSuite:
    """Every way of reading answers in its order, within its limit, and completely."""

    async def test_an_empty_store_answers_with_nothing(self, store: Records) -> None:
        assert await store.get(a_scope(), [new_id()]) == []
        assert await store.find(HERE, now=NOW, limit=10) == []
        assert [batch async for batch in store.scan(HERE, now=NOW)] == []
        assert await store.among(HERE, now=NOW, limit=10) == []
        assert await store.count(HERE, now=NOW) == Counts(current=0, versions=0, scopes=0, kinds={})
        assert await store.versions(a_scope(), key="k") == []
        assert await store.versions(a_scope(), id=new_id()) == []
        assert await store.check() == []

    async def test_get_answers_in_the_order_asked_without_the_missing(self, store: Records) -> None:
        one, two, three = await told(store, *some_memories(3))
        assert await store.get(a_scope(), [three.id, new_id(), one.id, two.id]) == [three, one, two]
        assert await store.get(a_scope(), [two.id, one.id, two.id]) == [two, one]
        assert await store.get(a_scope(), []) == []

    async def test_get_answers_in_any_state(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("Forgotten"),
            a_memory("Expired", expires_at=NOW - DAY),
            a_memory("Past", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY),
            a_memory("Future", valid_from=NOW + DAY),
        )
        stored[0] = (await store.close(a_scope(), [stored[0].id], at=NOW, because="forgotten"))[0]
        assert await store.get(a_scope(), ids_of(stored)) == stored

    async def test_find_goes_by_the_order_of_storing_not_by_clocks_or_ids(self, store: Records) -> None:
        stored = await told(
            store,
            a_memory("First", created_at=NOW - HOUR, id=UUID(int=3)),
            a_memory("Second", created_at=NOW - 3 * HOUR, id=UUID(int=1)),
            a_memory("Third", created_at=NOW - 2 * HOUR, id=UUID(int=2)),
        )
        assert await store.find(HERE, now=NOW, limit=10) == stored[::-1]
        assert await store.find(HERE, now=NOW, limit=10, order="oldest") == stored

    async def test_a_changed_memory_keeps_its_place(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        await store.adjust(a_scope(), stored[0].id, importance=0.9)
        await store.touch({a_scope(): [stored[1].id]}, at=NOW)
        await store.mark([stored[0].id], 1)
        assert ids_of(await store.find(HERE, now=NOW, limit=10, order="oldest")) == ids_of(stored)

    async def test_find_keeps_to_its_limit(self, store: Records) -> None:
        stored = await told(store, *some_memories(5))
        assert await store.find(HERE, now=NOW, limit=2) == [stored[4], stored[3]]
        assert await store.find(HERE, now=NOW, limit=2, order="oldest") == stored[:2]

    async def test_find_pages_with_after(self, store: Records) -> None:
        stored = await told(store, *some_memories(7))
        orders: dict[Order, list[Memory]] = {"oldest": stored, "newest": stored[::-1]}
        for order, wanted in orders.items():
            pages: list[list[Memory]] = []
            for _ in range(4):
                after = pages[-1][-1].id if pages else None
                pages.append(await store.find(HERE, now=NOW, limit=3, order=order, after=after))
                if not pages[-1]:
                    break
            assert pages == [wanted[:3], wanted[3:6], wanted[6:], []], order

    async def test_after_works_from_a_memory_that_does_not_match(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        await store.close(a_scope(), [stored[1].id], at=NOW - HOUR, because="forgotten")
        assert await store.find(HERE, now=NOW, limit=9, order="oldest", after=stored[1].id) == [stored[2]]
        assert await store.find(HERE, now=NOW, limit=9, after=stored[1].id) == [stored[0]]

    async def test_scan_streams_all_in_batches_oldest_first(self, store: Records) -> None:
        stored = await told(store, *some_memories(23))
        batches = [batch async for batch in store.scan(HERE, now=NOW, batch=5)]
        assert [memory for batch in batches for memory in batch] == stored
        assert all(0 < len(batch) <= 5 for batch in batches)

    async def test_scan_keeps_to_its_filter(self, store: Records) -> None:
        await told(store, *some_memories(20))
        rules = await told(store, *some_memories(7, kind="rule"))
        batches = [batch async for batch in store.scan(Filter(scope=a_scope(), kinds=("rule",)), now=NOW, batch=3)]
        assert [memory for batch in batches for memory in batch] == rules

    async def test_scan_lets_others_write_and_purge_meanwhile(self, store: Records) -> None:
        stored = await told(store, *some_memories(12))
        seen: list[UUID] = []
        async for batch in store.scan(HERE, now=NOW, batch=4):
            if not seen:
                await told(store, a_memory("Told meanwhile"))
                # One that was streamed, at the very place to go on from, and one that was not.
                await store.purge(a_scope(), [stored[3].id, stored[10].id])
            seen += ids_of(batch)
        kept = [one for one in ids_of(stored) if one != stored[10].id]
        assert [one for one in seen if one in ids_of(stored)] == kept
        assert len(seen) == len(set(seen))

    async def test_two_scans_at_once_do_not_mix(self, store: Records) -> None:
        notes = await told(store, *some_memories(6))
        rules = await told(store, *some_memories(6, kind="rule"))
        first = store.scan(Filter(scope=a_scope(), kinds=("note",)), now=NOW, batch=2)
        second = store.scan(Filter(scope=a_scope(), kinds=("rule",)), now=NOW, batch=2)
        seen: tuple[list[Memory], list[Memory]] = ([], [])
        for _ in range(3):
            seen[0].extend(await anext(first))
            seen[1].extend(await anext(second))
        assert seen == (notes, rules)

    async def test_among_names_all_newest_first_or_says_there_are_too_many(self, store: Records) -> None:
        stored = await told(store, *some_memories(5))
        assert await store.among(HERE, now=NOW, limit=6) == ids_of(stored)[::-1]
        assert await store.among(HERE, now=NOW, limit=5) == ids_of(stored)[::-1]
        assert await store.among(HERE, now=NOW, limit=4) is None

    async def test_among_limits_what_matches_not_what_is_there(self, store: Records) -> None:
        await told(store, *some_memories(20))
        [rule] = await told(store, a_memory(kind="rule"))
        assert await store.among(Filter(scope=a_scope(), kinds=("rule",)), now=NOW, limit=1) == [rule.id]

    @pytest.mark.parametrize("number", [0.12345678901234568, 1e22, -7, 9007199254740993, 1e-9])
    async def test_numbers_in_data_are_compared_to_their_last_digit(self, store: Records, number: float) -> None:
        await told(store, a_memory("It", data={"n": number}), a_memory("Other", data={"n": "a text"}), a_memory("None"))

        async def meet(**bound: float) -> bool:
            asked = Filter(scope=a_scope(), data={"n": dict(bound)})
            return "It" in [one.content for one in await store.find(asked, now=NOW, limit=9)]

        assert [await meet(gte=number), await meet(lte=number)] == [True, True]
        assert [await meet(gt=number), await meet(lt=number), await meet(ne=number)] == [False, False, False]
        below = number - 1 if isinstance(number, int) else math.nextafter(number, -math.inf)
        assert [await meet(gt=below), await meet(lte=below), await meet(ne=below)] == [True, False, True]

    async def test_one_of_each_beginning_of_a_key_that_matches(self, store: Records) -> None:
        keys = ["a:x:1", "a:x:2", "a:y:1", "a:", "a", "b:x:1", "\u00e9:x", "\U0010ffff", "A:x:1", "a:x"]
        await told(store, *(a_memory(key, key=key) for key in keys), a_memory("no key"))
        found = await store.one_of_each(HERE, now=NOW, length=4) or []
        assert [one.key[:4] for one in found if one.key] == sorted({key[:4] for key in keys})
        under = await store.one_of_each(Filter(scope=a_scope(), key_prefix="a:"), now=NOW, length=4) or []
        assert [one.key[:4] for one in under if one.key] == ["a:", "a:x", "a:x:", "a:y:"]
        assert await store.one_of_each(Filter(scope=a_scope(), key_prefix="c"), now=NOW, length=4) == []

    async def test_one_of_each_is_one_that_matches(self, store: Records) -> None:
        await a_chain(store, "Tabs", "Spaces", key="k:tabs")
        await told(
            store,
            a_memory("Expired", key="x:1", expires_at=NOW - DAY),
            a_memory("A rule", key="r:1", kind="rule"),
            a_memory("A note", key="r:2", data={"n": 1}),
            a_memory("Of bob", key="b:1", scope=a_scope(user="bob")),
            a_memory("Of bob in a session", key="b:1", scope=a_scope(user="bob", session="s")),
            a_memory("Of another tenant", key="t:1", scope=a_scope(tenant="acme")),
        )

        async def asked(**narrow: Any) -> list[str]:  # noqa: ANN401 -- any field of a filter
            wanted = Filter(**{"scope": a_scope(), **narrow})
            return [one.content for one in await store.one_of_each(wanted, now=NOW + DAY, length=2) or []]

        assert await asked(kinds=("note",)) == ["Spaces", "A note"]
        assert await asked(kinds=("rule",)) == ["A rule"]
        assert await asked(data={"n": 1}) == ["A note"]
        [of_bob] = await asked(scope=Scope(), reach="holds", key_prefix="b:")
        assert of_bob.startswith("Of bob")
        assert await asked(scope=a_scope(user="bob", session="s"), reach="holds") == ["Of bob in a session"]
        assert await asked(scope=a_scope(tenant="acme"), reach="holds") == ["Of another tenant"]

    async def test_one_of_each_says_when_there_are_more_than_wanted(self, store: Records) -> None:
        await told(store, *(a_memory(f"Fact {key}", key=key) for key in ("a:1", "a:2", "b:1", "c:1")))

        async def found(limit: int, **narrow: Any) -> list[str] | None:  # noqa: ANN401 -- any field of a filter
            wanted = Filter(scope=a_scope(), **narrow)
            stored = await store.one_of_each(wanted, now=NOW, length=2, limit=limit)
            return None if stored is None else [(one.key or "")[:2] for one in stored]

        assert await found(3) == ["a:", "b:", "c:"]
        assert await found(2) is None
        assert await found(2, key_prefix="b") == ["b:"]
        assert await found(0, key_prefix="d") == []
        await told(store, a_memory("In a session", key="a:1", scope=a_scope(session="s")))
        assert await found(4, reach="holds") == ["a:", "b:", "c:"], "a beginning counts once in each scope"
        assert await found(3, reach="holds") is None

    async def test_count_counts_what_matches_and_every_version(self, store: Records) -> None:
        await a_chain(store, "Tabs", "Spaces", "Both")
        await told(store, a_memory("A rule", kind="rule"), a_memory("Expired", expires_at=NOW - DAY))
        now = NOW + DAY
        counts = await store.count(HERE, now=now)
        assert counts == Counts(current=2, versions=5, scopes=1, kinds={"note": 1, "rule": 1})
        rules = await store.count(Filter(scope=a_scope(), kinds=("rule",)), now=now)
        assert (rules.current, rules.versions, rules.kinds) == (1, 5, {"rule": 1})

    async def test_count_tells_scopes_apart(self, store: Records) -> None:
        scopes = [Scope(), a_scope(), a_scope(project="p"), a_scope("bob"), a_scope(tenant="acme")]
        for scope in scopes:
            await told(store, a_memory(scope=scope), a_memory("More", scope=scope))
        everything = Filter(scope=Scope(), reach="holds")
        assert await store.count(everything, now=NOW) == Counts(current=8, versions=8, scopes=4, kinds={"note": 8})
        inside = Filter(scope=a_scope(), reach="holds")
        assert await store.count(inside, now=NOW) == Counts(current=4, versions=4, scopes=2, kinds={"note": 4})
        assert (await store.count(HERE, now=NOW)).current == 6

    async def test_versions_by_key_are_all_that_ever_had_it_oldest_first(self, store: Records) -> None:
        chain = await a_chain(store, "Tabs", "Spaces")
        await told(store, a_memory("Other", key="k2"), a_memory("None"))
        forgotten = await store.close(a_scope(), [chain[1].id], at=NOW + DAY, because="forgotten")
        [again] = await told(store, a_memory("Tabs again", key="k"))
        assert await store.versions(a_scope(), key="k") == [chain[0], *forgotten, again]

    async def test_versions_by_id_follow_the_chain_both_ways(self, store: Records) -> None:
        chain = await a_chain(store, "One", "Two", "Three", "Four")
        await a_chain(store, "Other one", "Other two", key="k2")
        for memory in chain:
            assert await store.versions(a_scope(), id=memory.id) == chain, memory.content

    async def test_versions_of_a_memory_that_never_changed_are_itself(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        assert await store.versions(a_scope(), id=stored[1].id) == [stored[1]]

    async def test_versions_follow_several_memories_replaced_by_one(self, store: Records) -> None:
        new = a_memory("Merged")
        old = [a_memory(f"Part {place}").closed(NOW, because="merged", by=new.id) for place in range(3)]
        await store.load([*old, new])
        for memory in (*old, new):
            assert await store.versions(a_scope(), id=memory.id) == [*old, new]

    async def test_neighbours_are_those_just_before_and_after_in_order(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        said = await told(store, *some_memories(9, kind="message", scope=talk))
        assert await store.neighbours(talk, said[4], before=2, after=1) == [said[2], said[3], said[5]]
        assert await store.neighbours(talk, said[0], before=2, after=2) == said[1:3]
        assert await store.neighbours(talk, said[8], before=2, after=2) == said[6:8]
        assert await store.neighbours(talk, said[4], before=0, after=0) == []
        assert await store.neighbours(talk, said[4], before=99, after=0) == said[:4]

    async def test_neighbours_leave_out_what_is_not_believed(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        said = await told(store, *some_memories(5, kind="message", scope=talk))
        await store.close(talk, [said[1].id, said[3].id], at=NOW, because="forgotten")
        assert await store.neighbours(talk, said[2], before=1, after=1) == [said[0], said[4]]

    async def test_neighbours_go_by_position_not_by_the_order_of_storing(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        rows = [a_memory(f"Said {place}", kind="message", scope=talk, position=place) for place in (3, 1, 2)]
        await store.load(rows)
        assert await store.neighbours(talk, rows[2], before=1, after=1) == [rows[1], rows[0]]

    async def test_neighbours_are_of_its_own_session_only(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        said = await told(store, *some_memories(3, kind="message", scope=talk))
        others = [a_scope(session="s-2"), a_scope("bob", session="s-1"), a_scope(project="p", session="s-1")]
        for scope in others:
            await told(store, *some_memories(3, kind="message", scope=scope))
        assert await store.neighbours(a_scope(), said[1], before=5, after=5) == [said[0], said[2]]

    async def test_without_a_session_there_are_no_neighbours(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        assert await store.neighbours(a_scope(), stored[1], before=5, after=5) == []

    async def test_following_are_those_at_the_next_position(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        said = await told(store, *some_memories(6, kind="message", scope=talk))
        elsewhere = await told(store, *some_memories(3, kind="message", scope=a_scope(session="s-2")))
        asked = [said[3].id, said[0].id, elsewhere[1].id, said[0].id, said[5].id, new_id()]
        assert await store.following(a_scope(), asked) == [said[1], said[4], elsewhere[2]]
        assert await store.following(a_scope(), []) == []

    async def test_following_leaves_out_what_is_not_believed_and_looks_no_further(self, store: Records) -> None:
        talk = a_scope(session="s-1")
        said = await told(store, *some_memories(4, kind="message", scope=talk))
        await store.close(talk, [said[1].id], at=NOW, because="forgotten")
        assert await store.following(talk, [said[0].id, said[1].id]) == [said[2]]

    async def test_without_a_session_nothing_follows(self, store: Records) -> None:
        stored = await told(store, *some_memories(3))
        assert await store.following(a_scope(), ids_of(stored)) == []

    async def test_shutting_twice_is_safe(self, store: Records) -> None:
        await store.shut()
        await store.shut()
