"""Which memories may answer: the options that recall, context, list and export share."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer

from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import Options
from scrubjay.doors.cli.words import data_of, moment_ago
from scrubjay.model import AsOf

PANEL = "Which memories"
_WHEN = "WHEN"


@dataclass(frozen=True, kw_only=True)
class Sifting(Options):
    """Which memories may answer, whatever their kind. A moment is a date, in local time unless it names a zone, or a
    span such as `7d`.
    """

    key_prefix: Annotated[
        str | None, typer.Option(help="Only keys that begin so, such as pref:", rich_help_panel=PANEL)
    ] = None
    data: Annotated[
        list[str] | None,
        typer.Option(help="Only with this data: KEY=VALUE, or JSON. Repeatable.", rich_help_panel=PANEL),
    ] = None
    since: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar=_WHEN, help="Valid from then on: a date or 7d.", rich_help_panel=PANEL),
    ] = None
    until: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar=_WHEN, help="Valid from before then.", rich_help_panel=PANEL),
    ] = None
    as_of: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar=_WHEN, help="As it was known and held then.", rich_help_panel=PANEL),
    ] = None
    valid_at: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar=_WHEN, help="What held then, as known now.", rich_help_panel=PANEL),
    ] = None
    known_at: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar=_WHEN, help="What was believed then.", rich_help_panel=PANEL),
    ] = None
    least_importance: Annotated[
        float, typer.Option(min=0, max=1, help="Only as important as this.", rich_help_panel=PANEL)
    ] = 0.0

    def at(self, here: Place) -> dict[str, Any]:
        """The keywords of a verb that say this, in this place."""
        return {
            **here.where,
            "key_prefix": self.key_prefix,
            "data": data_of(self.data or ()),
            "since": self.since,
            "until": self.until,
            "as_of": self._as_of(),
            "least_importance": self.least_importance,
        }

    def _as_of(self) -> AsOf:
        if self.as_of is not None and (self.valid_at is not None or self.known_at is not None):
            raise typer.BadParameter("--as-of stands for both --valid-at and --known-at: give it alone")
        return AsOf(known_at=self.known_at or self.as_of, valid_at=self.valid_at or self.as_of)


@dataclass(frozen=True, kw_only=True)
class Narrowing(Sifting):
    """Which memories may answer, and of which kind."""

    kind: Annotated[
        list[str] | None, typer.Option("--kind", "-k", help="Only this kind. Repeatable.", rich_help_panel=PANEL)
    ] = None

    def at(self, here: Place) -> dict[str, Any]:
        """The keywords of a verb that say this, in this place."""
        return {**super().at(here), "kinds": self.kind or ()}
