"""Takes steps until it is killed. A warm process that forks a writer for every line it reads: where its steps are.

A writer says of each step when it begins, and when it was promised to be done.
"""

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path

from life_steps import Ids, Moody, stores_on
from random_life import service_on

from scrubjay.backends.sql.database import Database
from scrubjay.errors import ScrubjayError
from scrubjay.testing import Ticking
from scrubjay.write import prepare, remember


def tell(line):
    """A line in one piece, so that a kill leaves all of it or nothing."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


async def write(url, dimensions, window, steps):
    """Take these steps, one after the other."""
    ids, clock = Ids(), Ticking()
    remember.new_ids, prepare.new_id = ids.many, ids.one
    database = Database(url)
    async with service_on(stores_on(database), Moody(dimensions=dimensions, window=window), clock, database) as jay:
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
