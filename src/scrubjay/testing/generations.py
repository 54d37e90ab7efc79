"""What every keeper of generations has to do."""

import asyncio
from typing import Protocol

import pytest

from scrubjay.errors import Conflict
from scrubjay.model import Identity, new_id
from scrubjay.ports import UNSURE, Generations, Keeping, Leftover, Records, SharedLeftover
from scrubjay.testing.values import DAY, HOUR, NOW, some_memories, told


def an_identity(model: str = "minilm", *, version: str = "1", dimensions: int = 64) -> Identity:
    """A model; each part of it makes another one."""
    return Identity(provider="toy", model=model, version=version, dimensions=dimensions)


async def states_of(store: Generations) -> dict[int, str]:
    """Each generation's state, by number."""
    return {generation.number: generation.state for generation in await store.generations()}


class GenerationsSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `store` that yields an empty one."""

    async def test_at_first_there_is_none(self, store: Generations) -> None:
        assert await store.generations() == []

    async def test_add_returns_what_was_added(self, store: Generations) -> None:
        added = await store.add(an_identity(), state="building", at=NOW)
        assert (added.identity, added.state, added.created_at) == (an_identity(), "building", NOW)
        assert await store.generations() == [added]

    async def test_adding_the_same_identity_returns_the_one_there_is(self, store: Generations) -> None:
        first = await store.add(an_identity(), state="active", at=NOW)
        assert await store.add(an_identity(), state="building", at=NOW + DAY) == first
        assert await store.generations() == [first]

    async def test_an_identity_is_all_its_parts(self, store: Generations) -> None:
        identities = [an_identity(), an_identity("other"), an_identity(version="2"), an_identity(dimensions=32)]
        added = [await store.add(identity, state="building", at=NOW) for identity in identities]
        assert len({generation.number for generation in added}) == 4
        assert await store.generations() == added

    async def test_switch_activates_one_and_retires_the_other(self, store: Generations) -> None:
        old = await store.add(an_identity(), state="active", at=NOW)
        new = await store.add(an_identity("new"), state="building", at=NOW)
        await store.switch(new.number, at=NOW + HOUR)
        assert await states_of(store) == {old.number: "retired", new.number: "active"}
        switched = [one.switched_at for one in await store.generations() if one.number == new.number]
        assert switched == [NOW + HOUR]

    async def test_switching_back_gives_the_state_asked_for(self, store: Generations) -> None:
        old = await store.add(an_identity(), state="active", at=NOW)
        new = await store.add(an_identity("new"), state="building", at=NOW)
        await store.switch(new.number, at=NOW)
        await store.switch(old.number, at=NOW + HOUR, leaving="undone")
        assert await states_of(store) == {old.number: "active", new.number: "undone"}

    async def test_switching_to_the_active_one_keeps_it_active(self, store: Generations) -> None:
        only = await store.add(an_identity(), state="active", at=NOW)
        await store.switch(only.number, at=NOW + HOUR)
        assert await states_of(store) == {only.number: "active"}

    async def test_the_first_switch_needs_no_active_one(self, store: Generations) -> None:
        only = await store.add(an_identity(), state="building", at=NOW)
        await store.switch(only.number, at=NOW)
        assert await states_of(store) == {only.number: "active"}

    async def test_drop_forgets_what_is_not_active(self, store: Generations) -> None:
        old = await store.add(an_identity(), state="active", at=NOW)
        new = await store.add(an_identity("new"), state="building", at=NOW)
        await store.drop(new.number)
        assert await store.generations() == [old]
        with pytest.raises(Conflict):
            await store.drop(old.number)
        assert await store.generations() == [old]

    async def test_a_number_is_never_given_twice(self, store: Generations) -> None:
        # Memories may still be marked with the number of a generation that was dropped.
        dropped = await store.add(an_identity(), state="building", at=NOW)
        await store.drop(dropped.number)
        assert (await store.add(an_identity(), state="building", at=NOW)).number > dropped.number

    async def test_concurrent_adding_adds_once(self, store: Generations) -> None:
        added = await asyncio.gather(*(store.add(an_identity(), state="active", at=NOW) for _ in range(10)))
        assert len({generation.number for generation in added}) == 1
        assert len(await store.generations()) == 1

    async def test_a_second_active_one_is_added_as_building(self, store: Generations) -> None:
        first = await store.add(an_identity(), state="active", at=NOW)
        second = await store.add(an_identity("new"), state="active", at=NOW)
        assert (first.state, second.state, second.switched_at) == ("active", "building", None)
        assert await store.generations() == [first, second]

    async def test_at_most_one_is_active_however_they_come(self, store: Generations) -> None:
        identities = [an_identity(f"model-{place}") for place in range(8)]
        added = await asyncio.gather(*(store.add(identity, state="active", at=NOW) for identity in identities))
        assert sorted(generation.state for generation in added) == ["active"] + ["building"] * 7
        assert sorted((await states_of(store)).values()) == ["active"] + ["building"] * 7

    async def test_concurrent_switching_leaves_one_active(self, store: Generations) -> None:
        added = [await store.add(an_identity(f"model-{place}"), state="building", at=NOW) for place in range(6)]
        await asyncio.gather(*(store.switch(generation.number, at=NOW) for generation in added))
        assert sorted((await states_of(store)).values()) == ["active"] + ["retired"] * 5


class MarkingStore(Records, Generations, Protocol):
    """Records and generations of one store."""


class KeepingSuite:
    """Derive from it, name the class `Test…`, and give it a fixture `store` that yields an empty one."""

    async def test_at_first_the_marks_speak_of_no_engine(self, store: MarkingStore) -> None:
        assert await store.keeping() == Keeping(engine="", seen=None, filling=False)

    async def test_an_engine_is_remembered_with_its_last_sign_of_life(self, store: MarkingStore) -> None:
        await store.keep("qdrant-0123456789ab", at=NOW)
        await store.keep("qdrant-0123456789ab", at=NOW + HOUR)
        assert await store.keeping() == Keeping(engine="qdrant-0123456789ab", seen=NOW + HOUR)
        await store.keep("embedded", at=NOW + DAY)
        assert await store.keeping() == Keeping(engine="embedded", seen=NOW + DAY)

    async def test_refilling_doubts_every_mark_and_no_other_memory(self, store: MarkingStore) -> None:
        stored = await told(store, *some_memories(4))
        await store.mark([stored[0].id], 1)
        await store.mark([stored[1].id, stored[2].id], 2)
        await store.keep("embedded", at=NOW)
        assert await store.refill("pgvector", at=NOW + HOUR) == 3
        assert await store.keeping() == Keeping(engine="pgvector", seen=NOW + HOUR, filling=True)
        marks = [memory.generation for memory in await store.pending(1, limit=9)]
        assert marks == [UNSURE, UNSURE, UNSURE, None]
        assert (await store.backlog(1), await store.backlog(2)) == (4, 4)

    async def test_refilling_may_leave_the_marks_as_they_are(self, store: MarkingStore) -> None:
        [marked] = await told(store, *some_memories(1))
        await store.mark([marked.id], 1)
        assert await store.refill("pgvector", at=NOW, doubt=False) == 0
        assert await store.keeping() == Keeping(engine="pgvector", seen=NOW, filling=True)
        assert await store.count_marked(1) == 1

    async def test_what_is_filled_is_complete(self, store: MarkingStore) -> None:
        await store.refill("embedded", at=NOW)
        await store.keep("embedded", at=NOW + HOUR)
        assert (await store.keeping()).filling
        await store.filled()
        await store.filled()
        assert await store.keeping() == Keeping(engine="embedded", seen=NOW + HOUR)

    async def test_what_is_left_of_a_purge_is_noted_until_it_is_cleared(self, store: MarkingStore) -> None:
        first, second, third = (new_id() for _ in range(3))
        assert await store.leftovers(now=NOW + DAY, limit=9) == []
        await store.leave([first, second], at=NOW, due=NOW)
        await store.leave([third], at=NOW + HOUR, due=NOW + HOUR)
        assert {one.id for one in await store.leftovers(now=NOW, limit=9)} == {first, second}
        await store.leave([first], at=NOW + DAY, due=NOW + 2 * HOUR)
        assert await store.leftovers(now=NOW + DAY, limit=9) == [
            Leftover(second, NOW),
            Leftover(third, NOW + HOUR),
            Leftover(first, NOW + DAY),
        ]
        await store.leave([first], at=NOW, due=NOW + 2 * HOUR)
        assert (await store.leftovers(now=NOW + DAY, limit=9))[-1] == Leftover(first, NOW + DAY)
        assert await store.leftovers(now=NOW + DAY, limit=1) == [Leftover(second, NOW)]
        await store.cleared([first, second, new_id()])
        assert await store.leftovers(now=NOW + DAY, limit=9) == [Leftover(third, NOW + HOUR)]
        await store.leave([], at=NOW, due=NOW)
        await store.cleared([])

    async def test_whether_something_was_purged_since_is_known_of_however_many(self, store: MarkingStore) -> None:
        assert not await store.purged_since(NOW - DAY)
        await store.leave([new_id() for _ in range(1_200)], at=NOW, due=NOW)
        assert await store.purged_since(NOW)
        assert not await store.purged_since(NOW + HOUR)
        await store.leave([new_id()], at=NOW + HOUR, due=NOW + DAY)
        assert await store.purged_since(NOW + HOUR)

    async def test_what_models_share_of_a_purge_is_noted_until_it_is_cleared(self, store: MarkingStore) -> None:
        assert await store.shared_leftovers(now=NOW + DAY, limit=9) == []
        await store.leave_shared(["a", "b", "a"], at=NOW, due=NOW)
        await store.leave_shared(["b"], at=NOW + HOUR, due=NOW + HOUR)
        assert await store.shared_leftovers(now=NOW, limit=9) == [SharedLeftover("a", NOW)]
        await store.leave_shared(["b"], at=NOW, due=NOW + 2 * HOUR)
        both = [SharedLeftover("a", NOW), SharedLeftover("b", NOW + HOUR)]
        assert await store.shared_leftovers(now=NOW + DAY, limit=9) == both
        assert await store.shared_leftovers(now=NOW + DAY, limit=1) == both[:1]
        await store.cleared_shared(["a", "unknown"])
        assert await store.shared_leftovers(now=NOW + DAY, limit=9) == both[1:]
        await store.leave_shared([], at=NOW, due=NOW)
        await store.cleared_shared([])
