"""Agents: who acts, in which cycles, what was proposed and what came of it. All are views of memories."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, cast, get_args
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import Json, check_content, check_data, check_moment, check_named, check_whole, shown
from scrubjay.model.memory import Memory
from scrubjay.model.scope import Scope
from scrubjay.model.tasks import check_names

AGENT_KIND: Final = "agent"
CYCLE_KIND: Final = "cycle"
PROPOSAL_KIND: Final = "proposal"
RESULT_KIND: Final = "result"
BOOKKEEPING_KINDS: Final = (AGENT_KIND, CYCLE_KIND, PROPOSAL_KIND, "snapshot")
"""Rows that say where an agent is. What it learned is in its results and records."""

AGENT_KEY: Final = "agent"
"""What names an agent among the current memories of its scope; the scope has its name."""


AgentStatus: TypeAlias = Literal["active", "archived", "forking"]
"""`forking` until all cycles of a fork are copied: forking again the same way completes it."""
AGENT_STATUSES: Final[tuple[AgentStatus, ...]] = get_args(AgentStatus)

CycleStatus: TypeAlias = Literal["open", "completed", "failed", "abandoned"]
CYCLE_STATUSES: Final[tuple[CycleStatus, ...]] = get_args(CycleStatus)
ENDINGS: Final[tuple[CycleStatus, ...]] = CYCLE_STATUSES[1:]

ActionOutcome: TypeAlias = Literal["succeeded", "failed", "cancelled", "unknown"]
"""`unknown`: whoever acted was stopped before it could say what came of it."""
ACTION_OUTCOMES: Final[tuple[ActionOutcome, ...]] = get_args(ActionOutcome)

RecordKind: TypeAlias = Literal["observation", "reflection", "plan", "result"]
"""What an agent may record beside its actions."""
RECORD_KINDS: Final[tuple[RecordKind, ...]] = get_args(RecordKind)

MOST_CYCLES: Final = 2**53
MOST_STEPS: Final = 1_000
"""Of one cycle. A cycle that needs more is several."""
MOST_SAID: Final = 10_000
"""Characters of a proposal or a result that are searched. The data has all of it."""


def cycle_key(index: int) -> str:
    """What names this cycle among the current memories of its agent."""
    return f"{CYCLE_KIND}:{index}"


def proposal_key(cycle: int, step: int | None = None) -> str:
    """The key of one proposal; without a step, how the keys of all proposals of a cycle begin."""
    return f"{PROPOSAL_KIND}:{cycle}:{step if step is not None else ''}"


def result_key(cycle: int, step: int | None = None) -> str:
    """The key of one result; without a step, how the keys of all results of a cycle begin."""
    return f"{RESULT_KIND}:{cycle}:{step if step is not None else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrigin:
    """Where a fork comes from: the agent, and the last cycle that they share."""

    agent: str
    cycle: int

    def __post_init__(self) -> None:
        check_named("agent", self.agent)
        check_whole("cycle", self.cycle, least=0, most=MOST_CYCLES)

    def __str__(self) -> str:
        return f"{self.agent} at cycle {self.cycle}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Who acts: its name, what it is directed to do, and what it overrides of its runtime's configuration."""

    id: UUID
    """Of this version of its memory."""
    name: str
    scope: Scope
    """Where its memories lie: the scope it was created in, with its name as the agent."""
    directives: str | None = None
    configuration: dict[str, Json] = field(default_factory=dict, hash=False)
    status: AgentStatus = "active"
    version: int = 1
    """Counts its updates: give it to `update` as `expected`, and no other update is overwritten."""
    forked_from: AgentOrigin | None = None
    created_at: datetime
    updated_at: datetime

    def __post_init__(self) -> None:
        check_named("agent", self.name)
        if self.directives is not None:
            check_content(self.directives, "directives")
        _check_object("configuration", self.configuration)
        _check_one_of("status", self.status, AGENT_STATUSES)
        check_whole("version", self.version, least=1, most=2**53)
        check_moment("created_at", self.created_at)
        check_moment("updated_at", self.updated_at)

    @property
    def content(self) -> str:
        """What a search should find it by."""
        return f"Agent {self.name}" + (f": {self.directives}" if self.directives else "")

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        origin = self.forked_from
        return _told(
            {
                "status": self.status,
                "version": self.version,
                "directives": self.directives,
                "configuration": self.configuration or None,
                "forked_from": {"agent": origin.agent, "cycle": origin.cycle} if origin is not None else None,
                "created_at": self.created_at.isoformat(),
            }
        )

    @classmethod
    def of(cls, memory: Memory) -> "Agent":
        """The agent that a memory holds. Raises InvalidInput when it holds none."""
        data = _data_of(memory, AGENT_KIND, "status", "version", "created_at")
        origin = data.get("forked_from")
        return cls(
            id=memory.id,
            name=memory.scope.agent or "",
            scope=memory.scope,
            directives=data.get("directives"),
            configuration=data.get("configuration", {}),
            status=data["status"],
            version=data["version"],
            forked_from=AgentOrigin(agent=origin["agent"], cycle=origin["cycle"]) if origin else None,
            created_at=datetime.fromisoformat(data["created_at"]),
            updated_at=memory.valid_from,
        )

    def __repr__(self) -> str:
        return f"<Agent {self.name} version {self.version} {self.status} ({self.scope})>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One turn of an agent's loop: from the decision to act to the state it left."""

    id: UUID
    """Of this version of its memory: an ended cycle has another than the open one had."""
    agent: str
    index: int
    """Counts from 1 for each agent, without gaps."""
    status: CycleStatus = "open"
    goal: str | None = None
    summary: str | None = None
    state: dict[str, Json] = field(default_factory=dict, hash=False)
    """The agent's state: as the cycle left it, or while it is open, as it found it."""
    began_at: datetime
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        check_whole("cycle", self.index, least=1, most=MOST_CYCLES)
        _check_one_of("status", self.status, CYCLE_STATUSES)
        for name in ("goal", "summary"):
            if getattr(self, name) is not None:
                check_content(getattr(self, name), name)
        _check_object("state", self.state)
        check_moment("began_at", self.began_at)
        check_moment("ended_at", self.ended_at)

    @property
    def is_open(self) -> bool:
        """Whether it goes on."""
        return self.status == "open"

    @property
    def content(self) -> str:
        """What a search should find it by."""
        told = ": ".join(part for part in (self.goal, self.summary) if part)
        return f"Cycle {self.index} {self.status}" + (f": {told}" if told else "")

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        return _told(
            {
                "cycle": self.index,
                "status": self.status,
                "goal": self.goal,
                "summary": self.summary,
                "state": self.state or None,
                "began_at": self.began_at.isoformat(),
                "ended_at": self.ended_at.isoformat() if self.ended_at is not None else None,
            }
        )

    @classmethod
    def of(cls, memory: Memory) -> "Cycle":
        """The cycle that a memory holds. Raises InvalidInput when it holds none."""
        data = _data_of(memory, CYCLE_KIND, "cycle", "status", "began_at")
        ended = data.get("ended_at")
        return cls(
            id=memory.id,
            agent=memory.scope.agent or "",
            index=data["cycle"],
            status=data["status"],
            goal=data.get("goal"),
            summary=data.get("summary"),
            state=data.get("state", {}),
            began_at=datetime.fromisoformat(data["began_at"]),
            ended_at=datetime.fromisoformat(ended) if ended else None,
        )

    def __repr__(self) -> str:
        return f"<Cycle {self.index} of {self.agent} {self.status}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionProposal:
    """An action that an agent decided on, before it is taken: the tool call, and why."""

    id: UUID
    agent: str
    cycle: int
    step: int
    """Counts from 1 in each cycle, without gaps."""
    tool: str
    arguments: dict[str, Json] = field(default_factory=dict, hash=False)
    reasoning: str | None = None
    plan: Json = field(default=None, hash=False)
    thoughts: Json = field(default=None, hash=False)
    """What the model said, raw."""
    at: datetime

    def __post_init__(self) -> None:
        _check_place(self.cycle, self.step)
        check_named("tool", self.tool)
        _check_object("arguments", self.arguments)
        if self.reasoning is not None:
            check_content(self.reasoning, "reasoning")
        check_data({"plan": self.plan, "thoughts": self.thoughts})
        check_moment("at", self.at)

    @property
    def call(self) -> str:
        """The tool call on one line, such as `read_file(path="notes.md")`."""
        given = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments.items())
        return f"{self.tool}({given})"

    @property
    def content(self) -> str:
        """What a search should find it by."""
        return _cut(self.call + (f"\n\n{self.reasoning}" if self.reasoning else ""))

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        return _told(
            {
                "cycle": self.cycle,
                "step": self.step,
                "tool": self.tool,
                "arguments": self.arguments or None,
                "reasoning": self.reasoning,
                "plan": self.plan,
                "thoughts": self.thoughts,
            }
        )

    @classmethod
    def of(cls, memory: Memory) -> "ActionProposal":
        """The proposal that a memory holds. Raises InvalidInput when it holds none."""
        data = _data_of(memory, PROPOSAL_KIND, "cycle", "step", "tool")
        names = ("cycle", "step", "tool", "arguments", "reasoning", "plan", "thoughts")
        told = {name: data[name] for name in names if name in data}
        return cls(id=memory.id, agent=memory.scope.agent or "", at=memory.valid_from, **told)

    def __repr__(self) -> str:
        return f"<Proposal {self.cycle}.{self.step} of {self.agent} {shown(self.call)}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What came of a proposal."""

    id: UUID
    agent: str
    cycle: int
    step: int
    outcome: ActionOutcome
    output: Json = field(default=None, hash=False)
    error: Json = field(default=None, hash=False)
    """What went wrong: a text, or an object such as `{"type": "KeyError", "message": "…"}`."""
    artifacts: tuple[str, ...] = ()
    """The files that the action made or changed, as paths in the agent's workspace, or addresses."""
    at: datetime

    def __post_init__(self) -> None:
        _check_place(self.cycle, self.step)
        _check_one_of("outcome", self.outcome, ACTION_OUTCOMES)
        check_data({"output": self.output, "error": self.error})
        check_names("artifacts", self.artifacts)
        check_moment("at", self.at)

    @property
    def content(self) -> str:
        """What a search should find it by: what it gave, or what went wrong."""
        told = [_text(one) for one in (self.output, self.error) if one is not None]
        made = [f"Made {', '.join(self.artifacts)}"] if self.artifacts else []
        return _cut("\n\n".join([f"Cycle {self.cycle} step {self.step} {self.outcome}", *told, *made]))

    @property
    def data(self) -> dict[str, Json]:
        """The fields as a memory keeps them. What was not told is left out."""
        return _told(
            {
                "cycle": self.cycle,
                "step": self.step,
                "outcome": self.outcome,
                "output": self.output,
                "error": self.error,
                "artifacts": list(self.artifacts) or None,
            }
        )

    @classmethod
    def of(cls, memory: Memory) -> "ActionResult":
        """The result that a memory holds. Raises InvalidInput when it holds none."""
        data = _data_of(memory, RESULT_KIND, "cycle", "step", "outcome")
        return cls(
            id=memory.id,
            agent=memory.scope.agent or "",
            cycle=data["cycle"],
            step=data["step"],
            outcome=data["outcome"],
            output=data.get("output"),
            error=data.get("error"),
            artifacts=tuple(data.get("artifacts", ())),
            at=memory.valid_from,
        )

    def __repr__(self) -> str:
        return f"<Result {self.cycle}.{self.step} of {self.agent} {self.outcome}>"


def is_action_result(memory: Memory) -> bool:
    """Whether it is what came of a proposal. What an agent records as a `result` of its own has no key."""
    return memory.kind == RESULT_KIND and (memory.key or "").startswith(f"{RESULT_KIND}:")


def cycle_of(memory: Memory) -> int | None:
    """The cycle that a memory belongs to; None when it belongs to none."""
    index = memory.data.get("cycle")
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _told(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _data_of(memory: Memory, kind: str, *needed: str) -> dict[str, Any]:
    if memory.kind != kind or not set(needed) <= memory.data.keys():
        raise InvalidInput(f"memory {memory.id} is a {memory.kind}, and not the {kind} of an agent")
    return cast("dict[str, Any]", memory.data)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SAID else f"{text[: MOST_SAID - 1]}…"


def _check_object(name: str, value: object) -> None:
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} is {shown(value)}: use a dict of JSON values")
    check_data({name: value})


def _check_one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidInput(f"{name} is {shown(value)}: use one of {', '.join(known)}")


def _check_place(cycle: int, step: int) -> None:
    check_whole("cycle", cycle, least=1, most=MOST_CYCLES)
    check_whole("step", step, least=1, most=MOST_STEPS)
