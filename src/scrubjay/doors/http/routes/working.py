"""Working memory: the messages and the scratchpad of the session that is under way."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from scrubjay.doors.http.access import Jay, WriteJay
from scrubjay.doors.http.bodies import working as bodies
from scrubjay.doors.http.routes.room import Room

room = Room("/working", tag="working", memory="working")


class Deleted(BaseModel):
    """Whether there was something."""

    deleted: bool = Field(description="False when there was nothing under this name.")


@room.post("/messages", "append", summary="Say something in a session", status_code=201)
async def append(jay: WriteJay, said: bodies.Saying) -> object:
    """Put one message or several behind what was said; answer with their positions. Renews the session.

    With an id of yours, saying it again is one message. All are stored, or none.
    """
    return await jay.working.append(**said.keywords())


@room.get("/messages", "recent", summary="The newest messages of a session")
async def recent(jay: Jay, asked: Annotated[bodies.RecentMessages, Query()]) -> object:
    """Return them in the order they were said: at most `limit`, and at most `budget` tokens.

    What was drained into episodes is read from there when the session does not hold enough.
    """
    return await jay.working.recent(**asked.keywords())


@room.put("/scratch", "set", summary="Put a value on the scratchpad")
async def set_scratch(jay: WriteJay, value: bodies.Scratching) -> object:
    """Keep a JSON value under a name, and answer with its version. With `expect`, only if nobody changed it."""
    return await jay.working.set(**value.keywords())


@room.get("/scratch", "scratch", summary="All values on the scratchpad")
async def scratch(jay: Jay, session: Annotated[bodies.InSession, Query()]) -> object:
    """Return them by name."""
    return await jay.working.scratch(**session.keywords())


@room.get("/scratch/value", "get", summary="One value on the scratchpad")
async def get_scratch(jay: Jay, which: Annotated[bodies.Named, Query()]) -> object:
    """Return the value of this name, or null."""
    return await jay.working.get(**which.keywords())


@room.delete("/scratch", "delete", summary="Take a value off the scratchpad", answers=Deleted)
async def delete_scratch(jay: WriteJay, which: Annotated[bodies.Taken, Query()]) -> object:
    """Say whether it was there. With `expect`, only if nobody changed it."""
    return Deleted(deleted=await jay.working.delete(**which.keywords()))


@room.post("/extend", "extend", summary="Let a session live on")
async def extend(jay: WriteJay, how: bodies.Extending) -> object:
    """Let it live so many seconds from now on."""
    return await jay.working.extend(**how.keywords())


@room.post("/end", "end", summary="Let a session be over")
async def end(jay: WriteJay, which: bodies.SessionEnding) -> object:
    """Its scratchpad is gone, and its messages wait to be drained into episodes."""
    return await jay.working.end(**which.keywords())


@room.get("/session", "session", summary="What is known of a session")
async def session(jay: Jay, which: Annotated[bodies.InSession, Query()]) -> object:
    """Return it also when it is over; null when there is none."""
    return await jay.working.session(**which.keywords())


@room.get("/sessions", "sessions", summary="The sessions in a place")
async def sessions(jay: Jay, asked: Annotated[bodies.Sessions, Query()]) -> object:
    """Return those that live longest first; also those that wait to be drained."""
    return await jay.working.sessions(**asked.keywords())
