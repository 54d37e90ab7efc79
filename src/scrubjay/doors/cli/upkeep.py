"""Commands that look after a store: stats, reindex and migrate."""

from typing import Annotated

import typer

from scrubjay.doors.cli import documents, views
from scrubjay.doors.cli.output import memories, note, progress, write_json, write_line, write_table
from scrubjay.doors.cli.place import House, Place
from scrubjay.doors.cli.verb import AsJson, verb


@verb
def stats(here: Place, json: AsJson = False) -> None:
    """Say what a scope holds and how the memory is doing."""
    with here.opened() as jay:
        found = jay.stats(**here.where)
    if json:
        write_json(documents.stats(found))
        return
    write_table(("", ""), views.stats(found))


@verb
def reindex(
    here: House,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Make all that is derived from the records again: words, indexes and every vector."
        ),
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Let the configured model answer, also when it was replaced before.")
    ] = False,
    words: Annotated[bool, typer.Option("--words", help="The same, but for the vectors.")] = False,
    rollback: Annotated[bool, typer.Option("--rollback", help="Go back to the model that answered before.")] = False,
    sweep: Annotated[bool, typer.Option("--sweep", help="Delete the vectors of models that no longer answer.")] = False,
    json: AsJson = False,
) -> None:
    """Index what waits, or what a new model needs. Safe to stop and to repeat."""
    if [words, rollback, sweep, rebuild or adopt].count(True) > 1:
        raise typer.BadParameter("choose one of --words, --rollback, --sweep, or --rebuild with or without --adopt")
    if rollback:
        _rollback(here, json=json)
        return
    if sweep:
        _sweep(here, json=json)
        return
    with here.opened() as jay, progress("indexing", None) as steps:
        done = jay.reindex(steps.done_of, rebuild=rebuild, adopt=adopt, words=words)
    if json:
        write_json({"indexed": done})
        return
    write_line(f"indexed {memories(done)}", f"{done}")


def _rollback(here: House, *, json: bool) -> None:
    with here.opened() as jay:
        active = jay.rollback()
    if json:
        write_json(documents.generation(active))
        return
    write_line(f"generation {active.number}, {active.identity}, answers now", f"{active.number}", str(active.identity))


def _sweep(here: House, *, json: bool) -> None:
    with here.opened() as jay:
        gone = jay.sweep()
    if json:
        write_json([documents.generation(one) for one in gone])
        return
    for one in gone:
        write_line(f"deleted generation {one.number}, {one.identity}", f"{one.number}", str(one.identity))
    if not gone:
        note("there was nothing to delete")


@verb
def migrate(here: House, json: AsJson = False) -> None:
    """Bring the store to the schema of this version. Opening it does the same, with the same backup first."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    done = wiring.migrate_records(here.settings())
    if json:
        backup = str(done.backup) if done.backup is not None else None
        write_json({"records": done.records, "from": done.before, "to": done.after, "backup": backup})
        return
    rows = [("records", done.records), ("schema before", done.before or "none: it is new"), ("schema now", done.after)]
    write_table(("", ""), [*rows, ("backup", str(done.backup))] if done.backup is not None else rows)
    if done.before == done.after:
        note("it was up to date")
