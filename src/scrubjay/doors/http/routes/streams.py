"""Import, export and events: what streams."""

from functools import partial
from typing import Annotated, Any, Final, get_args

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter

from scrubjay.doors.http.access import HeavyJay, HeavyWriteJay, Jay, is_still_admitted
from scrubjay.doors.http.admitted import Admitted
from scrubjay.doors.http.bodies.memory import Export, Import
from scrubjay.doors.http.bodies.work import Missed, Resumed
from scrubjay.doors.http.problems import RESPONSES
from scrubjay.doors.http.routes.parameters import Where, read_as_text
from scrubjay.doors.http.routes.room import Room, returned_by
from scrubjay.doors.http.streams import EVENTS, NDJSON, EventStream, Feed, as_lines, lines_of, told
from scrubjay.doors.http.values import answer, plain

memories = Room("/memory", tag="memory")
executions = Room("/memory/tasks", tag="tasks", memory="tasks")
happened = Room("/events", tag="events")
streamed = APIRouter(responses=RESPONSES, route_class=Admitted)

_LINE: Final = {"schema": {"type": "string"}, "example": '{"format":"scrubjay-memories","version":1}\n'}
_EVENT: Final = {
    "schema": {"type": "string"},
    "example": 'id: 1772366400000-000000\nevent: memory.stored\ndata: {"name": "memory.stored", …}\n\n',
}
_LINES_IN: Final = {"requestBody": {"required": True, "content": {NDJSON: _LINE}}}

_EVENTS: Final[TypeAdapter[Any]] = TypeAdapter(answer(get_args(returned_by("missed"))[0]))


class Imported(BaseModel):
    """What an import did."""

    new: int = Field(description="Memories that were not there.")
    known: int = Field(description="Memories that were there already.")


@memories.post("/import", "import_lines", summary="Import memories", answers=Imported, openapi_extra=_LINES_IN)
@read_as_text
async def import_memories(jay: HeavyWriteJay, request: Request, how: Annotated[Import, Query()]) -> object:
    """Store what an export gave, exactly, as lines of JSON. Safe to repeat.

    All of them are read and checked before the first is stored: a line that is refused is named, and nothing changes.
    """
    new, known = await jay.import_lines(lines_of(request), **how.keywords())
    return Imported(new=new, known=known)


@executions.post("/import", "import_lines", summary="Import executions", openapi_extra=_LINES_IN)
async def import_executions(jay: HeavyWriteJay, request: Request, place: Where) -> object:
    """Remember executions from lines of JSON. A line that cannot be one is reported and left out. Safe to repeat."""
    return await jay.tasks.import_lines(lines_of(request), **place.keywords())


@streamed.get(
    "/memory/export",
    tags=["memory"],
    summary="Export memories",
    operation_id="memory_export",
    response_class=StreamingResponse,
    responses={200: {"description": "A header, then a memory in each line.", "content": {NDJSON: _LINE}}},
    openapi_extra={"x-verb": "export"},
)
@read_as_text
async def export(jay: HeavyJay, what: Annotated[Export, Query()]) -> StreamingResponse:
    """Stream the memories inside the place as lines of JSON, every version unless `history` is false."""
    return await as_lines(jay.export(**what.keywords()))


@streamed.get(
    "/events",
    tags=["events"],
    summary="Hear what happens",
    operation_id="events_listen",
    response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events, for as long as you listen.", "content": {EVENTS: _EVENT}}},
    openapi_extra={"x-verb": "subscribe"},
)
@read_as_text
async def listen(
    jay: Jay,
    request: Request,
    which: Annotated[Resumed, Query()],
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was seen.")] = None,
) -> StreamingResponse:
    """Hear of each event that the place sees, as it happens, with ids and never with content.

    Who comes back with `Last-Event-ID` hears first what happened meanwhile, as far as it is kept.
    """
    after = last_event_id if last_event_id is not None else which.after
    feed = Feed(jay, which.name, which.where())
    try:
        missed = await feed.missed(after) if after is not None else []
    except BaseException:
        feed.stop()
        raise
    may_listen = partial(is_still_admitted, request)
    return EventStream(feed, told(feed, missed, _written, until=request.app.state.leaving, may_listen=may_listen))


@happened.get("/missed", "missed", summary="What happened meanwhile")
async def missed_events(jay: Jay, asked: Annotated[Missed, Query()]) -> object:
    """Return the events after the one of this id, oldest first, as far as they are kept."""
    return await jay.missed(**asked.keywords())


def _written(event: object) -> str:
    told = _EVENTS.validate_python(plain(event))
    return _EVENTS.dump_json(told, exclude_unset=True).decode()
