"""The group `scrubjay vectors`: what the vector engine and its mirror hold, and filling one from the other."""

from typing import TYPE_CHECKING

import typer
from rich.text import Text

from scrubjay.doors.cli.output import memories, note, on_one_line, progress, write_json, write_line, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model import Json

if TYPE_CHECKING:
    from scrubjay.model.vectors import Coverage, VectorsStatus

app = typer.Typer(no_args_is_help=True, help="Look after the vector engine and its mirror in the record store.")

_COLOURS = {"up": "green", "incomplete": "yellow", "down": "bold red", "unknown": "yellow"}


@verb
def status(here: House, json: AsJson = False) -> None:
    """Say what the vector engine and its mirror hold, and what to do about it."""
    with here.opened() as jay:
        found = jay.vectors.status()
    if json:
        write_json(_document(found))
        return
    state = Text(found.health.state, style=_COLOURS[found.health.state])
    rows: list[tuple[str | Text, ...]] = [
        ("engine", found.engine or "none yet"),
        ("address", found.health.name),
        ("state", state),
        ("mirror", "in the record store" if found.is_mirrored else "none"),
        ("waiting", memories(found.waiting)),
        *((f"generation {one.generation.number}", _told(one)) for one in found.generations),
    ]
    write_table(("", ""), rows)
    if found.health.error:
        note(found.health.error)
    if found.advice:
        note(found.advice)


@verb
def rebuild(here: House, json: AsJson = False) -> None:
    """Empty the engine and fill it from the mirror, without embedding anything again. Safe to stop and to repeat."""
    with here.opened() as jay, progress("rebuilding", None) as steps:
        done = jay.vectors.rebuild(steps.done_of)
    if json:
        write_json(
            {"generations": list(done.generations), "memories": done.memories, "embedded": done.embedded},
        )
        return
    write_line(
        f"rebuilt with vectors of {memories(done.memories)}, {done.embedded:,} of them embedded again",
        f"{done.memories}",
        f"{done.embedded}",
    )


@verb
def mirror(here: House, json: AsJson = False) -> None:
    """Copy into the mirror what the engine has and the mirror lacks. Safe to stop and to repeat."""
    with here.opened() as jay, progress("copying", None) as steps:
        copied = jay.vectors.mirror(steps.done_of)
    if json:
        write_json({"copied": copied})
        return
    write_line(f"copied vectors of {memories(copied)} into the mirror", f"{copied}")


app.command("status")(status)
app.command("rebuild")(rebuild)
app.command("mirror")(mirror)


def _told(one: "Coverage") -> str:
    held = "unknown" if one.engine is None else f"{one.engine:,}"
    mirrored = "" if one.mirror is None else f", {one.mirror:,} in the mirror"
    lacking = f", which lacks {one.unmirrored:,}" if one.unmirrored else ""
    return on_one_line(
        f"{one.generation.state}, {one.generation.identity}: {one.marked:,} indexed, {held} in the engine"
        f"{mirrored}{lacking}"
    )


def _document(found: "VectorsStatus") -> dict[str, Json]:
    return {
        "engine": found.engine,
        "address": found.health.name,
        "state": found.health.state,
        "error": found.health.error or None,
        "mirrored": found.is_mirrored,
        "filling": found.is_filling,
        "waiting": found.waiting,
        "generations": [
            {
                "number": one.generation.number,
                "state": one.generation.state,
                "model": str(one.generation.identity),
                "indexed": one.marked,
                "engine": one.engine,
                "mirror": one.mirror,
                "unmirrored": one.unmirrored,
            }
            for one in found.generations
        ],
        "advice": found.advice or None,
    }
