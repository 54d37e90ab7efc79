"""Several processes on one database: a warm one that, when told to go, forks as many as it was asked for at once."""

import os
import sys

from scrubjay.errors import Conflict, NotFound
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


def opened(url: str) -> SyncScrubjay:
    """A memory on this database, with a model that needs no start."""
    settings = read_settings(records=url, background=False)
    return SyncScrubjay(wire(settings, embedder=ToyEmbedder())).start()


def race(jay: SyncScrubjay, name: str, many: int) -> None:
    """Tell values of one key as fast as it goes."""
    for step in range(many):
        jay.remember(f"value {step} of {name}", key="city", user="anna")


def say(jay: SyncScrubjay, name: str, many: int) -> None:
    """Tell turns of one session, and something that everybody tells."""
    for step in range(many):
        jay.remember(f"turn {step} of {name}", kind="message", user="anna", session="s")
    jay.remember("the same for all", user="anna")


def correct(jay: SyncScrubjay, name: str, many: int) -> None:
    """Correct the newest version of one memory again and again, as long as nobody else was faster."""
    for step in range(many):
        [newest] = jay.list(user="anna")
        try:
            jay.update(newest.id, content=f"version {step} of {name}")
        except (Conflict, NotFound):
            print("late", flush=True)


def answer(jay: SyncScrubjay, name: str, many: int) -> None:
    """For each line that is read, tell at once whether it can be found by its words and by its meaning."""
    print("open", flush=True)
    for line in sys.stdin:
        asked = line.strip()
        found = [asked in str(jay.recall(asked, mode=mode, limit=1, touch=False)) for mode in ("words", "meaning")]
        current = [hit.memory.content for hit in jay.recall("", key="city", touch=False)]
        jay.remember(f"answer to {asked}")
        print(found, current, flush=True)


def main() -> None:
    what, url, many, processes = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    started = []
    for number in range(int(processes)):
        started.append(os.fork())
        if started[-1] == 0:
            with opened(url) as jay:
                {"race": race, "say": say, "correct": correct, "answer": answer}[what](jay, f"p{number}", int(many))
            return
    statuses = [os.waitpid(process, 0)[1] for process in started]
    print("done" if not any(statuses) else f"failed {statuses}", flush=True)


if __name__ == "__main__":
    main()
