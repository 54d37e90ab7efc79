"""Lines that come one by one: from a file, from a list, or over a network, which takes its time."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Final, TypeAlias

from scrubjay.model.checks import check_several

_MANY: Final = 1_000

Lines: TypeAlias = Iterable[str] | AsyncIterable[str]
Numbered: TypeAlias = tuple[int, str]


async def numbered(lines: Lines) -> AsyncIterator[Numbered]:
    """The lines that are not blank, each with its number from 1. Raises InvalidInput for what is not several lines."""
    if not isinstance(lines, AsyncIterable):
        check_several("lines", lines)
    number = 0
    async for line in _each(lines):
        number += 1
        if number % _MANY == 0:
            await asyncio.sleep(0)  # Lines that are at hand, or blank, are never waited for.
        # Some editors begin a file with a mark of its encoding, which no reader of JSON expects.
        clean = line.removeprefix("\ufeff") if number == 1 and isinstance(line, str) else line
        if not isinstance(clean, str) or clean.strip():
            yield number, clean


async def batches(lines: AsyncIterator[Numbered], size: int) -> AsyncIterator[list[Numbered]]:
    """Numbered lines, as many at a time; the last ones may be fewer."""
    batch: list[Numbered] = []
    async for one in lines:
        batch.append(one)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def _each(lines: Lines) -> AsyncIterator[str]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line
