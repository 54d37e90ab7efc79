"""Other processes on one working memory: some that speak, and some that drain until they are killed."""

import os
import signal
import sys

import redis.asyncio  # noqa: F401 -- here once, for all that are forked

from scrubjay.memories.working import telling_of
from scrubjay.model import Scope
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.wiring import wire

HERE = {"user": "anna", "session": "s-1"}


def wired(records: str, working: str) -> Scrubjay:
    kept = {"working": working, "working_durability": "redis" if working else "records"}
    return wire(read_settings(records=records, **kept, embedder="none", background=False))


def opened(records: str, working: str) -> SyncScrubjay:
    return SyncScrubjay(wired(records, working)).start()


def speak(jay: SyncScrubjay, name: str, many: int) -> None:
    """Say so much, one by one and in pairs."""
    for step in range(0, many, 3):
        jay.working.append(f"{name} {step}", **HERE)
        jay.working.append([f"{name} {step + 1}", f"{name} {step + 2}"], **HERE)


def drain(jay: SyncScrubjay, tenant: str, steps: int) -> None:
    """Move what waits in this tenant into episodes, three messages at a time, and be killed after so many steps."""
    loop, core = jay._loop, jay._verbs.for_tenant(tenant)
    store, now = core.parts.working, core.parts.clock()
    left = [steps]

    def step(work):
        done = loop.run(lambda: work)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    waiting = step(store.waiting(now=now, soon=store.limits.grace, limit=100))
    for scope in {one.scope for one in waiting} & {Scope(tenant=tenant, **HERE)}:
        while taken := step(store.take(scope, limit=3)):
            step(core.remember_many([telling_of(one) for one in taken], **HERE))
            step(store.drained(scope, [one.id for one in taken], now=now))


def forked(place, work) -> int:
    """Start a process that does this with a memory of its own."""
    process = os.fork()
    if process == 0:
        with opened(*place) as jay:
            work(jay)
        os._exit(0)
    return process


def main() -> None:
    what, records, working, many = sys.argv[1:]
    place = records, working
    wired(*place)  # Nothing is opened before it starts, but all that it needs is imported: here, once.
    if what == "speak":
        started = [forked(place, lambda jay, number=number: speak(jay, f"p{number}", int(many))) for number in range(4)]
        assert [os.waitpid(process, 0)[1] for process in started] == [0] * 4
        return
    for steps in range(1, int(many) + 1):
        killed = forked(place, lambda jay, steps=steps: drain(jay, f"tenant-{steps}", steps))
        assert os.waitpid(killed, 0)[1] == signal.SIGKILL
    last = forked(place, lambda jay: [drain(jay, f"tenant-{steps}", -1) for steps in range(1, int(many) + 1)])
    assert os.waitpid(last, 0)[1] == 0


if __name__ == "__main__":
    main()
