"""The verbs of the library under /v1/memory."""

from typing import Annotated, Any, TypeAlias, cast

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response

from scrubjay.doors.http import answers, bodies
from scrubjay.doors.http.opening import Opening
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.service import Scrubjay

router = APIRouter(prefix="/memory", tags=["memory"], responses=RESPONSES)


def memory_of(request: Request) -> Scrubjay:
    """The memory that this request may use. The one place that decides the tenant.

    Raises StoreUnavailable while it is not open yet.
    """
    opening = cast("Opening", request.app.state.opening)
    opening.check_open()
    return opening.jay


Jay: TypeAlias = Annotated[Scrubjay, Depends(memory_of)]
Id: TypeAlias = Annotated[str, Path(description="A memory's id, or the id of your own that you gave it.")]
Where: TypeAlias = Annotated[bodies.Place, Query()]


@router.post(
    "",
    summary="Remember one thing, or many",
    status_code=201,
    responses={200: {"description": "All of it was known already.", "model": answers.Remembered}},
    response_model_exclude_unset=True,
)
async def remember(
    jay: Jay, response: Response, told: Annotated[bodies.Tellings, Body()]
) -> answers.Remembered | list[answers.Remembered]:
    """Take one object, or a list of them; answer in the same shape. Of a list, all are checked before any is stored.

    Saying the same thing again changes nothing. A new value for a key replaces the old one, which stays in the history.
    """
    tellings = told if isinstance(told, list) else [told]
    done = await jay.remember_many([cast("Any", telling.model_dump(exclude_unset=True)) for telling in tellings])
    if all(one.outcome == "unchanged" for one in done):
        response.status_code = 200
    shown = [answers.Remembered.of(one) for one in done]
    return shown if isinstance(told, list) else shown[0]


@router.get("", summary="List memories", response_model_exclude_unset=True)
async def list_memories(jay: Jay, listing: Annotated[bodies.Listing, Query()]) -> answers.Page:
    """List the memories inside the place as they were stored, a page at a time."""
    found = await jay.list(**listing.keywords())
    more = len(found) == listing.limit
    return answers.Page(memories=[answers.Memory.of(one) for one in found], next=found[-1].id if more else None)


@router.post("/recall", summary="Find what fits a question", response_model_exclude_unset=True)
async def recall(jay: Jay, asked: bodies.Recall) -> answers.Hits:
    """Search by meaning and by words; best first, each with the reason.

    A reader for one user sees what is that user's and what holds for everybody, never another user's.
    """
    return answers.Hits.of(await jay.recall(asked.query, **asked.keywords()))


@router.post("/context", summary="Assemble what an agent should know", response_model_exclude_unset=True)
async def context(jay: Jay, asked: bodies.ContextRequest) -> answers.Context:
    """Write a text for a prompt, of at most `budget` tokens: what always holds, what fits, what just happened."""
    return answers.Context.of(await jay.context(asked.query, **asked.keywords()))


@router.get("/{id}", summary="Get one memory", response_model_exclude_unset=True)
async def get(jay: Jay, id: Id, place: Where) -> answers.Memory:
    """Return it in whatever state it is: current, superseded, forgotten or expired."""
    return answers.Memory.of(await jay.get(id, **place.where()))


@router.patch("/{id}", summary="Change one memory", response_model_exclude_unset=True)
async def update(jay: Jay, id: Id, place: Where, changes: bodies.Changes) -> answers.Remembered:
    """Correct it. What it says becomes a new version with an id of its own; importance and expiry change in place."""
    given = {name: getattr(changes, name) for name in changes.model_fields_set}
    return answers.Remembered.of(await jay.update(id, **given, **place.where()))


@router.delete("/{id}", summary="Forget one memory")
async def forget(jay: Jay, id: Id, how: Annotated[bodies.Forgetting, Query()]) -> answers.ForgetReceipt:
    """Close it, so that the past stays answerable; with `purge`, delete it for good. What was made from it goes too."""
    return answers.ForgetReceipt.of(await jay.forget(id, purge=how.purge, reason=how.reason, **how.where()))


@router.get("/{id}/history", summary="Every version of one memory", response_model_exclude_unset=True)
async def history(jay: Jay, id: Id, place: Where) -> list[answers.Memory]:
    """Return what it replaced, itself, and what replaced it, oldest first."""
    return [answers.Memory.of(one) for one in await jay.history(id, **place.where())]
