"""How long ago something was, also for a machine that slept meanwhile.

The monotonic clock of most systems stands still while the machine sleeps, and with it everybody's idea of how old
something is. Whoever holds what others may have taken over by then has to know.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final


def _awake_or_not() -> Callable[[], float]:
    """A clock that only goes forward and goes on while the machine sleeps; where there is none, the monotonic one."""
    # On macOS it is `time.monotonic` that stands still, and the clock which has that name that does not.
    clock = getattr(time, "CLOCK_MONOTONIC" if sys.platform == "darwin" else "CLOCK_BOOTTIME", None)
    return time.monotonic if clock is None else partial(time.clock_gettime, clock)


moment: Final = _awake_or_not()
"""Seconds since some moment in the past, which is the same one as long as the process lives."""


class Since:
    """A moment, and the seconds since. The clock on the wall is asked too: what stood still was told the time anew.

    That may be a virtual machine that was paused, or a system without a clock that goes on in its sleep. A wall clock
    that is set forward makes something look older than it is, which costs another look; set back, it is not believed.
    """

    __slots__ = ("_at", "_at_wall")

    def __init__(self) -> None:
        self._at = moment()
        self._at_wall = time.time()

    @property
    def seconds(self) -> float:
        """How long ago it was, or longer."""
        return max(moment() - self._at, time.time() - self._at_wall)
