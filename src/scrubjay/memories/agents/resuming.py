"""Resuming: where an agent stopped, what it did in order, and how two of its cycles differ."""

from collections.abc import AsyncIterator
from typing import Final, Unpack

from scrubjay.memories.agents.cycling import Cycling
from scrubjay.memories.agents.room import PAGE, Named
from scrubjay.model import Filter, Json, Memory, Scope
from scrubjay.model.agent_answers import CycleDiff, Happening, Resumption, changes_between
from scrubjay.model.agent_files import SNAPSHOT_KIND, FileChanges, Snapshot
from scrubjay.model.agents import (
    AGENT_KEY,
    AGENT_KIND,
    CYCLE_KIND,
    PROPOSAL_KIND,
    RECORD_KINDS,
    RESULT_KIND,
    ActionProposal,
    ActionResult,
    Agent,
    Cycle,
    cycle_of,
    is_action_result,
)
from scrubjay.model.scope import OfAgent

LIFE_KINDS: Final = (AGENT_KIND, CYCLE_KIND, PROPOSAL_KIND, SNAPSHOT_KIND, *RECORD_KINDS)
"""The kinds of rows that tell the life of an agent."""

_WITH_FILES: Final[dict[str, Json]] = {"artifacts": {"exists": True}}
"""What the results have that name files. Most name none, and a store need not hand these over."""


class Resuming(Cycling):
    """Looking back, and going on."""

    async def resume(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> Resumption:
        """Say exactly where an agent stopped: what is complete, what is open, and what waits.

        A step is on record before the next one is taken, so this holds wherever a process was killed. Of a proposal
        that waits for its result nobody can know whether it was acted on: look, then record the result. Raises
        NotFound.
        """
        scope = self._place(agent, elsewhere)
        known = await self._agent(scope)
        newest, last = await self._ends(scope)
        cycle = newest if newest is not None and newest.is_open else None
        steps, last_step = await self._course(scope, cycle.index) if cycle is not None else ((), 0)
        snapshot = await self._snapshot_at(scope)
        return Resumption(
            agent=known,
            last=last,
            cycle=cycle,
            steps=steps,
            last_step=last_step,
            snapshot=snapshot,
            pending=await self._pending(scope, snapshot),
            state=newest.state if newest is not None else {},
            next_index=newest.index + 1 if newest is not None else 1,
        )

    async def _ends(self, scope: Scope) -> tuple[Cycle | None, Cycle | None]:
        """The newest cycle, and the last one that was completed."""
        newest = None
        async for memory in self._rows(scope, CYCLE_KIND):
            cycle = Cycle.of(memory)
            newest = newest or cycle
            if cycle.status == "completed":
                return newest, cycle
        return newest, None

    async def _pending(self, scope: Scope, snapshot: Snapshot | None) -> tuple[str, ...]:
        """The files that results name which were stored after the snapshot, in that order, each once.

        Without a snapshot, those of all results.
        """
        after = snapshot.id if snapshot is not None else None
        rows = self._rows(scope, RESULT_KIND, order="oldest", after=after, data=_WITH_FILES)
        paths = [path async for memory in rows for path in ActionResult.of(memory).artifacts]
        return tuple(dict.fromkeys(paths))

    async def replay(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> AsyncIterator[Happening]:
        """Stream all that happened in the life of an agent, in the order it happened. Needs no `await`.

        What was forgotten is left out. Raises NotFound when the first one is asked for.
        """
        scope, parts = self._place(agent, elsewhere), self._core.parts
        await self._agent(scope)
        life, lists = Filter(scope=scope, reach="holds", kinds=LIFE_KINDS, history=True), self._lists(scope)
        async for batch in parts.stores.records.scan(life, now=parts.clock(), batch=PAGE):
            for memory in batch:
                forgotten = memory.superseded_at is not None and memory.superseded_by is None
                if memory.scope != scope or forgotten:
                    continue
                if memory.kind == SNAPSHOT_KIND and _is_keyed(memory):
                    taken = await self._snapshot(memory, lists)
                    yield Happening(what="snapshot", at=memory.valid_from, cycle=taken.cycle, value=taken)
                elif (happened := _happened(memory)) is not None:
                    yield happened

    async def diff(
        self, agent: Named, before: int, after: int, *, other: Named | None = None, **elsewhere: Unpack[OfAgent]
    ) -> CycleDiff:
        """Say how two cycles differ: in their steps, in the state they left, and in the files.

        `after` is a cycle of the same agent, or of `other`, such as its fork. Raises NotFound.
        """
        scope = self._place(agent, elsewhere)
        there = self._place(other, elsewhere) if other is not None else scope
        old, new = await self._cycle(scope, before), await self._cycle(there, after)
        files = [await self._snapshot_at(scope, before), await self._snapshot_at(there, after)]
        return CycleDiff(
            before=old,
            after=new,
            state=tuple(changes_between(dict(old.state), dict(new.state))),
            before_steps=await self._steps(scope, before),
            after_steps=await self._steps(there, after),
            files=FileChanges.between(*files),
        )


def _happened(memory: Memory) -> Happening | None:
    """What a row tells that is no snapshot; None for one that is no part of the life of an agent."""
    at = memory.valid_from
    match memory.kind:
        case "agent" if memory.key == AGENT_KEY:
            agent = Agent.of(memory)
            return Happening(what="created" if agent.version == 1 else "changed", at=at, value=agent)
        case "cycle" if _is_keyed(memory):
            cycle = Cycle.of(memory)
            return Happening(what="began" if cycle.is_open else "ended", at=at, cycle=cycle.index, value=cycle)
        case "proposal" if _is_keyed(memory):
            proposal = ActionProposal.of(memory)
            return Happening(what="proposed", at=at, cycle=proposal.cycle, step=proposal.step, value=proposal)
        case "result" if is_action_result(memory):
            result = ActionResult.of(memory)
            return Happening(what="acted", at=at, cycle=result.cycle, step=result.step, value=result)
        case kind if kind in RECORD_KINDS and cycle_of(memory) is not None:
            return Happening(what="recorded", at=at, cycle=cycle_of(memory), value=memory)
    return None


def _is_keyed(memory: Memory) -> bool:
    """Whether it is a row of the life of an agent, and not something else of that kind."""
    return (memory.key or "").startswith(f"{memory.kind}:")
