"""Events between processes, through one Redis stream that all of them write to and read."""

import asyncio
import json
import uuid
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from scrubjay.backends.events import LocalEvents, event_id, parse_id
from scrubjay.backends.redis.connection import PREFIX, Client, RedisConnection
from scrubjay.errors import ScrubjayError, StoreUnavailable
from scrubjay.logs import logger
from scrubjay.model import PLACE_NAMES, Scope
from scrubjay.ports import Event, Handler
from scrubjay.ports.telemetry import LISTEN

log = logger("events")

STREAM: Final = f"{PREFIX}:events"
"""No tenant's name is in it, so it can be no tenant's key."""
KEPT: Final = 10_000
"""Events that the stream holds, about: they take 2.5 MB, and after bulk writes up to 49 MB."""
OUTBOX: Final = 10_000
"""Events that may wait to be sent. The oldest go when there are more."""
BATCH: Final = 200
BLOCK_SECONDS: Final = 1.0
GOODBYE_SECONDS: Final = 1.0
READY_SECONDS: Final = 0.5
PAUSE: Final = 0.2
MOST_PAUSE: Final = 2.0
Entry: TypeAlias = tuple[bytes, dict[bytes, bytes]]
StreamId: TypeAlias = tuple[int, int]

REMEMBERED: Final = 2_000
"""Tokens of late events that are remembered, so that none is handed over twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """An event on its way, with a token by which it is known again: one that is sent twice is handed over once."""

    event: Event
    token: str


class RedisEvents:
    """Carries events to the handlers of every process on this Redis. Satisfies Events and Replayed.

    What a process publishes comes back to it through the stream, so that all see one order and the same ids. While
    Redis is away, a process hears itself.
    """

    def __init__(self, connection: RedisConnection, *, kept: int = KEPT) -> None:
        self._connection = connection
        self._kept = kept
        self._local = LocalEvents()
        self._outbox: deque[Outgoing] = deque()
        self._tokens = (f"{uuid.uuid4().hex[:12]}-{number}" for number in count())
        self._known: deque[str] = deque(maxlen=REMEMBERED)
        self._sender: asyncio.Task[None] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._finding = asyncio.Lock()
        self._position: StreamId | None = None
        """The last that was read; None until the end of the stream was found."""
        self._sent: StreamId = (0, 0)
        self._all_heard = asyncio.Event()
        """Set while all that was sent from here has come back."""
        self._all_heard.set()
        self._is_shut = False
        self.lost = 0
        """Events that were published faster than they could be sent."""

    async def ready(self) -> None:
        """Find the end of the stream: what is published from now on is heard. Returns soon, also without Redis."""
        try:
            await self._find_end(within=READY_SECONDS)
        except StoreUnavailable as error:
            log.warning("events of other processes are not heard yet", error=str(error))

    async def publish(self, events: Sequence[Event]) -> None:
        """Put them on their way, and return."""
        if self._is_shut:
            return
        for event in events:
            if len(self._outbox) >= OUTBOX:
                self._outbox.popleft()
                if not self.lost:
                    log.warning("more events than can be sent", waiting=OUTBOX)
                self.lost += 1
            self._outbox.append(Outgoing(event=event, token=next(self._tokens)))
        # The task ends with the last event, so that nothing of a quiet bus has to be stopped.
        if self._outbox and (self._sender is None or self._sender.done()):
            self._sender = _started(self._send())

    def subscribe(
        self, name: str, handler: Handler, *, scope: Scope | None = None, kinds: Collection[str] = ()
    ) -> Callable[[], None]:
        """Call the handler with events of any process from now on. Returns how to stop."""
        stop = self._local.subscribe(name, handler, scope=scope, kinds=kinds)
        self._is_shut = False
        if self._reader is None or self._reader.done():
            self._reader = _started(self._read())
        return stop

    async def since(self, scope: Scope, id: str, *, limit: int = 1_000) -> list[Event]:
        """Return what any process published after that id, as far as the stream holds it."""
        found: dict[str, Event] = {}
        position = parse_id(id)
        while len(found) < limit:
            page = await self._page(position)
            for entry, fields in page:
                token, event = _event_of(entry, fields)
                if event is not None and event.concerns(scope):
                    found.setdefault(token, event)
            if len(page) < BATCH:
                break
            position = _numbers(page[-1][0])
        return list(found.values())[:limit]

    async def shut(self) -> None:
        """Send what waits, hear what was sent, let the handlers finish, all within bounds, and close the connection."""
        self._is_shut = True
        if self._sender is not None:
            await asyncio.wait([self._sender], timeout=GOODBYE_SECONDS)
        if self._reader is not None and not self._reader.done():
            try:
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await self._all_heard.wait()
            except TimeoutError:
                log.warning("events were sent and not heard in time")
        for task in (self._sender, self._reader):
            # The driver may take a cancellation for a timeout of its own and go on, so it is told until it has ended.
            while task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=0.1)
        self._sender = self._reader = None
        self._position = None
        await self._local.shut()
        await self._connection.shut()

    async def _send(self) -> None:
        while self._outbox:
            batch = [self._outbox.popleft() for _ in range(min(BATCH, len(self._outbox)))]
            try:
                # Else the reader might begin behind what is sent now.
                await self._find_end()
                self._note_sent(await self._connection.call(partial(self._add, batch)))
            except StoreUnavailable:
                self._known.extend(one.token for one in batch)
                self._local.deliver([replace(one.event, id=self._local.next_id()) for one in batch])

    async def _add(self, batch: Sequence[Outgoing], client: Client) -> bytes:
        async with client.pipeline(transaction=False) as pipeline:
            for one in batch:
                fields = {"token": one.token, "event": _written(one.event)}
                pipeline.xadd(STREAM, fields, maxlen=self._kept, approximate=True)
            ids: list[bytes] = await pipeline.execute()
        return ids[-1]

    def _note_sent(self, last: bytes) -> None:
        self._sent = max(self._sent, _numbers(last))
        if self._position is not None and self._position < self._sent:
            self._all_heard.clear()

    async def _find_end(self, *, within: float | None = None) -> None:
        async with self._finding:
            if self._position is None:
                self._position = await self._connection.call(_end_of_stream, within=within)

    async def _read(self) -> None:
        pause = 0.0
        while True:
            try:
                if pause:
                    # A quick question first: the one call that may try again must not be one that waits for events.
                    await self._connection.ping()
                await self._find_end()
                self._deliver(await self._connection.call(self._wait_for_more, operation=LISTEN))
                pause = 0.0
            except StoreUnavailable:
                pause = min(MOST_PAUSE, pause * 2 or PAUSE)
                await asyncio.sleep(pause)

    async def _wait_for_more(self, client: Client) -> list[Entry]:
        # Shorter than the timeout, so that a server that is frozen is told from one where nothing happens.
        block = int(1_000 * min(BLOCK_SECONDS, self._connection.timeout / 2))
        position = _stream_id(self._position) if self._position is not None else "$"
        answer = await client.xread({STREAM: position}, count=BATCH, block=block)
        return answer[0][1] if answer else []

    def _deliver(self, entries: list[Entry]) -> None:
        for entry, fields in entries:
            self._position = _numbers(entry)
            token, event = _event_of(entry, fields)
            if event is not None and token not in self._known:
                self._known.append(token)
                self._local.deliver([event])
        if self._position is not None and self._position >= self._sent:
            self._all_heard.set()

    async def _page(self, after: StreamId) -> list[Entry]:
        start = f"({_stream_id(after)}"
        return await self._connection.call(lambda client: client.xrange(STREAM, min=start, count=BATCH))


async def _end_of_stream(client: Client) -> StreamId:
    last: list[Entry] = await client.xrevrange(STREAM, count=1)
    return _numbers(last[0][0]) if last else (0, 0)


def _written(event: Event) -> str:
    scope = event.scope
    places = {"tenant": scope.tenant, **dict(zip(PLACE_NAMES, scope.names(), strict=True))} if scope else {}
    value = {
        "name": event.name,
        "scope": {name: place for name, place in places.items() if place is not None} or None,
        "at": event.at.isoformat(),
        "data": event.data,
    }
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _event_of(entry: bytes, fields: dict[bytes, bytes]) -> tuple[str, Event | None]:
    """The token and the event of an entry; no event when a newer version or another program wrote it."""
    try:
        value = json.loads(fields[b"event"])
        scope = Scope(**value["scope"]) if value["scope"] is not None else None
        at = datetime.fromisoformat(value["at"])
        name, data = str(value["name"]), dict(value["data"])
        event = Event(name=name, scope=scope, at=at, data=data, id=event_id(*_numbers(entry)))
        return fields[b"token"].decode(), event
    except (ScrubjayError, LookupError, TypeError, ValueError) as error:
        log.warning("an event cannot be read", id=entry.decode(errors="replace"), error=repr(error))
        return "", None


def _numbers(entry: bytes) -> StreamId:
    milliseconds, _, number = entry.decode().partition("-")
    return int(milliseconds), int(number)


def _stream_id(numbers: StreamId) -> str:
    return f"{numbers[0]}-{numbers[1]}"


def _started(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work, name="scrubjay-events")
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Task[None]) -> None:
    """Nothing is expected here; if it happens, it must not pass unseen."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("events have stopped", exc_info=error)
