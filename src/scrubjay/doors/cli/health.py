"""The command that asks every store whether it is there."""

import typer
from rich.text import Text

from scrubjay.doors.cli.output import note, on_one_line, write_json, write_table
from scrubjay.doors.cli.place import House, log_to_standard_error
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model import Health, Json, StoreHealth
from scrubjay.model.portable import moment_text

_COLOURS = {"up": "green", "incomplete": "yellow", "down": "bold red", "unknown": "yellow"}


@verb
def health(here: House, json: AsJson = False) -> None:
    """Ask every store and model whether it is there. Exits with 1 when the records are down."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    log_to_standard_error()
    found = wiring.look_at(here.settings())
    if json:
        write_json(_document(found))
    else:
        write_table(("", "", "", ""), [_row(part, store) for part, store in found.stores.items()])
        note(f"the memory is {found.state}{f', {found.pending} wait to be indexed' if found.pending else ''}")
    if found.state == "down":
        raise typer.Exit(1)


def _row(part: str, store: StoreHealth) -> tuple[str | Text, ...]:
    answered = f"{store.milliseconds:.1f} ms" if store.milliseconds is not None else ""
    trouble = on_one_line(f"{store.error}. {store.remedy}".removesuffix(". ")) if store.error else answered
    return part, Text(store.state, style=_COLOURS[store.state]), store.name, trouble


def _document(found: Health) -> dict[str, Json]:
    stores: dict[str, Json] = {
        part: {
            "name": store.name,
            "state": store.state,
            "since": moment_text(store.since) if store.since is not None else None,
            "milliseconds": round(store.milliseconds, 2) if store.milliseconds is not None else None,
            "error": store.error or None,
            "remedy": store.remedy or None,
        }
        for part, store in found.stores.items()
    }
    return {"state": found.state, "stores": stores, "pending": found.pending}
