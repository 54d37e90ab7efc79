"""What does not fit into one answer: lines of JSON that come and go, and events as they happen."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar, cast

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from scrubjay.doors.http.guard import Allowance
from scrubjay.doors.http.sizes import TOO_MANY, is_too_much
from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.off_loop import off_loop
from scrubjay.service import Scrubjay

NDJSON: Final = "application/x-ndjson"
EVENTS: Final = "text/event-stream"

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes. The longest memory fits several times."""

WAITING: Final = 1_000
"""Events that may wait for a listener. One that is slower is cut off, and catches up when it comes back."""

BEAT: Final = 15.0
"""Seconds between signs of life, so that nobody on the way takes a quiet stream for a dead one. Each comes after a look
at whether the key of the listener is still good …"""

LOOK: Final = 2.0
"""… and so does an event, if the last look was so many seconds ago."""

PIECE: Final = 65_536
"""Bytes of a large answer that are packed and sent at a time."""

Part = TypeVar("Part", str, bytes)

RETRY: Final = 2_000
"""Milliseconds after which a listener that was cut off should come back."""


async def lines_of(request: Request) -> AsyncIterator[str]:
    """The lines of a request, as they arrive. Raises InvalidInput when it is not declared as lines of JSON."""
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A web page can make a browser send text here unasked, but not this.
    if declared != NDJSON:
        raise InvalidInput(f"the body is not declared as lines of JSON: send Content-Type: {NDJSON}")
    cast("Allowance", request.state.allowance).stream()
    begun = bytearray()  # A line that has not ended yet, in however many pieces it comes.
    try:
        async for chunk in request.stream():
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                begun += line
                yield await off_loop(len(begun), _decoded, bytes(begun))
                begun.clear()
            begun += rest
            if len(begun) > LONGEST_LINE:
                raise InvalidInput(f"a line is longer than {LONGEST_LINE:,} bytes: no memory is, so split it")
    except ClientDisconnect as error:
        raise InvalidInput("the body broke off before its last line: send it again") from error
    if begun:
        yield await off_loop(len(begun), _decoded, bytes(begun))


def _decoded(line: bytes) -> str:
    if is_too_much(line):
        raise InvalidInput(f"a line holds {TOO_MANY}: {line[:60]!r}")
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise Unsupported(f"a line is not UTF-8: {line[:60]!r}") from error


async def as_lines(lines: AsyncIterator[str]) -> StreamingResponse:
    """An answer of lines. The first ones are waited for, so that what is wrong from the start is an error."""
    first = [await anext(lines, None), await anext(lines, None)]

    async def written() -> AsyncIterator[str]:
        for line in first:
            if line is not None:
                yield f"{line}\n"
        async for line in lines:
            yield f"{line}\n"

    return StreamingResponse(giving_way(written()), media_type=NDJSON)


def in_pieces(body: bytes, told: Response | None, *, status: int) -> StreamingResponse:
    """A large answer in JSON, with the status and the headers that were told of it. It is packed piece by piece."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), PIECE):
            yield body[start : start + PIECE]

    headers = {**(told.headers if told is not None else {}), "content-length": str(len(body))}
    # FastAPI leaves the status open in what it lets an endpoint tell.
    own: int | None = told.status_code if told is not None else None
    return StreamingResponse(giving_way(pieces()), own or status, headers, media_type="application/json")


async def giving_way(parts: AsyncIterator[Part]) -> AsyncIterator[Part]:
    """The same parts of an answer. After each of them everybody else is served.

    So is the news that nobody reads any more: what is ready in memory would be written to its end otherwise, and every
    part that is written to a connection that is gone is a line in the log.
    """
    async for part in parts:
        yield part
        await asyncio.sleep(0)


class Feed:
    """The events that one listener hears: those that it missed, then those that happen."""

    def __init__(self, jay: Scrubjay, name: str, where: Any) -> None:  # noqa: ANN401 -- the keywords of a place
        self._jay = jay
        self._name = name
        self._where = where
        self._waiting: asyncio.Queue[Any] = asyncio.Queue(WAITING)
        self._is_late = False
        self.stop: Callable[[], None] = jay.subscribe(name, self._hear, **where)

    async def missed(self, after: str) -> Sequence[Any]:
        """What happened since the event of this id."""
        return await self._jay.missed(self._name, after=after, limit=10_000, **self._where)

    def _hear(self, event: object) -> None:
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            self._is_late = True

    async def next(self, *, until: asyncio.Event) -> Any:  # noqa: ANN401 -- an event, which doors do not name
        """The next event; None when none came for a while. Raises StopAsyncIteration when the stream has to end."""
        if until.is_set() or (self._is_late and self._waiting.empty()):
            raise StopAsyncIteration
        heard, leaving = asyncio.create_task(self._waiting.get()), asyncio.create_task(until.wait())
        try:
            await asyncio.wait((heard, leaving), timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
            return heard.result() if heard.done() else None
        finally:
            heard.cancel()
            leaving.cancel()


class EventStream(StreamingResponse):
    """An answer that goes on for as long as somebody listens, and may listen."""

    media_type = EVENTS

    def __init__(self, feed: Feed, told: AsyncIterator[str]) -> None:
        self._feed = feed
        super().__init__(giving_way(told), headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Tell, and stop listening however it ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feed.stop()


async def told(
    feed: Feed,
    missed: Sequence[Any],
    written: Callable[[Any], str],
    *,
    until: asyncio.Event,
    may_listen: Callable[[], Awaitable[bool]],
) -> AsyncIterator[str]:
    """What was missed, then what happens, as server-sent events; until it has to end, or nobody may listen any more."""
    yield f"retry: {RETRY}\n: listening\n\n"
    last, asked = "", time.monotonic()
    for event in missed:
        last = event.id
        yield _block(event, written)
    while True:
        try:
            event = await feed.next(until=until)
        except StopAsyncIteration:
            return
        if time.monotonic() - asked >= (BEAT if event is None else LOOK):
            if not await may_listen():
                return
            asked = time.monotonic()
        if event is None:
            yield ": still here\n\n"
        elif event.id > last:
            yield _block(event, written)


def _block(event: Any, written: Callable[[Any], str]) -> str:  # noqa: ANN401 -- see `Feed.next`
    return f"id: {event.id}\nevent: {event.name}\ndata: {written(event)}\n\n"
