"""Commands that carry a whole installation, every tenant of it: move, backup and restore."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.doors.cli.output import memories, note, progress, write_json, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.errors import InvalidInput
from scrubjay.model import Json
from scrubjay.model.portable import moment_text

if TYPE_CHECKING:
    from scrubjay.wiring import BackedUp, Moved, Restored


@verb
def move(
    here: House,
    to: Annotated[str, typer.Option("--to", help="The store to fill: a sqlite:/// or postgresql:// URL.")],
    from_: Annotated[str | None, typer.Option("--from", help="The store to read. Usually the configured one.")] = None,
    vectors_from: Annotated[
        str | None, typer.Option("--vectors-from", help="Its vector engine. Usually the configured one.")
    ] = None,
    vectors_to: Annotated[
        str, typer.Option("--vectors-to", "--vectors", help="The vector engine to fill. Usually the store itself.")
    ] = "embedded",
    json: AsJson = False,
) -> None:
    """Carry everything to another store: every tenant and version, vectors, files and sessions. Safe to repeat."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    settings = here.settings()
    with progress("moving", None) as steps:
        done = wiring.move_stores(
            source=from_ or settings.records_url,
            target=to,
            source_vectors=vectors_from or settings.vectors,
            target_vectors=vectors_to,
            vectors_key=settings.vectors_key.get_secret_value(),
            mirror=settings.mirror,
            progress=steps.done_of,
        )
    if json:
        write_json({"from": done.source, "to": done.target, **_carried(done)})
        return
    write_table(("", ""), [("from", done.source), ("to", done.target), *_arrived(done)])
    if done.carried.before:
        note(f"{memories(done.carried.before)} had been carried by an earlier run")


@verb
def backup(
    here: House,
    file: Annotated[Path, typer.Argument(help="Where to. What is there is replaced when the backup is whole.")],
    json: AsJson = False,
) -> None:
    """Write everything to one file: every tenant and version, vectors, files and sessions. Others may go on writing."""
    if str(file) == "-":
        raise InvalidInput("file is '-', and a backup is read and checked after it is written: name a file")
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    with progress("backing up", None) as steps:
        done = wiring.back_up(here.settings(), file, steps.done_of)
    if json:
        write_json({"records": done.records, "file": str(done.file), **_manifest(done)})
        return
    held, vectors = done.manifest.outline, done.manifest.vectors
    counts = _counts(held.tenants, held.blobs, held.sessions, vectors)
    rows = [("records", done.records), ("file", str(done.file)), *counts]
    write_table(("", ""), [*rows, ("sha256", done.manifest.sha256)])


@verb
def restore(
    here: House,
    file: Annotated[Path, typer.Argument(help="What `scrubjay backup` wrote.")],
    force: Annotated[
        bool, typer.Option("--force", help="Also when the store is not empty. What it holds is kept aside.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Fill an empty store from a backup. The file is checked first, and what was stored is compared with it after."""
    from scrubjay import wiring  # noqa: PLC0415 -- loads the database; --help needs none of it

    with progress("restoring", None) as steps:
        done = wiring.restore_from(here.settings(), file, force=force, progress=steps.done_of)
    if json:
        shown = {"records": done.records, "aside": done.aside, "created_at": moment_text(done.manifest.created_at)}
        write_json({**shown, **_carried(done)})
        return
    rows = [("records", done.records), ("backup of", moment_text(done.manifest.created_at)), *_arrived(done)]
    write_table(("", ""), [*rows, ("kept aside", done.aside)] if done.aside is not None else rows)
    if done.manifest.version == 1:
        note("the backup is of format version 1, which holds no files and no sessions")


def _arrived(done: "Moved | Restored") -> list[tuple[str, str]]:
    carried = done.carried
    counts = _counts(carried.tenants, carried.blobs, carried.sessions, carried.vectors)
    return [*counts, ("compared", "everything is the same on both sides")]


def _counts(
    rows: dict[str, int], files: dict[str, int], sessions: dict[str, int], vectors: dict[int, int]
) -> list[tuple[str, str]]:
    """What each tenant has, and each generation."""

    def held(tenant: str) -> Iterator[str]:
        yield memories(rows.get(tenant, 0))
        for word, counted in (("file", files), ("session", sessions)):
            if count := counted.get(tenant, 0):
                yield f"{count:,} {word}{'' if count == 1 else 's'}"

    of_tenants = [(f"tenant {one}", ", ".join(held(one))) for one in sorted({*rows, *files, *sessions})]
    return of_tenants + [(f"generation {number}", f"vectors of {memories(count)}") for number, count in vectors.items()]


def _carried(done: "Moved | Restored") -> dict[str, Json]:
    carried = done.carried
    return {
        "tenants": dict(carried.tenants),
        "files": dict(carried.blobs),
        "sessions": dict(carried.sessions),
        "vectors": {str(number): count for number, count in carried.vectors.items()},
        "earlier": carried.before,
        "sha256": carried.sha256,
    }


def _manifest(done: "BackedUp") -> dict[str, Json]:
    manifest = done.manifest
    return {
        "version": manifest.version,
        "scrubjay": manifest.scrubjay,
        "schema": manifest.schema,
        "created_at": moment_text(manifest.created_at),
        "tenants": dict(manifest.outline.tenants),
        "files": dict(manifest.outline.blobs),
        "sessions": dict(manifest.outline.sessions),
        "vectors": {str(number): count for number, count in manifest.vectors.items()},
        "sha256": manifest.sha256,
    }
