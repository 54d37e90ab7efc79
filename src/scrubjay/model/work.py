"""Consolidation: its steps, the rules it keeps to, what it did, and how it is doing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import exp2
from typing import Final, Literal, TypeAlias, get_args
from uuid import NAMESPACE_URL, UUID, uuid5

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import check_fraction, check_whole, shown
from scrubjay.model.memory import STANDING_KINDS, Memory
from scrubjay.model.namespaces import check_namespaces
from scrubjay.model.scope import Scope

Step: TypeAlias = Literal["drain", "distill", "learn", "index", "expire", "decay", "archive", "prune"]

STEPS: Final[tuple[Step, ...]] = get_args(Step)
"""In the order in which they are taken: each finds what the ones before it made."""

PINNED: Final = 1.0
"""Who gives a memory this importance wants to keep it: it neither decays nor is pruned."""

_MONTH: Final = timedelta(days=30)

_TROUBLES: Final = uuid5(NAMESPACE_URL, "scrubjay:trouble")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fading:
    """When records of a namespace are forgotten: those that are older than this and less relevant than that."""

    after: timedelta
    below: float = 0.2
    """1 forgets whatever is old, but for what is pinned. See `relevance`."""

    def __post_init__(self) -> None:
        if not isinstance(self.after, timedelta) or self.after <= timedelta(0):
            raise InvalidInput(f"after is {shown(self.after)}: use a timedelta above zero")
        check_fraction("below", self.below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How long memories are kept as they are. What is None does not happen. Nothing here deletes a row."""

    half_life: timedelta | None = timedelta(days=90)
    """In this time without use, importance falls to half."""
    archive_after: timedelta | None = None
    """Episodes that are older, and distilled, move into files."""
    prune_after: timedelta | None = None
    """What was neither told nor used for so long is forgotten …"""
    prune_below: float = 0.2
    """… if its importance is below this."""
    most_memories: int | None = None
    """Of one place: a user's project with all its sessions. Over it, the least worth keeping is forgotten."""
    most_bytes: int | None = None
    """The same, for the bytes that the texts of a place take."""
    namespaces: Mapping[str, Fading] = field(default_factory=dict, hash=False)
    """How the records of agents fade, by the name of the namespace. Who is in several goes when each lets it go."""

    def __post_init__(self) -> None:
        for name in ("half_life", "archive_after", "prune_after"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, timedelta) or value <= timedelta(0)):
                raise InvalidInput(f"{name} is {shown(value)}: use a timedelta above zero, or None for never")
        check_fraction("prune_below", self.prune_below)
        for name in ("most_memories", "most_bytes"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1, most=2**53)
        if not isinstance(self.namespaces, Mapping) or not all(
            isinstance(one, Fading) for one in self.namespaces.values()
        ):
            raise InvalidInput(f"namespaces is {shown(self.namespaces)}: use names, each with a Fading")
        check_namespaces(tuple(self.namespaces))

    @property
    def prunes(self) -> bool:
        """Whether there is any rule to prune by."""
        rules = (self.prune_after, self.most_memories, self.most_bytes)
        return any(rule is not None for rule in rules) or bool(self.namespaces)


def relevance(memory: Memory, now: datetime) -> float:
    """How much a record matters, 0 to 1: its importance, which decays without use, raised by how often it is used.

    Used once for each month of its life, half of what it lacks to 1 is made up for; twice, three quarters.
    """
    months = max((now - memory.valid_from) / _MONTH, 1.0)
    return 1.0 - (1.0 - memory.importance) * exp2(-memory.uses / months)


