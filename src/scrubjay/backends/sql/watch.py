"""Watching a PostgreSQL server that takes long: busy is waited for, frozen or gone is noticed and cut off.

A server that was stopped in its tracks, or a network that swallows everything, never answers: no time limit that the
server itself keeps applies then. So while a call takes long, a new connection is tried beside it. A server that accepts
one is alive, and may take its time. One that does not is given up, with all connections to it: whoever waits on one of
them is freed at once, and the pool makes new ones when it is back.
"""

import asyncio
import math
import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any, Final, TypeVar
from weakref import WeakSet

from sqlalchemy import Engine, event

from scrubjay.errors import StoreUnavailable
from scrubjay.logs import logger

T = TypeVar("T")

LIFE_SECONDS: Final = 3
"""How long a new connection may take to be made while others wait already."""

_STARTING: Final = "57P03"
"""What a server says that is there but not ready for anybody."""

log = logger("postgresql")


class NoAnswer(Exception):
    """The server accepts no connection, or the one there was is silent."""


class Watch:
    """The connections of one engine, and a look at the server behind them every so many seconds."""

    def __init__(self, engine: Engine, *, seconds: float, name: str) -> None:
        self._dialect = engine.dialect
        self._arguments, self._options = engine.dialect.create_connect_args(engine.url)
        self._seconds = seconds
        self._name = name
        self._lines: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self._looking: asyncio.Task[bool] | None = None
        event.listen(engine, "connect", self._note)

    def _note(self, connection: Any, _: object) -> None:  # noqa: ANN401 -- the driver's connection
        with self._lock:
            self._lines.add(connection)

    async def over(
        self, answer: "asyncio.Future[T]", *, patience: float | None = None, seconds: float | None = None
    ) -> T:
        """Wait for the answer, and look every so many seconds whether the server is still there.

        Raises StoreUnavailable when it is not, and when the answer takes longer than `patience`.
        """
        began = time.monotonic()
        every = seconds or self._seconds
        try:
            while True:
                left = None if patience is None else began + patience - time.monotonic()
                done, _ = await asyncio.wait({answer}, timeout=every if left is None else max(0.0, min(every, left)))
                if done:
                    return answer.result()
                if left is not None and left <= every:
                    raise self._late(time.monotonic() - began)
                if not await self.is_alive():
                    raise self._late(time.monotonic() - began) from NoAnswer()
        finally:
            answer.cancel()

    def _late(self, seconds: float) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._name} has not answered for {seconds:.0f} seconds. "
            "Check that the server runs and is not overloaded; what was being written may or may not be stored"
        )

    async def is_alive(self) -> bool:
        """Whether the server accepts a connection soon. If not, those there are are cut. All who ask share one look."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self._look))
        return await asyncio.shield(self._looking)

    def _look(self) -> bool:
        patience = min(LIFE_SECONDS, math.ceil(self._seconds))
        try:
            self._dialect.connect(*self._arguments, **{**self._options, "connect_timeout": patience}).close()
        except self._dialect.loaded_dbapi.Error as error:
            # Whoever gives a reason is there; but one that is starting or stopping serves nobody.
            if getattr(error, "sqlstate", None) not in (None, _STARTING):
                return True
            log.warning("server does not answer", server=self._name, connections=len(self._lines))
            self.cut()
            return False
        return True

    def cut(self) -> None:
        """Break every connection, so that no thread waits on one any longer."""
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            # One that was closed meanwhile has no socket any more.
            gone = suppress(OSError, self._dialect.loaded_dbapi.Error)
            with gone, socket.socket(fileno=os.dup(line.fileno())) as copy:
                copy.shutdown(socket.SHUT_RDWR)
