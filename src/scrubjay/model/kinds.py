"""Kinds that have a form of their own: verbs act on what such memories say, so only these verbs write them."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from scrubjay.model.access import Caller
from scrubjay.model.agent_files import SNAPSHOT_KIND
from scrubjay.model.agents import AGENT_KIND, CYCLE_KIND, PROPOSAL_KIND
from scrubjay.model.code import REPOSITORY_KIND
from scrubjay.model.context import SHAPE_KIND
from scrubjay.model.facts import CONFLICT_KIND
from scrubjay.model.memory import CHECKPOINT_KIND, STATE_KINDS, WRITE_KIND
from scrubjay.model.similar import OUTCOME_KIND
from scrubjay.model.workspace import COMPLETION_KIND, REJECTED_KIND

KEPT_BY: Final[Mapping[str, str]] = MappingProxyType(
    {
        AGENT_KIND: "`agents.create`",
        CHECKPOINT_KIND: "LangGraph's checkpointer",
        COMPLETION_KIND: "`workspace.store_completion`",
        CONFLICT_KIND: "`facts.store`",
        CYCLE_KIND: "`agents.begin_cycle`",
        OUTCOME_KIND: "`tasks.used`",
        PROPOSAL_KIND: "`agents.propose`",
        REJECTED_KIND: "`workspace.store_completion`",
        REPOSITORY_KIND: "`workspace.ingest`",
        SHAPE_KIND: "`shape_context`",
        SNAPSHOT_KIND: "`agents.snapshot`",
        WRITE_KIND: "LangGraph's checkpointer",
    }
)
"""Each of them, with what writes it. Nobody can just tell one."""


def refused_kinds(caller: Caller) -> Collection[str]:
    """The kinds that this caller may not import. Nobody has looked at what a line says of another one's memories."""
    if caller.bounds:
        return KEPT_BY.keys()
    return STATE_KINDS if caller.key is not None else ()
