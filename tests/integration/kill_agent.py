"""Drives an agent until it is killed. A warm process that forks a driver for every line it reads.

A driver says where it found the agent, takes as many steps as it was told, and kills itself, without any farewell. Told
to take none, it goes on until somebody else kills it or the agent is done. Several drivers of one agent get in each
other's way: who is refused looks again where the agent is.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable

from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Remembered
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

AGENT = "builder"
STEPS = 2
"""Of each cycle."""


def opened(url: str) -> Scrubjay:
    """A memory on this store, with a model that needs no start."""
    return wire(read_settings(records=url, background=False), embedder=ToyEmbedder(dimensions=16))


class Driver:
    """Takes the steps of one agent, so many of them, and then dies."""

    def __init__(self, jay: Scrubjay, steps: int, upto: int) -> None:
        self._agents = jay.agents
        self._left = steps
        self._upto = upto

    async def taken(self, step: Awaitable[object]) -> None:
        """Take a step, and be killed if it was the last one that was asked for. What changes nothing is no step."""
        done = await step
        if isinstance(done, Remembered) and done.outcome == "unchanged":
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def goes_on(self) -> bool:
        """Take what comes next; False when nothing is left to do."""
        agents = self._agents
        try:
            there = await agents.resume(AGENT)
        except NotFound as error:
            tell(f"resumed {str(error).partition(' in ')[0]}")
            await self.taken(agents.create(AGENT, directives="Write pages"))
            return True
        tell(f"resumed {there}; state {there.state}; pending {', '.join(there.pending)}")
        if there.cycle is None and there.next_index > self._upto:
            return False
        if there.cycle is None:
            goal = f"Write page {there.next_index}"
            await self.taken(agents.begin_cycle(AGENT, goal=goal, index=there.next_index))
        elif there.proposal is not None:
            at, path = there.proposal, str(there.proposal.arguments["path"])
            result = agents.result(AGENT, output={"written": True}, artifacts=[path], cycle=at.cycle, step=at.step)
            await self.taken(result)
        elif len(there.steps) < STEPS:
            index, step = there.cycle.index, there.next_step
            path = f"page-{index}-{step}.md"
            await self.taken(agents.propose(AGENT, "write", arguments={"path": path}, cycle=index, step=step))
        else:
            await self._end(there.cycle.index)
        return True

    async def _end(self, index: int) -> None:
        """Record what was learned, under an id of its own so that it is one however often it is tried, and end."""
        learned = f"Page {index} took {STEPS} steps"
        recorded = self._agents.record_memory(
            AGENT, "reflection", learned, cycle=index, namespaces=["long-term"], id=f"reflection-{index}"
        )
        await self.taken(recorded)
        await self.taken(self._agents.end_cycle(AGENT, cycle=index, state={"pages": index}))


async def drive(url: str, steps: int, upto: int) -> None:
    """Go on where the agent stopped, for so many steps or until this cycle is ended."""
    async with opened(url) as jay:
        driver, goes_on = Driver(jay, steps, upto), True
        while goes_on:
            try:
                goes_on = await driver.goes_on()
            except Conflict as error:
                tell(f"refused {error}")


def tell(line: str) -> None:
    """A line in one piece, so that a kill leaves all of it or nothing."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main() -> None:
    # Nothing is opened before it starts, but all that it needs is imported: here, once.
    for kind in ("sqlite:////nowhere/scrubjay.db", "postgresql://nobody@127.0.0.1:1/nowhere"):
        opened(kind)
    for line in sys.stdin:
        url, steps, upto, many = line.split()
        drivers = [started(url, int(steps), int(upto)) for _ in range(int(many))]
        for driver in drivers:
            os.waitpid(driver, 0)
        tell("ended")


def started(url: str, steps: int, upto: int) -> int:
    """A driver that has begun; its process."""
    driver = os.fork()
    if driver == 0:
        asyncio.run(drive(url, steps, upto))
        tell("done")
        os._exit(0)
    tell(f"started {driver}")
    return driver


if __name__ == "__main__":
    main()
