"""Writes until it is killed. A warm process that forks a writer for every line it reads: starting Python takes longer.

A writer tells what it was promised: a line for each memory, printed only after the call has returned.
"""

import asyncio
import os
import sys
from itertools import count

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.model import Remembered
from scrubjay.ports import Stores
from scrubjay.service import Scrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import utc_now
from scrubjay.write.index import Index

KEYS = 5


def opened(url: str) -> Scrubjay:
    """A memory on this file, as the wiring makes it, with a model that needs no start."""
    database = Database(url)
    stores = Stores(
        records=SqlRecords(database),
        generations=SqlGenerations(database),
        texts=SqlTexts(database),
        vectors=EmbeddedVectors(database),
    )
    return Scrubjay(
        stores=stores,
        index=Index(stores=stores, embedder=ToyEmbedder(dimensions=16), reopen=lambda _: None, clock=utc_now),
        redactor=None,
        tokens=lambda: None,
        clock=utc_now,
        tenant="default",
        prepare=lambda: migrate(database),
        background=False,
        names={},
    )


async def write(url: str, round_number: int) -> None:
    """Remember, replace, forget and purge for as long as it lasts; say so after each."""
    async with opened(url) as jay:
        for step in count():
            name = f"r{round_number}x{step}"
            tell("told", await jay.remember(f"plain fact {name}"))
            key = f"key{step % KEYS}"
            tell("valued", await jay.remember(f"value {name} of {key}", key=key))
            first, second, third = await jay.remember_many([f"batch {name} part{part}" for part in range(3)])
            tell("told", first, second, third)
            if step % 2 == 0:
                tell("forgetting", first)
                await jay.forget(first.id)
                tell("forgot", first)
                tell("purging", second)
                await jay.forget(second.id, purge=True)
                tell("purged", second)


def tell(what: str, *memories: Remembered) -> None:
    for one in memories:
        print(what, one.id, one.memory.content, flush=True)


def main() -> None:
    url = sys.argv[1]
    for line in sys.stdin:
        round_number = int(line)
        writer = os.fork()
        if writer == 0:
            asyncio.run(write(url, round_number))
        print("started", writer, flush=True)
        os.waitpid(writer, 0)
        print("ended", round_number, flush=True)


if __name__ == "__main__":
    main()
