"""Events inside one process."""

import asyncio
import inspect
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from scrubjay.errors import InvalidInput
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.ports import Event, Handler
from scrubjay.ports.events import check_subscription, is_named

log = logger("events")

WAITING: Final = 1_000
"""Events that may wait for one handler. It misses the oldest when there are more."""

KEPT: Final = 1_000
"""Events that a listener who was away can catch up on."""

GOODBYE_SECONDS: Final = 2.0
"""How long handlers may take to finish when the bus is shut."""

_ID: Final = re.compile(r"(\d{13})-(\d{6,20})")


def event_id(milliseconds: int, number: int) -> str:
    """The id of the event that came as this one of its millisecond. Padded, so that ids sort as text."""
    return f"{milliseconds:013d}-{number:06d}"


def parse_id(id: str) -> tuple[int, int]:
    """The two numbers of an id; the smallest for an empty one. Raises InvalidInput."""
    if not id:
        return (0, 0)
    found = _ID.fullmatch(id)
    if found is None:
        raise InvalidInput(f"the event id is {id[:60]!r}: give back one that an event had, or none")
    return int(found[1]), int(found[2])


class Listener:
    """One subscription: what waits for its handler, and the task that hands it over while anything waits."""

    def __init__(self, name: str, handler: Handler, scope: Scope | None, kinds: frozenset[str] = frozenset()) -> None:
        self.name = name
        self._handler = handler
        self._scope = scope
        self._kinds = kinds
        self._waiting: deque[Event] = deque()
        self._task: asyncio.Task[None] | None = None
        self._call_under_way: asyncio.Task[None] | None = None
        self.missed = 0
        """Events that came while too many were waiting, and pushed out older ones."""

    def tell(self, event: Event) -> None:
        """Let an event of this name wait for the handler, if it is meant for it."""
        if not event.concerns(self._scope):
            return
        if self._kinds and self._kinds.isdisjoint(_kinds_of(event)):
            return
        if len(self._waiting) >= WAITING:
            self._waiting.popleft()
            if not self.missed:
                log.warning("a handler is too slow and misses events", name=self.name)
            self.missed += 1
        self._waiting.append(event)
        # The task ends with the last event, so that nothing of a quiet bus has to be stopped.
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._hand_over(), name="scrubjay-events")

    def stop(self) -> None:
        """Hand over no more than the event that is under way."""
        self._waiting.clear()

    async def finish(self, asked_by: asyncio.Task[Any] | None) -> None:
        """Wait for the handler, but not for long. One that asks for this itself is not waited for."""
        if self._task is not None and self._call_under_way is not asked_by:
            _, late = await asyncio.wait([self._task], timeout=GOODBYE_SECONDS)
            for task in late:
                log.warning("a handler did not finish and was cancelled", name=self.name)
                task.cancel()

    async def _hand_over(self) -> None:
        while self._waiting:
            event = self._waiting.popleft()
            # As a task of its own: whatever a handler raises stays there, to be looked at and logged.
            self._call_under_way = call = asyncio.get_running_loop().create_task(self._call(event))
            try:
                await asyncio.wait([call])
            except asyncio.CancelledError:
                call.cancel()
                raise
            if not call.cancelled() and (error := call.exception()) is not None:
                log.warning("a handler failed", name=event.name, id=event.id, exc_info=error)

    async def _call(self, event: Event) -> None:
        answer = self._handler(event)
        if inspect.isawaitable(answer):
            await answer


def _kinds_of(event: Event) -> Iterable[str]:
    named = event.data.get("kinds")
    return [kind for kind in named if isinstance(kind, str)] if isinstance(named, list) else ()


class LocalEvents:
    """Carries events to the handlers of this process, and keeps the last of them. Satisfies Events and Replayed."""

    def __init__(self) -> None:
        self._listeners: tuple[Listener, ...] = ()
        self._named: dict[str, list[Listener]] = {}
        """Those who want the events of a name, as far as it was asked."""
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._last = (0, 0)

    async def publish(self, events: Sequence[Event]) -> None:
        """Give each an id and let it wait for the handlers that want it."""
        for event in events:
            stamped = Event(name=event.name, scope=event.scope, at=event.at, data=event.data, id=self.next_id())
            self._hand_on(stamped)

    def subscribe(
        self, name: str, handler: Handler, *, scope: Scope | None = None, kinds: Collection[str] = ()
    ) -> Callable[[], None]:
        """Call the handler with events of this name that concern the scope, from now on. Returns how to stop."""
        check_subscription(name)
        listener = Listener(name, handler, scope, frozenset(kinds))
        # A new tuple each time: whoever goes through the old one is not disturbed.
        self._listeners, self._named = (*self._listeners, listener), {}

        def stop() -> None:
            self._listeners, self._named = tuple(one for one in self._listeners if one is not listener), {}
            listener.stop()

        return stop

    async def since(self, scope: Scope, id: str, *, limit: int = 1_000) -> list[Event]:
        """Return what this process published after that id, of the last thousand."""
        parse_id(id)
        return [event for event in self._kept if event.id > id and event.concerns(scope)][:limit]

    async def shut(self) -> None:
        """Let the handlers finish what they have, then forget them."""
        listeners, self._listeners, self._named = self._listeners, (), {}
        await asyncio.gather(*(listener.finish(asyncio.current_task()) for listener in listeners))

    def deliver(self, events: Sequence[Event]) -> None:
        """Hand on events that have ids already, in this order."""
        for event in events:
            self._last = max(self._last, parse_id(event.id))
            self._hand_on(event)

    def _hand_on(self, event: Event) -> None:
        self._kept.append(event)
        listeners = self._named.get(event.name)
        if listeners is None:
            listeners = [one for one in self._listeners if is_named(event, one.name)]
            self._named[event.name] = listeners
        for listener in listeners:
            listener.tell(event)

    def next_id(self) -> str:
        """An id greater than that of every event before, also of those that were delivered."""
        now = time.time_ns() // 1_000_000
        milliseconds, number = self._last
        self._last = (now, 0) if now > milliseconds else (milliseconds, number + 1)
        return event_id(*self._last)
