"""Opening the memory of a service whose database may not be there yet: requests get a 503 until it is."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

import structlog

from scrubjay.errors import ScrubjayError, StoreUnavailable
from scrubjay.model import Health
from scrubjay.service import Scrubjay
from scrubjay.settings import Settings

log = structlog.get_logger("scrubjay.http")

PAUSE: Final = 0.5
MOST_PAUSE: Final = 1.0
"""The first and the longest time between two tries to open the memory."""


def may_come_back(settings: Settings, error: StoreUnavailable) -> bool:
    """Whether waiting may help: for a server that is down. A file, or a schema of another version, needs a person."""
    return type(error) is StoreUnavailable and not settings.records_url.startswith("sqlite")


class Opening:
    """A memory that is open, or being opened for as long as its database is away."""

    def __init__(self, jay: Scrubjay, settings: Settings) -> None:
        self.jay = jay
        self._settings = settings
        self._trouble: ScrubjayError | None = None
        self._looking: asyncio.Task[Health] | None = None

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Open it, now or as soon as possible, and close it at the end.

        Raises what keeps it from opening, unless waiting may help.
        """
        waiting: asyncio.Task[None] | None = None
        try:
            try:
                await self.jay.start()
            except StoreUnavailable as error:
                if not may_come_back(self._settings, error):
                    raise
                self._trouble = error
                log.warning("the database is not there yet", error=str(error))
                waiting = asyncio.create_task(self._keep_trying(), name="scrubjay-opening")
            yield
        finally:
            if waiting is not None:
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await waiting
            await self.jay.close()

    async def _keep_trying(self) -> None:
        pause = PAUSE
        while self._trouble is not None:
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 -- not for secrecy
            pause = min(MOST_PAUSE, 2 * pause)
            try:
                await self.jay.start()
            except ScrubjayError as error:
                self._trouble = error
            else:
                self._trouble = None
                log.info("the database is there: the memory is open")

    async def health(self) -> Health:
        """How the memory is doing. One that is not open yet is down, also when its database answers already.

        Whoever asks while somebody else does gets the same answer: anybody may ask, and the stores are asked once.
        """
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self.jay.health(), name="scrubjay-health")
        found = await asyncio.shield(self._looking)
        if self._trouble is None:
            return found
        records = replace(found.stores["records"], state="down", error=str(self._trouble))
        return replace(found, stores={**found.stores, "records": records})

    @property
    def is_open(self) -> bool:
        """Whether nothing keeps the memory from opening."""
        return self._trouble is None

    def check_open(self) -> None:
        """Raise what keeps the memory from opening, if anything does."""
        if self._trouble is not None:
            raise type(self._trouble)(str(self._trouble))
