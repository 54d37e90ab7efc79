"""Lines that come one by one: from a file, from a list, or over a network, which takes its time."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import TypeAlias

from scrubjay.model.checks import check_several

Lines: TypeAlias = Iterable[str] | AsyncIterable[str]
Numbered: TypeAlias = tuple[int, str]


async def numbered(lines: Lines) -> AsyncIterator[Numbered]:
    """The lines that are not blank, each with its number from 1. Raises InvalidInput for what is not several lines."""
    if not isinstance(lines, AsyncIterable):
        check_several("lines", lines)
    number = 0
    async for line in _each(lines):
        number += 1
        # Some editors begin a file with a mark of its encoding, which no reader of JSON expects.
        clean = line.removeprefix("\ufeff") if number == 1 and isinstance(line, str) else line
        if not isinstance(clean, str) or clean.strip():
            yield number, clean


class Batches:
    """Numbered lines, as many at a time; the last ones may be fewer."""

    def __init__(self, lines: AsyncIterator[Numbered], size: int) -> None:
        self._lines = lines
        self._size = size
        self._ahead: list[Numbered] = []

    async def next(self) -> list[Numbered]:
        """The next ones; none when all were read."""
        batch, self._ahead = self._ahead, []
        if not batch:
            async for one in self._lines:
                batch.append(one)
                if len(batch) == self._size:
                    break
        return batch

    async def are_over(self) -> bool:
        """Whether all were read. Reads ahead, and keeps what it finds."""
        self._ahead = self._ahead or await self.next()
        return not self._ahead


async def batches(lines: AsyncIterator[Numbered], size: int) -> AsyncIterator[list[Numbered]]:
    """The same, for whoever takes all of them in turn."""
    read = Batches(lines, size)
    while batch := await read.next():
        yield batch


async def _each(lines: Lines) -> AsyncIterator[str]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line
