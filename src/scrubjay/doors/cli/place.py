"""Where a command works: the store that it opens, and the scope that it names there."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from scrubjay.doors.cli.verb import Options
from scrubjay.doors.here import HERE, project_of
from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.logs import FIELDS
from scrubjay.model import PLACE_NAMES, Where

if TYPE_CHECKING:
    from scrubjay.settings import Settings
    from scrubjay.sync import SyncScrubjay

_STORE = "Store"
SCOPE = "Scope"
_DOWN = "store is down"


def _named(project: str | None) -> str | None:
    """The project by its name: `.` is the repository of the working directory, as `workspace ingest` names it."""
    if project != HERE:
        return project
    try:
        return project_of(Path())
    except InvalidInput as error:
        # Options are read before the command begins, and only there an error of ours becomes one line.
        raise typer.BadParameter(str(error)) from error


Project: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        callback=_named,
        help="Which project it is about; . is the repository you are in.",
        rich_help_panel=SCOPE,
    ),
]


@dataclass(frozen=True, kw_only=True)
class House(Options):
    """Which store, for commands that concern all of it."""

    home: Annotated[
        Path | None, typer.Option(help="The folder of the store (SCRUBJAY_HOME).", rich_help_panel=_STORE)
    ] = None
    tenant: Annotated[str | None, typer.Option(help="The tenant (SCRUBJAY_TENANT).", rich_help_panel=_STORE)] = None

    @property
    def given(self) -> dict[str, object]:
        """The settings that were given on the command line."""
        return {name: value for name in ("home", "tenant") if (value := getattr(self, name)) is not None}

    def settings(self, **given: object) -> "Settings":
        """What the environment and the command line say. A command ends before anything could run in the background."""
        from scrubjay.settings import read_settings  # noqa: PLC0415 -- pydantic takes a while; --help needs none of it

        return read_settings(**self.given, background=False, **given)

    @contextmanager
    def opened(self, *, lasts: bool = False) -> Iterator["SyncScrubjay"]:
        """Open the store, and close it whatever happens. A command that `lasts` goes on until somebody ends it."""
        from scrubjay import wiring  # noqa: PLC0415 -- loads the database and the model's library; --help needs none

        said = log_to_standard_error()
        given: dict[str, Any] = {**self.given, "background": False}
        with nullcontext() if lasts else said.once(), wiring.open(**given) as jay:
            yield jay


@dataclass(frozen=True, kw_only=True)
class Place(House):
    """Which store, and which scope in it. What is not named is open."""

    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose it is.", rich_help_panel=SCOPE)] = None
    project: Project = None
    agent: Annotated[str | None, typer.Option("--agent", "-a", help="Which agent's.", rich_help_panel=SCOPE)] = None
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="Which conversation.", rich_help_panel=SCOPE)
    ] = None
    workflow: Annotated[
        str | None, typer.Option("--workflow", "-w", help="Which run of a workflow.", rich_help_panel=SCOPE)
    ] = None

    @property
    def where(self) -> Where:
        """The scope as keywords of a verb."""
        return {name: getattr(self, name) for name in PLACE_NAMES}  # type: ignore[return-value]  # those of Where

    def __str__(self) -> str:
        named = [f"{name}={value}" for name, value in self.where.items() if value is not None]
        return " ".join(named) or "the whole store"


def log_to_standard_error(least: str = "warning") -> "_Lines":
    """Let what the library says from this level on reach people as one line each, away from what a program reads."""
    said, lines = logging.getLogger("scrubjay"), _Lines(least.upper())
    said.handlers = [lines]
    if not said.isEnabledFor(lines.level):
        said.setLevel(lines.level)
    return lines


class _Lines(logging.Handler):
    """Writes an event and its details as a sentence would."""

    _held: list[logging.LogRecord] | None = None

    @contextmanager
    def once(self) -> Iterator[None]:
        """Meanwhile, hold back that a store is down: a command that ends for that reason says so itself."""
        held: list[logging.LogRecord] = []
        self._held = held
        ended = ""
        try:
            yield
        except ScrubjayError as error:
            ended = str(error)
            raise
        finally:
            self._held = None
            for record in held:
                if _fields(record).get("error") != ended:
                    self.emit(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Write it, or hold it back."""
        fields, held = _fields(record), self._held
        if held is not None and fields.get("event") == _DOWN:
            held.append(record)
            return
        said = f"{record.levelname.lower()}: {fields.pop('event', '')}"
        about = ", ".join(f"{name} {value}" for name, value in fields.items())
        sys.stderr.write(f"{said} ({about})\n" if about else f"{said}\n")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return dict(getattr(record, FIELDS, None) or {"event": record.getMessage()})
