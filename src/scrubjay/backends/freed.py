"""Memory that is free again, given back to the system: the C library of Linux keeps it, in case it is wanted again."""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache


def give_back() -> None:
    """Give back what is free, a few milliseconds. For those who needed much more for a while than before or after."""
    trim = _trim()
    if trim is not None:
        trim(0)


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
