"""How a command speaks: tables for people, tab-separated lines for pipes, JSON for programs.

What memories say is never taken for markup, and control characters in it never reach a terminal.
"""

import codecs
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrubjay.errors import ScrubjayError

if TYPE_CHECKING:
    from rich.progress import Progress

_PICTURES: Final = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_DIRECTIONS: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Bidirectional embeddings, overrides and isolates. They make a terminal show what follows in another order."""

_CONTROLS: Final = {**_PICTURES, 0x7F: 0x2421, **dict.fromkeys((*range(0x80, 0xA0), *_DIRECTIONS), 0xFFFD)}
"""Control characters, and what is shown for them: an escape sequence in a memory must not steer the terminal."""

_SHOWN: Final = 100
"""Items between two updates of a progress bar."""


def output() -> Console:
    """Standard output, for answers."""
    return Console(markup=False, highlight=False, emoji=False)


def aside() -> Console:
    """Standard error, for everything that is not the answer."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def visible(text: str) -> str:
    """The text with its control characters made visible, except for new lines and tabs."""
    return text.translate(_CONTROLS)


def on_one_line(text: str) -> str:
    """The text with every run of white space made one space."""
    return visible(" ".join(text.split()))


def local(moment: datetime | None) -> str:
    """A moment in local time, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment is not None else ""


def write_json(value: object) -> None:
    """Print one JSON document: on several lines for a terminal, on one for a program."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(value, ensure_ascii=_loses(sys.stdout), indent=indent) + "\n")


def _loses(stream: TextIO) -> bool:
    """Whether there are characters that this stream cannot write. JSON can say them all in ASCII."""
    return codecs.lookup(stream.encoding or "utf-8").name != "utf-8"


def write_text(text: str) -> None:
    """Print a text as it is; on a terminal with its control characters made visible."""
    sys.stdout.write((visible(text) if sys.stdout.isatty() else text) + "\n")


def write_table(columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
    """Print a table for people; for a pipe, one line for each row with tabs between the cells and no heading."""
    console = output()
    if not console.is_terminal:
        for row in rows:
            sys.stdout.write("\t".join(on_one_line(str(cell)) for cell in row) + "\n")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else visible(cell) for cell in row))
    console.print(table)


def write_line(sentence: str | Text, *cells: str) -> None:
    """Print a sentence for people; for a pipe, what it is about, with tabs between."""
    console = output()
    if console.is_terminal:
        console.print(sentence, soft_wrap=True)
    else:
        sys.stdout.write("\t".join(on_one_line(cell) for cell in cells) + "\n")


def memories(count: int) -> str:
    """A number of memories, in words."""
    return f"{count:,} {'memory' if count == 1 else 'memories'}"


def note(message: str) -> None:
    """Say something on the side, on standard error."""
    aside().print(Text(on_one_line(message), style="dim"), soft_wrap=True)


def complain(error: ScrubjayError, *, as_json: bool) -> None:
    """Say what went wrong, in one line on standard error."""
    if as_json:
        told = {"error": type(error).__name__, "message": str(error)}
        sys.stderr.write(json.dumps(told, ensure_ascii=_loses(sys.stderr)) + "\n")
        return
    aside().print(Text("error: ", style="bold red") + Text(on_one_line(str(error))), soft_wrap=True)


@contextmanager
def progress(doing: str, total: int | None) -> Iterator["Steps"]:
    """Show how far something is, on standard error, while it lasts and where somebody looks."""
    from rich import progress as bars  # noqa: PLC0415 -- most commands are done before a bar could be drawn

    console = aside()
    bar = bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        yield Steps(bar, doing, total)


class Steps:
    """How far it is. Its methods are what the verbs of the library take as `progress`."""

    def __init__(self, bar: "Progress", doing: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(doing, total=total)

    def done(self, done: int) -> None:
        """So many are done."""
        self._bar.update(self._task, completed=done)

    def each(self, items: Iterable[str], *, then: str) -> Iterator[str]:
        """These, counted as they are taken; what comes after all were is done under another name, from the start."""
        for count, item in enumerate(items, 1):
            yield item
            if count % _SHOWN == 0:
                self._bar.update(self._task, completed=count)
        self._bar.update(self._task, completed=0, description=then)

    def done_of(self, done: int, total: int) -> None:
        """So many are done, of so many in all."""
        self._bar.update(self._task, completed=done, total=total)
