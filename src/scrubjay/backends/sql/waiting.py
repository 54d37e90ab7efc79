"""Work that is handed to a thread, and whoever waits for its answer on an event loop."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Later(Exception):
    """Raised by a read that cannot be made before something has happened: then it is made again, from its beginning.

    So whoever waits keeps no thread from others. `event` may end with why it did not happen.
    """

    def __init__(self, event: Future[None]) -> None:
        super().__init__("this read has to wait")
        self.event = event


class Attempt:
    """Something to be done with a connection. As a context, it keeps what is raised for whoever waits for it."""

    __slots__ = ("answer", "error", "work")

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        self.error = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self.error = error
        return True


class Waiting(Attempt):
    """The same for one who waits for it, made on their loop.

    Half as long on the way as a future of an executor, which the loop has to translate into one of its own.
    """

    __slots__ = ("future", "loop")

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        super().__init__(work)
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()

    def settle(self) -> None:
        """Tell whoever waits what came of it."""
        with suppress(RuntimeError):  # Its loop is closed, and nobody waits.
            self.loop.call_soon_threadsafe(self.settled)

    def settled(self) -> None:
        """The same, on the loop of whoever waits."""
        error, self.error = self.error, None  # Whose frames hold on to this.
        if self.future.done():
            return
        if error is None:
            self.future.set_result(self.answer)
        else:
            self.future.set_exception(error)


def settle(waited: Sequence[Waiting]) -> None:
    """Tell everybody who waits what came of it. Of one loop, all at once: each call wakes it up."""
    if len(waited) == 1:
        waited[0].settle()
        return
    for loop, those in groupby(waited, attrgetter("loop")):
        together = list(those)
        with suppress(RuntimeError):  # The loop is closed, and nobody waits.
            loop.call_soon_threadsafe(_settled, together)


def _settled(waited: Sequence[Waiting]) -> None:
    for one in waited:
        one.settled()


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    coroutine.close()
    raise RuntimeError("it waits for something else than a read of this database")
