"""Lets one object be awaited and be called without `await`, whichever way its memory was opened."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import shown
from scrubjay.service import Scrubjay
from scrubjay.sync import SyncScrubjay
from scrubjay.sync.forward import Loop

T = TypeVar("T")


class Bridge:
    """Runs the verbs of a memory where it lives.

    One that was opened with `scrubjay.open()` has an event loop of its own and can be used from everywhere. One that
    was opened with `scrubjay.open_async()` lives on the loop of its opener: it is awaited there, and may be called
    without `await` from other threads only.
    """

    def __init__(self, jay: Scrubjay | SyncScrubjay) -> None:
        self._loop: Loop | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        match jay:
            case SyncScrubjay():
                self.jay: Scrubjay = jay._verbs  # noqa: SLF001 -- our own class
                self._loop = jay._loop  # noqa: SLF001 -- our own class
            case Scrubjay():
                self.jay = jay
                self._home = _running()
            case _:
                raise InvalidInput(f"jay is {shown(jay)}: give a memory, from scrubjay.open() or scrubjay.open_async()")

    async def awaited(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, and wait for it without blocking."""
        here = asyncio.get_running_loop()
        if self._loop is not None:
            return await asyncio.wrap_future(self._loop.submit(work))
        if self._home is None or self._home.is_closed():
            self._home = here
        if self._home is here:
            return await work()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_whole(work), self._home_running()))

    def blocking(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do it, and block until it is done. Raises InvalidInput where that would wait for itself."""
        if self._loop is not None:
            return self._loop.run(work)
        home = self._home_running()
        if home is _running():
            raise InvalidInput(
                "a call without await blocks the event loop that it needs: await its other form, such as aput for put, "
                "or open the memory with scrubjay.open()"
            )
        return asyncio.run_coroutine_threadsafe(_whole(work), home).result()

    def _home_running(self) -> asyncio.AbstractEventLoop:
        if self._home is None or not self._home.is_running():
            raise InvalidInput(
                "the memory was opened with scrubjay.open_async(), and its event loop does not run: use it there, or "
                "open it with scrubjay.open()"
            )
        return self._home


async def _whole(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
