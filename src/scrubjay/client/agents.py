"""Agents of a server: a line for each verb."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Unpack

from scrubjay.client.verb import Remote, Route, like, verb
from scrubjay.memories.agents import Agents
from scrubjay.memories.agents.room import Named
from scrubjay.model.agent_answers import Happening
from scrubjay.model.agents import Agent
from scrubjay.model.scope import OfAgent

_REPLAY: Final = Route(method="GET", path="/agents/{agent}/replay")


class RemoteAgents(Remote, memory="agents"):
    """Every cycle on record. See `Agents`: the verbs and their keywords are the same.

    `snapshot` and `restore` read and write folders of the server, and need a key of whoever runs it.
    """

    create = verb(Agents.create, "POST", "/agents")
    get = verb(Agents.get, "GET", "/agents/{agent}")
    update = verb(Agents.update, "PATCH", "/agents/{agent}")
    archive = verb(Agents.archive, "POST", "/agents/{agent}/archive")
    begin_cycle = verb(Agents.begin_cycle, "POST", "/agents/{agent}/cycles")
    propose = verb(Agents.propose, "POST", "/agents/{agent}/proposals")
    result = verb(Agents.result, "POST", "/agents/{agent}/results")
    end_cycle = verb(Agents.end_cycle, "POST", "/agents/{agent}/cycles/end")
    cycles = verb(Agents.cycles, "GET", "/agents/{agent}/cycles", holds="cycles")
    steps = verb(Agents.steps, "GET", "/agents/{agent}/cycles/{cycle}/steps")
    resume = verb(Agents.resume, "GET", "/agents/{agent}/resume")
    diff = verb(Agents.diff, "GET", "/agents/{agent}/cycles/diff")
    fork = verb(Agents.fork, "POST", "/agents/{agent}/forks")
    record_memory = verb(Agents.record_memory, "POST", "/agents/{agent}/records")
    recall = verb(Agents.recall, "POST", "/agents/{agent}/recall", reads=True)
    snapshot = verb(Agents.snapshot, "POST", "/agents/{agent}/snapshots")
    snapshots = verb(Agents.snapshots, "GET", "/agents/{agent}/snapshots")
    files = verb(Agents.files, "GET", "/agents/{agent}/files")
    changes = verb(Agents.changes, "GET", "/agents/{agent}/changes")
    restore = verb(Agents.restore, "POST", "/agents/{agent}/restore")

    @like(Agents.replay, _REPLAY)
    async def replay(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> AsyncIterator[Happening]:
        """The lines come as the server reads them."""
        asked = _REPLAY.request(_named({"agent": agent, **elsewhere}))
        async with self._connection.lines(asked) as lines:
            async for line in lines:
                if line:
                    yield self._read(Happening, json.loads(line))

    async def _ask(self, route: Route, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- whatever JSON it answers
        return await super()._ask(route, _named(given))

    # Listing comes last: it is called what users call it, and that hides the type of the same name from here on.

    list = verb(Agents.list, "GET", "/agents", holds="agents")


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
    """An agent that is given as a value is sent as its name, and where it lives."""
    told = {name: one.name if isinstance(one, Agent) else one for name, one in given.items()}
    agent = given.get("agent")
    if isinstance(agent, Agent):
        lives = {name: getattr(agent.scope, name) for name in OfAgent.__annotations__}
        told = {**{name: value for name, value in lives.items() if value is not None}, **told}
    return told
