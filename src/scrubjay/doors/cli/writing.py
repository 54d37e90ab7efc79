"""Commands that write: remember, update and forget."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from scrubjay.doors.cli import documents, views
from scrubjay.doors.cli.output import aside, local, memories, note, output, progress, write_json, write_line
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, Options, verb
from scrubjay.doors.cli.words import data_of, moment_ago, moment_ahead, standard_input, told
from scrubjay.errors import InvalidInput
from scrubjay.model import Remembered, Trust


@dataclass(frozen=True, kw_only=True)
class Details(Options):
    """What may be said of a memory beside its content."""

    kind: Annotated[
        str | None, typer.Option("--kind", "-k", help="What it is: fact, preference, instruction, message, …")
    ] = None
    key: Annotated[
        str | None, typer.Option(help="A name such as pref:indent. A new value for it replaces the old one.")
    ] = None
    data: Annotated[
        list[str] | None, typer.Option(help="Data to keep with it: KEY=VALUE, or a JSON object. Repeatable.")
    ] = None
    importance: Annotated[float | None, typer.Option(min=0, max=1, help="From 0 to 1, usually 0.5.")] = None
    source: Annotated[str | None, typer.Option(help="Where it comes from: a file, a URL, a task.")] = None
    author: Annotated[str | None, typer.Option(help="Who said it.")] = None
    reason: Annotated[str | None, typer.Option(help="Why it is worth remembering.")] = None
    expires: Annotated[
        datetime | None,
        typer.Option(parser=moment_ahead, metavar="WHEN", help="When to stop recalling it: a date, or 30d from now."),
    ] = None
    valid_from: Annotated[
        datetime | None,
        typer.Option(parser=moment_ago, metavar="WHEN", help="Since when it holds: a date, or 7d ago."),
    ] = None
    valid_to: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="Until when it held.")
    ] = None

    def said(self) -> dict[str, Any]:
        """Those that were given, as the verbs take them."""
        given = {
            "kind": self.kind,
            "key": self.key,
            "data": data_of(self.data) if self.data else None,
            "importance": self.importance,
            "source": self.source,
            "author": self.author,
            "reason": self.reason,
            "expires_at": self.expires,
            "valid_from": self.valid_from,
            "valid_to": self.valid_to,
        }
        return {name: value for name, value in given.items() if value is not None}


@verb
def remember(
    details: Details,
    here: Place,
    text: Annotated[str | None, typer.Argument(help="What to remember. `-`, or nothing: standard input.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of standard input is a memory.")] = False,
    id: Annotated[
        str | None, typer.Option(help="Your own id: telling it again with the same id is one memory.")
    ] = None,
    trust: Annotated[Trust | None, typer.Option(help="Where the words came from, usually told.")] = None,
    derived_from: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A memory that it was made from. Repeatable.")
    ] = None,
    encrypt: Annotated[bool, typer.Option("--encrypt", help="Store it encrypted. A key has to be configured.")] = False,
    json: AsJson = False,
) -> None:
    """Remember something: a text, standard input, or each line of it."""
    given = {"trust": trust, "derived_from": derived_from, "encrypt": encrypt}
    said = details.said() | {name: value for name, value in given.items() if value}
    if lines:
        _remember_lines(here, text, id, said, json=json)
        return
    content = told(text)
    with here.opened() as jay:
        done = jay.remember(content, id=id, **said, **here.where)
    _note_expired([done])
    if json:
        write_json(documents.remembered(done))
        return
    _show(done)


def _remember_lines(here: Place, text: str | None, id: str | None, said: dict[str, Any], *, json: bool) -> None:
    if id is not None or "key" in said or text not in (None, "-"):
        raise typer.BadParameter("--lines reads many memories from standard input: leave out TEXT, --id and --key")
    contents = [line for line in standard_input().splitlines() if line.strip()]
    tellings: list[Any] = [{**said, "content": line} for line in contents]
    with here.opened() as jay, progress("remembering", len(tellings)) as steps:
        done = jay.remember_many(tellings, progress=steps.done, **here.where)
    _note_expired(done)
    if json:
        write_json(documents.remembered_many(done))
        return
    counts = {outcome: sum(one.outcome == outcome for one in done) for outcome in ("stored", "unchanged", "superseded")}
    for outcome, count in counts.items():
        if count:
            write_line(f"{outcome} {memories(count)}", outcome, f"{count}")


@verb
def update(
    details: Details,
    here: Place,
    id: Annotated[str, typer.Argument(help="The id of the memory.")],
    content: Annotated[
        str | None, typer.Option("--content", "-c", help="What it says now; `-`: standard input.")
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="Go on recalling it, whatever `--expires` said before.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Correct a memory. The old version stays in its history."""
    if never_expires and details.expires is not None:
        raise typer.BadParameter("--expires and --never-expires say the opposite: leave out one of them")
    said = details.said() | ({"content": told(content)} if content is not None else {})
    if never_expires:
        said["expires_at"] = None
    if not said:
        raise typer.BadParameter("say what to change: give --content, --key, --importance or another of its options")
    with here.opened() as jay:
        done = jay.update(id, **said, **here.where)
    _note_expired([done])
    if json:
        write_json(documents.remembered(done))
        return
    _show(done)


def _note_expired(done: Sequence[Remembered]) -> None:
    """Say of what has expired already that nobody will hear of it: the date was probably meant otherwise."""
    now = datetime.now(UTC)
    expired = [at for one in done if (at := one.memory.expires_at) is not None and at <= now]
    if expired:
        note(f"{memories(len(expired))} expired before now, at {local(expired[0])}: no recall finds what has expired")


def _show(done: Remembered) -> None:
    """The id and what became of it, so that a script finds the id first."""
    known = "known already, " if done.outcome == "unchanged" else "stored "
    line = Text(known, style="green").append(str(done.id), style=views.ID)
    if done.replaced is not None:
        line.append(f" in place of {done.replaced}", style=views.BACKGROUND)
    write_line(line, str(done.id), done.outcome)
    if done.memory.redacted:
        note(f"redacted before it was stored: {', '.join(done.memory.redacted)}")


@verb
def forget(
    here: Place,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of memories.")] = None,
    key: Annotated[str | None, typer.Option(help="Or the key of one.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="Or everything in the scope.")] = False,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete for good, from every index, history included.")
    ] = False,
    reason: Annotated[str | None, typer.Option(help="Why, for the history.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    json: AsJson = False,
) -> None:
    """Forget memories, and what was made from them. Their history stays, unless they are purged."""
    with here.opened() as jay:
        if (purge or everything) and not yes:
            meant = f"everything in {here} ({memories(jay.count(**here.where))})" if everything else key or _named(ids)
            confirm(f"{'Purge' if purge else 'Forget'} {meant}{', for good' if purge else ''}?")
        given = jay.forget(ids or None, key=key, everything=everything, purge=purge, reason=reason, **here.where)
    if json:
        write_json(documents.receipt(given))
        return
    console = output()
    console.print(views.receipt(given), soft_wrap=not console.is_terminal)


def _named(ids: list[str] | None) -> str:
    return ", ".join(ids or ())


def confirm(question: str) -> None:
    """Ask before something cannot be undone; refuse where nobody can answer."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} Nobody can answer here: add --yes")
    aside().print(question, end=" [y/N] ", soft_wrap=True)
    if input().strip().lower() not in ("y", "yes"):
        raise typer.Abort
