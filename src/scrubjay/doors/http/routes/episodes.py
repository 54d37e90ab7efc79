"""Episodes: what happened, in order."""

from typing import Annotated

from fastapi import Body, Query

from scrubjay.doors.http import answers
from scrubjay.doors.http.access import Jay, WriteJay
from scrubjay.doors.http.bodies import working as bodies
from scrubjay.doors.http.bodies.body import alike, each
from scrubjay.doors.http.routes.parameters import page, page_of
from scrubjay.doors.http.routes.room import Room
from scrubjay.doors.http.shown import Shown
from scrubjay.model.episodes import Episode

room = Room("/episodes", tag="episodes", memory="episodes")


@room.post(
    "",
    "store_many",
    summary="Store an episode, or many",
    answers=answers.Remembered | list[answers.Remembered],
    status_code=201,
)
async def store(jay: WriteJay, shown: Shown, told: Annotated[bodies.EpisodeTellings, Body()]) -> object:
    """Take one object, or a list in the order it happened; answer in the same shape.

    Told twice, it happened twice; with an id of yours, telling it again is one episode.
    """
    return alike(told, shown.of_each(await jay.episodes.store_many(each(told)), told))


@room.get("", "timeline", summary="What happened, in order", answers=page_of("episodes", Episode))
async def timeline(jay: Jay, asked: Annotated[bodies.Timeline, Query()]) -> object:
    """Return what happened inside the place, a page at a time. Inside a session the order is exact."""
    return page("episodes", await jay.episodes.timeline(**asked.keywords()), asked.limit)


@room.post("/recall", "recall", summary="Find episodes")
async def recall(jay: Jay, asked: bodies.EpisodeRecall) -> object:
    """Find the episodes that fit, best first, each with so many before and after it in its session."""
    return await jay.episodes.recall(**{"query": "", **asked.keywords()})


@room.get("/recent", "fetch_recent_context", summary="What just happened in a session")
async def fetch_recent_context(jay: Jay, asked: Annotated[bodies.RecentContextRequest, Query()]) -> object:
    """Return it in order, in at most `budget` tokens: what the session still holds, then what was stored of it."""
    return await jay.episodes.fetch_recent_context(**asked.keywords())
