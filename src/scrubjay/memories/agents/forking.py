"""Forking: another agent with the same past, which goes its own way from there."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Unpack
from uuid import NAMESPACE_URL, uuid5

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.memories.agents.keeping import Directing, directing_of
from scrubjay.memories.agents.remembering import Remembering
from scrubjay.memories.agents.resuming import LIFE_KINDS
from scrubjay.memories.agents.room import PAGE, Named, elsewhere_in
from scrubjay.model import Filter, Memory, Scope, new_id
from scrubjay.model.agent_files import SNAPSHOT_KIND
from scrubjay.model.agents import AGENT_KIND, CYCLE_KIND, MOST_CYCLES, Agent, AgentOrigin, Cycle, cycle_of
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.scope import OfAgent
from scrubjay.ports import Decision, Known
from scrubjay.write.reconcile import correct

_FORKS: Final = uuid5(NAMESPACE_URL, "scrubjay:fork")


class Forked(Directing, OfAgent, total=False):
    """What `fork` takes beside the names: what is not given is as the agent has it."""


class Forking(Remembering):
    """Forks."""

    async def fork(self, agent: Named, to: str, *, at: int | None = None, **told: Unpack[Forked]) -> Agent:
        """Make another agent, `to`, with the same cycles, records and files up to and with cycle `at`.

        Without `at`, up to the last cycle that was ended; 0 forks from before the first. The two share no row: what
        becomes of one leaves the other alone. Safe to repeat: a fork that was interrupted is completed. Raises
        NotFound, and Conflict when the cycle is open or another agent of that name is there.
        """
        scope = self._place(agent, elsewhere_in(told, Forked))
        there = self._place(_name(to), elsewhere_in(told, Forked))
        if there == scope:
            raise InvalidInput(f"to is {shown(to)}: a fork needs a name of its own")
        if at is not None:
            check_whole("at", at, least=0, most=MOST_CYCLES)
        source = await self._agent(scope)
        origin = AgentOrigin(agent=source.name, cycle=await self._forking_point(scope, at))
        directives, configuration = directing_of(told)
        now = self._core.parts.clock()
        begun = await self._stored(
            Agent(
                id=new_id(),
                name=there.agent or "",
                scope=there,
                directives=directives if "directives" in told else source.directives,
                configuration=configuration if "configuration" in told else source.configuration,
                status="forking",
                forked_from=origin,
                created_at=now,
                updated_at=now,
            ),
            _begun,
        )
        if begun.status != "forking":
            return begun
        await self._copy(scope, there, upto=origin.cycle)
        return await self._stored(replace(begun, status="active", version=begun.version + 1), _completed)

    async def _forking_point(self, scope: Scope, at: int | None) -> int:
        """The last cycle that both will have. Raises NotFound, and Conflict when it is open."""
        if at == 0:
            return 0
        if at is not None:
            cycle: Cycle | None = await self._cycle(scope, at)
        else:
            row = await self._newest(scope)
            cycle = Cycle.of(row) if row is not None else None
            if cycle is not None and cycle.is_open:
                return cycle.index - 1
        if cycle is not None and cycle.is_open:
            raise Conflict(f"cycle {cycle.index} of agent {cycle.agent} is open: end it first, or fork at {at}")
        return cycle.index if cycle is not None else 0

    async def _copy(self, scope: Scope, there: Scope, *, upto: int) -> None:
        """Write what happened up to and with this cycle once more, for the fork, in the same order."""
        parts = self._core.parts
        kinds = tuple(kind for kind in LIFE_KINDS if kind != AGENT_KIND)
        past = Filter(scope=scope, reach="holds", kinds=kinds, history=True)
        async for batch in parts.stores.records.scan(past, now=parts.clock(), batch=PAGE):
            rows = [one for one in batch if one.scope == scope and _is_shared(one, upto)]
            if not rows:
                continue
            copies = [_copy_of(one, there, now=parts.clock()) for one in rows]
            await self._hold(there, rows, copies)
            await parts.writer.write(copies, _copied)

    async def _hold(self, there: Scope, rows: Sequence[Memory], copies: Sequence[Memory]) -> None:
        """Let the copies hold the files that the rows hold, before a copy names them."""
        blobs = self._core.parts.stores.blobs
        held = await blobs.held(there, [row.id for row in rows])
        for row, copy in zip(rows, copies, strict=True):
            if row.id in held:
                await blobs.hold(there, copy.id, held[row.id])


def _name(to: object) -> str:
    if not isinstance(to, str):
        raise InvalidInput(f"to is {shown(to)}: give the fork a name")
    return to


def _begun(draft: Memory, known: Known) -> Decision:
    """Take the name for this fork, or find that this very fork has it."""
    if not known.same_key:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    stands = known.same_key[-1]
    if Agent.of(stands).forked_from != Agent.of(draft).forked_from:
        raise Conflict(
            f"agent {draft.scope.agent} is there already, and is not the fork of {Agent.of(draft).forked_from}: "
            "choose another name"
        )
    return Decision(outcome="unchanged", memory=stands)


def _completed(draft: Memory, known: Known) -> Decision:
    """Let the fork act, unless somebody who forked it at the same time has done so."""
    stands = known.same_key[-1] if known.same_key else None
    if stands is None:
        raise Conflict(f"agent {draft.scope.agent} was forgotten while it was forked: fork it again")
    if Agent.of(stands).status != "forking":
        return Decision(outcome="unchanged", memory=stands)
    return correct(draft, known, old=stands)


def _is_shared(memory: Memory, upto: int) -> bool:
    """Whether it belongs to the past that both have. Of a cycle that was ended, also how it began."""
    # A snapshot that was taken before the first cycle names none.
    index = cycle_of(memory) or (0 if memory.kind == SNAPSHOT_KIND else None)
    if index is None or index > upto:
        return False
    was_begun = memory.kind == CYCLE_KIND and memory.superseded_by is not None
    return memory.superseded_at is None or was_begun


def _copy_of(memory: Memory, there: Scope, *, now: datetime) -> Memory:
    """The same row for the fork. Its id follows from both, so that copying it again changes nothing."""
    return replace(
        memory,
        id=uuid5(_FORKS, f"{there!r} {memory.id}"),
        scope=there,
        derived_from=(),
        created_at=now,
        superseded_at=None,
        superseded_by=None,
        closed_because=None,
        uses=0,
        used_at=None,
        generation=None,
    )


def _copied(draft: Memory, known: Known) -> Decision:
    """New, copied before, or the end of a cycle whose beginning was copied."""
    if known.same_id is not None:
        return Decision(outcome="unchanged", memory=known.same_id)
    if known.same_key and draft.kind == CYCLE_KIND:
        return correct(draft, known, old=known.same_key[-1])
    return Decision(outcome="stored", memory=draft, opens=(draft,))
