"""Keeping agents: who they are, what they are directed to do, and which of them still act."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypedDict, Unpack

from scrubjay.core import Id
from scrubjay.errors import Conflict, InvalidInput
from scrubjay.memories.agents.moving import as_stored, instead_of
from scrubjay.memories.agents.room import Named, Room, elsewhere_in
from scrubjay.memories.agents.rows import agent_row
from scrubjay.model import Filter, Json, Memory, Where, id_of, new_id
from scrubjay.model.agents import AGENT_KEY, AGENT_KIND, Agent, AgentStatus
from scrubjay.model.checks import check_flag, check_whole, shown
from scrubjay.model.scope import OfAgent
from scrubjay.ports import Decide, Decision, Known
from scrubjay.read.readable import readable
from scrubjay.write.audit import noted

MOST_LISTED: Final = 10_000
CHANGEABLE: Final = ("active", "archived")


class Directing(TypedDict, total=False):
    """What may be told of an agent, in `create` and `update`."""

    directives: str | None
    """What it is to do, and how: the words that its runtime gives it."""
    configuration: Mapping[str, Json] | None
    """What it overrides of its runtime's configuration, such as a model or a temperature."""


class Created(Directing, OfAgent, total=False):
    """What `create` takes beside the name."""


class Updated(Directing, OfAgent, total=False):
    """What `update` takes beside the name: what is given is changed."""

    status: AgentStatus
    """`archived`, or `active` again."""


class Keeping(Room):
    """Agents themselves."""

    async def create(self, agent: str, **told: Unpack[Created]) -> Agent:
        """Put an agent on record. Created again just so, it is the same one; otherwise that is a Conflict.

        It lives where it is created: with a user, a project, a workflow, or for all. Others may have the same name
        elsewhere.
        """
        scope = self._place(agent, elsewhere_in(told, Created))
        directives, configuration = directing_of(told)
        now = self._core.parts.clock()
        made = Agent(
            id=new_id(),
            name=scope.agent or "",
            scope=scope,
            directives=directives,
            configuration=configuration,
            created_at=now,
            updated_at=now,
        )
        return await self._stored(made, _created)

    async def get(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> Agent:
        """Return an agent as it is now. Raises NotFound."""
        return await self._agent(self._place(agent, elsewhere))

    async def update(self, agent: Named, *, expected: int | None = None, **told: Unpack[Updated]) -> Agent:
        """Change directives, configuration or status; what is not given stays. The versions before stay in its history.

        Raises NotFound, and Conflict when `expected` is not its version any more, or when somebody else was faster.
        """
        scope = self._place(agent, elsewhere_in(told, Updated))
        if expected is not None:
            check_whole("expected", expected, least=1, most=2**53)
        given = {name: told[name] for name in ("directives", "configuration", "status") if name in told}
        if not given:
            raise InvalidInput("update got nothing: give one or more of directives, configuration and status")
        old = await self._agent(scope)
        if expected is not None and old.version != expected:
            raise Conflict(f"agent {old.name} has version {old.version}, not {expected}: get it again, then decide")
        directives, configuration = directing_of(told)
        changed = replace(
            old,
            directives=directives if "directives" in given else old.directives,
            configuration=configuration if "configuration" in given else old.configuration,
            status=_status(told["status"], old) if "status" in told else old.status,
        )
        if changed == old:
            return old
        done = await self._stored(replace(changed, version=old.version + 1), instead_of(old.id))
        core = self._core
        if done.status == "archived" != old.status and core.caller.key is not None:
            where, at = f"{done.name} in {done.scope}", core.parts.clock()
            await noted(core.parts.access, core.caller, core.tenant, "agent.archived", where, at=at)
        return done

    async def archive(self, agent: Named, **elsewhere: Unpack[OfAgent]) -> Agent:
        """Let an agent act no more. All that it did stays on record; `update` with status='active' brings it back."""
        return await self.update(agent, status="archived", **elsewhere)

    async def list(
        self, *, archived: bool = False, limit: int = 100, after: Id | None = None, **where: Unpack[Where]
    ) -> "list[Agent]":
        """List the agents that live inside the scope, newest first; `after` is the last id of the page before.

        With `archived`, those that act no more are among them.
        """
        check_flag("archived", archived)
        check_whole("limit", limit, least=1, most=MOST_LISTED)
        scope, parts = self._core.scoped(where), self._core.parts
        last = id_of(after, self._core.tenant) if after is not None else None
        wanted = Filter(scope=scope, reach="holds", kinds=(AGENT_KIND,), key=AGENT_KEY, history=True)
        found: list[Agent] = []
        while len(found) < limit:
            page = await parts.stores.records.find(wanted, now=parts.clock(), limit=limit, after=last)
            agents = readable([memory for memory in page if memory.superseded_at is None], Agent.of)
            found += [agent for _, agent in agents if archived or agent.status != "archived"]
            if len(page) < limit:
                break
            last = page[-1].id
        return found[:limit]

    async def _stored(self, agent: Agent, decide: Decide) -> Agent:
        [done] = await self._core.parts.writer.write([agent_row(self._core, agent)], decide)
        return Agent.of(done.memory)


def _created(draft: Memory, known: Known) -> Decision:
    """New, or there already just so."""
    if not known.same_key:
        return Decision(outcome="stored", memory=draft, opens=(draft,))
    stands = known.same_key[-1]
    if _substance(stands) != _substance(draft):
        raise Conflict(
            f"agent {draft.scope.agent} is there already, and is another one: update it, or choose another name"
        )
    return Decision(outcome="unchanged", memory=stands)


def _substance(memory: Memory) -> tuple[object, ...]:
    return tuple(as_stored(memory.data.get(name)) for name in ("directives", "configuration", "status", "forked_from"))


def directing_of(told: Mapping[str, object]) -> tuple[str | None, dict[str, Json]]:
    """The directives and the configuration that were told."""
    directives, configuration = told.get("directives"), told.get("configuration") or {}
    if not isinstance(configuration, Mapping):
        raise InvalidInput(f"configuration is {shown(configuration)}: use a dict of JSON values")
    return directives, dict(configuration)  # type: ignore[return-value]  # the agent checks what it is given


def _status(status: object, old: Agent) -> AgentStatus:
    if status not in CHANGEABLE:
        raise InvalidInput(f"status is {shown(status)}: use one of {', '.join(CHANGEABLE)}")
    if old.status == "forking":
        raise Conflict(f"agent {old.name} is being forked: fork it again the same way to complete it")
    return status
