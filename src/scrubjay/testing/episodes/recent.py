"""What just happened in a session is read from working memory first, then from what was stored, within the budget."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.memories.working import telling_of
from scrubjay.model.working import Message, id_in
from scrubjay.testing.episodes.storing import TALK, Jay


class RecentContexts:
    """What `fetch_recent_context` promises."""

    async def test_what_is_held_and_what_was_stored_are_read_as_they_happened(self, jay: Jay) -> None:
        await jay.episodes.store_episode("The build is red", kind="observation", **TALK)
        await jay.working.append("why?", **TALK)
        await jay.episodes.store_episode("Look at the log", kind="plan", **TALK)
        await jay.working.append("It ran out of memory", role="assistant", **TALK)
        found = await jay.episodes.fetch_recent_context("s-1", user="ada")
        assert str(found).splitlines() == [
            "observation: The build is red",
            "user: why?",
            "plan: Look at the log",
            "assistant: It ran out of memory",
        ]
        assert found.tokens == jay.parts.tokens().count(found.text) <= found.budget

    async def test_working_memory_comes_first_when_room_is_short(self, jay: Jay) -> None:
        await jay.working.append([f"message {place}" for place in range(5)], **TALK)
        await jay.episodes.store_many([f"stored {place}" for place in range(5)], **TALK)
        tokens = jay.parts.tokens()
        all_held = tokens.count("\n".join(f"user: message {place}" for place in range(5)))
        for budget in range(1, 2 * all_held + 10):
            found = await jay.episodes.fetch_recent_context("s-1", budget=budget, user="ada")
            assert found.tokens == (tokens.count(str(found)) if found else 0)
            assert found.tokens <= budget
            held = [str(one) for one in found if isinstance(one, Message)]
            stored = [str(one) for one in found if not isinstance(one, Message)]
            assert held == [f"user: message {place}" for place in range(5 - len(held), 5)]
            assert stored == [f"user: stored {place}" for place in range(5 - len(stored), 5)]
            assert not stored or len(held) == 5
        assert (len(held), len(stored)) == (5, 5)

    async def test_what_was_drained_is_read_once(self, jay: Jay) -> None:
        said = await jay.working.append(["one", "two", "three"], **TALK)
        # A drain that was interrupted: stored, and not let go of yet.
        await jay.remember_many([telling_of(one) for one in said[:2]], **TALK)
        found = await jay.episodes.fetch_recent_context("s-1", user="ada")
        assert str(found) == "user: one\nuser: two\nuser: three"
        await jay.parts.working.drained(jay.scoped(TALK), [one.id for one in said[:2]], now=jay.parts.clock())
        assert str(await jay.episodes.fetch_recent_context("s-1", user="ada")) == str(found)

    async def test_what_was_drained_under_another_id_is_read_once(self, jay: Jay) -> None:
        said = await jay.working.append(["one", "two"], **TALK)
        scope = jay.scoped(TALK)
        await jay.remember_many([{**telling_of(one), "id": id_in(scope, one)} for one in said], **TALK)
        assert str(await jay.episodes.fetch_recent_context("s-1", user="ada")) == "user: one\nuser: two"
        assert [one.content for one in await jay.working.recent(**TALK)] == ["one", "two"]

    async def test_one_of_the_two_can_be_asked_alone(self, jay: Jay) -> None:
        await jay.working.append("held", **TALK)
        await jay.episodes.store_episode("stored", **TALK)
        for source, said in (("working", "user: held"), ("records", "user: stored")):
            assert str(await jay.episodes.fetch_recent_context("s-1", source=source, user="ada")) == said
        with pytest.raises(InvalidInput, match="source"):
            await jay.episodes.fetch_recent_context("s-1", source="thin air", user="ada")
        with pytest.raises(InvalidInput, match="budget"):
            await jay.episodes.fetch_recent_context("s-1", budget=0, user="ada")

    async def test_other_sessions_are_others(self, jay: Jay) -> None:
        await jay.episodes.store_episode("mine", **TALK)
        await jay.episodes.store_episode("another session", user="ada", session="s-2")
        await jay.episodes.store_episode("another user", user="bob", session="s-1")
        await jay.episodes.store_episode("a narrower place", user="ada", session="s-1", agent="a-1")
        assert str(await jay.episodes.fetch_recent_context("s-1", user="ada")) == "user: mine"
        assert len(await jay.episodes.fetch_recent_context("s-3", user="ada")) == 0
