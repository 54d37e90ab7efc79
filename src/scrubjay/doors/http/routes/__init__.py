"""The verbs of the library under /v1, a file for each memory."""

from fastapi import APIRouter

from scrubjay.doors.http.routes import (
    access,
    agents,
    episodes,
    facts,
    memory,
    patterns,
    streams,
    tasks,
    work,
    working,
    workspace,
)

router = APIRouter()
for routes in (
    memory.room.router,
    memory.consolidation.router,
    streams.memories.router,
    streams.streamed,
    tasks.room.router,
    streams.executions.router,
    patterns.room.router,
    workspace.completed.router,
    facts.room.router,
    working.room.router,
    episodes.room.router,
    workspace.room.router,
    work.room.router,
    agents.streamed,
    agents.room.router,
    access.asking,
    access.keys.router,
    access.log.router,
    streams.happened.router,
    # An id may be any word, so these come last.
    memory.by_id.router,
):
    router.include_router(routes)
