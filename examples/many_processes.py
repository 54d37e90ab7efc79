"""Several processes on one file: each sees what the others wrote, and nothing is lost.

Run it: python examples/many_processes.py
"""

import multiprocessing
import tempfile

import scrubjay

PROCESSES = 3
EACH = 20


def write(home: str, number: int) -> None:
    with scrubjay.open(home, embedder="none") as jay:
        for turn in range(EACH):
            jay.remember(f"Process {number} did step {turn}", project="shared", kind="event")
        # All of them tell this one; it is one memory all the same.
        jay.remember("The build is green", project="shared", kind="fact", key="build")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        workers = [multiprocessing.Process(target=write, args=(home, number)) for number in range(PROCESSES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        with scrubjay.open(home, embedder="none") as jay:
            print(f"{jay.count(project='shared', kinds=['event'])} events from {PROCESSES} processes")
            print(f"{jay.count(project='shared', kinds=['fact'])} fact that all of them told")
            [hit] = jay.recall("process 2 step 7", project="shared", mode="words", limit=1)
            print(f"found: {hit.memory.content}")
