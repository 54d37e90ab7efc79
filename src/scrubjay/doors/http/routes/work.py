"""Consolidation, for whoever looks after it."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from scrubjay.doors.http.access import AdminJay, OperatorJay
from scrubjay.doors.http.bodies import work as bodies
from scrubjay.doors.http.routes.room import Room

room = Room("/upkeep", tag="work", memory="work")


class Restored(BaseModel):
    """How many came back."""

    episodes: int


@room.get("", "status", summary="How consolidation is doing")
async def status(jay: OperatorJay) -> object:
    """Say what waits, how each step went, what failed, and who is at work; over all tenants."""
    return await jay.work.status()


@room.get("/parked", "parked", summary="What failed")
async def parked(jay: AdminJay, asked: Annotated[bodies.Parked, Query()]) -> object:
    """Return what failed, with its error: what is parked first, then what is tried again."""
    return await jay.work.parked(**asked.keywords())


@room.post("/retry", "retry", summary="Try again what failed")
async def retry(jay: AdminJay, what: bodies.Retry) -> object:
    """Let something that is parked be tried from the beginning; without an id, everything."""
    return await jay.work.retry(**what.keywords())


@room.get("/archives", "archives", summary="Files with archived episodes")
async def archives(jay: AdminJay) -> object:
    """Return them oldest first."""
    return [{"file": one.file.name, "episodes": one.episodes, "bytes": one.bytes} for one in await jay.work.archives()]


@room.post("/archives/restore", "restore_archive", summary="Put archived episodes back", answers=Restored)
async def restore_archive(jay: AdminJay, which: bodies.ArchiveName) -> object:
    """Put them back from a file. Safe to repeat; what was purged since stays away."""
    return Restored(episodes=await jay.work.restore_archive(**which.keywords()))
