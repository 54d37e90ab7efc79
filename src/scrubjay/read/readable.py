"""Readable: memories whose kind says that they hold something, and what each of them holds.

Whoever may write can have stored one that holds nothing of the sort. It is passed by, so that it harms nobody else.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from scrubjay.logs import logger
from scrubjay.model import Memory

log = logger("read")

T = TypeVar("T")

UNREADABLE: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised by whoever reads data of another form than it expects; InvalidInput is among them."""


def readable(memories: Iterable[Memory], read: Callable[[Memory], T]) -> list[tuple[Memory, T]]:
    """Each memory with what it holds, but for those that cannot be read: these are logged."""
    found: list[tuple[Memory, T]] = []
    for memory in memories:
        try:
            found.append((memory, read(memory)))
        except UNREADABLE:
            log.warning(
                "a memory does not hold what its kind says, and is left out", id=str(memory.id), kind=memory.kind
            )
    return found
