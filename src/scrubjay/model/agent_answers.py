"""What agents are told when they ask: where to resume, what happened in order, and how two cycles differ."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

from scrubjay.model.agent_files import FileChanges, Snapshot
from scrubjay.model.agents import ActionProposal, ActionResult, Agent, Cycle
from scrubjay.model.checks import Json
from scrubjay.model.memory import Memory

HappeningKind: TypeAlias = Literal["created", "changed", "began", "proposed", "acted", "recorded", "snapshot", "ended"]
HAPPENING_KINDS: Final[tuple[HappeningKind, ...]] = get_args(HappeningKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStep:
    """A proposal, and what came of it; None while that is not known."""

    proposal: ActionProposal
    result: ActionResult | None = None

    @property
    def number(self) -> int:
        """Which step of its cycle it is, from 1."""
        return self.proposal.step

    def __str__(self) -> str:
        return f"{self.proposal.call} → {self.result.outcome if self.result is not None else 'no result yet'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """Exactly where an agent stopped."""

    agent: Agent
    last: Cycle | None = None
    """The last cycle that was completed; None when none was."""
    cycle: Cycle | None = None
    """The cycle that is open; None when the next one may begin."""
    steps: tuple[ActionStep, ...] = ()
    """Of the open cycle, in order."""
    last_step: int = 0
    """The highest number of a step in it, also of one whose proposal was forgotten."""
    snapshot: Snapshot | None = None
    """The newest snapshot of its files."""
    pending: tuple[str, ...] = ()
    """Files that results since that snapshot say they made or changed: no snapshot holds them yet. While there is none
    at all, those of the newest 200 results."""
    state: dict[str, Json] = field(default_factory=dict, hash=False)
    """The state to go on from: the one that the open cycle found, or that the newest one left."""
    next_index: int = 1
    """The cycle that the next `begin_cycle` begins."""

    @property
    def next_step(self) -> int:
        """The step that the next `propose` proposes. Who gives it there is refused if somebody else did so first."""
        return max([self.last_step, *(step.number for step in self.steps)]) + 1

    @property
    def waiting(self) -> tuple[ActionProposal, ...]:
        """Proposals of the open cycle that have no result. Whether they were acted on is for the agent to find out."""
        return tuple(step.proposal for step in self.steps if step.result is None)

    @property
    def proposal(self) -> ActionProposal | None:
        """The first proposal that has no result."""
        return next(iter(self.waiting), None)

    def __str__(self) -> str:
        name = self.agent.name
        if self.cycle is None:
            return f"{name} is between cycles: cycle {self.next_index} is next"
        where = f"{name} is in cycle {self.cycle.index}"
        if self.proposal is not None:
            return f"{where}, step {self.proposal.step} waits for its result: {self.proposal.call}"
        return f"{where}, {len(self.steps)} steps done: propose the next one, or end the cycle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened in the life of an agent, as `replay` gives them."""

    what: HappeningKind
    at: datetime
    cycle: int | None = None
    step: int | None = None
    value: Agent | Cycle | ActionProposal | ActionResult | Snapshot | Memory = field(repr=False)
    """What was stored: `recorded` has the memory itself."""

    def __str__(self) -> str:
        match self.value:
            case Agent() as agent:
                return f"agent {agent.name} {self.what}" + (f", now {agent.status}" if self.what == "changed" else "")
            case Cycle() as cycle:
                told = cycle.goal if self.what == "began" else cycle.summary
                word = self.what if self.what == "began" else cycle.status
                return f"cycle {cycle.index} {word}" + (f": {told}" if told else "")
            case ActionProposal() as proposal:
                return f"proposed {proposal.call}"
            case ActionResult() as result:
                return f"{result.outcome}" + (f", made {', '.join(result.artifacts)}" if result.artifacts else "")
            case Snapshot() as snapshot:
                return f"snapshot {snapshot.number}: {len(snapshot.files)} files, {snapshot.bytes:,} bytes"
            case Memory() as memory:
                return f"{memory.kind}: {memory.content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """One value of a state that differs, at a path such as `plan.items[2]`. What is absent is None, and said so."""

    path: str
    before: Json = field(default=None, hash=False)
    after: Json = field(default=None, hash=False)
    kind: Literal["added", "changed", "removed"]

    def __str__(self) -> str:
        match self.kind:
            case "added":
                return f"+ {self.path}: {self.after!r}"
            case "removed":
                return f"- {self.path}: {self.before!r}"
            case _:
                return f"~ {self.path}: {self.before!r} → {self.after!r}"


def changes_between(before: Json, after: Json, path: str = "") -> Iterable[StateChange]:
    """What one has to change in one JSON value to have the other, path by path, in the order of the paths."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            at = f"{path}.{name}" if path else name
            if name not in before:
                yield StateChange(path=at, after=after[name], kind="added")
            elif name not in after:
                yield StateChange(path=at, before=before[name], kind="removed")
            else:
                yield from changes_between(before[name], after[name], at)
    elif isinstance(before, list) and isinstance(after, list):
        for place in range(max(len(before), len(after))):
            at = f"{path}[{place}]"
            if place >= len(before):
                yield StateChange(path=at, after=after[place], kind="added")
            elif place >= len(after):
                yield StateChange(path=at, before=before[place], kind="removed")
            else:
                yield from changes_between(before[place], after[place], at)
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield StateChange(path=path, before=before, after=after, kind="changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleDiff:
    """How two cycles differ: in what they did, in the state they left, and in the files."""

    before: Cycle
    after: Cycle
    state: tuple[StateChange, ...] = ()
    before_steps: tuple[ActionStep, ...] = ()
    after_steps: tuple[ActionStep, ...] = ()
    files: FileChanges = field(default_factory=FileChanges)
    """Between the newest snapshots up to the end of each cycle."""

    @property
    def steps(self) -> tuple[tuple[ActionStep | None, ActionStep | None], ...]:
        """The steps that differ in what was called, or in what came of it, side by side."""
        many = max(len(self.before_steps), len(self.after_steps))
        pairs = [
            (
                self.before_steps[place] if place < len(self.before_steps) else None,
                self.after_steps[place] if place < len(self.after_steps) else None,
            )
            for place in range(many)
        ]
        return tuple((one, other) for one, other in pairs if one is None or other is None or not _alike(one, other))

    def __bool__(self) -> bool:
        return bool(self.state or self.steps or self.files)


def _alike(one: ActionStep, other: ActionStep) -> bool:
    return _substance(one) == _substance(other)


def _substance(step: ActionStep) -> tuple[object, ...]:
    result = step.result
    came = (result.outcome, result.output, result.error, result.artifacts) if result is not None else None
    return step.proposal.tool, step.proposal.arguments, came
