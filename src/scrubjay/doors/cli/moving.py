"""Commands that carry memories out and in: export and import."""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from scrubjay.doors.cli.narrowing import Narrowing
from scrubjay.doors.cli.output import note, progress, write_json, write_table
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.errors import InvalidInput, Unsupported

_SHOWN = 100
"""Memories between two updates of the progress bar."""


@verb
def export(
    here: Place,
    narrowing: Narrowing,
    file: Annotated[str, typer.Argument(help="Where to. `-`: standard output.")] = "-",
    current: Annotated[bool, typer.Option("--current", help="Leave out what was replaced, forgotten or expired.")] = False,
    json: AsJson = False,
) -> None:
    """Write the memories of a scope as lines of JSON, with their history."""
    with here.opened() as jay:
        lines = jay.export(history=not current, **narrowing.at(here))
        if file == "-":
            sys.stdout.writelines(f"{line}\n" for line in lines)
            return
        path = Path(file)
        total = jay.stats(**here.where).versions
        with _replacing(path) as target, progress("exporting", total) as steps:
            # The first line names the format.
            written = _write(lines, target, steps.done) - 1
    if json:
        write_json({"file": str(path), "memories": written})
        return
    write_table(("memories", "file"), [(f"{written}", str(path))])


def _write(lines: Iterable[str], target: TextIO, done: "_Done") -> int:
    count = 0
    for line in lines:
        target.write(f"{line}\n")
        count += 1
        if count % _SHOWN == 0:
            done(count)
    return count


class _Done:
    """Takes how many are done."""

    def __call__(self, done: int, /) -> None: ...


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A file that takes its name only when it is whole, readable by its owner only. A failure leaves what was there."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}. Choose another place") from error
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:  # noqa: PTH123 -- a handle, not a path
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@verb
def import_(
    here: Place,
    file: Annotated[str, typer.Argument(help="What `scrubjay export` wrote. `-`: standard input.")],
    json: AsJson = False,
) -> None:
    """Store what an export holds, exactly. Safe to repeat: what is known already is left alone."""
    with _reading(file) as (lines, total), here.opened() as jay, progress("importing", total) as steps:
        try:
            new, known = jay.import_lines(lines, progress=steps.done, **here.where)
        except UnicodeDecodeError as error:
            raise Unsupported(f"{file} is not UTF-8 text: it is no export of Scrubjay") from error
    if json:
        write_json({"new": new, "known": known})
        return
    write_table(("outcome", "memories"), [("new", f"{new}"), ("known", f"{known}")])
    if not new and not known:
        note("the file holds no memories")


@contextmanager
def _reading(file: str) -> Iterator[tuple[Iterable[str], int | None]]:
    """The lines of a file, and how many memories that are if it can be told beforehand."""
    if file == "-":
        yield (line.decode() for line in sys.stdin.buffer), None
        return
    path = Path(file)
    try:
        with path.open("rb") as counted:
            total = sum(1 for _ in counted) - 1 if path.is_file() else None
        opened = path.open(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}. Check the name") from error
    with opened as lines:
        yield lines, total