def is_spared(memory: Memory) -> bool:
    """Whether a memory is kept whatever its age: what always holds is not looked for, and so never seems used."""
    return memory.kind in STANDING_KINDS or memory.importance >= PINNED


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Something that a dry run would have done, and why."""

    step: Step
    what: str
    why: str
    scope: Scope | None = None
    id: UUID | None = None
    """The memory that it is about, if it is about one."""

    def __str__(self) -> str:
        return f"{self.step}: {self.what} – {self.why}"


def counted(number: int, name: str) -> str:
    """So many of these, which are named in the plural."""
    if number == 1:
        name = f"{name.removesuffix('ies')}y" if name.endswith("ies") else name.removesuffix("s")
    return f"{number:,} {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDone:
    """What one step did."""

    step: Step
    done: int = 0
    """Things that were dealt with: messages drained, sessions distilled, memories indexed, …"""
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The same in more detail, by name."""
    failed: int = 0
    """Things that failed; each is tried again later, and parked after several tries."""
    seconds: float = 0.0
    error: str = ""
    """Why the step could not go on; empty when it could."""
    skipped: str = ""
    """Why it was not taken at all, such as another worker having it."""
    planned: tuple[Planned, ...] = ()
    """With a dry run: what it would have done."""

    @property
    def counted(self) -> str:
        """The counts in words, such as `6 messages, 1 session`; empty when there are none."""
        return ", ".join(counted(number, name) for name, number in self.counts.items() if number)

    def __str__(self) -> str:
        planned = f"{len(self.planned):,} planned" if self.planned else "nothing"
        said = self.error or self.skipped or self.counted or planned
        return f"{self.step}: {said}" + (f", {self.failed:,} failed" if self.failed else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """What a consolidation did, step by step."""

    steps: tuple[StepDone, ...]
    at: datetime
    dry_run: bool = False

    def __getitem__(self, step: Step) -> StepDone:
        """What this step did. Raises KeyError when it was not among those taken."""
        for one in self.steps:
            if one.step == step:
                return one
        raise KeyError(step)

    def __iter__(self) -> Iterator[StepDone]:
        return iter(self.steps)

    @property
    def planned(self) -> tuple[Planned, ...]:
        """What a dry run would have done, over all steps."""
        return tuple(planned for one in self.steps for planned in one.planned)

    @property
    def errors(self) -> tuple[str, ...]:
        """Why steps could not go on. Empty is what you want."""
        return tuple(f"{one.step}: {one.error}" for one in self.steps if one.error)

    def __repr__(self) -> str:
        return f"<Consolidated{' dry run' if self.dry_run else ''}: {'; '.join(map(str, self.steps))}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is known of a step over all its runs, whichever worker made them."""

    step: Step
    finished_at: datetime | None = None
    """When it was last taken to its end, well or not; None when it never was."""
    succeeded_at: datetime | None = None
    worker: str = ""
    seconds: float = 0.0
    done: int = 0
    """In the last run."""
    total: int = 0
    runs: int = 0
    failures: int = 0
    """Runs that ended with an error."""
    error: str = ""
    """How the last run ended, if not well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something that a step could not deal with: tried again with growing pauses, and parked after several tries."""

    step: Step
    item: str
    """Which session, place or message it is, as one text."""
    scope: Scope
    error: str
    tries: int = 1
    first_at: datetime
    last_at: datetime
    retry_at: datetime
    parked_at: datetime | None = None
    """Since when it waits for somebody to look at it; None while it is tried again by itself."""
    body: str | None = field(default=None, repr=False)
    """What would otherwise be lost, such as a message that no session holds any more."""

    @property
    def id(self) -> UUID:
        """Names it, for `retry`."""
        return trouble_id(self.step, self.item)


def trouble_id(step: Step, item: str) -> UUID:
    """The id of what happens to this item in this step: always the same."""
    return uuid5(_TROUBLES, f"{step}\x00{item}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStatus:
    """How consolidation is doing, over all tenants."""

    at: datetime
    steps: tuple[Run, ...]
    """One for each step, in their order."""
    sessions: int | None
    """Sessions whose messages should be drained; None when working memory cannot be asked. Counted up to 1,000."""
    messages: int | None
    """How many messages these hold."""
    lag: timedelta | None
    """How long the session that has waited longest is over already."""
    undistilled: int
    """Sessions in which something was stored since they were last distilled."""
    pending: int
    """Memories that wait to be indexed by meaning."""
    failing: int
    """Things that failed and will be tried again."""
    parked: int
    """Things that failed too often: see `parked`, and `retry` when the cause is gone."""
    workers: tuple[str, ...] = ()
    """Who has taken a step or a session at this moment."""

    def metrics(self) -> dict[str, float]:
        """The same as numbers with names, as a collector of metrics takes them. What is not known is left out."""
        known: dict[str, float | None] = {
            "scrubjay_work_lag_seconds": self.lag.total_seconds() if self.lag is not None else None,
            "scrubjay_work_sessions_waiting": self.sessions,
            "scrubjay_work_messages_waiting": self.messages,
            "scrubjay_work_sessions_undistilled": self.undistilled,
            "scrubjay_work_memories_pending": self.pending,
            "scrubjay_work_failing": self.failing,
            "scrubjay_work_parked": self.parked,
            "scrubjay_work_workers": len(self.workers),
        }
        for run in self.steps:
            since = (self.at - run.succeeded_at).total_seconds() if run.succeeded_at is not None else None
            known |= {
                f"scrubjay_work_{run.step}_runs_total": run.runs,
                f"scrubjay_work_{run.step}_failures_total": run.failures,
                f"scrubjay_work_{run.step}_done_total": run.total,
                f"scrubjay_work_{run.step}_seconds": run.seconds,
                f"scrubjay_work_{run.step}_seconds_since_success": since,
            }
        return {name: float(value) for name, value in known.items() if value is not None}
