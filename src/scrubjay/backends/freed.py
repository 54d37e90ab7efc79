"""Memory that is free again, given back to the system: the C library of Linux keeps it, in case it is wanted again."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Final

SELDOM: Final = 20
"""How many times as long as it took it is not done again: others, who want memory meanwhile, have to wait for it."""

_next: list[float] = [0.0]
"""From when on it may be done again, in seconds of a clock that only goes forward."""


def give_back() -> None:
    """Give back what is free. For those who needed much more for a while than before or after.

    It takes a few milliseconds, or a tenth of a second where many small things were freed among a gigabyte of others.
    """
    trim, began = _trim(), time.monotonic()
    if trim is not None and began >= _next[0]:
        trim(0)
        ended = time.monotonic()
        _next[0] = ended + SELDOM * (ended - began)


@cache
def _trim() -> Callable[[int], int] | None:
    """What glibc has for it; None where there is another library, or another system, that sees to it itself."""
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 -- who reads nothing in bulk needs none of it

    with suppress(OSError, AttributeError):
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
        return trim
    return None
