"""Record tasks of a queue with worker processes, the way Celery does it. Run it: python examples/record_jobs_celery.py

`work` stands in for Celery's worker, so that nothing has to be installed. With Celery itself, `open_memory` is
connected to the signal `worker_process_init`, `close_memory` to `worker_process_shutdown`, and `Recorded` extends
`celery.Task` and is given as `Celery(task_cls=Recorded)`.
"""

import multiprocessing
import tempfile
from pathlib import Path

import scrubjay


class Recorded:
    """The base class of tasks: what is called when one has ended. Only the result decides what is remembered."""

    memory: scrubjay.SyncScrubjay

    def on_success(self, result: dict, task_id: str, args: tuple) -> None:
        """Leave it to be remembered. This takes microseconds and never raises, whatever happens to the memory."""
        self.memory.workspace.record_completion(
            goal=f"Translate the page {args[0]}",
            repo_path=args[1],
            task_id=task_id,
            files=[result["file"]],
            summary=f"{result['words']} words translated",
        )

    def on_failure(self, error: Exception, task_id: str, args: tuple) -> None:
        """Count it, and remember nothing."""
        self.memory.workspace.record_completion(goal=str(error), repo_path=args[1], task_id=task_id, status="failed")


def open_memory(home: str) -> None:
    """Every worker process opens the same memory for itself: many may use one file at once."""
    Recorded.memory = scrubjay.open(home, embedder="none")


def close_memory() -> None:
    """Write what is still in the queue of this process."""
    Recorded.memory.close()


def translate(page: str, repo: str) -> dict:
    """The task itself."""
    if page == "broken":
        raise ValueError(f"{page} has no text")
    path = Path(repo, f"{page}.de.md")
    path.write_text(f"# {page.title()}\n\nEs wird übersetzt.\n")
    return {"file": str(path), "words": 3}


def work(home: str, tasks: multiprocessing.Queue) -> None:
    """A worker process, from its first task to its last."""
    open_memory(home)
    base = Recorded()
    while (task := tasks.get()) is not None:
        task_id, args = task
        try:
            base.on_success(translate(*args), task_id, args)
        except ValueError as error:
            base.on_failure(error, task_id, args)
    close_memory()


def main() -> None:
    """Hand three tasks to two processes, then look at what they remember."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as repo:
        context = multiprocessing.get_context("spawn")
        tasks = context.Queue()
        workers = [context.Process(target=work, args=(home, tasks)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for number, page in enumerate(("welcome", "imprint", "broken")):
            tasks.put((f"celery-{number}", (page, repo)))
        for _ in workers:
            tasks.put(None)
        for worker in workers:
            worker.join()
        with scrubjay.open(home, embedder="none") as jay:
            for hit in sorted(jay.workspace.search_memories(repo), key=lambda hit: hit.completion.task_id or ""):
                [file] = jay.workspace.get(hit.id).files
                print(f"{hit.completion.task_id}: {hit.completion.goal}, {file.path} is {file.state}")


if __name__ == "__main__":
    main()
