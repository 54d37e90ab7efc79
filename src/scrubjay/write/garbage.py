"""Garbage: while many memories are stored at once, the search for garbage waits.

A batch makes tens of thousands of objects, holds them until it is written, and lets go of all of them without a cycle.
Python takes so many for a sign that there may be garbage, and looks through everything that the process holds: a
sixth of the time of a batch went into that, and up to a tenth of a second at once.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

MANY: Final = 100
"""Memories at once for which it is worth it. What fewer hold starts no search of everything."""


class _Waiting:
    """How many are at it, and whether the search was on before the first of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._many = 0
        self._was_on = False

    def begin(self) -> None:
        with self._lock:
            if not self._many:
                self._was_on = gc.isenabled()
                gc.disable()
            self._many += 1

    def end(self) -> None:
        with self._lock:
            self._many -= 1
            if not self._many and self._was_on:
                gc.enable()

    def forked(self) -> None:
        """In a new process nobody is at it, whoever was in the old one."""
        self._lock = Lock()
        if self._many and self._was_on:
            gc.enable()
        self._many = 0


_waiting: Final = _Waiting()
os.register_at_fork(after_in_child=_waiting.forked)


@contextmanager
def garbage_later(objects: int) -> Iterator[None]:
    """In the block, nobody searches for garbage, if so many objects are worth it. Keep the block short."""
    if objects < MANY:
        yield
        return
    _waiting.begin()
    try:
        yield
    finally:
        _waiting.end()
