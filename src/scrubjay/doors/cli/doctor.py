"""The doctor looks over everything that could be wrong, and says what to do about it."""

import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from rich.text import Text

from scrubjay.doors.cli.configuration import in_force
from scrubjay.doors.cli.output import progress, write_json, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.doors.cli.views import size
from scrubjay.errors import ScrubjayError
from scrubjay.model import Finding

if TYPE_CHECKING:
    from scrubjay.settings import Settings

LEAST_FREE: Final = 500_000_000
"""Bytes of free disk below which writing may soon fail: migrations copy the store first."""

SLOW_SECONDS: Final = 2.0
"""A text that takes longer than this to embed makes every recall feel slow."""


class Ended(Exception):
    """What was found keeps the rest from being looked at."""


Look: TypeAlias = Callable[[House, "Settings", bool, Callable[[int, int], None]], Iterator[Finding]]


@verb
def doctor(
    here: House,
    fix: Annotated[
        bool,
        typer.Option("--fix", help="Put right what can be without loss: schema, indexes, marks, files and vectors."),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Take a store that lost commits, or whose rows were changed, as it is now."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Look everything over: versions, files, schema, integrity, indexes, model, disk. Exits with 1 on a problem."""
    with progress("looking everything over", None) as steps:
        found = list(_accepted(here)) if accept else []
        found += examine(here, fix=fix, progress=steps.done_of)
    if json:
        write_json([_document(one) for one in found])
    else:
        write_table(("", "", ""), [_row(one) for one in found])
    if any(one.remedy for one in found):
        raise typer.Exit(1)


def _accepted(here: House) -> Iterator[Finding]:
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    try:
        changed = wiring.accept_records(here.settings())
    except ScrubjayError as error:
        yield Finding(about="store", said=type(error).__name__, remedy=str(error))
        return
    yield Finding(about="store", said="what is there was accepted", fixed=f"{changed} rows have another checksum")


def _document(one: Finding) -> dict[str, str | None]:
    return {"about": one.about, "said": one.said, "remedy": one.remedy or None, "fixed": one.fixed or None}


def _row(one: Finding) -> tuple[Text, str, str]:
    if one.remedy:
        return Text("problem", style="bold red"), one.about, f"{one.said}: {one.remedy}"
    if one.fixed:
        return Text("fixed", style="yellow"), one.about, f"{one.said}: {one.fixed}"
    return Text("ok", style="green"), one.about, one.said


def examine(here: House, *, fix: bool, progress: Callable[[int, int], None]) -> Iterator[Finding]:
    """Everything that can be looked at, in the order in which one thing needs the other."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it
    from scrubjay.usual_variables import USUAL  # noqa: PLC0415 -- loads pydantic

    try:
        settings = here.settings()
    except ScrubjayError as error:
        yield from wiring.versions_of(None)
        yield Finding(about="settings", said=str(error), remedy="correct it, `scrubjay config` shows where it is set")
        return
    yield from wiring.versions_of(settings)
    if shared := [f"{one.name} from {one.source}" for one in in_force(here) if one.source in USUAL.values()]:
        yield Finding(about="settings", said=", ".join(shared))
    if settings.records_url.startswith("sqlite"):
        yield from _files(Path(settings.records_url.partition(":///")[2]))
    looks: list[Look] = [_schema, _store]
    try:
        for look in looks:
            yield from _told(look, here, settings, fix, progress)
    except Ended:
        pass
    yield from _told(_embedder, here, settings, fix, progress)


def _told(
    look: Look, here: House, settings: "Settings", fix: bool, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    """What a look finds; an error is a finding too, and the other looks go on."""
    try:
        yield from look(here, settings, fix, progress)
    except ScrubjayError as error:
        about = look.__name__.removeprefix("_")
        yield Finding(about=about, said=type(error).__name__, remedy=str(error))


def _files(database: Path) -> Iterator[Finding]:
    folder = next(one for one in (database.parent, *database.parents) if one.exists())
    free = shutil.disk_usage(folder).free
    enough = free >= LEAST_FREE
    yield Finding(
        about="disk", said=f"{size(free)} free", remedy="" if enough else "make room, or move SCRUBJAY_HOME elsewhere"
    )
    if not database.exists():
        yield Finding(about="files", said=f"{database} is made on the first write")
        return
    held = sum(one.stat().st_size for one in database.parent.glob(f"{database.name}*") if one.is_file())
    # It takes both to read what is remembered: to enter the folder, and to read the file.
    open_to_all = database.stat().st_mode & stat.S_IROTH and database.parent.stat().st_mode & stat.S_IXOTH
    yield Finding(
        about="files",
        said=f"{database}, {size(held)}" + (", which every user of this machine can read" if open_to_all else ""),
        remedy=f"chmod 700 '{database.parent}'" if open_to_all else "",
    )


def _schema(_: House, settings: "Settings", fix: bool, __: object) -> Iterator[Finding]:
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    found, wanted = wiring.schema_of(settings)
    if found in (None, wanted):
        yield Finding(about="schema", said=wanted)
        return
    said = f"{found}, and this version needs {wanted}"
    if not fix:
        yield Finding(about="schema", said=said, remedy="run `scrubjay migrate`, or `scrubjay doctor --fix`")
        raise Ended
    done = wiring.migrate_records(settings)
    kept = f", with a copy of the old one at {done.backup}" if done.backup is not None else ""
    yield Finding(about="schema", said=said, fixed=f"it was migrated{kept}")


def _store(here: House, _: "Settings", fix: bool, progress: Callable[[int, int], None]) -> Iterator[Finding]:
    with here.opened() as jay:
        yield from jay.examine(progress, fix=fix)


def _embedder(_: House, settings: "Settings", __: bool, ___: object) -> Iterator[Finding]:
    import asyncio  # noqa: PLC0415 -- slow to load, and only this asks something without a store

    from scrubjay import wiring  # noqa: PLC0415 -- loads the model's library; --help needs none of it

    model = wiring.configured(settings)
    if model is None:
        yield Finding(about="embedder", said="none: recall is by words only")
        return

    async def timed() -> tuple[float, float]:
        began = time.perf_counter()
        await model.embed(["to load it"])
        loaded = time.perf_counter()
        await model.embed(["one more text, to see how long it takes"], question=True)
        ended = time.perf_counter()
        await model.shut()
        return loaded - began, ended - loaded

    loading, one = asyncio.run(timed())
    yield Finding(
        about="embedder",
        said=f"{model.identity}, loads in {loading:.1f} s, {one * 1000:.0f} ms for one text",
        remedy="" if one <= SLOW_SECONDS else "a smaller model, or SCRUBJAY_EMBEDDER=static, is quicker",
    )
