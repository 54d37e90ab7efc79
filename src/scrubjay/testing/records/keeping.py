"""Changing what is kept: close, adjust, touch, derived, purge, and the marks that say what is indexed."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model import AsOf, Filter, Memory, Scope, new_id
from scrubjay.ports import SILENT, WORDS_ONLY, Decision, Known, Records
from scrubjay.testing.values import (
    DAY,
    HOUR,
    NOW,
    a_memory,
    a_scope,
    all_rows,
    keep_all,
    replace_by_key,
    some_memories,
    told,
)

HERE = Filter(scope=a_scope())


class KeepingSuite:
    """A change reaches what it names, and nothing else."""

    async def test_close_stops_belief_and_answers_as_asked(self, store: Records) -> None:
        stored = await told(store, *some_memories(4))
        await store.mark([memory.id for memory in stored], 1)
        asked = [stored[2].id, new_id(), stored[0].id]
        closed = await store.close(a_scope(), asked, at=NOW + HOUR, because="asked to")
        assert closed == [stored[place].closed(NOW + HOUR, because="asked to") for place in (2, 0)]
        assert await store.get(a_scope(), [stored[2].id, stored[0].id]) == closed
        found = await store.find(HERE, now=NOW + HOUR, limit=9, order="oldest")
        assert [memory.id for memory in found] == [stored[1].id, stored[3].id]
        until_then = Filter(scope=a_scope(), as_of=AsOf(known_at=NOW))
        assert len(await store.find(until_then, now=NOW + HOUR, limit=9)) == 4, "until then it was believed"

    async def test_close_leaves_alone_what_is_closed(self, store: Records) -> None:
        [stored] = await told(store, a_memory())
        [closed] = await store.close(a_scope(), [stored.id], at=NOW, because="first")
        assert await store.close(a_scope(), [stored.id], at=NOW + DAY, because="second") == []
        assert await store.get(a_scope(), [stored.id]) == [closed]

    async def test_what_is_closed_is_closed_after_all_of_its_key_and_the_next_one_hears_of_it(
        self, store: Records
    ) -> None:
        past = a_memory("Tea", key="shop", valid_from=NOW - 2 * DAY, valid_to=NOW - DAY)
        ahead = a_memory("Coffee", key="shop", created_at=NOW + HOUR)
        await told(store, past, ahead, a_memory("No key"))
        [closed] = await store.close(a_scope(), [past.id], at=NOW, because="asked to")
        assert closed.superseded_at is not None
        assert closed.superseded_at > ahead.created_at
        heard: list[datetime | None] = []

        def decide(draft: Memory, known: Known) -> Decision:
            heard.append(known.closed_at)
            return keep_all(draft, known)

        for told_at in (NOW, NOW + DAY):
            draft = a_memory("Milk", key="shop", created_at=told_at, valid_from=told_at - HOUR, valid_to=told_at)
            await store.write([draft], decide)
        assert (heard[0], heard[-1]) == (closed.superseded_at, None)

    async def test_of_several_who_close_one_at_once_one_gets_it(self, store: Records) -> None:
        stored = await told(store, *some_memories(5))
        for memory in stored:
            closing = (store.close(a_scope(), [memory.id], at=NOW, because=str(place)) for place in range(6))
            assert sum(map(len, await asyncio.gather(*closing))) == 1

    async def test_what_was_closed_may_be_told_again(self, store: Records) -> None:
        [stored] = await told(store, a_memory(key="k"))
        await store.close(a_scope(), [stored.id], at=NOW, because="forgotten")
        [again] = await store.write([a_memory(key="k")], replace_by_key)
        assert (again.outcome, again.replaced) == ("stored", None)

    async def test_close_reaches_inside_the_scope_only(self, store: Records) -> None:
        [wider] = await told(store, a_memory(scope=Scope()))
        [narrower] = await told(store, a_memory(scope=a_scope(project="p")))
        closed = await store.close(a_scope(), [wider.id, narrower.id], at=NOW, because="mine")
        assert [memory.id for memory in closed] == [narrower.id]
        assert await store.get(Scope(), [wider.id]) == [wider]

    async def test_adjust_changes_how_it_is_kept_and_clears_its_mark(self, store: Records) -> None:
        one, other = await told(store, *some_memories(2, importance=0.4))
        await store.mark([one.id, other.id], 3)
        adjusted = await store.adjust(a_scope(), one.id, importance=0.9)
        assert adjusted is not None
        assert (adjusted.importance, adjusted.expires_at, adjusted.generation) == (0.9, None, None)
        adjusted = await store.adjust(a_scope(), one.id, expires_at=NOW + DAY)
        assert adjusted is not None
        assert (adjusted.importance, adjusted.expires_at) == (0.9, NOW + DAY)
        assert await store.get(a_scope(), [one.id]) == [adjusted]
        assert [memory.id for memory in await store.pending(3, limit=9)] == [one.id]

    async def test_adjust_can_take_the_end_off(self, store: Records) -> None:
        [stored] = await told(store, a_memory(importance=0.4, expires_at=NOW + DAY))
        adjusted = await store.adjust(a_scope(), stored.id, expires_at=None)
        assert adjusted == replace(stored, expires_at=None)
        assert await store.get(a_scope(), [stored.id]) == [adjusted]
        assert [one.id for one in await store.find(HERE, now=NOW + 2 * DAY, limit=9)] == [stored.id]

    async def test_adjust_refuses_what_a_memory_refuses(self, store: Records) -> None:
        [stored] = await told(store, a_memory())
        with pytest.raises(InvalidInput):
            await store.adjust(a_scope(), stored.id, importance=1.5)
        with pytest.raises(InvalidInput, match="importance is None"):
            await store.adjust(a_scope(), stored.id, importance=None)  # type: ignore[arg-type]  # what a caller may give all the same
        assert await store.get(a_scope(), [stored.id]) == [stored]

    async def test_adjust_answers_none_for_what_the_scope_does_not_hold(self, store: Records) -> None:
        [wider] = await told(store, a_memory(scope=Scope()))
        assert await store.adjust(a_scope(), wider.id, importance=0.9) is None
        assert await store.adjust(a_scope(), new_id(), importance=0.9) is None
        assert await store.get(Scope(), [wider.id]) == [wider]

    async def test_what_was_changed_since_it_was_seen_is_left_alone(self, store: Records) -> None:
        seen, other = await told(store, *some_memories(2, importance=0.5))
        stored = await store.adjust(a_scope(), seen.id, importance=0.9, seen=seen)
        assert stored is not None
        new = a_memory("Another")
        correcting = Decision(
            outcome="stored", memory=new, closes=(seen.closed(NOW, because="corrected", by=new.id),), opens=(new,)
        )
        for changing in (
            store.adjust(a_scope(), seen.id, expires_at=NOW + DAY, seen=seen),
            store.close(a_scope(), [other.id, seen.id], at=NOW, because="x", seen=seen),
            store.write([new], lambda *_: correcting),
        ):
            with pytest.raises(Conflict, match="was changed or deleted meanwhile"):
                await changing
        assert await store.get(a_scope(), [seen.id, other.id, new.id]) == [stored, other]
        [closed] = await store.close(a_scope(), [seen.id], at=NOW, because="x", seen=stored)
        for late in (
            store.adjust(a_scope(), seen.id, importance=0.1, seen=stored),
            store.close(a_scope(), [seen.id], at=NOW, because="y", seen=stored),
        ):
            with pytest.raises(Conflict, match="was changed or deleted meanwhile"):
                await late
        assert await store.get(a_scope(), [seen.id]) == [closed]

    async def test_close_leaves_alone_what_was_changed_since_it_was_read(self, store: Records) -> None:
        seen = await told(store, *some_memories(4, importance=0.5, expires_at=NOW + DAY))
        pinned = await store.adjust(a_scope(), seen[0].id, importance=1.0)
        longer = await store.adjust(a_scope(), seen[1].id, expires_at=NOW + 2 * DAY)
        await store.touch({a_scope(): [seen[2].id]}, at=NOW)
        ids = [memory.id for memory in seen]
        closed = await store.close(a_scope(), ids, at=NOW, because="over", unless_changed=seen[:3])
        assert [memory.id for memory in closed] == ids[2:], "use is no change, and what is not named is not asked"
        assert await store.get(a_scope(), ids) == [pinned, longer, *closed]

    async def test_boost_adds_within_bounds_and_clears_the_mark(self, store: Records) -> None:
        one, other = await told(store, *some_memories(2, importance=0.5))
        await store.mark([one.id, other.id], 3)
        for by, before, after in ((0.25, 0.5, 0.75), (0.5, 0.75, 1.0), (-2.0, 1.0, 0.0)):
            boosted = await store.boost(a_scope(), one.id, by)
            assert boosted is not None
            assert (boosted[0].importance, boosted[1]) == (after, before)
            assert await store.get(a_scope(), [one.id]) == [boosted[0]]
        assert [memory.id for memory in await store.pending(3, limit=9)] == [one.id]

    async def test_of_many_boosts_at_once_none_is_lost(self, store: Records) -> None:
        [stored] = await told(store, a_memory(importance=0.0))
        await asyncio.gather(*(store.boost(a_scope(), stored.id, 0.0625) for _ in range(12)))
        [boosted] = await store.get(a_scope(), [stored.id])
        assert boosted.importance == 0.75

    async def test_boost_answers_none_for_what_the_scope_does_not_hold(self, store: Records) -> None:
        [wider] = await told(store, a_memory(scope=Scope()))
        assert await store.boost(a_scope(), wider.id, 0.1) is None
        assert await store.boost(a_scope(), new_id(), 0.1) is None
        assert await store.get(Scope(), [wider.id]) == [wider]

    async def test_touch_counts_uses_of_what_is_seen(self, store: Records) -> None:
        [mine] = await told(store, a_memory())
        [shared] = await told(store, a_memory(scope=Scope()))
        await store.mark([mine.id], 1)
        await store.touch({a_scope(): [mine.id, shared.id, new_id()]}, at=NOW + HOUR)
        await store.touch({a_scope(): [mine.id, shared.id, mine.id, mine.id]}, at=NOW + DAY)
        kept, wide = await store.get(a_scope(), [mine.id, shared.id])
        assert (kept.uses, kept.used_at, kept.generation) == (4, NOW + DAY, 1)
        assert (wide.uses, wide.used_at) == (2, NOW + DAY)

    async def test_touch_counts_for_several_readers_what_each_of_them_sees(self, store: Records) -> None:
        [annas] = await told(store, a_memory())
        [bobs] = await told(store, a_memory(scope=a_scope("bob")))
        [shared] = await told(store, a_memory(scope=Scope()))
        ids = [annas.id, bobs.id, shared.id]
        await store.touch({a_scope(): ids, a_scope("bob"): [*ids, shared.id], Scope(tenant="else"): ids}, at=NOW + DAY)
        used = [*await store.get(a_scope(), [annas.id, shared.id]), *await store.get(a_scope("bob"), [bobs.id])]
        assert [(one.uses, one.used_at) for one in used] == [(1, NOW + DAY), (3, NOW + DAY), (1, NOW + DAY)]
        await store.touch({}, at=NOW + DAY)

    async def test_derived_is_found_through_others_without_the_asked(self, store: Records) -> None:
        [source, other] = await told(store, *some_memories(2))
        [child] = await told(store, a_memory("Child", derived_from=(source.id, other.id)))
        [grandchild] = await told(store, a_memory("Grandchild", derived_from=(child.id,)))
        [elsewhere] = await told(store, a_memory("Elsewhere", scope=a_scope("bob"), derived_from=(grandchild.id,)))
        await store.load([apart := a_memory("Apart", derived_from=(new_id(),))])
        made = {child.id, grandchild.id, elsewhere.id}
        assert set(await store.derived(a_scope(), [source.id])) == made
        assert set(await store.derived(a_scope(), [source.id, child.id])) == made - {child.id}
        assert await store.derived(a_scope(), [elsewhere.id]) == []
        assert await store.derived(a_scope(), []) == []
        assert await store.derived(a_scope(), [apart.id]) == []

    async def test_derived_ends_also_when_lineage_is_a_circle(self, store: Records) -> None:
        one, other = new_id(), new_id()
        await store.load(
            [a_memory("One", id=one, derived_from=(other,)), a_memory("Other", id=other, derived_from=(one,))]
        )
        assert await store.derived(a_scope(), [one]) == [other]

    async def test_purge_leaves_nothing(self, store: Records) -> None:
        stored = await told(store, *(a_memory(f"Secret {place}", key=f"k:{place}") for place in range(4)))
        gone = [stored[1].id, stored[2].id]
        await store.close(a_scope(), [stored[2].id], at=NOW, because="closed ones go as well")
        assert [one.id for one in await store.purge(a_scope(), [*gone, new_id()])] == gone
        assert await store.get(a_scope(), gone) == []
        assert await all_rows(store, Scope()) == [stored[0], stored[3]]
        assert await store.versions(a_scope(), id=gone[0]) == []
        assert await store.versions(a_scope(), key="k:1") == []
        assert [memory.id for memory in await store.pending(1, limit=9)] == [stored[0].id, stored[3].id]
        assert await store.backlog(1) == 2
        assert (await store.count(Filter(scope=Scope(), history=True), now=NOW)).versions == 2
        assert await store.purge(a_scope(), gone) == []
        assert await store.check() == []

    async def test_what_was_purged_may_be_told_again(self, store: Records) -> None:
        [stored] = await told(store, a_memory(key="k"))
        await store.purge(a_scope(), [stored.id])
        [again] = await store.write([stored], replace_by_key)
        assert (again.memory, again.outcome) == (stored, "stored")

    async def test_purge_reaches_inside_the_scope_only(self, store: Records) -> None:
        [wider] = await told(store, a_memory(scope=Scope()))
        [narrower] = await told(store, a_memory(scope=a_scope(project="p")))
        assert await store.purge(a_scope(), [wider.id, narrower.id]) == [narrower]
        assert await store.get(Scope(), [wider.id]) == [wider]

    async def test_purging_in_the_middle_of_a_chain_leaves_its_ends(self, store: Records) -> None:
        drafts = [a_memory(content, key="k", created_at=NOW + day * DAY) for day, content in enumerate("abc")]
        await store.write(drafts, replace_by_key)
        await store.purge(a_scope(), [drafts[1].id])
        first, last = await store.versions(a_scope(), key="k")
        assert (first.content, first.superseded_by, last.content) == ("a", None, "c")
        assert first.superseded_at is not None
        assert await store.versions(a_scope(), id=last.id) == [last]

    async def test_purging_five_thousand(self, store: Records) -> None:
        drafts = some_memories(5_000)
        await store.load(drafts)
        ids = [draft.id for draft in drafts]
        assert [one.id for one in await store.purge(a_scope(), ids)] == ids
        assert await all_rows(store, a_scope()) == []

    async def test_pending_is_all_that_is_not_marked_of_every_tenant(self, store: Records) -> None:
        stored = await told(store, *(a_memory(scope=a_scope(tenant=f"t-{place}")) for place in range(4)))
        assert await store.pending(1, limit=9) == stored
        assert await store.pending(1, limit=2) == stored[:2]
        unknown = new_id()
        assert await store.mark([stored[0].id, unknown, stored[2].id], 1) == ([unknown], [])
        assert await store.pending(1, limit=9) == [stored[1], stored[3]]
        assert (await store.backlog(1), await store.backlog(2)) == (2, 4)
        [marked] = await store.get(stored[0].scope, [stored[0].id])
        assert marked.generation == 1

    async def test_marking_says_what_was_closed_meanwhile(self, store: Records) -> None:
        one, other, last = await told(store, *some_memories(3))
        await store.close(a_scope(), [other.id, one.id], at=NOW, because="asked to")
        unknown = new_id()
        assert await store.mark([one.id, last.id, unknown, other.id, one.id], 1) == ([unknown], [one.id, other.id])
        assert await store.pending(1, limit=9) == []

    async def test_what_was_indexed_as_believed_and_is_closed_by_now_has_no_mark(self, store: Records) -> None:
        one, other, last = await told(store, *some_memories(3))
        await store.mark([one.id], 1)
        await store.close(a_scope(), [one.id, other.id], at=NOW, because="asked to")
        ids, unknown = [one.id, other.id, last.id], new_id()
        assert await store.mark([*ids, unknown], 1, live={one.id, last.id, unknown}) == ([unknown], [one.id, other.id])
        assert [memory.id for memory in await store.pending(1, limit=9)] == [one.id]

    async def test_a_mark_can_be_moved_and_taken_away(self, store: Records) -> None:
        [stored] = await told(store, a_memory())
        await store.mark([stored.id], 1)
        await store.mark([stored.id], 2)
        assert (await store.backlog(1), await store.backlog(2)) == (1, 0)
        assert [memory.id for memory in await store.pending(1, limit=9)] == [stored.id]
        assert await store.pending(2, limit=9) == []
        await store.mark([stored.id], None)
        assert (await store.backlog(1), await store.backlog(2)) == (1, 1)

    async def test_what_is_found_by_words_only_waits_for_nothing(self, store: Records) -> None:
        quiet, heard = await told(store, *some_memories(2))
        await store.mark([quiet.id], WORDS_ONLY)
        for generation in (1, 7):
            assert [memory.id for memory in await store.pending(generation, limit=9)] == [heard.id]
            assert await store.backlog(generation) == 1
        assert await store.unmark(WORDS_ONLY) == 1
        assert await store.backlog(1) == 2

    async def test_what_is_silent_waits_for_nothing_and_stays_so(self, store: Records) -> None:
        told_so, marked, heard = some_memories(3)
        await told(store, replace(told_so, generation=SILENT), marked, heard)
        await store.mark([marked.id], SILENT)
        assert await store.unmark(WORDS_ONLY) == 0
        for generation in (1, 7):
            assert [memory.id for memory in await store.pending(generation, limit=9)] == [heard.id]
            assert await store.backlog(generation) == 1

    async def test_unmark_clears_one_generation(self, store: Records) -> None:
        stored = await told(store, *(a_memory(scope=a_scope(tenant=f"t-{place}")) for place in range(4)))
        await store.mark([stored[0].id, stored[1].id], 1)
        await store.mark([stored[2].id], 2)
        assert await store.unmark(1) == 2
        assert await store.unmark(1) == 0
        assert (await store.backlog(1), await store.backlog(2)) == (4, 3)

    async def test_marked_ones_are_listed_oldest_first_and_by_page(self, store: Records) -> None:
        stored = await told(store, *(a_memory(f"It is {n}", scope=a_scope(tenant=f"t-{n % 3}")) for n in range(7)))
        ids = [memory.id for memory in stored]
        assert await store.marked(1, limit=9) == []
        await store.mark(ids[:6], 1)
        await store.mark(ids[6:], 2)
        assert await store.marked(1, limit=9) == ids[:6]
        assert await store.marked(1, limit=4) == ids[:4]
        assert await store.marked(1, limit=4, after=ids[3]) == ids[4:6]
        await store.mark([ids[3]], None)
        assert await store.marked(1, limit=9, after=ids[3]) == ids[4:6]
        assert await store.marked(2, limit=9) == ids[6:]
        await store.purge(stored[3].scope, [ids[3]])
        assert await store.marked(1, limit=2, after=ids[3]) == ids[:2]

    async def test_marked_ones_are_counted_and_sampled(self, store: Records) -> None:
        stored = await told(store, *(a_memory(f"It is {n}", scope=a_scope(tenant=f"t-{n % 3}")) for n in range(90)))
        ids = [memory.id for memory in stored]
        assert (await store.count_marked(1), await store.sample_marked(1, limit=9)) == (0, [])
        await store.mark(ids[:80], 1)
        await store.mark(ids[80:], 2)
        assert (await store.count_marked(1), await store.count_marked(2)) == (80, 10)
        found = [await store.sample_marked(1, limit=16) for _ in range(40)]
        assert all(1 <= len(some) == len(set(some)) <= 16 for some in found)
        assert {one for some in found for one in some} <= set(ids[:80])
        assert len({one for some in found for one in some}) > 40, "from all of them, in the course of time"
        assert set(await store.sample_marked(2, limit=200)) <= set(ids[80:])
        assert await store.marked_of(2, [ids[85], new_id(), ids[3], ids[82]]) == [ids[85], ids[82]]
        assert await store.marked_of(2, []) == []

    async def test_missing_says_what_no_tenant_has_stored(self, store: Records) -> None:
        stored = await told(store, a_memory(), a_memory(scope=a_scope(tenant="other")))
        first, second = new_id(), new_id()
        assert await store.missing([second, stored[0].id, first, stored[1].id, second]) == [second, first]
        assert await store.missing([]) == []
        await store.purge(stored[1].scope, [stored[1].id])
        assert await store.missing([stored[1].id]) == [stored[1].id]

    async def test_what_is_closed_or_replaced_waits_for_the_index_again(self, store: Records) -> None:
        old = a_memory("Tabs", key="k")
        [kept] = await told(store, a_memory("Kept"))
        await store.write([old], replace_by_key)
        await store.mark([old.id, kept.id], 1)
        assert await store.pending(1, limit=9) == []
        new = a_memory("Spaces", key="k")
        await store.write([new], replace_by_key)
        assert [memory.id for memory in await store.pending(1, limit=9)] == [old.id, new.id]
        await store.close(a_scope(), [kept.id], at=NOW, because="forgotten")
        assert {memory.id for memory in await store.pending(1, limit=9)} == {old.id, new.id, kept.id}
