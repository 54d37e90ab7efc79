"""Count uses aside: finding a memory must not wait for a write, so uses are gathered and written a little later."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.ports import Clock, Records


class Uses:
    """Uses that were seen and are not yet written. A crash may lose them; nothing else depends on them."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._seen: dict[Scope, list[UUID]] = defaultdict(list)

    def count(self, scope: Scope, ids: Sequence[UUID]) -> None:
        """Note that these were used from this scope."""
        if ids:
            self._seen[scope] += ids

    async def flush(self) -> None:
        """Write what was noted. One that was found several times counts as often."""
        seen, self._seen = self._seen, defaultdict(list)
        for scope, ids in seen.items():
            await self._records.touch(scope, ids, at=self._clock())
