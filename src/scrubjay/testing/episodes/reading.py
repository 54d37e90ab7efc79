"""Episodes are read in the order they happened, and a hit can be read with what happened around it."""

from datetime import timedelta

import pytest

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.testing.episodes.storing import TALK, Jay, contents
from scrubjay.testing.values import HOUR, NOW


class Reading:
    """What `timeline` and `recall` promise."""

    async def test_inside_a_session_order_is_exact_whatever_the_clock_says(self, jay: Jay) -> None:
        for said, at in (("one", NOW), ("two", NOW - 5 * HOUR), ("three", NOW + HOUR), ("four", NOW)):
            await jay.episodes.store_episode(said, at=at, **TALK)
        assert await contents(jay) == ["one", "two", "three", "four"]
        assert await contents(jay, order="newest") == ["four", "three", "two", "one"]

    async def test_sessions_are_woven_together_by_time(self, jay: Jay) -> None:
        # Stored one after the other, as when sessions are drained, and not as they happened.
        for session, start in (("late", 1), ("early", 0)):
            for step in range(3):
                at = NOW + (2 * step + start) * HOUR
                await jay.episodes.store_episode(f"{session} {step}", at=at, session=session)
        await jay.episodes.store_episode("in no session", at=NOW + timedelta(minutes=90))
        assert await contents(jay) == [
            "early 0",
            "late 0",
            "in no session",
            "early 1",
            "late 1",
            "early 2",
            "late 2",
        ]

    async def test_a_timeline_is_read_page_by_page(self, jay: Jay) -> None:
        told = [f"turn {place}" for place in range(7)]
        await jay.episodes.store_many(told, **TALK)
        read, last = [], None
        while page := await jay.episodes.timeline(limit=3, after=last):
            read += [one.content for one in page]
            last = page[-1].id
        assert read == told
        with pytest.raises(NotFound, match="no episode"):
            await jay.episodes.timeline(after="somebody else's")

    async def test_a_timeline_is_narrowed(self, jay: Jay) -> None:
        for place in range(4):
            await jay.episodes.store_episode(f"turn {place}", at=NOW + place * HOUR, **TALK)
        await jay.episodes.store_episode("seen", kind="observation", at=NOW, **TALK)
        await jay.episodes.store_episode("another's", user="bob", session="s-1")
        await jay.remember("A fact of the session", kind="fact", **TALK)
        assert await contents(jay, since=NOW + HOUR, until=NOW + 3 * HOUR, user="ada") == ["turn 1", "turn 2"]
        assert await contents(jay, kinds=["observation"]) == ["seen"]
        assert await contents(jay, user="bob") == ["another's"]
        with pytest.raises(InvalidInput, match="fact"):
            await jay.episodes.timeline(kinds="fact")
        with pytest.raises(InvalidInput, match="order"):
            await jay.episodes.timeline(order="sideways")

    async def test_what_is_forgotten_did_not_happen(self, jay: Jay) -> None:
        done = await jay.episodes.store_many(["one", "two", "three"], **TALK)
        await jay.forget(done[1].id)
        assert await contents(jay) == ["one", "three"]

    async def test_a_hit_comes_with_what_happened_around_it(self, jay: Jay) -> None:
        await jay.episodes.store_many([f"turn {place}" for place in range(3)], **TALK)
        await jay.remember("A fact between", kind="fact", **TALK)
        await jay.episodes.store_episode("the zebra escaped", **TALK)
        await jay.remember_many(["A note", "Another note", "A third one"], **TALK)
        await jay.episodes.store_many(["turn 4", "turn 5", "turn 6"], **TALK)
        await jay.episodes.store_episode("elsewhere", user="ada", session="s-2")
        [hit] = await jay.episodes.recall("zebra", around=2, limit=1, user="ada")
        assert [one.content for one in hit.before] == ["turn 1", "turn 2"]
        assert [one.content for one in hit.after] == ["turn 4", "turn 5"]
        assert str(hit).splitlines()[2] == "user: the zebra escaped"
        [many] = await jay.episodes.recall("zebra", around=50, limit=1, user="ada")
        assert (len(many.before), len(many.after)) == (3, 3)
        [alone] = await jay.episodes.recall("zebra", limit=1, user="ada")
        assert (alone.before, alone.after) == ((), ())

    async def test_only_episodes_are_recalled(self, jay: Jay) -> None:
        await jay.remember("The zebra is striped", kind="fact", user="ada")
        done = await jay.episodes.store_episode("the zebra escaped", user="ada")
        found = await jay.episodes.recall("zebra", user="ada")
        assert [hit.episode.id for hit in found] == [done.id]
        assert found.degraded == ()
        with pytest.raises(InvalidInput, match="around"):
            await jay.episodes.recall("zebra", around=-1)
