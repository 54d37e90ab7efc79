"""Changes keys, and is killed after a given number of calls to what it stores anew: a crash between any two steps.

A warm process that forks a rotator for every line it reads, `CALLS`, and says how it ended: `killed`, or `finished`
when the work was done in fewer calls.
"""

import asyncio
import inspect
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count

from scrubjay.backends.encryption import rotation
from scrubjay.backends.encryption.rotation import Locksmith
from scrubjay.jobs.encryption import Encryption
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


class Killing:
    """Stands before a store and kills the process after so many calls, before the answer reaches anybody."""

    def __init__(self, store: object, calls: "count[int]", last: int) -> None:
        self._store = store
        self._calls = calls
        self._last = last

    def __getattr__(self, name: str) -> object:
        verb = getattr(self._store, name)
        if inspect.isasyncgenfunction(verb):

            async def walked() -> AsyncIterator[object]:
                async for item in verb():
                    yield item

            return walked
        if not asyncio.iscoroutinefunction(verb):
            return verb

        async def called(*args: object, **options: object) -> object:
            answer = await verb(*args, **options)
            if next(self._calls) >= self._last:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return called


def opened(records: str, working: str, home: str, keys: str) -> Scrubjay:
    """A memory on these stores, in which everything is encrypted."""
    options = {"encrypt": "all", "encryption_key": keys, "background": False}
    options["working_durability"] = "redis" if working else "records"
    settings = read_settings(records=records, working=working, home=home, **options)
    return wire(settings, embedder=ToyEmbedder(dimensions=16))


async def rotate(place: list[str], last: int) -> None:
    """Store everything anew with the newest keys, as one whose every call may be the last."""
    async with opened(*place) as jay:
        calls = count(1)
        vault = jay.parts.stores.vault
        assert isinstance(vault, Locksmith)
        stored = Killing(vault._stored, calls, last)
        places = [replace(one, store=Killing(one.store, calls, last)) for one in vault._places]
        fragile = Locksmith(vault._vault, stored, places)  # type: ignore[arg-type]  # it stands for a store
        jay.parts = replace(jay.parts, stores=replace(jay.parts.stores, vault=fragile))
        encryption = Encryption(jay)
        archives = encryption._archives()
        assert archives is not None
        encryption._archives = lambda: Killing(archives, calls, last)  # type: ignore[assignment,return-value,method-assign]  # likewise
        rotation.FRESH_SECONDS = rotation.ARRIVAL_SECONDS = 0.0  # type: ignore[misc]  # nobody else writes
        done = await encryption.rotate(rows=True)
        if not done.is_complete:
            tell(f"left {done.left} {done.unread}")


def tell(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main() -> None:
    place = sys.argv[1:]
    opened(*place)  # Nothing is opened before it starts, but all that it needs is imported: here, once.
    for line in sys.stdin:
        worker = os.fork()
        if worker == 0:
            asyncio.run(rotate(place, int(line)))
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        tell("killed" if os.WIFSIGNALED(status) else "finished")


if __name__ == "__main__":
    main()
