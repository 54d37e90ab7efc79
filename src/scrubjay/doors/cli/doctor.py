"""The doctor looks over everything that could be wrong, and says what to do about it."""

import platform
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import typer
from rich.text import Text

from scrubjay import __version__
from scrubjay.doors.cli.output import aside, memories, write_json, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.doors.cli.views import size
from scrubjay.errors import ScrubjayError

if TYPE_CHECKING:
    from scrubjay.settings import Settings

LEAST_FREE: Final = 500_000_000
"""Bytes of free disk below which writing may soon fail: migrations copy the store first."""

SLOW_SECONDS: Final = 2.0
"""A text that takes longer than this to embed makes every recall feel slow."""

_PACKAGES: Final = ("sqlalchemy", "numpy", "onnxruntime", "tokenizers", "usearch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    said: str
    remedy: str = ""
    """What to do; empty when nothing is wrong."""


Look: TypeAlias = Callable[[House, "Settings"], Iterator[Finding]]


@verb
def doctor(here: House, json: AsJson = False) -> None:
    """Look everything over: versions, files, schema, integrity, index, model, disk. Exits with 1 on a problem."""
    with aside().status("looking everything over"):
        found = list(examine(here))
    if json:
        write_json([{"about": one.about, "said": one.said, "remedy": one.remedy or None} for one in found])
    else:
        write_table(("", "", ""), [_row(one) for one in found])
    if any(one.remedy for one in found):
        raise typer.Exit(1)


def _row(one: Finding) -> tuple[Text, str, str]:
    if one.remedy:
        return Text("problem", style="bold red"), one.about, f"{one.said}: {one.remedy}"
    return Text("ok", style="green"), one.about, one.said


def examine(here: House) -> Iterator[Finding]:
    """Everything that can be looked at, in the order in which one thing needs the other."""
    yield Finding(about="versions", said=_versions())
    try:
        settings = here.settings()
    except ScrubjayError as error:
        yield Finding(about="settings", said=str(error), remedy="correct it, `scrubjay config` shows where it is set")
        return
    if settings.records_url.startswith("sqlite"):
        yield from _files(Path(settings.records_url.partition(":///")[2]))
    for look in (_schema, _store, _embedder):
        yield from _told(look, here, settings)


def _told(look: Look, here: House, settings: "Settings") -> Iterator[Finding]:
    """What a look finds; an error is a finding too, and the other looks go on."""
    try:
        yield from look(here, settings)
    except ScrubjayError as error:
        about = look.__name__.removeprefix("_")
        yield Finding(about=about, said=type(error).__name__, remedy=str(error))


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 -- slow to load; only a doctor asks

    named = [f"Scrubjay {__version__}", f"Python {platform.python_version()} on {sys.platform}"]
    for package in _PACKAGES:
        try:
            named.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            named.append(f"{package} missing")
    return ", ".join(named)


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


def _schema(_: House, settings: "Settings") -> Iterator[Finding]:
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    done = wiring.migrate_records(settings)
    changed = done.before not in (None, done.after)
    moved = f", migrated from {done.before} just now, backup {done.backup}" if changed else ""
    yield Finding(about="schema", said=f"{done.after}{moved}")


def _store(here: House, settings: "Settings") -> Iterator[Finding]:
    with here.opened() as jay:
        faults = jay.check()
        found = jay.stats()
    for fault in faults:
        said, _, remedy = fault.partition(": ")
        yield Finding(about="store", said=said, remedy=remedy or "restore a backup, or export what can be read")
    if not faults:
        yield Finding(about="integrity", said="every check passed")
    if settings.embedder != "none" and not found.pending:
        yield Finding(about="index", said=f"{memories(found.vectors)} indexed by meaning, none waits")


def _embedder(_: House, settings: "Settings") -> Iterator[Finding]:
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
