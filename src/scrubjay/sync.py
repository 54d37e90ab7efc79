"""The same verbs, blocking. Forwards only: an event loop runs on a thread of its own, and nothing has a second body."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

from scrubjay.errors import Closed
from scrubjay.read.narrow import Narrow
from scrubjay.service import Scrubjay

P = ParamSpec("P")
T = TypeVar("T")


class _Loop:
    """An event loop on a daemon thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scrubjay", daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        self._stopping = False

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run it there and wait for it here."""

        async def whole() -> T:
            return await work()

        with self._lock:
            if self._stopping:
                raise Closed
            done = asyncio.run_coroutine_threadsafe(whole(), self._loop)
        return done.result()

    def stop(self) -> None:
        """Let what other threads have begun come to its end, then end the thread. Safe to call twice."""
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
        asyncio.run_coroutine_threadsafe(_finished(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _finished() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)


def _forward(
    verb: Callable[Concatenate[Scrubjay, P], Awaitable[T]],
) -> Callable[Concatenate["SyncScrubjay", P], T]:
    def forwarded(self: "SyncScrubjay", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._loop.run(lambda: verb(self._jay, *args, **kwargs))

    forwarded.__name__ = verb.__name__
    forwarded.__qualname__ = f"SyncScrubjay.{verb.__name__}"
    forwarded.__doc__ = verb.__doc__
    forwarded.__wrapped__ = verb  # type: ignore[attr-defined]  # so that help() shows the signature
    return forwarded


class SyncScrubjay:
    """Memory for agents, without `await`. See `Scrubjay`: the verbs and their keywords are the same."""

    def __init__(self, jay: Scrubjay) -> None:
        self._jay = jay
        self._loop = _Loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Bring the store up to date and begin. `scrubjay.open()` has done it for you."""
        try:
            self._loop.run(self._jay.start)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        try:
            self._loop.run(self._jay.close)
        except Closed:
            return
        self._loop.stop()

    remember = _forward(Scrubjay.remember)
    remember_many = _forward(Scrubjay.remember_many)
    update = _forward(Scrubjay.update)
    forget = _forward(Scrubjay.forget)
    recall = _forward(Scrubjay.recall)
    context = _forward(Scrubjay.context)
    get = _forward(Scrubjay.get)
    history = _forward(Scrubjay.history)
    around = _forward(Scrubjay.around)
    list = _forward(Scrubjay.list)
    count = _forward(Scrubjay.count)
    stats = _forward(Scrubjay.stats)
    import_lines = _forward(Scrubjay.import_lines)
    reindex = _forward(Scrubjay.reindex)
    rollback = _forward(Scrubjay.rollback)
    sweep = _forward(Scrubjay.sweep)
    check = _forward(Scrubjay.check)

    def export(self, **narrow: Unpack[Narrow]) -> Iterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed."""
        lines = self._jay.export(**narrow)
        while (line := self._loop.run(lambda: anext(lines, None))) is not None:
            yield line

    def for_tenant(self, tenant: str) -> "SyncScrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        other = SyncScrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._jay = self._jay.for_tenant(tenant)  # noqa: SLF001 -- our own class
        return other

    def __repr__(self) -> str:
        return repr(self._jay)
