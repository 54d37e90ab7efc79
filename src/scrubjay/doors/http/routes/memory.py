"""The core verbs: remember, recall, context, get, history, forget."""

from typing import Annotated

from fastapi import Body, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from scrubjay.doors.http import answers
from scrubjay.doors.http.access import HeavyWriteJay, Jay, ReadWriteJay, WriteJay, visit_of
from scrubjay.doors.http.bodies import memory as bodies
from scrubjay.doors.http.bodies.body import Forgetting, alike, each
from scrubjay.doors.http.conditional import Conditions
from scrubjay.doors.http.routes.parameters import Id, Where, page, page_of
from scrubjay.doors.http.routes.room import Room
from scrubjay.doors.http.shown import Shown
from scrubjay.doors.http.values import answer
from scrubjay.model import Memory
from scrubjay.model.workspace import COMPLETION_KIND, REJECTED_KIND
from scrubjay.model.workspace_answers import CompletionDetail

room = Room("/memory", tag="memory")
by_id = Room("/memory", tag="memory")
"""What ends in an id: after everything else below /memory, since an id of one's own may be any word."""

consolidation = Room("/consolidate", tag="work")

EVERYTHING = bodies.Consolidation()
"""What is consolidated when nobody says what."""


class Count(BaseModel):
    """How many there are."""

    count: int


class MemoryInFull(answers.Memory):
    """A memory; and of a completed job, its files with their texts, and where its artifacts are."""

    completion: answer(CompletionDetail) | None = Field(  # type: ignore[valid-type]  # made from the value
        default=None, description="Of a completed job, while workspace memory is on."
    )


@room.post(
    "",
    "remember_many",
    summary="Remember one thing, or many",
    answers=answers.Remembered | list[answers.Remembered],
    status_code=201,
    responses={
        200: {"description": "All of it was known already.", "model": answers.Remembered | list[answers.Remembered]}
    },
)
async def remember(jay: WriteJay, response: Response, shown: Shown, told: Annotated[bodies.Tellings, Body()]) -> object:
    """Take one object, or a list of them; answer in the same shape. Of a list, all are checked before any is stored.

    Saying the same thing again changes nothing. A new value for a key replaces the old one, which stays in the history.
    One object under an `id` that was forgotten or replaced since is refused (409); in a list, it is `unchanged`.
    """
    done = await jay.remember_many(each(told)) if isinstance(told, list) else [await jay.remember(**told.keywords())]
    response.status_code = 200 if all(one.outcome == "unchanged" for one in done) else 201
    return alike(told, shown.of_each(done, told))


@room.get("", "list", summary="List memories", answers=page_of("memories", Memory))
async def list_memories(jay: Jay, listing: Annotated[bodies.Listing, Query()]) -> object:
    """List the memories inside the place as they were stored, a page at a time."""
    return page("memories", await jay.list(**listing.keywords()), listing.limit)


@room.post("/recall", "recall", summary="Find what fits a question")
async def recall(jay: Jay, asked: bodies.Recall) -> object:
    """Search by meaning and by words; best first, each with the reason.

    A reader for one user sees what is that user's and what holds for everybody, never another user's.
    """
    return await jay.recall(**{"query": "", **asked.keywords()})


@room.post("/context", "context", summary="Assemble what an agent should know")
async def context(jay: Jay, asked: bodies.ContextRequest) -> object:
    """Write a text for a prompt, of at most `budget` tokens: what always holds, what fits, what just happened."""
    return await jay.context(**{"query": "", **asked.keywords()})


@room.put("/context/shape", "shape_context", summary="Keep how contexts should be")
async def shape_context(jay: ReadWriteJay, shape: bodies.Shape) -> object:
    """Keep for a place what `context` leaves open; answer with what holds there now. The narrowest place decides.

    What holds may have been kept by others, so this needs the right to read as well.
    """
    return await jay.shape_context(**shape.keywords())


@room.get("/count", "count", summary="Count memories", answers=Count)
async def count(jay: Jay, narrow: Annotated[bodies.Counted, Query()]) -> object:
    """Count the memories inside the place that match."""
    return Count(count=await jay.count(**narrow.keywords()))


