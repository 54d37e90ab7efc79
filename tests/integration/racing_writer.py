"""Several processes on one database: a warm one that, when told to go, forks as many as it was asked for at once."""

import os
import sys

from scrubjay.errors import Conflict, NotFound
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import ToyEmbedder
from scrubjay.wiring import wire


def wired(url: str) -> Scrubjay:
    """A memory on this database, with a model that needs no start."""
    return wire(read_settings(records=url, background=False), embedder=ToyEmbedder())


def opened(url: str) -> SyncScrubjay:
    """The same, open and without `await`."""
    return SyncScrubjay(wired(url)).start()


def race(jay: SyncScrubjay, name: str, many: int) -> None:
    """Tell values of one key as fast as it goes."""
    for step in range(many):
        jay.remember(f"value {step} of {name}", key="city", user="anna")


def maintain(jay: SyncScrubjay, name: str, many: int) -> None:
    """Tell values of one fact, boost another one as often, and try to be the first to tell a third."""
    boosted = jay.facts.get_by_key("fact:boosted", user="anna")
    for step in range(many):
        jay.facts.store(f"value {step} of {name}", key="fact:city", user="anna")
        jay.facts.boost_importance(boosted.id, 1 / 128)
        try:
            jay.facts.store(f"first was {name}", key=f"fact:first-{step}", user="anna", insert_only=True)
            tell("won")
        except Conflict:
            continue


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
            tell("late")


def answer(jay: SyncScrubjay, name: str, many: int) -> None:
    """For each line that is read, tell at once whether it can be found by its words and by its meaning."""
    tell("open")
    for line in sys.stdin:
        asked = line.strip()
        found = [asked in str(jay.recall(asked, mode=mode, limit=1, touch=False)) for mode in ("words", "meaning")]
        current = [hit.memory.content for hit in jay.recall("", key="city", touch=False)]
        jay.remember(f"answer to {asked}")
        tell(f"{found} {current}")


def tell(line: str) -> None:
    """A line in one piece, since several processes share the pipe."""
    os.write(sys.stdout.fileno(), f"{line}\n".encode())


def main() -> None:
    what, url, many, processes = sys.argv[1:]
    wired(url)  # Nothing is opened before it starts, but all that it needs is imported: here, once.
    tell("ready")
    sys.stdin.readline()
    started = []
    for number in range(int(processes)):
        started.append(os.fork())
        if started[-1] == 0:
            with opened(url) as jay:
                {"race": race, "maintain": maintain, "say": say, "correct": correct, "answer": answer}[what](
                    jay, f"p{number}", int(many)
                )
            return
    statuses = [os.waitpid(process, 0)[1] for process in started]
    tell("done" if not any(statuses) else f"failed {statuses}")


if __name__ == "__main__":
    main()
