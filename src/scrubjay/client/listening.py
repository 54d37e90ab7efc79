"""Hearing what happens on a server: its event stream, for as long as somebody listens."""

import asyncio
import inspect
import json
import random
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from scrubjay.client.connection import Connection, Request
from scrubjay.client.values import read
from scrubjay.errors import ScrubjayError, Unavailable
from scrubjay.logs import logger
from scrubjay.model import Where
from scrubjay.ports import Event, Handler

log = logger("client")

PAUSE: Final = 2.0
"""Seconds before a stream that broke off is asked for again."""


class Listener:
    """One subscription. A stream that breaks off is taken up again where it was."""

    def __init__(self, connection: Connection, name: str, handler: Handler, where: Where, tenant: str) -> None:
        self._connection = connection
        self._name = name
        self._handler = handler
        self._where = {one: value for one, value in where.items() if value is not None}
        self._tenant = tenant
        self._last: str | None = None
        self._task = asyncio.get_running_loop().create_task(self._listen(), name="scrubjay-listener")

    def stop(self) -> None:
        """Hear nothing more. From any thread, and safe to call twice."""
        self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    async def stopped(self) -> None:
        """Stop, and wait until the stream is let go of."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _listen(self) -> None:
        while True:
            try:
                await self._hear()
            except Unavailable as error:
                log.warning("the event stream broke off", error=str(error))
            except ScrubjayError as error:
                log.warning("the event stream was refused", error=str(error))
                return
            await asyncio.sleep(PAUSE * random.uniform(0.5, 1.0))  # noqa: S311 -- not for secrecy

    async def _hear(self) -> None:
        after = {"after": self._last} if self._last is not None else {}
        asked = Request(method="GET", path="/v1/events", query={"name": self._name, **after, **self._where})
        async with self._connection.lines(asked) as lines:
            async for told in _data(lines):
                event: Event = read(Event, json.loads(told), self._tenant)
                self._last = event.id
                await self._told(event)

    async def _told(self, event: Event) -> None:
        """Call the handler, in a task of its own: what fails in it is logged, and the next event is told anyway."""
        call = asyncio.ensure_future(_called(self._handler, event))
        await asyncio.wait([call])
        if not call.cancelled() and (error := call.exception()) is not None:
            log.warning("a handler failed", name=event.name, error=str(error), exc_info=error)


async def _called(handler: Callable[[Event], Any], event: Event) -> None:
    answer = handler(event)
    if inspect.isawaitable(answer):
        await answer


async def _data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The data of each event in a stream of server-sent events. Ours have one line of it."""
    async for line in lines:
        if line.startswith("data:"):
            yield line.removeprefix("data:").strip()
