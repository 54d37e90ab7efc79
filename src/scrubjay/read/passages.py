"""Passages: the part of a long memory that was found, cut so that it can be read by itself."""

from collections.abc import Iterator
from typing import Final

from scrubjay.model import Memory
from scrubjay.model.citations import CODE_KIND
from scrubjay.model.tasks import read_apart

SHORT: Final = 400
"""Characters of a memory that is written whole, whichever part of it was found; and of what was done in a task."""

CUT: Final = "…"
"""Stands where something is left out."""

_BEGINNINGS: Final = (0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05)
"""Shares of a passage that are tried where all of it finds no room."""

_LEAST: Final = 40
"""Characters of a beginning that is worth reading."""


def part_of(memory: Memory, start: int, stop: int | None) -> tuple[int, int] | None:
    """Where the part lies that was found; None when that is all of the content.

    Of code it is whole lines: half of one says something else, and without its indentation nobody knows where it is.
    """
    content = memory.content
    if stop is not None and memory.kind == CODE_KIND:
        start, end = content.rfind("\n", 0, max(0, start)) + 1, content.find("\n", max(0, stop - 1))
        # Behind the last line are only ends of lines: nothing is left out.
        stop = end if content[end:].strip("\r\n") and end >= 0 else len(content)
    if stop is None or (start <= 0 and stop >= len(content)):
        return None
    return start, stop


def passage_of(memory: Memory, start: int, stop: int | None) -> str:
    """The part that was found of a much longer memory, marked where it was cut. A task also tells what was done."""
    content = memory.content
    part = None if len(content) <= SHORT else part_of(memory, start, stop)
    if part is None:
        return content
    start, stop = part
    if memory.kind == CODE_KIND:
        return _lines(content, start, stop)
    said = content[start:stop].rstrip()
    said = f"{f'{CUT} {said.lstrip()}' if start > 0 else said}{f' {CUT}' if stop < len(content) else ''}"
    done, _ = read_apart(memory)[-1]
    if stop > done:
        return said
    return f"{said}\n{content[done : done + SHORT].strip()}{f' {CUT}' if len(content) > done + SHORT else ''}"


def beginnings_of(memory: Memory, passage: str) -> Iterator[str]:
    """The passage, cut shorter and shorter between words, or of code between lines, and marked where it ends."""
    end = "\n" if memory.kind == CODE_KIND else " "
    for share in _BEGINNINGS:
        stop = passage.rfind(end, 0, int(len(passage) * share) + 1)
        if stop >= _LEAST:
            yield f"{passage[:stop].rstrip()}{end}{CUT}"


def _lines(content: str, start: int, stop: int) -> str:
    """The lines as they stand in the file. What is left out is a mark on a line of its own, indented like the next."""
    lines = content[start:stop].strip("\n").split("\n")
    before = [_indentation(lines[0]) + CUT] if content[:start].strip() else []
    after = [_indentation(lines[-1]) + CUT] if content[stop:].strip() else []
    return "\n".join([*before, *lines, *after])


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
