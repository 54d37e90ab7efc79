"""What every store has to do for those who look after its records as a whole."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from scrubjay.model import Filter, Memory, Scope
from scrubjay.ports import Purged, Records, Texts, Upkeep
from scrubjay.testing.values import DAY, HOUR, NOW, SECOND, a_memory, a_scope, told

HERE: Final = a_scope(session="s-1")
THERE: Final = a_scope(session="s-2")
OTHER: Final = Scope(tenant="other", user="anna", session="s-1")
WEEK: Final = 7 * DAY
BECAUSE: Final = "archived: a-file.jsonl.gz"


def said(content: str, **overrides: Any) -> Memory:  # noqa: ANN401 -- any field of a memory
    """A message of the session `HERE`, unless another scope is given."""
    return a_memory(content, **{"kind": "message", "scope": HERE, **overrides})


def contents(memories: "list[Memory]") -> list[str]:
    """What they say."""
    return [memory.content for memory in memories]


class UpkeepSuite:
    """Give it two fixtures: `store`, an empty record store with its words, and `upkeep` over the same."""

    @pytest.fixture
    def texts(self, store: Any) -> Texts:  # noqa: ANN401 -- one object may serve as both
        """Search by words; give your own fixture where another object does it."""
        found: Texts = store
        return found

    async def test_tenants_are_known(self, store: Records, upkeep: Upkeep) -> None:
        assert await upkeep.tenants() == []
        await told(store, said("one"), said("two", scope=OTHER))
        assert await upkeep.tenants() == ["default", "other"]

    async def test_a_session_stirs_until_it_is_marked(self, store: Records, upkeep: Upkeep) -> None:
        await told(store, said("one"), said("two"), said("theirs", scope=OTHER), a_memory("no session"))
        found = await upkeep.sessions("distill", within=None, limit=10)
        assert {one.scope: (one.last, one.mark) for one in found} == {HERE: (1, -1), OTHER: (0, -1)}
        await upkeep.mark("distill", HERE, 1)
        assert [one.scope for one in await upkeep.sessions("distill", within=None, limit=10)] == [OTHER]
        assert len(await upkeep.sessions("learn", within=None, limit=10)) == 2
        await told(store, said("three"))
        [stirred] = await upkeep.sessions("distill", within=Scope(), limit=10)
        assert (stirred.scope, stirred.last, stirred.mark) == (HERE, 2, 1)

    async def test_positions_that_a_purge_gives_back_are_dealt_with_again(self, store: Records, upkeep: Upkeep) -> None:
        stored = await told(store, *(said(f"message {place}") for place in range(4)), said("there", scope=THERE))
        await upkeep.mark("distill", HERE, 3)
        await upkeep.mark("distill", THERE, 0)
        await store.purge(Scope(), [stored[0].id])
        assert await upkeep.sessions("distill", within=None, limit=10) == [], "the highest position is as it was"
        await store.purge(Scope(), [stored[2].id, stored[3].id])
        assert await upkeep.sessions("distill", within=None, limit=10) == []
        await told(store, said("again"))
        [stirred] = await upkeep.sessions("distill", within=None, limit=10)
        assert (stirred.scope, stirred.last, stirred.mark) == (HERE, 2, 1)
        assert contents(await upkeep.aged(within=HERE, before=NOW + DAY, limit=10)) == ["message 1"]

    async def test_a_session_that_was_purged_begins_anew(self, store: Records, upkeep: Upkeep) -> None:
        stored = await told(store, *(said(f"message {place}") for place in range(4)))
        await upkeep.mark("distill", HERE, 3)
        await store.purge(Scope(), [one.id for one in stored])
        await told(store, said("anew"))
        [stirred] = await upkeep.sessions("distill", within=HERE, limit=10)
        assert (stirred.last, stirred.mark) == (0, -1)

    async def test_who_read_before_a_purge_marks_nothing_after_it(self, store: Records, upkeep: Upkeep) -> None:
        stored = await told(store, said("one"), said("two"))
        sight = await store.sight(HERE)
        await store.purge(Scope(), [stored[1].id])
        with pytest.raises(Purged):
            await upkeep.mark("distill", HERE, 1, sight=sight)
        assert [one.mark for one in await upkeep.sessions("distill", within=HERE, limit=10)] == [-1]
        await upkeep.mark("distill", HERE, 0, sight=await store.sight(HERE))
        assert await upkeep.sessions("distill", within=HERE, limit=10) == []

    async def test_sessions_keep_to_the_scope_and_the_limit(self, store: Records, upkeep: Upkeep) -> None:
        await told(store, said("one"), said("two", scope=THERE), said("theirs", scope=OTHER))
        assert [one.scope for one in await upkeep.sessions("distill", within=THERE, limit=10)] == [THERE]
        assert len(await upkeep.sessions("distill", within=None, limit=2)) == 2
        assert await upkeep.sessions("distill", within=Scope(user="nobody"), limit=10) == []

    async def test_episodes_come_in_order_from_one_session(self, store: Records, upkeep: Upkeep) -> None:
        stored = await told(store, *(said(f"message {place}") for place in range(5)))
        await told(store, a_memory("A fact", scope=HERE), said("elsewhere", scope=THERE))
        await told(store, said("narrower", scope=replace(HERE, workflow="w")))
        assert contents(await upkeep.episodes(HERE, start=1, stop=4)) == ["message 1", "message 2", "message 3"]
        await store.close(HERE, [stored[2].id], at=NOW, because="forgotten")
        assert contents(await upkeep.episodes(HERE, start=0, stop=100)) == [f"message {one}" for one in (0, 1, 3, 4)]
        assert await upkeep.episodes(Scope(session="none"), start=0, stop=9) == []

    async def test_a_place_changes_with_what_it_holds(self, store: Records, upkeep: Upkeep) -> None:
        place = Scope(user="anna", project="shop")
        task = {"kind": "task", "scope": place}
        first, _ = await told(
            store,
            a_memory("one", **task),
            a_memory("two", kind="task", scope=replace(place, session="s", workflow="w")),
        )
        await told(store, a_memory("a note", scope=Scope(user="ben")))
        [stirred] = await upkeep.places("learn", "task", within=None)
        assert (stirred.scope, stirred.mark) == (place, -1)
        await upkeep.mark("learn", place, stirred.last)
        assert await upkeep.places("learn", "task", within=None) == []
        await store.close(place, [first.id], at=NOW, because="forgotten")
        [again] = await upkeep.places("learn", "task", within=place)
        assert again.last != stirred.last
        await upkeep.mark("learn", place, again.last)
        await told(store, a_memory("three", **task))
        assert len(await upkeep.places("learn", "task", within=None)) == 1
        assert await upkeep.places("learn", "task", within=Scope(user="ben")) == []

    async def test_what_agents_did_are_places_of_their_own(self, store: Records, upkeep: Upkeep) -> None:
        place = Scope(user="anna", project="shop")
        agents = [replace(place, agent="a"), replace(place, agent="b")]
        scopes = [place, *agents, replace(agents[0], session="s")]
        await told(store, *(a_memory(f"in {scope}", kind="task", scope=scope) for scope in scopes))
        stirred = await upkeep.places("learn", "task", within=None)
        assert {one.scope for one in stirred} == {place, *agents}
        for one in stirred:
            await upkeep.mark("learn", one.scope, one.last)
        await told(store, a_memory("more", kind="task", scope=agents[1]))
        assert [one.scope for one in await upkeep.places("learn", "task", within=None)] == agents[1:]

    async def test_what_has_expired_is_found_in_order(self, store: Records, upkeep: Upkeep) -> None:
        late, soon = a_memory("late", expires_at=NOW + 2 * HOUR), a_memory("soon", expires_at=NOW + HOUR)
        await told(store, late, soon, a_memory("never"), a_memory("theirs", scope=OTHER, expires_at=NOW + HOUR))
        assert await upkeep.expired(within=None, now=NOW, limit=10) == []
        assert contents(await upkeep.expired(within=Scope(), now=NOW + DAY, limit=10)) == ["soon", "late"]
        assert len(await upkeep.expired(within=None, now=NOW + HOUR, limit=10)) == 2
        await store.close(Scope(), [soon.id], at=NOW + DAY, because="expired")
        assert contents(await upkeep.expired(within=Scope(), now=NOW + DAY, limit=10)) == ["late"]

    # Decay

    async def test_what_is_not_used_loses_importance_once_a_period(self, store: Records, upkeep: Upkeep) -> None:
        await told(store, a_memory("unused", importance=0.8), a_memory("theirs", scope=OTHER, importance=0.8))
        assert await self._decayed(upkeep, NOW) == 0
        assert await self._decayed(upkeep, NOW + DAY) == 0
        assert await self._decayed(upkeep, NOW + WEEK) == 1
        assert await self._decayed(upkeep, NOW + WEEK) == 0
        assert await self._importance(store) == {"unused": 0.4}
        assert await self._decayed(upkeep, NOW + 3 * WEEK) == 2
        assert await self._importance(store) == {"unused": 0.1}

    async def test_decay_goes_on_after_a_clock_that_was_ahead(self, store: Records, upkeep: Upkeep) -> None:
        await store.load([a_memory("Unused", importance=0.8)])
        await self._decayed(upkeep, NOW + 10 * WEEK)
        assert await self._decayed(upkeep, NOW) == 0
        assert await self._decayed(upkeep, NOW + WEEK) == 1

    async def test_what_is_used_or_kept_does_not_decay(self, store: Records, upkeep: Upkeep) -> None:
        used = a_memory("used", importance=0.8)
        pinned = a_memory("pinned", importance=1.0)
        standing = a_memory("Always test", kind="rule", importance=0.8)
        closed = a_memory("closed", importance=0.8)
        await told(store, used, pinned, standing, closed)
        await self._decayed(upkeep, NOW)
        await store.touch({Scope(): [used.id]}, at=NOW + SECOND)
        await store.close(Scope(), [closed.id], at=NOW + SECOND, because="forgotten")
        assert await self._decayed(upkeep, NOW + WEEK) == 0
        assert await self._decayed(upkeep, NOW + 2 * WEEK) == 1
        expected = {"used": 0.4, "pinned": 1.0, "Always test": 0.8}
        assert await self._importance(store) == expected

    async def test_decay_takes_all_rows_in_pieces_and_at_once(self, store: Records, upkeep: Upkeep) -> None:
        await told(store, *(a_memory(f"memory {place}", importance=0.8) for place in range(25)))
        await self._decayed(upkeep, NOW)
        await asyncio.gather(*(self._decayed(upkeep, NOW + WEEK) for _ in range(3)))
        assert set((await self._importance(store)).values()) == {0.4}

    async def _decayed(self, upkeep: Upkeep, now: Any) -> int:  # noqa: ANN401 -- a moment
        changed = 0
        while (more := await upkeep.decay("default", period=WEEK, factor=0.5, now=now, limit=10)) is not None:
            changed += more
        return changed

    async def _importance(self, store: Records) -> dict[str, float]:
        everything = Filter(scope=Scope(), reach="holds")
        found = await store.find(everything, now=NOW + DAY, limit=100)
        return {memory.content: round(memory.importance, 6) for memory in found}

    # Archives

    async def test_episodes_age_when_they_are_distilled(self, store: Records, upkeep: Upkeep) -> None:
        old = [said(f"message {place}", valid_from=NOW - WEEK) for place in range(3)]
        await told(store, *old, said("new"), said("theirs", scope=OTHER, valid_from=NOW - WEEK))
        assert await upkeep.aged(within=None, before=NOW, limit=10) == []
        await upkeep.mark("distill", HERE, 1)
        await upkeep.mark("distill", OTHER, 5)
        assert contents(await upkeep.aged(within=Scope(), before=NOW, limit=10)) == ["message 0", "message 1"]
        assert contents(await upkeep.aged(within=None, before=NOW, limit=10)) == ["message 0", "message 1", "theirs"]
        assert contents(await upkeep.aged(within=None, before=NOW, limit=1)) == ["message 0"]
        await store.touch({Scope(): [old[0].id]}, at=NOW)
        assert contents(await upkeep.aged(within=Scope(), before=NOW, limit=10)) == ["message 1"]

    async def test_hollow_and_full_again(self, store: Records, upkeep: Upkeep, texts: Texts) -> None:
        stored = await told(store, *(said(f"message {place}", data={"role": "user"}) for place in range(3)))
        hollow = await upkeep.hollow(stored[:2], at=NOW + HOUR, because=BECAUSE, says="(archived)")
        assert [one.id for one in hollow] == [one.id for one in stored[:2]]
        for one in await store.get(HERE, [memory.id for memory in stored[:2]]):
            assert (one.content, one.data, one.superseded_at) == ("(archived)", {}, NOW + HOUR)
            assert one.state(NOW + HOUR) == "archived"
        assert await self._matches(texts, "message") == {stored[2].id}
        assert await upkeep.hollowed([memory.id for memory in stored]) == [memory.id for memory in stored[:2]]
        full = await upkeep.fill(stored)
        assert [one.id for one in full] == [one.id for one in stored[:2]]
        assert await store.get(HERE, [one.id for one in stored]) == [replace(one, generation=None) for one in stored]
        assert await self._matches(texts, "message") == {memory.id for memory in stored}
        assert await upkeep.fill(stored) == []
        assert await store.check() == []

    async def test_what_has_changed_is_not_hollowed(self, store: Records, upkeep: Upkeep) -> None:
        closed, used, gone = await told(store, said("closed"), said("used"), said("purged"))
        await store.close(HERE, [closed.id], at=NOW, because="forgotten")
        await store.touch({HERE: [used.id]}, at=NOW)
        await store.purge(HERE, [gone.id])
        done = await upkeep.hollow([closed, used, gone], at=NOW + HOUR, because=BECAUSE, says="(archived)")
        assert [one.id for one in done] == [used.id]
        assert done[0].uses == 1

    async def test_only_the_same_place_is_filled(self, store: Records, upkeep: Upkeep) -> None:
        [stored] = await told(store, said("secret", scope=OTHER))
        await upkeep.hollow([stored], at=NOW, because=BECAUSE, says="(archived)")
        assert await upkeep.fill([replace(stored, scope=HERE, content="forged")]) == []
        assert await upkeep.fill([stored]) != []

    # Pruning

    async def test_what_nobody_needs_is_idle(self, store: Records, upkeep: Upkeep) -> None:
        old = {"created_at": NOW - WEEK, "valid_from": NOW - WEEK, "importance": 0.1}
        used = a_memory("used", **old)
        await told(
            store,
            a_memory("idle", **old),
            used,
            a_memory("important", **{**old, "importance": 0.6}),
            a_memory("Always test", kind="rule", **old),
            a_memory("theirs", scope=OTHER, **old),
            a_memory("new", importance=0.1),
        )
        await store.touch({Scope(): [used.id]}, at=NOW)
        asked: dict[str, Any] = {"before": NOW - DAY, "below": 0.2, "limit": 10}
        assert contents(await upkeep.idle(within=Scope(), **asked)) == ["idle"]
        assert contents(await upkeep.idle(within=None, **asked)) == ["idle", "theirs"]
        assert contents(await upkeep.idle(within=None, **{**asked, "before": NOW + SECOND})) == [
            "idle",
            "used",
            "theirs",
            "new",
        ]

    async def test_places_are_weighed_with_their_sessions(self, store: Records, upkeep: Upkeep) -> None:
        place = replace(HERE, session=None)
        closed = a_memory("closed", scope=place)
        await told(store, said("12345"), said("Grüße", scope=THERE), a_memory("x", scope=place), closed)
        await told(store, a_memory("elsewhere", scope=Scope(project="p")), said("theirs", scope=OTHER))
        await store.close(place, [closed.id], at=NOW, because="forgotten")
        weights = {one.scope: (one.memories, one.bytes) for one in await upkeep.weights(within=None)}
        assert weights == {
            place: (3, 5 + 7 + 1),
            Scope(project="p"): (1, 9),
            replace(OTHER, session=None): (1, 6),
        }
        assert [one.scope for one in await upkeep.weights(within=Scope(project="p"))] == [Scope(project="p")]

    async def _matches(self, texts: Texts, word: str) -> set[object]:
        found = await texts.match([word], Filter(scope=Scope()), now=NOW + timedelta(days=1), limit=10)
        return {one.id for one in found}
