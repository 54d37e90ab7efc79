"""What workers tell of their work: how each step went, and what they could not deal with."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.work import Run, Step, StepDone, Trouble


class Worklog(Protocol):
    """Shared by all workers, and kept when they end."""

    async def ran(self, done: StepDone, *, worker: str, at: datetime) -> None:
        """Note how a run of a step went."""

    async def runs(self) -> dict[Step, Run]:
        """Return what is known of each step that was ever taken."""

    async def failed(
        self,
        step: Step,
        item: str,
        scope: Scope,
        *,
        error: str,
        at: datetime,
        tries: int,
        pause: timedelta,
        body: str | None = None,
    ) -> Trouble:
        """Count one more failure of an item, and return it as it now is.

        It is due again after the pause, twice as long each time, and parked when it has failed so many times. `body` is
        kept beside it from then on. Of concurrent failures none is lost.
        """

    async def settled(self, step: Step, item: str) -> None:
        """Forget that the item ever failed: it is dealt with. Safe to repeat."""

    async def resting(self, step: Step, *, now: datetime) -> set[str]:
        """Return the items that are not to be tried now: parked ones, and those whose pause is not over.

        A pause that begins later than now was noted before the clock was set back, and is over.
        """

    async def troubles(self, tenant: str | None = None, *, limit: int) -> list[Trouble]:
        """Return what has failed and is not settled, of one tenant or of all; the parked ones first, oldest first."""

    async def counted(self) -> tuple[int, int]:
        """Count what is being tried again, and what is parked, over all tenants."""

    async def retry(self, tenant: str, ids: Sequence[UUID] | None = None, *, now: datetime) -> list[Trouble]:
        """Let these of the tenant, or all of its parked ones, be tried from the beginning; return them as they were."""
