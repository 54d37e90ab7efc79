"""Commands about access: keys create, list, revoke and rotate, and the audit log."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from scrubjay.doors.cli.output import local, note, write_json, write_line, write_table
from scrubjay.doors.cli.place import House
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.doors.cli.words import moment_ago, moment_ahead
from scrubjay.doors.here import HERE, project_of
from scrubjay.model.access import RIGHTS, ApiKey, AuditEntry, NewKey, Right
from scrubjay.model.portable import moment_text

if TYPE_CHECKING:
    from scrubjay.model import Json

KeyId = Annotated[str, typer.Argument(metavar="KEY", help="A key's id, as `scrubjay keys list` shows it.")]


def add_to(keys: typer.Typer) -> None:
    """Add the commands about API keys to the group `keys`."""
    keys.command("create")(create)
    keys.command("list")(list_)
    keys.command("revoke")(revoke)


@verb
def create(
    here: House,
    name: Annotated[str, typer.Argument(help="What to call it, such as ci or anna's laptop.")],
    rights: Annotated[
        list[str] | None,
        typer.Option("--right", "-r", help=f"What it may do: {', '.join(RIGHTS)}. Repeatable; read and write if not."),
    ] = None,
    users: Annotated[list[str] | None, typer.Option("--user", "-u", help="Bind it to this user. Repeatable.")] = None,
    projects: Annotated[
        list[str] | None,
        typer.Option("--project", "-p", help="Bind it to this project; . is the repository you are in. Repeatable."),
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", "-a", help="Bind it to this agent. Repeatable.")
    ] = None,
    expires: Annotated[
        datetime | None,
        typer.Option(parser=moment_ahead, metavar="WHEN", help="When it ends: a date, or from now such as 90d."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Make an API key for the tenant, and show it this once: only a hash of it is kept."""
    with here.opened() as jay:
        is_first = not jay.access.wants_keys()
        made = jay.access.create_key(
            name,
            rights=cast("list[Right]", rights or ["read", "write"]),
            users=users or (),
            projects=[project_of(Path()) if project == HERE else project for project in projects or ()],
            agents=agents or (),
            expires_at=expires,
        )
    show_new(made, json=json)
    if is_first:
        note("this is the first key: from now on, every HTTP request needs one, on this machine too")


@verb
def list_(here: House, json: AsJson = False) -> None:
    """List the API keys of the tenant, revoked and expired ones too."""
    with here.opened() as jay:
        found = jay.access.keys()
    if json:
        write_json([_document(key) for key in found])
        return
    now = datetime.now(UTC)
    rows = [
        (
            key.id,
            key.name,
            " ".join(key.rights),
            str(key.bounds) if key.bounds else "",
            key.state(now),
            local(key.expires_at),
            local(key.used_at),
        )
        for key in found
    ]
    write_table(("key", "name", "rights", "bound to", "state", "expires", "last used"), rows)
    if not found:
        note("there is no key: only this machine can use the service, and needs none")


@verb
def revoke(here: House, key: KeyId, json: AsJson = False) -> None:
    """End an API key: the next request with it is refused, whichever process gets it."""
    with here.opened() as jay:
        found = jay.access.revoke(key)
    if json:
        write_json(_document(found))
        return
    write_line(f"key {found.id} ({found.name}) is revoked", found.id)


def rotate_key(here: House, key: str, *, grace: timedelta, json: bool) -> None:
    """Replace an API key by a new one that may do the same, and show the new one."""
    with here.opened() as jay:
        made = jay.access.rotate(key, grace=grace)
    show_new(made, json=json)
    until = f"in {grace}" if grace else "now"
    note(f"the old key ends {until}")


@verb
def audit(
    here: House,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many entries, at most.")] = 100,
    before: Annotated[int | None, typer.Option(help="Older than the entry of this number.")] = None,
    since: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="From then on: a date or 7d.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what was done to keys and taken out of the memory, newest first: who, what and when, never content."""
    with here.opened() as jay:
        found = jay.access.audit(limit=limit, before=before, since=since)
    if json:
        write_json([_entry(one) for one in found])
        return
    rows = [(str(one.number), local(one.at), one.key or "local", one.action, one.target, one.request) for one in found]
    write_table(("number", "at", "key", "action", "of", "request"), rows)
    if not found:
        note("nothing was done yet")


def show_new(made: NewKey, *, json: bool) -> None:
    """Print a key that was just made: alone on standard output, so that a script can take it from there."""
    if json:
        write_json({**_document(made.key), "text": made.text})
        return
    sys.stdout.write(f"{made.text}\n")
    note(f"key {made.key.id} ({made.key.name}) may {', '.join(made.key.rights)}. Keep it safe: it is not shown again")


def _document(key: ApiKey) -> "dict[str, Json]":
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "rights": list(key.rights),
        "users": list(key.bounds.users),
        "projects": list(key.bounds.projects),
        "agents": list(key.bounds.agents),
        "state": key.state(datetime.now(UTC)),
        "created_at": moment_text(key.created_at),
        "expires_at": _moment(key.expires_at),
        "revoked_at": _moment(key.revoked_at),
        "used_at": _moment(key.used_at),
    }


def _entry(one: AuditEntry) -> "dict[str, Json]":
    return {
        "number": one.number,
        "at": moment_text(one.at),
        "tenant": one.tenant,
        "key": one.key,
        "action": one.action,
        "target": one.target,
        "ids": [str(each) for each in one.ids],
        "request": one.request,
    }


def _moment(moment: datetime | None) -> str | None:
    return moment_text(moment) if moment is not None else None
