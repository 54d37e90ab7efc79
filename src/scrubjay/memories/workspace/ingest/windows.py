"""Cut text into spans of lines where no grammar helps: by headings, and by windows that end where a gap is."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

WINDOW: Final = 60
"""Lines of a window: about what one reads at a glance."""

LARGEST: Final = 6_000
"""Characters of a piece. What is longer is cut into windows."""

_FENCE: Final = re.compile(r"\s{0,3}(```|~~~)")
_HEADING: Final = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_UNDERLINE: Final = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")


class Span(NamedTuple):
    """Some lines of a file, the first and the one after the last, counted from 0; and what they define."""

    start: int
    stop: int
    symbol: str | None = None
    names: tuple[str, ...] = ()
    """All names that are defined in it, its own first."""


def is_blank(lines: Sequence[str], span: Span) -> bool:
    """Whether there is nothing in it."""
    return not any(line.strip() for line in lines[span.start : span.stop])


def trimmed(lines: Sequence[str], span: Span) -> Span:
    """The span without empty lines at its ends."""
    start, stop = span.start, span.stop
    while start < stop and not lines[start].strip():
        start += 1
    while stop > start and not lines[stop - 1].strip():
        stop -= 1
    return span._replace(start=start, stop=stop)


def windows(lines: Sequence[str], span: Span) -> list[Span]:
    """The span itself if it is short enough, or windows of it. A window ends at an empty line where it can."""
    if span.stop - span.start <= WINDOW * 4 // 3 and _size(lines, span) <= LARGEST:
        return [span]
    found: list[Span] = []
    start = span.start
    while start < span.stop:
        stop = _end(lines, start, span.stop)
        found.append(span._replace(start=start, stop=stop))
        start = stop
    return found


def _end(lines: Sequence[str], start: int, last: int) -> int:
    stop = min(start + WINDOW, last)
    if last - stop <= WINDOW // 3 and _size(lines, Span(start, last)) <= LARGEST:
        return last
    size, place = 0, start
    while place < stop and (place == start or size + len(lines[place]) <= LARGEST):
        size += len(lines[place]) + 1
        place += 1
    for gap in range(place, start + (place - start) * 2 // 3, -1):
        if gap < last and not lines[gap - 1].strip():
            return gap
    return place


def _size(lines: Sequence[str], span: Span) -> int:
    return sum(len(line) + 1 for line in lines[span.start : span.stop])


def sections(lines: Sequence[str], language: str) -> list[Span]:
    """The sections of a page, each from its heading to the next one. Its symbol is its headings from the top on."""
    headings = _underlined(lines) if language == "restructuredtext" else _marked(lines)
    if not headings:
        return [Span(0, len(lines))]
    found = [Span(0, headings[0][0])] if headings[0][0] else []
    above: list[tuple[int, str]] = []
    for (start, level, title), following in zip(headings, [*headings[1:], (len(lines), 0, "")], strict=True):
        above = [(known, name) for known, name in above if known < level] + [(level, title)]
        path = " > ".join(name for _, name in above)
        found.append(Span(start, following[0], path, (title,)))
    return found


def _marked(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Headings of Markdown: where, how deep, and what they say. Inside a fence there are none."""
    found: list[tuple[int, int, str]] = []
    fence = ""
    for place, line in enumerate(lines):
        if (mark := _FENCE.match(line)) is not None:
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and (heading := _HEADING.match(line)) is not None:
            found.append((place, len(heading[1]), heading[2]))
    return found


def _underlined(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Headings of reStructuredText: a line with a line of signs below it. The first sign that is met is the highest."""
    found: list[tuple[int, int, str]] = []
    signs: list[str] = []
    for place in range(len(lines) - 1):
        title, below = lines[place].rstrip(), lines[place + 1].rstrip()
        mark = _UNDERLINE.match(below)
        if mark is None or not title or title[0].isspace() or _UNDERLINE.match(title) or len(below) < len(title):
            continue
        if mark[1] not in signs:
            signs.append(mark[1])
        over = place > 0 and lines[place - 1].rstrip() == below
        found.append((place - over, signs.index(mark[1]) + 1, title))
    return found
