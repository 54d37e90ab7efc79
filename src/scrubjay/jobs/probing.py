"""Ask every store and model whether it is there: for whoever looks after the memory, and to notice who is back."""

import asyncio
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from scrubjay.errors import ScrubjayError, Unavailable
from scrubjay.model import StoreHealth
from scrubjay.ports import Embedder, Guarded, Probe
from scrubjay.ports.health import Loading, probing

PROBE_SECONDS: Final = 5.0
"""How long a part may take to say that it is there. Each has shorter limits of its own."""

ASK_EVERY: Final = 1.0
"""Seconds between two questions to something that is down, about."""

LOAD_SECONDS: Final = 60.0
"""How long this process may take to load what it asks a part with: on a busy machine, a driver takes many seconds."""

_LATER: Final = "Writes are kept, recall answers from words, and what waits is indexed when it is back"
_REMEDIES: Final = {
    "records": "Nothing can be stored until it is back, nor found if it does not answer; nothing is half-written. "
    "See docs/runbooks/postgres-down.md and docs/runbooks/disk-full.md",
    "vectors": f"{_LATER}. See docs/runbooks/qdrant-down.md",
    "embedder": f"{_LATER}. See docs/howto/choose-an-embedder.md",
    "reranker": "Recall answers without it, in the order it has by itself. See docs/howto/use-a-reranker.md",
    "working": "Sessions go on where the record store keeps them. See docs/runbooks/redis-down.md",
}


class InProcess:
    """A part that cannot be away, as long as this process runs."""

    async def ping(self) -> None:
        """Return at once."""


class Embedding:
    """A model of this process: it is there when it has embedded something. The first time, it is loaded for that."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._works = False

    async def warm_up(self) -> None:
        """Have it embed something, unless it has: nobody takes it away."""
        if not self._works:
            await self._embedder.embed(["ping"])
            self._works = True

    async def ping(self) -> None:
        """Return at once when it has worked before."""
        await self.warm_up()


async def look(part: str, probe: Probe, *, name: str) -> StoreHealth:
    """Ask one part, within a bounded time; one that is known to be down, and not due again, is not asked."""
    began = time.perf_counter()
    error = ""
    known = probe.health if isinstance(probe, Guarded) else StoreHealth(name=name, state="unknown")
    seconds = LOAD_SECONDS
    try:
        if isinstance(probe, Loading):
            # Beside the clock: who is slow to load says nothing of whoever it asks.
            async with asyncio.timeout(seconds):
                await probe.warm_up()
        seconds, began = PROBE_SECONDS, time.perf_counter()
        async with asyncio.timeout(seconds):
            await probe.ping()
    except Unavailable as trouble:
        error = str(trouble)
    except TimeoutError:
        error = f"{known.name} did not answer within {seconds:g} seconds. Check that it runs and is not overloaded"
    took = (time.perf_counter() - began) * 1000
    known = probe.health if isinstance(probe, Guarded) else known
    if error:
        return replace(known, state="down", error=known.error or error, remedy=_REMEDIES.get(part, ""))
    return replace(known, state="up", error="", retry=None, milliseconds=took)


async def ask_while_down(probe: Guarded) -> None:
    """Ask about once a second as long as it is down, whoever else wants something of it; return only when cancelled.

    So it is used again within two seconds, and nobody who has work to do waits to find out that it is still down.
    """
    probing.set(True)
    while True:
        await asyncio.sleep(ASK_EVERY * random.uniform(0.75, 1.25))  # noqa: S311 -- so that processes do not ask together
        if probe.health.state == "down":
            with suppress(ScrubjayError):
                await probe.ping()


def down_among(probes: Mapping[str, Probe]) -> set[str]:
    """Name the parts that are known to be down. Asks nobody."""
    return {part for part, probe in probes.items() if isinstance(probe, Guarded) and probe.health.state == "down"}
