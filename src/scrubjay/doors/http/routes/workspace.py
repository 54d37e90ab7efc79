"""Workspace memory: what do we know about this code? Switched off, all of it is a 404 that says so.

What reads files of the server is for whoever runs it: everybody else tells what is in them.
"""

from typing import Annotated

from fastapi import Query, Request

from scrubjay.doors.http.access import HeavyJay, HeavyWriteJay, Jay, OperatorJay, WriteJay, visit_of
from scrubjay.doors.http.bodies import workspace as bodies
from scrubjay.doors.http.routes.parameters import Id, Where
from scrubjay.doors.http.routes.room import Room

completed = Room("/memory", tag="workspace", memory="workspace")
room = Room("/workspace", tag="workspace", memory="workspace")


@completed.get("/search", "search_memories", summary="Find completed jobs")
async def search_memories(jay: Jay, asked: Annotated[bodies.WorkspaceSearch, Query()]) -> object:
    """Find completed jobs that fit, best first, each with the reason; an empty question finds the newest."""
    return await jay.workspace.search_memories(**asked.keywords())


@room.post("/completions", "store_completion", summary="Store a completed job", status_code=201)
async def store_completion(jay: WriteJay, told: bodies.CompletedJob) -> object:
    """Remember a job that is done. Told again under its task id, it is corrected and never doubled.

    Jobs that failed or were cancelled are skipped. What the caps cut off is said in `cuts`.
    """
    return await jay.workspace.store_completion(**told.keywords())


@room.get("/completions/{id:path}", "get", summary="Get one completed job")
async def get(jay: Jay, id: Id, place: Where) -> object:
    """Return it in full: each file with the text that was kept, and how the server's working tree stands to it."""
    return await jay.workspace.get(id, **place.keywords())


@room.get("/files", "relevant_files", summary="Files that matter for a task")
async def relevant_files(jay: Jay, asked: Annotated[bodies.RelevantFilesRequest, Query()]) -> object:
    """Say which files most likely matter, best first, each with the reason."""
    return await jay.workspace.relevant_files(**asked.keywords())


@room.post("/code/search", "search_code", summary="Find code")
async def search_code(jay: Jay, asked: bodies.CodeSearch) -> object:
    """Find pieces of code that fit, best first, each compared with the working tree: fresh, drifted or orphaned."""
    return await jay.workspace.search_code(**asked.keywords())


@room.post("/recall", "recall", summary="Recall, and check the code that is cited")
async def recall(jay: Jay, asked: bodies.CodeRecall) -> object:
    """Recall as ever, and compare the code that the answers cite with the working tree."""
    return await jay.workspace.recall(**asked.keywords())


@room.post("/cite", "cite", summary="Remember something about code", status_code=201)
async def cite(jay: OperatorJay, told: bodies.Citing) -> object:
    """Keep it with the code that it cites, which is read from a repository on the server."""
    return await jay.workspace.cite(**told.keywords())


@room.get("/check/{id:path}", "check", summary="Is the code that it cites still so?")
async def check(jay: Jay, id: Id, place: Where) -> object:
    """Compare what one memory cites with the working tree. Empty when it cites nothing, or the tree is not here."""
    return await jay.workspace.check(id, **place.keywords())


@room.post("/ingest", "ingest", summary="Read a repository on the server")
async def ingest(jay: OperatorJay, what: bodies.Ingesting) -> object:
    """Read its files in pieces, and its newest commits. Run again, it touches only what changed."""
    return await jay.workspace.ingest(**what.keywords())


@room.post("/backfill", "backfill", summary="Read artifacts on the server")
async def backfill(jay: OperatorJay, what: bodies.Backfilling) -> object:
    """Remember the jobs whose artifacts lie in a directory: each folder and each zip file in it is one."""
    return await jay.workspace.backfill(**what.keywords())


@room.post("/seed", "seed", summary="Store sample jobs")
async def seed(jay: WriteJay, where: bodies.Seeding) -> object:
    """Remember a few sample jobs of a small web shop, to try things out with."""
    return await jay.workspace.seed(**where.keywords())


@room.post("/prune", "prune", summary="Delete what is too old or too much")
async def prune(jay: HeavyWriteJay, request: Request, how: bodies.Pruning) -> object:
    """Delete completed jobs for good and with their files, the oldest first; pinned ones stay.

    A dry run needs the right to read as well. Rules of one's own (`keep_for`, `most_bytes`) need the right to admin,
    unless it is a dry run.
    """
    if how.dry_run:
        visit_of(request).only_reads()
    elif how.keep_for is not None or how.most_bytes is not None:
        visit_of(request).check("admin")
    return await jay.workspace.prune(**how.keywords())


@room.get("/stats", "stats", summary="How much is kept")
async def stats(jay: HeavyJay, which: Annotated[bodies.Repository, Query()]) -> object:
    """Say how much is kept for each repository in the place."""
    return await jay.workspace.stats(**which.keywords())


@room.get("/secrets", "scan_secrets", summary="Look for stored secrets")
async def scan_secrets(jay: HeavyJay, place: Where) -> object:
    """Look for secrets in everything that is stored inside the place, every kind of memory and every version."""
    return await jay.workspace.scan_secrets(**place.keywords())
