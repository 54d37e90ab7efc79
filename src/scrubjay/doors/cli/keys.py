"""Commands about keys: those of encryption here, and those of the API from `access`."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.doors.cli import access
from scrubjay.doors.cli.output import local, memories, note, progress, write_json, write_line, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.errors import InvalidInput
from scrubjay.model.portable import moment_text

if TYPE_CHECKING:
    from scrubjay.model.encryption import DataKey, EncryptionStatus, Rotated

app = typer.Typer(no_args_is_help=True, help="API keys, and the keys that encrypt what is stored.")
access.add_to(app)


@app.command("rotate")
@verb
def rotate(
    here: House,
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="An API key to replace. Without one: the encryption keys.")
    ] = None,
    data_keys: Annotated[
        bool, typer.Option("--data-keys", help="Give every tenant a new data key; older ones still open.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="Store everything anew that is not encrypted as configured now.")
    ] = False,
    grace: Annotated[
        int, typer.Option("--grace", min=0, metavar="MINUTES", help="How long a replaced API key is good for still.")
    ] = 0,
    json: AsJson = False,
) -> None:
    """Wrap all data keys with the first encryption key; or replace an API key. Nothing has to stop for it."""
    if key is not None:
        if data_keys or rows:
            raise typer.BadParameter("--data-keys and --rows are for encryption: leave out KEY")
        access.rotate_key(here, key, grace=timedelta(minutes=grace), json=json)
        return
    if grace:
        raise typer.BadParameter("--grace is for an API key: name the one to replace")
    with here.opened() as jay, progress("encrypting", None) as steps:
        done = jay.encryption.rotate(steps.done_of, data_keys=data_keys, rows=rows)
    _show_rotated(done, json=json)
    if rows:
        _show_left(done)


def _show_rotated(done: "Rotated", *, json: bool) -> None:
    if json:
        counts = {"wrapped": done.wrapped, "added": done.added, "rows": done.rows, "files": done.files}
        counted = {"left": done.left, "unread": list(done.unread), "complete": done.is_complete}
        write_json({"master": done.master, **counts, "others": done.others, **counted})
        return
    wrapped = f"master key {done.master} wraps every data key, {done.wrapped} of them since now"
    stored = _listed({"memories": done.rows, "files": done.files, **done.others})
    sentence = f"{wrapped}; {done.added} new data keys; stored anew: {stored}"
    others = sum(done.others.values())
    cells = (done.wrapped, done.added, done.rows, done.files, others, sum((done.left or {}).values()))
    write_line(sentence, done.master, *(f"{cell}" for cell in cells))


def _show_left(done: "Rotated") -> None:
    """Say what a rotation left behind, as it was counted; and leave with 1 when that is anything."""
    for sentence in done.unread:
        note(f"cannot be read, and may need an older data key: {sentence}")
    if done.left and any(done.left.values()):
        note(f"left under an older data key, or not encrypted: {_listed(done.left)}. Run it again")
    if not done.is_complete:
        raise typer.Exit(1)
    note(
        "counted: nothing is left under an older data key, be it memories, files, sessions, kept answers, failed work "
        "or archives. Backups and copies from before are as they were"
    )


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing"


@app.command("destroy")
@verb
def destroy(
    here: House,
    sessions_gone: Annotated[
        bool, typer.Option("--sessions-gone", help="Sessions are not kept in Redis any more, where they were last.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Delete the data keys of all tenants for good that nothing needs any more. It is counted first."""
    with here.opened() as jay:
        done = jay.encryption.destroy(sessions_gone=sessions_gone)
    if json:
        write_json({"destroyed": done.keys, "needed": done.needed, "recent": done.recent})
        return
    sentence = f"{done.keys} data keys destroyed; {done.needed} stay since something needs them"
    recent = f"{done.recent} since they encrypted within the last hour"
    write_line(f"{sentence}, {recent}", f"{done.keys}", f"{done.needed}", f"{done.recent}")


@app.command("status")
@verb
def status(here: House, json: AsJson = False) -> None:
    """Say what is encrypted, with which keys, and what of the tenant needs each of them."""
    with here.opened() as jay:
        found = jay.encryption.status()
    if json:
        write_json(_document(found))
        return
    rows = [("encrypted", found.encrypt), ("found by", found.search), ("not encrypted", memories(found.plain))]
    rows += [(f"data key {one.number}", f"{_needed_by(one)}, made {local(one.created_at)}") for one in found.keys]
    rows += [(f"master key {one}", f"wraps {found.wrapped.get(one, 0)} data keys") for one in found.masters]
    write_table(("", ""), rows)
    for unneeded in found.unneeded:
        note(f"master key {unneeded} wraps nothing any more: once no backup needs it, it can be taken out")
    for sentence in found.unread:
        note(f"cannot be read, and may need any data key: {sentence}")
    if older := [f"{one.number}" for one in found.keys[:-1] if not one.is_needed]:
        note(f"nothing of this tenant needs data key {', '.join(older)} any more: see `scrubjay keys destroy`")


def _needed_by(key: "DataKey") -> str:
    return ", ".join([memories(key.rows), *(f"{count:,} {what}" for what, count in key.others.items())])


def _document(found: "EncryptionStatus") -> dict[str, object]:
    return {
        "encrypt": found.encrypt,
        "search": found.search,
        "masters": list(found.masters),
        "wrapped": found.wrapped,
        "keys": [
            {
                "number": one.number,
                "master": one.master,
                "created_at": moment_text(one.created_at),
                "rows": one.rows,
                "others": one.others,
                "needed": one.is_needed,
            }
            for one in found.keys
        ],
        "plain": found.plain,
        "unread": list(found.unread),
    }


@app.command("generate")
@verb
def generate(
    file: Annotated[
        Path | None, typer.Option("--file", help="Put it at the top of this file, which only you can read.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Make a master key for encryption. It is shown, or kept, once: without it nothing that it wraps can be read."""
    from scrubjay.wiring.encryption import new_master_key  # noqa: PLC0415 -- --help needs none of it

    key = new_master_key()
    if file is None:
        if json:
            write_json({"key": key})
        else:
            sys.stdout.write(f"{key}\n")
        return
    _put_first(file, key)
    if json:
        write_json({"file": str(file)})
        return
    write_line(f"{file} holds the new key first. Keep a copy where the backups are not", str(file))


def _put_first(file: Path, key: str) -> None:
    """Write the key before those that are in the file: whole or not at all."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(f"{key}\n{before}")
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        with suppress(OSError):
            beside.unlink()
        raise InvalidInput(f"{file} cannot be written: {error}. Choose another place") from error
