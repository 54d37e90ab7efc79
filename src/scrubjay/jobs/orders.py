"""What a step of consolidation is asked to do, and how it deals with what fails."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias
from uuid import UUID

from scrubjay.core import Core, Parts
from scrubjay.jobs.attempts import attempted
from scrubjay.jobs.leasing import TTL, leased
from scrubjay.jobs.sights import core_since
from scrubjay.logs import logger
from scrubjay.model import PLACE_NAMES, Memory, Scope, Where
from scrubjay.model.sealed import is_sealed
from scrubjay.model.work import Planned, Policy, Step, StepDone
from scrubjay.model.working import scope_text
from scrubjay.ports.leases import Lease
from scrubjay.ports.purges import Sight
from scrubjay.ports.upkeep import Works

log = logger("jobs")

TRIES: Final = 5
"""How often something may fail before it is parked."""

MOST_PLANNED: Final = 10_000
"""Memories that one rule names in a dry run."""

PAUSE: Final = timedelta(seconds=10)
"""How long it rests after its first failure; twice as long after each one more."""

Fate: TypeAlias = Literal["done", "resting", "parked"]
"""What became of an item: dealt with, to be tried again later, or left for somebody to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What all steps of one consolidation share."""

    parts: Parts
    works: Works
    worker: str
    policy: Policy
    archive: Path | None = None
    """The folder for archived episodes; None where there is none."""
    within: Scope | None = None
    """Where to work; None means everywhere, for every tenant."""
    dry_run: bool = False
    gone: set[UUID] = field(default_factory=set, hash=False, compare=False)
    """With a dry run: the memories that it would have closed so far. The steps after that do not meet them any more."""
    quiet: timedelta = timedelta(0)
    """A session in which something happened more recently is not distilled yet."""
    ttl: timedelta = TTL

    def holds(self, scope: Scope) -> bool:
        """Whether this place is meant."""
        return self.within is None or self.within.holds(scope)

    def core(self, scope: Scope, sight: Sight) -> Core:
        """The verbs of the tenant that the scope belongs to, for what is made of what was read since that sight."""
        return core_since(self.parts, scope, sight)

    def leased(self, name: str) -> AbstractAsyncContextManager[Lease | None]:
        """Have this name while the block lasts; None when another worker has it."""
        return leased(self.works.leases, name, self.worker, ttl=self.ttl)

    async def attempt(
        self, step: Step, item: str, scope: Scope, work: Callable[[], Awaitable[object]], *, body: str | None = None
    ) -> Fate:
        """Deal with one item. One that fails is noted with its error, and parked after several tries.

        A part that is away is nobody's fault, nor is a purge: Unavailable and Purged are raised, and nothing counts.
        """
        worklog = self.works.log
        error = await attempted(work, step=step, item=item)
        if not error:
            await worklog.settled(step, item)
            return "done"
        at = self.parts.clock()
        trouble = await worklog.failed(step, item, scope, error=error, at=at, tries=TRIES, pause=PAUSE, body=body)
        if trouble.parked_at is None:
            return "resting"
        # Its kind only, since a message may quote what is kept: `work parked` shows all of it to whoever may see it.
        log.warning("work parked", step=step, item=item, tries=trouble.tries, error=error.partition(":")[0])
        return "parked"


@dataclass(slots=True)
class Tally:
    """Counts what a step does."""

    step: Step
    gone: set[UUID] = field(default_factory=set)
    """As in `Orders`."""
    counts: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    planned: list[Planned] = field(default_factory=list)

    def add(self, **counts: int) -> None:
        """Count some more, by name."""
        for name, number in counts.items():
            self.counts[name] = self.counts.get(name, 0) + number

    def plan(self, what: str, why: str, scope: Scope | None = None) -> None:
        """Note what a dry run leaves undone."""
        self.planned.append(Planned(step=self.step, what=what, why=why, scope=scope))

    def plan_for(self, memory: Memory, why: str) -> None:
        """Note why a dry run would close this memory, unless it would be closed by then."""
        if memory.id in self.gone:
            return
        self.gone.add(memory.id)
        content = memory.content if len(memory.content) <= 60 else f"{memory.content[:59]}…"
        # What goes into an archive goes there as it is stored.
        what = f"{memory.kind} (encrypted)" if is_sealed(memory.content) else f"{memory.kind} {content!r}"
        self.planned.append(Planned(step=self.step, what=what, why=why, scope=memory.scope, id=memory.id))

    def done(self, name: str) -> StepDone:
        """What was done; the count of this name is what it is measured by."""
        counts: Mapping[str, int] = dict(self.counts)
        return StepDone(
            step=self.step,
            done=self.counts.get(name, 0),
            counts=counts,
            failed=self.failed,
            planned=tuple(self.planned),
        )


def item_of(scope: Scope) -> str:
    """The place as one text, in which a tenant cannot be mistaken for another."""
    return f"{scope.tenant} {scope_text(scope)}"


def where_of(scope: Scope) -> Where:
    """The place as keywords of a verb."""
    return {name: getattr(scope, name) for name in PLACE_NAMES}  # type: ignore[return-value]  # those of Where
