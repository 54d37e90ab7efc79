"""How a verb that is awaited becomes one that blocks: it runs on an event loop that has a thread of its own."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Concatenate, Generic, ParamSpec, TypeVar

from scrubjay.errors import Closed

P = ParamSpec("P")
T = TypeVar("T")
Verbs_co = TypeVar("Verbs_co", covariant=True)


class Loop:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scrubjay", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._stopping = False
        self._process = os.getpid()

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run it there and wait for it here."""
        return self.submit(work).result()

    def submit(self, work: Callable[[], Awaitable[T]]) -> Future[T]:
        """Run it there, and return what will hold the answer."""

        async def whole() -> T:
            return await work()

        if self._is_elsewhere:
            raise Closed("this memory was opened before the process forked: open another one here, in the new process")
        with self._lock:
            if self._stopping:
                raise Closed
            return asyncio.run_coroutine_threadsafe(whole(), self._loop)

    def stop(self) -> None:
        """Let what other threads have begun come to its end, then end the thread. Safe to call twice."""
        if self._is_elsewhere:
            return
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
        asyncio.run_coroutine_threadsafe(_finished(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def _is_elsewhere(self) -> bool:
        # A fork takes no threads along. Whoever waited for this one would wait for ever, and for its lock as well.
        return os.getpid() != self._process


async def _finished() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


class Blocking(Generic[Verbs_co]):
    """The verbs of an awaited object, each made a blocking one by `forward`."""

    def __init__(self, verbs: Verbs_co, loop: Loop) -> None:
        self._verbs = verbs
        self._loop = loop

    def __repr__(self) -> str:
        return repr(self._verbs)


def forward(
    verb: Callable[Concatenate[Verbs_co, P], Awaitable[T]],
) -> Callable[Concatenate[Blocking[Verbs_co], P], T]:
    """The same verb, blocking."""

    def forwarded(self: Blocking[Verbs_co], /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By its name: the verbs may be those of a server, which has the same ones.
        named: Callable[P, Awaitable[T]] = getattr(self._verbs, verb.__name__)
        return self._loop.run(lambda: named(*args, **kwargs))

    forwarded.__name__ = verb.__name__
    forwarded.__qualname__ = f"Sync{verb.__qualname__}"
    forwarded.__doc__ = verb.__doc__
    forwarded.__wrapped__ = verb  # type: ignore[attr-defined]  # so that help() shows the signature
    return forwarded
