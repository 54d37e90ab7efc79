"""Leases: who does what, for a while. They save workers from doing the same thing twice."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

LONGEST: Final = timedelta(minutes=1)
"""No lease is given for longer. One that ends later was given before the clock was set back, and has lapsed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A name that one worker has for a while."""

    name: str
    worker: str
    token: str
    """Tells this taking of the name from every other."""
    until: datetime
    """By the clock of the store."""

    def lasts(self, now: datetime) -> bool:
        """Whether it has not lapsed."""
        return now < self.until <= now + LONGEST


class Leases(Protocol):
    """Names that at most one worker has at a time, as long as it says now and then that it is still there.

    Time is that of the store, so workers whose clocks differ agree on what has lapsed. A worker that was stopped in its
    tracks may still believe in a lease that has lapsed: whatever is done under one has to be safe to do twice.
    Nobody has a name for longer than `LONGEST` without renewing it, also when the clock is set back meanwhile.
    """

    async def take(self, name: str, worker: str, *, ttl: timedelta) -> Lease | None:
        """Take the name until `ttl` from now; None while somebody has it, be it the same worker."""

    async def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | None:
        """Keep it until `ttl` from now; None when somebody else has taken it since, or it was released."""

    async def release(self, lease: Lease) -> None:
        """Give it back, unless somebody else has taken it since. Safe to repeat."""

    async def held(self) -> list[Lease]:
        """Return all that have not lapsed, by name."""
