"""Wait until a memory has read vectors and words into memory, as it does once in each process."""

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrubjay import Scrubjay

READING = ("scrubjay-load", "scrubjay-words")
"""The threads that read vectors and words into memory."""


async def settle(jay: "Scrubjay", asking: Sequence[str]) -> None:
    """Ask these, and wait until nothing is read into memory any more."""
    for question in asking:
        await jay.recall(question, touch=False)
    while any(thread.name in READING for thread in threading.enumerate()):  # noqa: ASYNC110 -- nothing to await
        await asyncio.sleep(0.05)
