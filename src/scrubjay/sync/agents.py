"""The memory of agents without `await`. Forwards only."""

from collections.abc import Iterator
from typing import Unpack

from scrubjay.memories.agents import Agents
from scrubjay.memories.agents.room import Named
from scrubjay.model.agent_answers import Happening
from scrubjay.model.scope import OfAgent
from scrubjay.sync.forward import Blocking, forward


class SyncAgents(Blocking[Agents]):
    """Agents, without `await`. See `Agents`: the verbs and their keywords are the same."""

    create = forward(Agents.create)
    get = forward(Agents.get)
    update = forward(Agents.update)
    archive = forward(Agents.archive)
    list = forward(Agents.list)
    begin_cycle = forward(Agents.begin_cycle)
    propose = forward(Agents.propose)
    result = forward(Agents.result)
    end_cycle = forward(Agents.end_cycle)
    cycles = forward(Agents.cycles)
    steps = forward(Agents.steps)
    resume = forward(Agents.resume)
    diff = forward(Agents.diff)
    fork = forward(Agents.fork)
    record_memory = forward(Agents.record_memory)
    recall = forward(Agents.recall)
    snapshot = forward(Agents.snapshot)
    snapshots = forward(Agents.snapshots)
    files = forward(Agents.files)
    changes = forward(Agents.changes)
    restore = forward(Agents.restore)

    def replay(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> Iterator[Happening]:
        """Stream all that happened in the life of an agent, in the order it happened. See `Agents.replay`."""
        happenings = self._verbs.replay(agent, **elsewhere)
        while (happening := self._loop.run(lambda: anext(happenings, None))) is not None:
            yield happening
