"""Commands that carry memories out and in: export and import."""

import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, TextIO, cast

import typer

from scrubjay.doors.cli.narrowing import Narrowing
from scrubjay.doors.cli.output import memories, progress, write_json, write_line
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.files import written_to

_SHOWN = 100
"""Memories between two updates of the progress bar."""


@verb
def export(
    narrowing: Narrowing,
    here: Place,
    file: Annotated[str, typer.Argument(help="Where to. `-`: standard output.")] = "-",
    current: Annotated[
        bool, typer.Option("--current", help="Without what was replaced, forgotten or expired.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Write the memories of a scope as lines of JSON, with their history."""
    if not file:
        raise InvalidInput("file is empty: name one, or `-` for standard output")
    with here.opened() as jay:
        lines = jay.export(history=not current, **narrowing.at(here))
        if file == "-":
            # The format is UTF-8, whatever a terminal here can show.
            cast("io.TextIOWrapper", sys.stdout).reconfigure(encoding="utf-8", errors="strict", newline="\n")
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        path = Path(file)
        total = jay.stats(**here.where).versions
        with written_to(path) as target, progress("exporting", total) as steps:
            # The first line names the format.
            written = _write(lines, target, steps.done) - 1
    if json:
        write_json({"file": str(path), "memories": written})
        return
    write_line(f"{memories(written)} written to {path}", f"{written}", str(path))


def _write(lines: Iterable[str], target: BinaryIO, done: Callable[[int], None]) -> int:
    count = 0
    for line in lines:
        target.write(f"{line}\n".encode())
        count += 1
        if count % _SHOWN == 0:
            done(count)
    return count


@verb
def import_(
    here: Place,
    file: Annotated[str, typer.Argument(help="What `scrubjay export` wrote. `-`: standard input.")],
    mend: Annotated[
        bool, typer.Option("--mend", help="Let what was told later take the place of what it contradicts.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Store what an export holds, exactly, or nothing of it. Safe to repeat: what is known is left alone or closed."""
    with reading(file, headings=1) as (lines, total), here.opened() as jay, progress("checking", total) as steps:
        try:
            told = steps.each(lines, then="importing")
            new, known = jay.import_lines(told, mend=mend, progress=steps.done, **here.where)
        except UnicodeDecodeError as error:
            raise Unsupported(f"{file} is not UTF-8 text: it is no export of Scrubjay") from error
    if json:
        write_json({"new": new, "known": known})
        return
    write_line(f"{memories(new)} stored, {known:,} known already", f"{new}", f"{known}")


@contextmanager
def reading(file: str, *, headings: int = 0) -> Iterator[tuple[TextIO, int | None]]:
    """The lines of a file or of standard input, and how many those are without headings, if that can be told before."""
    with ExitStack() as files:
        source: BinaryIO
        if file == "-":
            # All of it is read before the store is opened: somebody may be typing, or press Ctrl-C.
            source = files.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(sys.stdin.buffer, source)
            source.seek(0)
        else:
            try:
                source = files.enter_context(Path(file).open("rb"))
            except OSError as error:
                raise InvalidInput(f"{file} cannot be read: {error.strerror}. Check the name") from error
        total = None
        if source.seekable():
            total = sum(1 for _ in source) - headings
            source.seek(0)
        yield files.enter_context(io.TextIOWrapper(source, encoding="utf-8")), total
