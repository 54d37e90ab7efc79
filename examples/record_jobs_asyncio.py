"""Record jobs that are coroutines, with a decorator, and keep the losers of a duel out of the advice.

Run it: python examples/record_jobs_asyncio.py
"""

import asyncio
import tempfile
from typing import Any

import scrubjay


async def main() -> None:
    """Let two models do the same task, record both, and ask what to follow."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as repo:
        async with scrubjay.open_async(home, workspace_rejected=True) as jay:

            @jay.workspace.capture(goal=lambda ticket, **_: f"Fix {ticket}", repo=repo, mode="single")
            async def fix(ticket: str, job: Any = None) -> str:  # noqa: ANN401 -- a scrubjay.Job, given by `capture`
                """Each call is a job of its own; whoever takes `job` is given it."""
                await asyncio.sleep(0)
                job.task_id = ticket
                job.file(f"{ticket}.py", "fixed = True\n")
                return "fixed"

            print(await asyncio.gather(fix("A-1"), fix("A-2")))

            goal = "Sort the articles of a shop by price"
            for model, code, won in (
                ("small", "articles.sort(key=lambda article: article.price)\n", True),
                ("large", "import subprocess; subprocess.run(['sort', 'articles.txt'])\n", False),
            ):
                async with jay.workspace.capture(goal=goal, repo=repo, mode="duel", model=model, task_id="B-1") as job:
                    job.file("sorting.py", code)
                    if not won:
                        job.reject()

            await jay.workspace.flush()
            [best] = await jay.workspace.search_memories(repo, query="sort articles by price", limit=1)
            print(f"follow {best.completion.model}: {(await jay.workspace.get(best.id)).files[0].text.strip()}")
            [lost] = await jay.workspace.search_memories(repo, query="sort articles", status="rejected")
            print(f"not {lost.completion.model}; is it advice? {lost.is_advice}")


asyncio.run(main())
