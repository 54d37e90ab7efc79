"""Record jobs of a plain thread queue, then ask what was done. Run it: python examples/record_jobs_threads.py"""

import queue
import tempfile
import threading
from pathlib import Path

import scrubjay

TICKETS = {
    "SHOP-1": ("Greet customers by name", "def greet(name):\n    return f'Hello {name}'\n"),
    "SHOP-2": ("Count the articles of a cart", "def count_articles(cart):\n    return len(cart)\n"),
    "SHOP-3": ("Divide by zero", ""),
}

with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as repo, scrubjay.open(home) as jay:
    jobs: queue.Queue[str | None] = queue.Queue()

    def do(ticket: str) -> None:
        """One job. `capture` is all that recording it takes; the job itself knows nothing of memories."""
        goal, code = TICKETS[ticket]
        with jay.workspace.capture(goal=goal, repo=repo, task_id=ticket, mode="single") as job:
            if not code:
                raise ZeroDivisionError("this one fails")
            path = Path(repo, f"{ticket.lower()}.py")
            path.write_text(code)
            job.file(path)
            job.summary = f"Wrote {path.name}"

    def worker() -> None:
        """Take jobs until there are no more."""
        while (ticket := jobs.get()) is not None:
            try:
                do(ticket)
            except ZeroDivisionError as error:
                print(f"{ticket} failed: {error}")

    threads = [threading.Thread(target=worker) for _ in range(2)]
    for thread in threads:
        thread.start()
    for ticket in [*TICKETS, None, None]:
        jobs.put(ticket)
    for thread in threads:
        thread.join()

    jay.workspace.flush()  # Closing does it too. Nothing waits for it but this question:
    for hit in jay.workspace.search_memories(repo, query="how many articles are in a cart?", limit=1):
        files = ", ".join(file.path for file in hit.completion.files)
        print(f"{hit.completion.task_id}: {hit.completion.goal} ({files})")
    counts = jay.workspace.stats().counts
    print(f"{counts['written']} written, {counts['skipped']} skipped, {counts['dropped']} dropped")
