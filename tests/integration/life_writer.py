"""Takes steps until it is killed. A warm process that forks a writer for every line it reads: where its steps are.

A writer says of each step when it begins, and when it was promised to be done.
"""

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

import life_places  # noqa: F401 -- what a writer needs is loaded once
from life_steps import Ids, Moody

from scrubjay.errors import ScrubjayError
from scrubjay.testing import Ticking
from scrubjay.write import prepare, remember, transfer


def tell(line):
    """A line in one piece, so that a kill leaves all of it or nothing."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


async def write(place, models, batch, steps):
    """Take these steps, one after the other, with the first of these models."""
    ids, clock = Ids(), Ticking()
    remember.new_ids, prepare.new_id, transfer.BATCH = ids.many, ids.one, batch
    known = [Moody(**one) for one in models]
    async with place.opened(known[0], clock, models=known) as jay:
        for step in steps:
            clock.now = step.now
            ids.begin(step.number)
            tell(f"begun {step.number}")
            with suppress(ScrubjayError):
                await step.taken_by(jay)
            tell(f"done {step.number}")


def main():
    for line in sys.stdin:
        writer = os.fork()
        if writer == 0:
            asyncio.run(write(*pickle.loads(Path(line.rstrip("\n")).read_bytes())))
            os._exit(0)
        tell(f"started {writer}")
        os.waitpid(writer, 0)
        tell("ended")


if __name__ == "__main__":
    main()
