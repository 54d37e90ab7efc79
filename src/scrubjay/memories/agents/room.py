"""Room: what every part of the memory of agents is made of, and how their rows are read."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, cast
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.memories.agents.file_lists import FileLists
from scrubjay.model import Filter, Json, Memory, Order, Scope, Where
from scrubjay.model.agent_answers import ActionStep
from scrubjay.model.agent_files import SNAPSHOT_KIND, Snapshot
from scrubjay.model.agents import (
    AGENT_KEY,
    AGENT_KIND,
    CYCLE_KIND,
    MOST_CYCLES,
    MOST_STEPS,
    PROPOSAL_KIND,
    RESULT_KIND,
    ActionProposal,
    ActionResult,
    Agent,
    Cycle,
    cycle_key,
    proposal_key,
    result_key,
)
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.remedies import instead
from scrubjay.model.scope import OfAgent

FIRST_PAGE: Final = 16
"""Rows that are read first: whoever looks for the newest of a kind is done with them."""
PAGE: Final = 500

Named: TypeAlias = Agent | str
"""An agent, or its name."""


def elsewhere_in(told: Mapping[str, object], known: type) -> OfAgent:
    """The names of a place among these keywords. One that the verb does not have is refused, never ignored."""
    if unknown := told.keys() - known.__annotations__.keys():
        name = min(unknown)
        names = instead(name, sorted(known.__annotations__))
        raise InvalidInput(f"{name}={shown(told[name])} is not a known option: {names}")
    return cast("OfAgent", {name: told[name] for name in OfAgent.__annotations__ if name in told})


class Room:
    """A part of the memory of agents. `Agents` is put together from several, each with verbs of its own."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def _place(self, agent: Named, elsewhere: OfAgent) -> Scope:
        """The scope of exactly this agent. Raises InvalidInput when none is named."""
        if isinstance(agent, Agent):
            own = cast("OfAgent", {name: getattr(agent.scope, name) for name in OfAgent.__annotations__})
            return self._place(agent.name, {**own, **elsewhere})
        if not isinstance(agent, str):
            raise InvalidInput(f"agent is {shown(agent)}: give its name, or the agent itself")
        return self._core.scoped(cast("Where", {**elsewhere_in(elsewhere, OfAgent), "agent": agent}))

    async def _agent(self, scope: Scope) -> Agent:
        """Who lives there. Raises NotFound."""
        memory = await self._held(scope, AGENT_KEY)
        if memory is None or memory.kind != AGENT_KIND:
            raise NotFound(
                f"there is no agent {scope.agent!r} in {replace(scope, agent=None)}: create it, "
                "or name the user, project and workflow that it was created for"
            )
        return Agent.of(memory)

    async def _held(self, scope: Scope, key: str) -> Memory | None:
        """What is believed under this key in exactly this scope."""
        versions = await self._core.parts.stores.records.versions(scope, key=key)
        return next((one for one in versions if one.scope == scope and one.superseded_at is None), None)

    async def _rows(
        self,
        scope: Scope,
        kind: str,
        *,
        order: Order = "newest",
        after: UUID | None = None,
        data: Mapping[str, Json] | None = None,
    ) -> AsyncIterator[Memory]:
        """What is believed of one kind in exactly this scope, with such data, in the order it was stored.

        Clocks have no say in it: what a machine wrote whose clock is ahead has happened all the same.
        """
        parts, last, page = self._core.parts, after, FIRST_PAGE
        # A store goes through the rows of a place in their order, or through those of a prefix: snapshots are few.
        prefix = f"{kind}:"
        wanted = Filter(
            scope=scope,
            reach="holds",
            kinds=(kind,),
            key_prefix=prefix if kind == SNAPSHOT_KIND else None,
            data=dict(data or {}),
            history=True,
        )
        while True:
            found = await parts.stores.records.find(wanted, now=parts.clock(), limit=page, order=order, after=last)
            for memory in found:
                # A narrower place is another agent of the same name, and without such a key it is another thing.
                is_own = memory.scope == scope and (memory.key or "").startswith(prefix)
                if is_own and memory.superseded_at is None:
                    yield memory
            if len(found) < page:
                return
            last, page = found[-1].id, PAGE

    async def _newest(self, scope: Scope) -> Memory | None:
        """The row of the cycle that is open, or that was ended last; None before the first."""
        async for memory in self._rows(scope, CYCLE_KIND):
            return memory
        return None

    async def _cycle(self, scope: Scope, index: int) -> Cycle:
        """One cycle. Raises NotFound."""
        check_whole("cycle", index, least=1, most=MOST_CYCLES)
        memory = await self._held(scope, cycle_key(index))
        if memory is None or memory.kind != CYCLE_KIND:
            raise NotFound(f"agent {scope.agent} has no cycle {index}: `cycles` lists those it has")
        return Cycle.of(memory)

    async def _steps(self, scope: Scope, cycle: int) -> tuple[ActionStep, ...]:
        """The proposals of a cycle in order, each with its result if it has one."""
        return (await self._course(scope, cycle))[0]

    async def _course(self, scope: Scope, cycle: int) -> tuple[tuple[ActionStep, ...], int]:
        """The steps of a cycle, and the highest number of one: a result may outlive its proposal."""
        # Results first: a proposal is on record before its result, so whatever others do meanwhile, it is seen with it.
        results = [ActionResult.of(one) for one in await self._keyed(scope, RESULT_KIND, result_key(cycle))]
        proposals = [ActionProposal.of(one) for one in await self._keyed(scope, PROPOSAL_KIND, proposal_key(cycle))]
        known = {result.step: result for result in results}
        ordered = sorted(proposals, key=lambda proposal: proposal.step)
        steps = tuple(ActionStep(proposal=proposal, result=known.get(proposal.step)) for proposal in ordered)
        return steps, max((*(proposal.step for proposal in proposals), *known), default=0)

    async def _keyed(self, scope: Scope, kind: str, prefix: str) -> list[Memory]:
        parts = self._core.parts
        wanted = Filter(scope=scope, reach="holds", kinds=(kind,), key_prefix=prefix, history=True)
        found: list[Memory] = []
        async for batch in parts.stores.records.scan(wanted, now=parts.clock(), batch=MOST_STEPS):
            found += [one for one in batch if one.scope == scope and one.superseded_at is None]
        return found

    async def _newest_results(self, scope: Scope, many: int) -> list[Memory]:
        """What came of the newest actions, oldest first."""
        found: list[Memory] = []
        if many:
            async for memory in self._rows(scope, RESULT_KIND):
                found.append(memory)
                if len(found) == many:
                    break
        return found[::-1]

    async def _snapshot_at(self, scope: Scope, cycle: int | None = None) -> Snapshot | None:
        """The newest snapshot, of this cycle or an earlier one; None when there is none."""
        async for memory in self._rows(scope, SNAPSHOT_KIND):
            if cycle is None or cast("int", memory.data.get("cycle") or 0) <= cycle:
                return await self._snapshot(memory, self._lists(scope))
        return None

    def _lists(self, scope: Scope) -> FileLists:
        return FileLists(self._core.parts.stores.blobs, scope)

    async def _snapshot(self, memory: Memory, lists: FileLists) -> Snapshot:
        """The snapshot that a memory holds."""
        return Snapshot.of(memory, (await lists.read(memory)).files)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core!r}>"
