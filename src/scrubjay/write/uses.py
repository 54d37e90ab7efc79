"""Count uses aside: finding a memory must not wait for a write, so uses are gathered and written a little later."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from scrubjay.errors import Unavailable
from scrubjay.model import Scope
from scrubjay.ports import Clock, Records

MOST: Final = 100_000
"""Uses that wait to be written. Without background work they are, when the memory is closed."""


class Uses:
    """Uses that were seen and are not yet written. A crash may lose them; nothing else depends on them."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock
        self._seen: dict[Scope, list[UUID]] = defaultdict(list)
        self._many = 0
        self._writing: asyncio.Task[None] | None = None

    def count(self, scope: Scope, ids: Sequence[UUID]) -> None:
        """Note that these were used from this scope. Of more than are worth holding, those go that wait longest."""
        if ids:
            self._seen[scope] += ids
            self._many += len(ids)
            while self._many > MOST and len(self._seen) > 1:
                self._many -= len(self._seen.pop(next(iter(self._seen))))

    async def flush(self) -> None:
        """Write what was noted, in one transaction. One that was found several times counts as often.

        Whoever is stopped while waiting here stops nothing of it: what is taken is written, and the next who asks
        waits for that. What a store could not take for the moment is noted still.
        """
        if (writing := self._under_way()) is not None:
            await asyncio.shield(writing)
        if self._seen and self._under_way() is None:
            self._writing = asyncio.create_task(self._write(), name="scrubjay-uses")
        if (writing := self._under_way()) is not None:
            await asyncio.shield(writing)

    def _under_way(self) -> asyncio.Task[None] | None:
        return None if self._writing is None or self._writing.done() else self._writing

    async def _write(self) -> None:
        seen, self._seen, self._many = self._seen, defaultdict(list), 0
        try:
            await self._records.touch(seen, at=self._clock())
        except Unavailable:
            for scope, ids in seen.items():
                self.count(scope, ids)
            raise
