"""Work that would hold the event loop: a large text to read through, many values to check. It is done on a thread.

A few such works run at a time in one process, so that the threads of everybody else stay free, and the event loop has
to share the interpreter with few of them.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

P = ParamSpec("P")
T = TypeVar("T")

LARGE: Final = 20_000
"""Characters, or as much work as they are, from which on a thread is worth it: a millisecond or two of the loop."""

AT_ONCE: Final = 2
"""Large works that run at the same time."""

_ITEM: Final = 40
"""What each value weighs beside its characters."""

_turns: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]] = WeakKeyDictionary()


async def off_loop(size: int, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do it here when it is small, and on a thread when it is large."""
    return work(*given, **named) if size <= LARGE else await in_turn(work, *given, **named)


async def in_turn(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do something large on a thread, when it has its turn.

    What its caller gives up keeps the turn until it has ended: nobody can stop it.
    """
    loop = asyncio.get_running_loop()
    turn = _turns.setdefault(loop, asyncio.Semaphore(AT_ONCE))
    await turn.acquire()
    try:
        doing = loop.run_in_executor(None, partial(copy_context().run, work, *given, **named))
    except RuntimeError:  # The loop is being closed.
        turn.release()
        raise

    def ended(done: asyncio.Future[T]) -> None:
        turn.release()
        if not done.cancelled():
            done.exception()  # Looked at, so that nobody complains of one whose caller has gone.

    doing.add_done_callback(ended)
    return await asyncio.shield(doing)


def weight(value: object, *, most: int = LARGE) -> int:
    """How large a value is: its characters, and something for each part. Counting ends beyond `most`."""
    total, waiting = 0, [value]
    while waiting and total <= most:
        one = waiting.pop()
        total += _ITEM
        match one:
            case str() | bytes():
                total += len(one)
            case Mapping():
                total += _ITEM * len(one)
                if total <= most:
                    waiting += one.keys()
                    waiting += one.values()
            case list() | tuple():
                total += _ITEM * len(one)
                if total <= most:
                    waiting += one
            case _ if is_dataclass(kind := type(one)):
                waiting += [getattr(one, name) for name in _names(kind)]
    return total


@cache
def _names(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 -- a dataclass
    return tuple(one.name for one in fields(kind))
