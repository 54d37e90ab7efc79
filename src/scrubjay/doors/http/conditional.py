"""Conditional requests: what has not changed is not sent again, and what has changed is not overwritten unseen.

async def get(jay: Jay, id: Id, place: Where, conditions: Conditions, response: Response) -> answers.Memory:
    memory = await jay.get(id, **place.where())
    conditions.show(memory, response)                 # ETag; 304 when If-None-Match has it

async def update(jay: WriteJay, id: Id, place: Where, changes: …, conditions: Conditions, response: Response) -> …:
    async with conditions.demanded(jay, id, place.where()) as jay:   # 412 unless If-Match has what is stored
        done = await jay.update(…)                    # also when somebody changes it before this does
    conditions.show(done.memory, response)            # the ETag of what is stored now
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import blake2b
from typing import Annotated, TypeAlias

from fastapi import Depends, Header, Request, Response

from scrubjay.doors.http.access import visit_of
from scrubjay.errors import Conflict, NotFound, PreconditionFailed
from scrubjay.model import Memory, Where
from scrubjay.service import Scrubjay


class NotModified(Exception):
    """The one who asks has it already."""

    def __init__(self, etag: str) -> None:
        super().__init__(etag)
        self.etag = etag


def etag_of(memory: Memory) -> str:
    """A mark that changes when the memory says something else, is kept otherwise, or is no longer believed.

    Made of its id and of when it was stored and closed: what says something else is another version, with another id.
    Of what a memory says there is nothing in it, so no guess can be tried against it.
    """
    said = (memory.id, memory.created_at, memory.superseded_at, memory.valid_to, memory.expires_at, memory.importance)
    return f'"{blake2b(" ".join(map(str, said)).encode(), digest_size=12).hexdigest()}"'


class Wanted:
    """What If-Match and If-None-Match say."""

    def __init__(self, if_match: str | None, if_none_match: str | None, *, is_shown: bool) -> None:
        self._match = if_match
        self._none_match = if_none_match
        self._is_shown = is_shown
        """Whether the mark of what is stored is told: to whoever may read it."""

    def show(self, memory: Memory, response: Response) -> None:
        """Name the version in the answer. Raises NotModified when the one who asks has just that."""
        if not self._is_shown:
            return
        etag = etag_of(memory)
        if self._none_match is not None and _names(self._none_match, etag, weakly=True):
            raise NotModified(etag)
        response.headers["ETag"] = etag

    @asynccontextmanager
    async def demanded(self, jay: Scrubjay, id: str, where: Where) -> AsyncIterator[Scrubjay]:
        """The same memory, which changes only the version that If-Match names. Without it, nothing is asked for.

        Raises PreconditionFailed when another one is stored, or is by the time of the change.
        """
        if self._match is None:
            yield jay
            return
        seen = await self._stored(self._match, jay, id, where)
        try:
            yield jay if self._match.strip() == "*" else jay.for_caller(replace(jay.caller, seen=seen))
        except (Conflict, NotFound):
            await self._stored(self._match, jay, id, where)
            raise  # It is what If-Match names, so something else is in the way.

    async def _stored(self, match: str, jay: Scrubjay, id: str, where: Where) -> Memory:
        try:
            memory = await jay.get(id, **where)
        except NotFound as error:
            raise PreconditionFailed(f"If-Match is {match[:80]}, but {error}") from error
        if not _names(match, etag_of(memory), weakly=False):
            now = etag_of(memory) if self._is_shown else "another version"
            raise PreconditionFailed(
                f"If-Match is {match[:80]}, but memory {id} is {now} now: read it again, then decide"
            )
        return memory


def _names(given: str, etag: str, *, weakly: bool) -> bool:
    """Whether the header names this version. `*` means any; a weak mark is enough for reading, not for writing."""
    marks = [mark.strip() for mark in given.split(",")]
    return "*" in marks or etag in (mark.removeprefix("W/") if weakly else mark for mark in marks)


async def wanted(
    request: Request,
    if_match: Annotated[
        str | None, Header(description="Only if it is still this version: an ETag, several, or `*`.")
    ] = None,
    if_none_match: Annotated[str | None, Header(description="Only if it is another version than this ETag.")] = None,
) -> Wanted:
    """What the request says. A coroutine function: anything else would be run on a thread of its own."""
    only_reads = request.method in ("GET", "HEAD")
    return Wanted(if_match, if_none_match if only_reads else None, is_shown=visit_of(request).may("read"))


Conditions: TypeAlias = Annotated[Wanted, Depends(wanted)]
