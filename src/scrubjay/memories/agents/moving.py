"""Moving: one step in the life of an agent, taken by one of those who try and refused to all others.

Every step is one transaction. It writes one row under a key of its own and looks at the rows that it rests on; writers
of one agent wait for each other there, so that what was looked at still holds when the row is written.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import Conflict
from scrubjay.model import Memory, new_id
from scrubjay.model.agents import Agent, Cycle
from scrubjay.ports import Decide, Decision, Known
from scrubjay.write.reconcile import correct

Check: TypeAlias = "Callable[[Memory | None], Memory]"
"""Looks at what is believed under a key; returns a row that stands for it, or raises Conflict."""


async def take(core: Core, row: Memory, decide: Decide, *, rests_on: Mapping[str, Check]) -> Memory:
    """Take the step that writes this row, and return the row as it is stored. Raises Conflict when it cannot be taken.

    `rests_on` are keys of the same agent, each with what has to hold for it while the row is written.
    """
    looks = [replace(row, id=new_id(), key=key) for key in rests_on]
    checks: dict[UUID, Check] = {look.id: rests_on[look.key] for look in looks if look.key is not None}

    def decided(draft: Memory, known: Known) -> Decision:
        if (check := checks.get(draft.id)) is None:
            return decide(draft, known)
        return Decision(outcome="unchanged", memory=check(known.same_key[-1] if known.same_key else None))

    done = await core.parts.writer.write([*looks, row], decided)
    return done[-1].memory


def first(draft: Memory, known: Known) -> Decision:
    """Store it under a key that nobody has yet. Also who says the same is refused: two would go on to act on it."""
    if known.same_key:
        # What they did is not told: who asks may be allowed to write only.
        raise Conflict(
            f"{draft.key} of agent {draft.scope.agent} was taken by somebody else. Ask `resume` where the agent is now"
        )
    return Decision(outcome="stored", memory=draft, opens=(draft,))


def first_or_same(draft: Memory, known: Known) -> Decision:
    """Store it under a key that nobody has yet, or find that it says to the letter what is stored there."""
    stands = known.same_key[-1] if known.same_key else None
    if stands is not None and says_the_same(draft, stands):
        return Decision(outcome="unchanged", memory=stands)
    return first(draft, known)


def says_the_same(draft: Memory, stands: Memory) -> bool:
    """Whether this would be stored as what is stored there: without its secrets, and with lists for tuples."""
    told, kept = ((one.kind, one.content, as_stored(one.data)) for one in (draft, stands))
    return told == kept


def as_stored(value: object) -> object:
    """A JSON value as a store gives it back."""
    return json.loads(json.dumps(value))


def instead_of(old: UUID) -> Decide:
    """Replace exactly this version. Raises Conflict when it is not the current one any more."""

    def decide(draft: Memory, known: Known) -> Decision:
        stands = known.same_key[-1] if known.same_key else None
        if stands is None or stands.id != old:
            raise Conflict(
                f"{draft.key} of agent {draft.scope.agent} was changed meanwhile. Ask `resume` where the agent is now"
            )
        return correct(draft, known, old=stands)

    return decide


def still(cycle: Cycle) -> Check:
    """The cycle is as it was read."""

    def check(stands: Memory | None) -> Memory:
        if stands is None or stands.id != cycle.id:
            raise Conflict(
                f"cycle {cycle.index} of agent {cycle.agent} was ended by somebody else. "
                "Ask `resume` where the agent is now"
            )
        return stands

    return check


def is_active(stands: Memory | None) -> Memory:
    """The agent is there and acts."""
    if stands is None:
        raise Conflict("the agent was forgotten meanwhile: create it again")
    agent = Agent.of(stands)
    if agent.status != "active":
        raise Conflict(f"agent {agent.name} is {agent.status}: {_REMEDIES[agent.status]}")
    return stands


_REMEDIES: Final = {
    "archived": "update it with status='active' before it acts again",
    "forking": "its fork was interrupted, so fork it again the same way before it acts",
}


def is_there(stands: Memory | None) -> Memory:
    """The step before this one is done."""
    if stands is None:
        raise Conflict("the step before this one is not on record. Ask `resume` where the agent is now")
    return stands


def nothing_beside(cycle: Memory) -> Check:
    """Nobody has written a row under this key. The row of the cycle, which is there, stands for that."""

    def check(stands: Memory | None) -> Memory:
        if stands is not None:
            raise Conflict(f"{stands.key} was proposed by somebody else meanwhile. Ask `resume` where the agent is now")
        return cycle

    return check
