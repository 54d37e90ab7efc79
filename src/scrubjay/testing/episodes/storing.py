"""Episodes are stored as they happened: each once, in order, with all that was told of them."""

import asyncio
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.memories.working import telling_of
from scrubjay.model import Json, Trust, new_id
from scrubjay.model.episodes import EPISODE_KINDS, Episode, Negotiation, Turn
from scrubjay.model.working import Message
from scrubjay.testing.values import DAY, NOW

Jay: TypeAlias = Any
"""An open Scrubjay. This room does not know the service."""

TALK: dict[str, Any] = {"user": "ada", "session": "s-1"}


def a_negotiation(**overrides: Any) -> Negotiation:  # noqa: ANN401 -- any field; Negotiation checks it
    """A negotiation that ended well. Any field can be given."""
    turns = (Turn(by="buyer", said="100 EUR?", at=NOW), Turn(by="seller", said="120 EUR, or no delivery"))
    fields: dict[str, Any] = {"parties": ("buyer", "seller"), "turns": turns, "outcome": "agreed at 110 EUR"}
    return Negotiation(**{**fields, **overrides})


async def contents(jay: Jay, **narrow: Any) -> list[str]:  # noqa: ANN401 -- the keywords of `timeline`
    """What the timeline says, in order."""
    return [one.content for one in await jay.episodes.timeline(**narrow)]


