"""Rows: agents, cycles, proposals and results as the memories that hold them, without secrets."""

from typing import Any, cast

from scrubjay.core import Core
from scrubjay.model import Memory, Scope, Trust
from scrubjay.model.agents import (
    AGENT_KEY,
    AGENT_KIND,
    CYCLE_KIND,
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
from scrubjay.model.work import PINNED
from scrubjay.write.prepare import Telling, prepare


def agent_row(core: Core, agent: Agent) -> Memory:
    """The row of an agent."""
    return _row(core, agent.scope, agent, kind=AGENT_KIND, key=AGENT_KEY, trust=Trust.TOLD)


def cycle_row(core: Core, scope: Scope, cycle: Cycle) -> Memory:
    """The row of a cycle."""
    return _row(core, scope, cycle, kind=CYCLE_KIND, key=cycle_key(cycle.index), trust=Trust.CONCLUDED)


def proposal_row(core: Core, scope: Scope, proposal: ActionProposal) -> Memory:
    """The row of a proposal."""
    key, source = proposal_key(proposal.cycle, proposal.step), cycle_key(proposal.cycle)
    return _row(core, scope, proposal, kind=PROPOSAL_KIND, key=key, trust=Trust.CONCLUDED, source=source)


def result_row(core: Core, scope: Scope, result: ActionResult) -> Memory:
    """The row of a result."""
    key, source = result_key(result.cycle, result.step), proposal_key(result.cycle, result.step)
    return _row(core, scope, result, kind=RESULT_KIND, key=key, trust=Trust.OBSERVED, source=source)


def _row(
    core: Core,
    scope: Scope,
    value: Agent | Cycle | ActionProposal | ActionResult,
    *,
    kind: str,
    key: str,
    trust: Trust,
    source: str | None = None,
) -> Memory:
    telling: dict[str, Any] = {
        "kind": kind,
        "key": key,
        "content": value.content,
        "data": value.data,
        "trust": trust,
        "source": source,
        # Pinned: what an agent did is not tidied away unasked.
        "importance": PINNED,
    }
    return prepare(cast("Telling", telling), scope, now=core.parts.clock(), redactor=core.parts.redactor)
