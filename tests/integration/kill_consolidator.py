"""Consolidates, and is killed after a given number of calls to its stores: a crash between any two steps of the work.

A warm process that forks a worker for every line it reads, `CALLS`, and says how it ended: `killed`, or `finished` when
the work was done in fewer calls.
"""

import asyncio
import os
import signal
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import count

from scrubjay.core import Parts
from scrubjay.jobs.consolidate import consolidate
from scrubjay.jobs.work import orders_of
from scrubjay.model.work import Policy
from scrubjay.ports import Works
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

POLICY = Policy(archive_after=timedelta(microseconds=1))
"""Whatever is distilled moves into the archive at once: one more step to be killed in."""


class Killing:
    """Stands before a store and kills the process after so many calls, before the answer reaches anybody."""

    def __init__(self, store: object, calls: "count[int]", last: int) -> None:
        self._store = store
        self._calls = calls
        self._last = last

    def __getattr__(self, name: str) -> object:
        verb = getattr(self._store, name)
        if not asyncio.iscoroutinefunction(verb):
            return verb

        async def called(*args: object, **options: object) -> object:
            answer = await verb(*args, **options)
            if next(self._calls) >= self._last:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return called


def opened(records: str, working: str, home: str) -> Scrubjay:
    """A memory on these stores, with a model that needs no start."""
    kept = "redis" if working else "records"
    settings = read_settings(records=records, working=working, working_durability=kept, home=home, background=False)
    return wire(settings, embedder=ToyEmbedder(dimensions=16))


def fragile(parts: Parts, last: int) -> Parts:
    """The same parts, whose every call may be the last."""
    calls = count(1)
    works = parts.works
    assert works is not None
    stores = {"records": Killing(parts.stores.records, calls, last)}
    return replace(
        parts,
        stores=replace(parts.stores, **stores),  # type: ignore[arg-type]  # it stands for a store
        working=Killing(parts.working, calls, last),  # type: ignore[arg-type]  # likewise
        works=Works(
            leases=Killing(works.leases, calls, last),  # type: ignore[arg-type]  # likewise
            log=Killing(works.log, calls, last),  # type: ignore[arg-type]  # likewise
            upkeep=Killing(works.upkeep, calls, last),  # type: ignore[arg-type]  # likewise
        ),
    )


async def work(place: list[str], last: int) -> None:
    """Consolidate everything, as a worker that others do not wait for long."""
    async with opened(*place) as jay:
        jay.parts = fragile(jay.parts, last)
        orders = replace(orders_of(jay, policy=POLICY), ttl=timedelta(milliseconds=50))
        done = await consolidate(orders)
        if done.errors:
            tell(f"failed {done.errors}")


def tell(line: str) -> None:
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main() -> None:
    place = sys.argv[1:]
    opened(*place)  # Nothing is opened before it starts, but all that it needs is imported: here, once.
    import scrubjay.memories.distill  # noqa: F401 -- likewise

    for line in sys.stdin:
        worker = os.fork()
        if worker == 0:
            asyncio.run(work(place, int(line)))
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        tell("killed" if os.WIFSIGNALED(status) else "finished")


if __name__ == "__main__":
    main()
