"""Cycling: an agent's loop, one step after the other, each durable before the next one is taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack, cast

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.memories.agents.keeping import MOST_LISTED, Keeping
from scrubjay.memories.agents.moving import (
    Check,
    first,
    first_or_same,
    instead_of,
    is_active,
    is_there,
    nothing_beside,
    says_the_same,
    still,
    take,
)
from scrubjay.memories.agents.room import Named, elsewhere_in
from scrubjay.memories.agents.rows import cycle_row, proposal_row, result_row
from scrubjay.model import Json, Memory, Order, Scope, new_id
from scrubjay.model.agent_answers import ActionStep
from scrubjay.model.agents import (
    AGENT_KEY,
    CYCLE_KIND,
    ENDINGS,
    MOST_CYCLES,
    MOST_STEPS,
    ActionOutcome,
    ActionProposal,
    ActionResult,
    Cycle,
    CycleStatus,
    cycle_key,
    proposal_key,
    result_key,
)
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.query import check_listed
from scrubjay.model.scope import OfAgent


class At(OfAgent, total=False):
    """Where in the life of an agent; left out, where it is now."""

    cycle: int
    """Which cycle: it has to be the one that is open."""
    step: int
    """Which step of it."""


class ProposalTold(At, total=False):
    """What may be told of a proposal beside its tool."""

    arguments: Mapping[str, Json] | None
    reasoning: str | None
    plan: Json
    thoughts: Json


class ResultTold(At, total=False):
    """What may be told of a result beside its outcome."""

    output: Json
    error: Json
    artifacts: Sequence[str]


class Cycling(Keeping):
    """Cycles, proposals and results."""

    async def begin_cycle(
        self, agent: Named, *, goal: str | None = None, index: int | None = None, **elsewhere: Unpack[OfAgent]
    ) -> Cycle:
        """Begin the agent's next cycle. It takes over the state that the one before left.

        Of two processes that drive one agent, one begins it and the other gets a Conflict; so does who gives an `index`
        that is not the next, who begins one while another is open, and who drives an agent that is archived.
        """
        scope = self._place(agent, elsewhere)
        if index is not None:
            check_whole("index", index, least=1, most=MOST_CYCLES)
        row = await self._newest(scope)
        newest = Cycle.of(row) if row is not None else None
        if newest is None:
            await self._agent(scope)
        if newest is not None and newest.is_open:
            raise Conflict(
                f"cycle {newest.index} of agent {newest.agent} is open: end it first, or go on with it, see `resume`"
            )
        following = newest.index + 1 if newest is not None else 1
        if index is not None and index != following:
            raise Conflict(f"index is {index}, and the next cycle of agent {scope.agent} is {following}")
        cycle = Cycle(
            id=new_id(),
            agent=scope.agent or "",
            index=following,
            goal=goal,
            state=newest.state if newest is not None else {},
            began_at=self._core.parts.clock(),
        )
        row = cycle_row(self._core, scope, cycle)
        return Cycle.of(await take(self._core, row, first, rests_on={AGENT_KEY: is_active}))

    async def propose(self, agent: Named, tool: str, **told: Unpack[ProposalTold]) -> ActionProposal:
        """Put an action on record before it is taken: the tool call, and why.

        It is the next step of the open cycle, and refused with a Conflict while the step before waits for its result.
        Who takes several steps at once numbers them with `step`. Of two processes that propose the same step, also to
        the letter, one acts and the other gets a Conflict.
        """
        scope, (index, wanted) = self._place(agent, elsewhere_in(told, ProposalTold)), _at(told)
        cycle = await self._open(scope, index)
        proposal = ActionProposal(
            id=new_id(),
            agent=scope.agent or "",
            cycle=cycle.index,
            step=wanted if wanted is not None else (await self._taken(scope, cycle)).following(),
            tool=tool,
            arguments=_object("arguments", told.get("arguments")),
            reasoning=told.get("reasoning"),
            plan=told.get("plan"),
            thoughts=told.get("thoughts"),
            at=self._core.parts.clock(),
        )
        before = proposal.step - 1
        rests_on: dict[str, Check] = {AGENT_KEY: is_active, cycle_key(proposal.cycle): still(cycle)}
        if before and wanted is not None:
            rests_on[proposal_key(proposal.cycle, before)] = is_there
        elif before:
            rests_on[result_key(proposal.cycle, before)] = is_there
        row = proposal_row(self._core, scope, proposal)
        return ActionProposal.of(await take(self._core, row, first, rests_on=rests_on))

    async def result(
        self, agent: Named, outcome: ActionOutcome = "succeeded", **told: Unpack[ResultTold]
    ) -> ActionResult:
        """Put on record what came of a proposal: the one that waits, or the one that `step` names.

        Told again to the letter, it is the same result; otherwise whoever came first counts, and the other gets a
        Conflict.
        """
        scope, (index, wanted) = self._place(agent, elsewhere_in(told, ResultTold)), _at(told)
        cycle = await self._open(scope, index)
        artifacts = told.get("artifacts") or ()
        if isinstance(artifacts, str) or not isinstance(artifacts, Sequence):
            raise InvalidInput(f"artifacts is {shown(artifacts)}: use a list of paths")
        result = ActionResult(
            id=new_id(),
            agent=scope.agent or "",
            cycle=cycle.index,
            step=wanted if wanted is not None else (await self._taken(scope, cycle)).waiting(),
            outcome=outcome,
            output=told.get("output"),
            error=told.get("error"),
            artifacts=tuple(artifacts),
            at=self._core.parts.clock(),
        )
        rests_on = {
            cycle_key(result.cycle): still(cycle),
            proposal_key(result.cycle, result.step): is_there,
        }
        row = result_row(self._core, scope, result)
        return ActionResult.of(await take(self._core, row, first_or_same, rests_on=rests_on))

    async def end_cycle(
        self,
        agent: Named,
        *,
        state: Mapping[str, Json] | None = None,
        summary: str | None = None,
        status: CycleStatus = "completed",
        cycle: int | None = None,
        **elsewhere: Unpack[OfAgent],
    ) -> Cycle:
        """End the open cycle, and keep the state that the agent is in; without one, the state it began with stands.

        A cycle is `completed` when every proposal has its result; else it can only be ended as `failed` or `abandoned`.
        Ended again to the letter, it is the same; otherwise that is a Conflict.
        """
        scope = self._place(agent, elsewhere)
        if status not in ENDINGS:
            raise InvalidInput(f"status is {shown(status)}: use one of {', '.join(ENDINGS)}")
        if cycle is not None:
            check_whole("cycle", cycle, least=1, most=MOST_CYCLES)
        left = _object("state", state) if state is not None else None
        row = await self._newest(scope)
        newest = Cycle.of(row) if row is not None else None
        if row is None or newest is None or cycle not in (None, newest.index) or not (newest.is_open or cycle):
            await self._agent(scope)
            named = f"cycle {cycle} that is open" if cycle else "open cycle"
            raise Conflict(f"agent {scope.agent} has no {named}: ask `resume` where it is now")
        ended = replace(newest, status=status, summary=summary, state=left if left is not None else newest.state)
        if not newest.is_open:
            return _ended_so(newest, row, cycle_row(self._core, scope, ended))
        ended = replace(ended, ended_at=self._core.parts.clock())
        steps = await self._taken(scope, newest)
        if status == "completed":
            steps.check_complete()
        beyond = proposal_key(newest.index, steps.last + 1)
        rests_on = {cycle_key(newest.index): still(newest), beyond: nothing_beside(row)}
        closing = cycle_row(self._core, scope, ended)
        return Cycle.of(await take(self._core, closing, instead_of(newest.id), rests_on=rests_on))

    async def cycles(
        self,
        agent: Named,
        *,
        limit: int = 100,
        order: Order = "newest",
        after: int | None = None,
        **elsewhere: Unpack[OfAgent],
    ) -> "list[Cycle]":
        """List the cycles of an agent by their index; `after` is the last index of the page before."""
        scope = self._place(agent, elsewhere)
        check_whole("limit", limit, least=1, most=MOST_LISTED)
        check_listed(order)
        if after is not None:
            check_whole("after", after, least=1, most=MOST_CYCLES)
        await self._agent(scope)
        last = (await self._cycle(scope, after)).id if after is not None else None
        found: list[Cycle] = []
        async for memory in self._rows(scope, CYCLE_KIND, order=order, after=last):
            found.append(Cycle.of(memory))
            if len(found) == limit:
                break
        return found

    async def steps(self, agent: Named, cycle: int, **elsewhere: Unpack[OfAgent]) -> tuple[ActionStep, ...]:
        """Return what was proposed in a cycle and what came of it, in order. Raises NotFound."""
        scope = self._place(agent, elsewhere)
        known = await self._cycle(scope, cycle)
        return await self._steps(scope, known.index)

    async def _open(self, scope: Scope, index: int | None) -> Cycle:
        """The open cycle. Raises Conflict when there is none, or not this one, and NotFound without an agent."""
        row = await self._newest(scope)
        cycle = Cycle.of(row) if row is not None else None
        if cycle is None or not cycle.is_open:
            await self._agent(scope)
            raise Conflict(f"agent {scope.agent} has no open cycle: begin one first")
        if index is not None and index != cycle.index:
            raise Conflict(f"cycle is {index}, and the open one of agent {scope.agent} is {cycle.index}")
        return cycle

    async def _taken(self, scope: Scope, cycle: Cycle) -> "_Steps":
        """What was done in the cycle so far."""
        return _Steps(cycle, *await self._course(scope, cycle.index))


@dataclass(frozen=True, slots=True)
class _Steps:
    """An open cycle, and what was done in it so far."""

    cycle: Cycle
    steps: tuple[ActionStep, ...]
    last: int
    """The highest number of a step, also of one whose proposal was forgotten."""

    def following(self) -> int:
        """The number of the next step. Raises Conflict while a step waits for its result."""
        self.check_complete()
        if self.last >= MOST_STEPS:
            raise Conflict(f"cycle {self.cycle.index} has {MOST_STEPS:,} steps, the most: end it, and begin another")
        return self.last + 1

    def waiting(self) -> int:
        """The number of the step that waits for its result. Raises Conflict when there is not just one."""
        waiting = [step.number for step in self.steps if step.result is None]
        if not waiting:
            raise Conflict(f"no proposal of cycle {self.cycle.index} waits for a result: propose something first")
        if len(waiting) > 1:
            named = ", ".join(map(str, waiting))
            raise Conflict(f"steps {named} of cycle {self.cycle.index} wait for results: say which with step=")
        return waiting[0]

    def check_complete(self) -> None:
        """Raise Conflict while a step waits for its result."""
        for step in self.steps:
            if step.result is None:
                # What was proposed is not told: who asks may be allowed to write only.
                raise Conflict(
                    f"step {step.number} of cycle {self.cycle.index} waits for its result: put that on record first"
                )


def _ended_so(cycle: Cycle, row: Memory, told: Memory) -> Cycle:
    """The cycle, if it was ended just so before. Raises Conflict."""
    if says_the_same(told, row):
        return cycle
    raise Conflict(
        f"cycle {cycle.index} of agent {cycle.agent} is {cycle.status} already. Ask `resume` where it is now"
    )


def _at(told: Mapping[str, object]) -> tuple[int | None, int | None]:
    """The cycle and the step that were named."""
    cycle, step = cast("int | None", told.get("cycle")), cast("int | None", told.get("step"))
    if cycle is not None:
        check_whole("cycle", cycle, least=1, most=MOST_CYCLES)
    if step is not None:
        check_whole("step", step, least=1, most=MOST_STEPS)
    return cycle, step


def _object(name: str, value: object) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} is {shown(value)}: use a dict of JSON values")
    return dict(value)