class Storing:
    """What `store_episode` and `store_many` promise."""

    @pytest.mark.parametrize("kind", [kind for kind in EPISODE_KINDS if kind != "negotiation"])
    async def test_every_kind_of_episode_is_kept(self, jay: Jay, kind: str) -> None:
        done = await jay.episodes.store_episode("The build is red", kind=kind, author="ci", at=NOW, **TALK)
        [episode] = await jay.episodes.timeline(**TALK)
        assert (episode.id, episode.kind, episode.content) == (done.id, kind, "The build is red")
        assert (episode.author, episode.at, episode.position) == ("ci", NOW, 0)
        assert str(episode) == "ci: The build is red"

    async def test_a_negotiation_keeps_its_parties_its_turns_and_its_outcome(self, jay: Jay) -> None:
        told = a_negotiation()
        done = await jay.episodes.store_episode(
            parties=told.parties,
            turns=[{"by": "buyer", "said": "100 EUR?", "at": NOW}, told.turns[1]],
            outcome=told.outcome,
            **TALK,
        )
        episode = Episode(memory=await jay.get(done.id))
        assert (episode.kind, episode.negotiation) == ("negotiation", told)
        [hit] = await jay.episodes.recall("who wanted no delivery?", mode="words")
        assert hit.episode.id == done.id
        assert (await jay.episodes.store_episode(told, **TALK)).memory.data == done.memory.data

    async def test_a_message_is_the_same_whichever_way_it_came(self, jay: Jay) -> None:
        calls: tuple[dict[str, Json], ...] = ({"name": "grep", "arguments": {"for": "def"}},)
        message = Message(id=new_id(), role="assistant", name="Jay", tool_calls=calls, at=NOW)
        one = await jay.episodes.store_episode(message, **TALK)
        other = await jay.episodes.store_episode(role="assistant", author="Jay", tool_calls=calls, at=NOW, **TALK)
        told = ("kind", "content", "data", "author", "trust", "valid_from")
        assert [getattr(one.memory, name) for name in told] == [getattr(other.memory, name) for name in told]
        assert one.memory.trust is Trust.CONCLUDED

    async def test_what_happens_twice_is_two_episodes_and_an_id_makes_them_one(self, jay: Jay) -> None:
        await jay.episodes.store_episode("ok", **TALK)
        await jay.episodes.store_episode("ok", **TALK)
        assert len(await jay.episodes.timeline()) == 2
        first = await jay.episodes.store_episode("done", id="step-7", **TALK)
        again = await jay.episodes.store_episode("done", id="step-7", **TALK)
        assert (again.outcome, again.id) == ("unchanged", first.id)
        assert len(await jay.episodes.timeline()) == 3

    async def test_what_an_agent_saw_or_thought_is_not_what_somebody_told(self, jay: Jay) -> None:
        trusts = {
            kind: (await jay.episodes.store_episode("x", kind=kind)).memory.trust
            for kind in ("message", "observation", "reflection")
        }
        assert list(trusts.values()) == [Trust.TOLD, Trust.OBSERVED, Trust.CONCLUDED]
        foreign = await jay.episodes.store_episode("x", kind="observation", trust="foreign", source="https://x.test")
        assert foreign.memory.trust is Trust.FOREIGN

    async def test_secrets_are_taken_out(self, jay: Jay) -> None:
        secret = "ghp_" + "x8Kq2LmN7pRt4VwZ9bCd" + "1FgH3jSk5TyU6aEo"
        told = a_negotiation(turns=(Turn(by="buyer", said=f"use {secret}"),))
        done = await jay.episodes.store_episode(told)
        assert secret not in done.memory.content + str(done.memory.data)
        assert done.memory.redacted

    async def test_many_are_stored_in_order_and_in_batches(self, jay: Jay) -> None:
        seen: list[int] = []
        told: list[Any] = [{"content": f"turn {place}", "at": NOW - timedelta(hours=place)} for place in range(1_200)]
        done = await jay.episodes.store_many(told, progress=seen.append, **TALK)
        assert seen == [1_000, 1_200]
        assert [one.memory.position for one in done] == list(range(1_200))
        assert await contents(jay, limit=10_000) == [f"turn {place}" for place in range(1_200)]

    async def test_a_clock_that_is_ahead_hides_nothing(self, jay: Jay) -> None:
        ahead = jay.parts.clock() + DAY
        await jay.episodes.store_episode("stored", at=ahead, **TALK)
        [said] = await jay.working.append({"content": "said", "at": ahead}, **TALK)
        await jay.remember_many([telling_of(said)], **TALK)
        assert await contents(jay) == ["stored", "said"]

    async def test_all_are_checked_before_any_is_written(self, jay: Jay) -> None:
        with pytest.raises(InvalidInput, match="item 1: colour"):
            await jay.episodes.store_many(["fine", {"content": "x", "colour": "blue"}])
        with pytest.raises(InvalidInput, match="item 1"):
            await jay.episodes.store_many(["fine", {"content": "x", "importance": 7}])
        assert await jay.episodes.timeline() == []

    @pytest.mark.parametrize(
        ("wrong", "named"),
        [
            ({"content": "x", "kind": "fact"}, "kind"),
            ({"content": ""}, "content"),
            ({"content": "x", "role": "The Boss"}, "role"),
            ({"content": "x", "kind": "plan", "role": "user"}, "role"),
            ({"content": "x", "kind": "plan", "parties": ["a", "b"]}, "parties"),
            ({"parties": ["a"]}, "parties"),
            ({"parties": ["a", "a"]}, "parties"),
            ({"parties": ["a", "b"], "turns": [{"by": "c", "said": "x"}]}, "no party"),
            ({"parties": ["a", "b"], "turns": [{"said": "x"}]}, "turn"),
            ({"parties": ["a", "b"], "turns": "a: x"}, "turns"),
            ({"content": "x", "data": 7}, "data"),
            ({"content": "x", "at": NOW.replace(tzinfo=None)}, "at is .* without a time zone"),
            (7, "episode"),
        ],
    )
    async def test_bad_input_gets_one_clear_error(self, jay: Jay, wrong: Any, named: str) -> None:  # noqa: ANN401 -- anything
        with pytest.raises(InvalidInput, match=named):
            await jay.episodes.store_many([wrong])
        assert await jay.count() == 0

    async def test_concurrent_writers_leave_no_gap(self, jay: Jay) -> None:
        async def tell(writer: int) -> None:
            for step in range(5):
                await jay.episodes.store_episode(f"{writer}-{step}", **TALK)

        await asyncio.gather(*(tell(writer) for writer in range(4)))
        told = await jay.episodes.timeline(**TALK)
        assert [one.position for one in told] == list(range(20))
        for writer in range(4):
            own = [one.content for one in told if one.content.startswith(f"{writer}-")]
            assert own == [f"{writer}-{step}" for step in range(5)]
