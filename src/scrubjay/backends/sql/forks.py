"""Forking beside SQLite, which keeps the locks of a file in the memory of its process, where a fork copies them.

If a thread were inside a transaction at that moment, the new process would find the file locked by itself for ever. So
a fork waits until none is, and whoever opens a file in the new process first closes the connections that it inherited.
"""

import os
import threading
from types import TracebackType
from typing import Final, Protocol
from weakref import WeakSet

from scrubjay.errors import StoreUnavailable

PATIENCE: Final = 5.0
"""Seconds that a fork waits for what is under way. Most processes that are forked never open a memory."""


class Opened(Protocol):
    """Something that has connections to a file."""

    def let_go(self) -> None:
        """Close them, in a new process that inherited them at rest."""


class Forks:
    """Knows what is open in this process. As a context, it is held by each thread that works with a file."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._forking = 0
        self._opened: WeakSet[Opened] = WeakSet()
        self._inherited: WeakSet[Opened] = WeakSet()
        self._was_at_rest = True
        if hasattr(os, "register_at_fork"):  # Where there is no fork, nothing has to be done about it.
            os.register_at_fork(before=self._rest, after_in_parent=self._go_on, after_in_child=self._begin_anew)

    def __enter__(self) -> None:
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._inside -= 1
            if self._forking:
                self._changed.notify_all()

    @property
    def is_wanted(self) -> bool:
        """Whether a fork waits: who has long to go, and can begin again, lets it through."""
        return self._forking > 0

    def open(self, opening: Opened) -> None:
        """Take note of it, after what was inherited is closed. Raises StoreUnavailable when that cannot be."""
        if self._inherited and not self._was_at_rest:
            raise StoreUnavailable(
                "this process was forked while a memory was at work, and cannot use SQLite: start it with `spawn`, or "
                "fork before you open a memory"
            )
        while self._inherited:
            self._inherited.pop().let_go()
        self._opened.add(opening)

    def _rest(self) -> None:
        # Held until the fork is made, so that nobody goes on before.
        self._changed.acquire()
        self._forking += 1
        self._changed.wait_for(lambda: self._inside == 0, PATIENCE)

    def _go_on(self) -> None:
        self._forking -= 1
        self._changed.notify_all()
        self._changed.release()

    def _begin_anew(self) -> None:
        """In the new process, which has one thread: this one."""
        self._was_at_rest = self._was_at_rest and self._inside == 0
        self._inherited |= self._opened
        self._opened = WeakSet()
        self._changed = threading.Condition(threading.Lock())
        self._inside = self._forking = 0


FORKS: Final = Forks()
