"""Looking after the records as a whole. For jobs: a call is for every tenant, unless a scope is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from scrubjay.model import Memory, Scope
from scrubjay.model.work import Step
from scrubjay.ports.leases import Leases
from scrubjay.ports.purges import Sight
from scrubjay.ports.worklog import Worklog


@dataclass(frozen=True, slots=True, kw_only=True)
class Stirred:
    """A place in which something was stored since a step last dealt with it."""

    scope: Scope
    last: int
    """Where it ends now: the highest position of a session, or a number that grows with every change."""
    mark: int
    """Up to where the step has dealt with it; -1 when it never has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How much a place holds that is believed, with all its sessions and workflows."""

    scope: Scope
    memories: int
    bytes: int


class Upkeep(Protocol):
    """Questions and changes that concern many memories at once. `within` holds what is meant; None means everything."""

    async def tenants(self) -> list[str]:
        """Return the names of all that have stored something, sorted."""

    async def sessions(self, step: Step, *, within: Scope | None, limit: int) -> list[Stirred]:
        """Return sessions whose highest position is above the mark of this step."""

    async def places(self, step: Step, kind: str, *, within: Scope | None) -> list[Stirred]:
        """Return places with believed memories of this kind that have changed since they were marked.

        A place is a user's project, and in it what one agent did, or what was done without one.
        """

    async def mark(self, step: Step, scope: Scope, place: int, *, sight: Sight | None = None) -> None:
        """Note that this step has dealt with the place up to here. Raises Purged as `Records.write` does."""

    async def episodes(self, scope: Scope, *, start: int, stop: int) -> list[Memory]:
        """Return what happened in exactly this session, believed, from one position up to before another, in order."""

    async def expired(self, *, within: Scope | None, now: datetime, limit: int) -> list[Memory]:
        """Return believed memories whose time is over, those first whose time was over first."""

    async def decay(self, tenant: str, *, period: timedelta, factor: float, now: datetime, limit: int) -> int | None:
        """Multiply the importance of what was not used for one period, some rows at a time; return how many changed.

        Periods follow each other without gaps from the first call on, which changes nothing. None when the last one
        that is over has been dealt with. How far it got is noted with the change itself: repeated, and run twice at
        once, it multiplies each row once for each period. Pinned memories and those that always hold are left alone.
        Where it got further than now, by a clock that was ahead, it begins anew.
        """

    async def aged(self, *, within: Scope | None, before: datetime, limit: int) -> list[Memory]:
        """Return believed episodes that happened before then, were not used since, and are distilled, as stored."""

    async def hollow(self, memories: Sequence[Memory], *, at: datetime, because: str, says: str) -> list[Memory]:
        """Close these and take out what they say: `says` takes its place, and their data, words and marks go.

        Those that are not as given, but for how often they were used, are left alone. Returns those that were closed,
        as they now are. All or none.
        """

    async def fill(self, memories: Sequence[Memory]) -> list[Memory]:
        """Put back what hollow ones said, and believe them again; return those that were hollow, as they now are.

        Whatever else is stored under one of these ids is left alone.
        """

    async def idle(self, *, within: Scope | None, before: datetime, below: float, limit: int) -> list[Memory]:
        """Return believed memories, neither told nor used since then, whose importance is below, oldest first.

        Pinned ones and those that always hold are left out.
        """

    async def weights(self, *, within: Scope | None) -> list[Weight]:
        """Weigh every place that holds something believed."""

    async def hollowed(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are hollow, in the order asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """What consolidation needs beside the stores. One object may serve as several of them."""

    leases: Leases
    log: Worklog
    upkeep: Upkeep