@room.get("/stats", "stats", summary="What a place holds")
async def stats(jay: Jay, request: Request, place: Where) -> object:
    """Say how many memories the place holds, of which kinds, and how the memory is doing."""
    return visit_of(request).told(await jay.stats(**place.keywords()))


@room.get("/history", "history", summary="Every version of a key", answers=list[answers.Memory])
async def history_of_key(jay: Jay, asked: Annotated[bodies.History, Query()]) -> object:
    """Return every version that the place sees of this key, oldest first."""
    return await jay.history(**asked.keywords())


@room.post("/forget", "forget", summary="Forget several memories")
async def forget_many(jay: WriteJay, what: bodies.ForgetMany) -> object:
    """Forget by ids, by key, or everything in the place; with `purge`, for good. What was made from it goes too."""
    return await jay.forget(**what.keywords())


@by_id.get("/{id:path}/history", "history", summary="Every version of one memory", answers=list[answers.Memory])
async def history(jay: Jay, id: Id, place: Where) -> object:
    """Return what it replaced, itself, and what replaced it, oldest first."""
    return await jay.history(id, **place.keywords())


@by_id.get("/{id:path}/around", "around", summary="What was said beside it", answers=list[answers.Memory])
async def around(jay: Jay, id: Id, asked: Annotated[bodies.Around, Query()]) -> object:
    """Return what was said just before and after it in its session, in order, with the memory itself between."""
    return await jay.around(id, **asked.keywords())


@by_id.get("/{id:path}", "get", summary="Get one memory", answers=MemoryInFull)
async def get(jay: Jay, id: Id, place: Where, conditions: Conditions, response: Response) -> object:
    """Return it in whatever state it is: current, superseded, forgotten or expired.

    A completed job comes with its files and with the paths of its artifacts.
    """
    memory = await jay.get(id, **place.keywords())
    conditions.show(memory, response)
    told = answers.Memory.of(memory).model_dump(exclude_unset=True)
    if memory.kind in (COMPLETION_KIND, REJECTED_KIND) and jay.parts.workspace.enabled:
        return {**told, "completion": await jay.workspace.get(id, **place.keywords())}
    return told


@by_id.patch("/{id:path}", "update", summary="Change one memory")
async def update(
    jay: WriteJay,
    request: Request,
    shown: Shown,
    id: Id,
    place: Where,
    changes: bodies.Changes,
    conditions: Conditions,
    response: Response,
) -> object:
    """Correct it. What it says becomes a new version with an id of its own; importance and expiry change in place.

    Whoever may not read gives its content anew, and is shown what they gave: anything else needs the right to read.
    """
    if "content" not in changes.model_fields_set:
        visit_of(request).check("read")
    async with conditions.demanded(jay, id, place.where()) as demanding:
        done = await demanding.update(id, **changes.keywords(), **place.keywords())
    conditions.show(done.memory, response)
    return shown.of_version(done, changes)


@by_id.delete("/{id:path}", "forget", summary="Forget one memory")
async def forget(jay: WriteJay, id: Id, how: Annotated[Forgetting, Query()], conditions: Conditions) -> object:
    """Close it, so that the past stays answerable; with `purge`, delete it for good. What was made from it goes too."""
    async with conditions.demanded(jay, id, how.where()) as demanding:
        return await demanding.forget(id, **how.keywords())


@consolidation.post("", "consolidate", summary="Turn sessions into knowledge")
async def consolidate(jay: HeavyWriteJay, request: Request, what: bodies.Consolidation = EVERYTHING) -> object:
    """Drain sessions into episodes, distill these, learn patterns, index, expire, decay, archive and prune.

    All of it, or only some `steps`, inside the place; say what each step did. Safe to repeat. A dry run tells what
    memories say, so that needs the right to read as well. A `policy` of one's own decides what is forgotten, and needs
    the right to admin, unless it is a dry run.
    """
    if what.dry_run:
        visit_of(request).only_reads()
    elif what.policy is not None:
        visit_of(request).check("admin")
    return await jay.consolidate(**what.keywords())


async def _asked_with_a_body() -> None:
    """Say how it is asked: without this, the name of the verb would be taken for the id of a memory."""
    raise HTTPException(405, headers={"Allow": "POST"})


for _verb in ("recall", "context", "forget", "import"):
    room.router.add_api_route(f"/{_verb}", _asked_with_a_body, methods=["GET"], include_in_schema=False)
