"""Task memory: what was tried before, and what came of it."""

from typing import Annotated, Any

from fastapi import Body, Query, Request, Response

from scrubjay.doors.http.access import Jay, WriteJay, visit_of
from scrubjay.doors.http.bodies import tasks as bodies
from scrubjay.doors.http.bodies.body import alike, each
from scrubjay.doors.http.routes.room import Room
from scrubjay.doors.http.shown import Shown
from scrubjay.doors.http.values import answer
from scrubjay.model import similar
from scrubjay.model.similar import SimilarTask

room = Room("/memory", tag="tasks", memory="tasks")

DEGRADED = "Scrubjay-Degraded"
"""Names the parts that could not take part, where the answer is a list and has no room for it."""

StoredExecution: Any = answer(similar.StoredExecution)
FoundTasks: Any = list[answer(SimilarTask)]  # type: ignore[misc]  # a type that is known when it runs


@room.post(
    "/store",
    "store_many",
    summary="Store an execution, or many",
    answers=StoredExecution | list[StoredExecution],
    status_code=201,
    responses={200: {"description": "All of it was known already.", "model": StoredExecution | list[StoredExecution]}},
)
async def store(
    jay: WriteJay,
    request: Request,
    response: Response,
    shown: Shown,
    told: Annotated[bodies.ToldExecutions, Body()],
) -> object:
    """Remember attempts at tasks. Told again, one is the same memory; told otherwise, it is corrected.

    With `auto_extract_patterns` the patterns of its place are learned at once, and those that changed are answered.
    They tell of what others did, so this needs the right to read as well.
    """
    if any(execution.auto_extract_patterns for execution in (told if isinstance(told, list) else [told])):
        visit_of(request).check("read")
    done = await jay.tasks.store_many(each(told))
    response.status_code = 200 if all(one.outcome == "unchanged" for one in done) else 201
    return alike(told, shown.of_each(done, told))


@room.post("/search", "search_similar", summary="Find similar tasks", answers=FoundTasks)
async def search_similar(jay: Jay, response: Response, asked: bodies.SimilarSearch) -> object:
    """Find past executions like this task, best first, each with a receipt to report what came of using it.

    `similarity_score` is the calibrated similarity in meaning; null when meanings were not compared.
    """
    found = await jay.tasks.search_similar(**asked.keywords())
    if found.degraded:
        response.headers[DEGRADED] = ", ".join(found.degraded)
    return found.tasks


@room.post("/tasks/context", "get_task_context", summary="What to know about a task")
async def task_context(jay: Jay, asked: bodies.TaskContextRequest) -> object:
    """Say what is known: similar tasks, what worked and what failed, and its chances if they are known."""
    return await jay.tasks.get_task_context(**asked.keywords())


@room.post("/tasks/used", "used", summary="Report what came of using a result")
async def used(jay: WriteJay, report: bodies.Report) -> object:
    """Credit or blame the memories behind a receipt. A receipt counts once."""
    return await jay.tasks.used(**report.keywords())


@room.get("/tasks/{task_id:path}/context", "get_task_context", summary="What to know about a known task")
async def known_task_context(jay: Jay, task_id: str, asked: Annotated[bodies.RunSoFar, Query()]) -> object:
    """Say the same about a task that was tried before, by its id."""
    return await jay.tasks.get_task_context(task_id=task_id, **asked.keywords())
