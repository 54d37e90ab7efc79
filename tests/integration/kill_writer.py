"""Writes until it is killed. A warm process that forks a writer for every line it reads: starting Python takes longer.

A writer tells what it was promised: a line for each memory, printed only after the call has returned.
"""

import asyncio
import os
import sys
from itertools import count

from scrubjay.model import Remembered
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire

KEYS = 5


def opened(url: str) -> Scrubjay:
    """A memory on this file, with a model that needs no start."""
    return wire(read_settings(records=url, background=False), embedder=ToyEmbedder(dimensions=16))


async def write(url: str, round_number: int) -> None:
    """Remember, speak, replace, forget and purge for as long as it lasts; say so after each."""
    async with opened(url) as jay:
        for step in count():
            name = f"r{round_number}x{step}"
            promise("told", await jay.remember(f"plain fact {name}"))
            [message] = await jay.working.append(f"message {name}", session="s-1")
            tell(f"said {message.id} {message.content}")
            key = f"key{step % KEYS}"
            promise("valued", await jay.remember(f"value {name} of {key}", key=key))
            first, second, third = await jay.remember_many([f"batch {name} part{part}" for part in range(3)])
            promise("told", first, second, third)
            if step % 2 == 0:
                promise("forgetting", first)
                await jay.forget(first.id)
                promise("forgot", first)
                promise("purging", second)
                await jay.forget(second.id, purge=True)
                promise("purged", second)


def promise(what: str, *memories: Remembered) -> None:
    """Tell what has just become of these."""
    for one in memories:
        tell(f"{what} {one.id} {one.memory.content}")


def tell(line: str) -> None:
    """A line in one piece, so that a kill leaves all of it or nothing."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main() -> None:
    url = sys.argv[1]
    opened(url)  # Nothing is opened before it starts, but all that it needs is imported: here, once.
    for line in sys.stdin:
        round_number = int(line)
        writer = os.fork()
        if writer == 0:
            asyncio.run(write(url, round_number))
        tell(f"started {writer}")
        os.waitpid(writer, 0)
        tell(f"ended {round_number}")


if __name__ == "__main__":
    main()
