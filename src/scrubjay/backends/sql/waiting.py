"""Work that is handed to a thread, and whoever waits for its answer on an event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from sqlalchemy import Connection


class Waiting:
    """Something to be done with a connection. As a context, it keeps what is raised for the one who waits for it.

    Made on the loop of whoever waits. Half as long on the way as a future of an executor, which the loop has to
    translate into one of its own.
    """

    __slots__ = ("_loop", "answer", "error", "future", "work")

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def __enter__(self) -> None:
        self.error = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True

    def settle(self) -> None:
        """Tell whoever waits what came of it."""
        with suppress(RuntimeError):  # Its loop is closed, and nobody waits.
            self._loop.call_soon_threadsafe(self._settled)

    def _settled(self) -> None:
        error, self.error = self.error, None  # Whose frames hold on to this.
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(error)
