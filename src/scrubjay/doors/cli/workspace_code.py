"""Commands about the code of a repository: ingest, code, files, cite, check and secrets."""

from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from scrubjay.doors.cli import documents, views
from scrubjay.doors.cli.output import note, output, progress, write_json, write_line, write_table
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model import Json
from scrubjay.model.citations import CheckedCitation
from scrubjay.model.code import CodeHit, IngestReport, RelevantFile
from scrubjay.model.portable import to_json

if TYPE_CHECKING:
    from scrubjay.sync import SyncScrubjay

_SHOWN = 20
"""Redacted secrets and citations that are listed one by one; --json has all of them."""

_NOTHING = "nothing fits in {}: read the repository in with `scrubjay workspace ingest FOLDER`, or ask more widely"

_STATES = {"fresh": "green", "drifted": "yellow", "orphaned": "red"}
_WORST_FIRST = ("orphaned", "drifted", "fresh")


@verb
def ingest(
    here: Place,
    path: Annotated[Path, typer.Argument(help="The repository, or a folder in it.")] = Path(),
    since: Annotated[
        str | None, typer.Option(metavar="REV", help="Only what differs from this commit, and the history after it.")
    ] = None,
    history: Annotated[int, typer.Option(min=0, help="Commits of the past to remember; 0 for none.")] = 1_000,
    watch: Annotated[bool, typer.Option("--watch", help="Go on: remember what is saved, until Ctrl-C.")] = False,
    skipped: Annotated[bool, typer.Option("--skipped", help="List what was left out, and the evidence.")] = False,
    json: AsJson = False,
) -> None:
    """Read a repository: functions, classes, sections and commits. Again, it touches only what changed."""
    if watch and since is not None:
        raise typer.BadParameter("--watch reads all of it first: leave out --since")
    with here.opened(lasts=watch) as jay:
        if watch:
            _watch(jay, path, history, here, json=json)
            return
        with progress("reading", None) as steps:
            done = jay.workspace.ingest(path, since=since, history=history, progress=steps.done_of, **here.where)
    _show(done, json=json, skipped=skipped)


def _watch(jay: "SyncScrubjay", path: Path, history: int, here: Place, *, json: bool) -> None:
    stop = Event()
    try:
        jay.workspace.watch(
            path, history=history, report=lambda done: _show(done, json=json, skipped=False), stop=stop, **here.where
        )
    except KeyboardInterrupt:
        note("stopped")
    finally:
        # What is being written is finished; closing the store waits for it.
        stop.set()


def _show(done: IngestReport, *, json: bool, skipped: bool) -> None:
    if json:
        write_json(_report(done))
        return
    counts = f"{done.files:,} files: {done.added:,} new, {done.changed:,} changed, {done.removed:,} gone"
    line = Text("ingested ", style="green").append(done.project, style=views.ID)
    line.append(f"  {counts}; {done.pieces:,} pieces, {done.commits:,} commits in {done.seconds:.1f} s")
    figures = (done.files, done.added, done.changed, done.removed, done.pieces, done.commits)
    write_line(line, done.project, *map(str, figures))
    for one in done.redactions[:_SHOWN]:
        note(f"redacted {one}")
    if len(done.redactions) > _SHOWN:
        note(f"and {len(done.redactions) - _SHOWN:,} more secrets; --json lists all")
    if skipped:
        write_table(("left out", "because", "evidence"), [(one.path, one.reason, one.evidence) for one in done.skipped])
    for remark in done.notes:
        note(remark)


def _report(done: IngestReport) -> dict[str, Json]:
    return {
        **{name: value for name, value in asdict(done).items() if name not in ("skipped", "redactions", "notes")},
        "seconds": round(done.seconds, 3),
        "skipped": [asdict(one) for one in done.skipped],
        "redactions": [asdict(one) for one in done.redactions],
        "notes": list(done.notes),
    }


@verb
def code(
    here: Place,
    query: Annotated[str, typer.Argument(help="What is looked for.")],
    language: Annotated[str | None, typer.Option("--language", "-l", help="Only in this language.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 10,
    json: AsJson = False,
) -> None:
    """Find pieces of code, each compared with the working tree: fresh, drifted or orphaned."""
    with here.opened() as jay:
        found = jay.workspace.search_code(query, limit=limit, language=language, **here.where)
    if json:
        write_json({"hits": [_hit(one) for one in found], "degraded": list(found.degraded)})
        return
    write_table(("score", "code", "state", "why"), [_hit_row(one) for one in found])
    if not found:
        note(_NOTHING.format(here))


def _hit(one: CodeHit) -> dict[str, Json]:
    return {
        "score": round(one.hit.score, 4),
        "why": one.hit.why,
        "state": one.state,
        "cited": [_checked(checked) for checked in one.cited],
        "memory": to_json(one.memory),
    }


def _hit_row(one: CodeHit) -> tuple[str | Text, ...]:
    data = one.memory.data
    place = f"{data.get('path')}:{data.get('start')}-{data.get('stop')}"
    symbol = data.get("symbol")
    state = one.state or "not checked"
    where = Text(place, style=views.ID).append(f"  {symbol}" if symbol else "")
    return (f"{one.hit.score:.2f}", where, Text(state, style=_STATES.get(state, "dim")), one.warning or one.hit.why)


@verb
def files(
    here: Place,
    task: Annotated[str, typer.Argument(help="What is to be done.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 10,
    json: AsJson = False,
) -> None:
    """Say which files most likely matter for a task, and why."""
    with here.opened() as jay:
        found = jay.workspace.relevant_files(task, limit=limit, **here.where)
    if json:
        write_json({"files": [_file(one) for one in found], "degraded": list(found.degraded)})
        return
    write_table(
        ("score", "file", "why", "look at"),
        [(f"{one.score:.2f}", Text(one.path, style=views.ID), one.why, ", ".join(one.symbols[:3])) for one in found],
    )
    if not found:
        note(_NOTHING.format(here))


def _file(one: RelevantFile) -> dict[str, Json]:
    return {
        "path": one.path,
        "score": round(one.score, 4),
        "why": one.why,
        "symbols": list(one.symbols),
        "tasks": [str(task) for task in one.tasks],
        "signals": {name: round(value, 4) for name, value in one.signals.items()},
    }


@verb
def cite(
    here: Place,
    content: Annotated[str, typer.Argument(help="What there is to say about the code.")],
    code: Annotated[
        list[str], typer.Option("--code", "-c", help="What it is about: PATH, PATH:10-20 or PATH#SYMBOL. Repeatable.")
    ],
    repo: Annotated[Path, typer.Option("--repo", "-r", help="The repository: its folder, or any path in it.")] = Path(),
    kind: Annotated[str, typer.Option("--kind", "-k", help="What sort of memory.")] = "note",
    json: AsJson = False,
) -> None:
    """Remember something about code, so that it says when the code has changed since."""
    with here.opened() as jay:
        done = jay.workspace.cite(content, code, repo_path=repo, kind=kind, **here.where)
    if json:
        write_json(documents.remembered(done))
        return
    write_line(Text("stored ", style="green").append(str(done.id), style=views.ID), str(done.id), done.outcome)


@verb
def check(
    here: Place,
    id: Annotated[str, typer.Argument(help="The memory whose citations to check.")],
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help=f"At most this many, what changed first: {_SHOWN}, all with --json."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare the code that a memory cites with the working tree: what is gone first, then what has changed."""
    with here.opened() as jay:
        found = jay.workspace.check(id, **here.where)
    most = limit or (len(found) if json else _SHOWN)
    shown = sorted(found, key=lambda one: _WORST_FIRST.index(one.state))[:most]
    if json:
        write_json([_checked(one) for one in shown])
    else:
        rows = [(Text(one.state, style=_STATES[one.state]), str(one.citation), _now(one)) for one in shown]
        write_table(("state", "cited", "now"), rows)
    if not found:
        note("it cites no code, or the repository is not on this machine")
    if len(found) > most:
        fresh = sum(1 for one in found if one.state == "fresh")
        note(f"and {len(found) - most:,} more; of all {len(found):,}, {fresh:,} are fresh. --limit shows more")


def _now(one: CheckedCitation) -> str:
    return f"{one.now} ({' and '.join(one.drift)})" if one.now is not None else ""


def _checked(one: CheckedCitation) -> dict[str, Json]:
    now = one.now.data if one.now is not None else None
    cited = {name: value for name, value in one.citation.data.items() if name != "excerpt"}
    return {"state": one.state, "drift": list(one.drift), "cited": cited, "now": now}


@verb
def secrets(here: Place, json: AsJson = False) -> None:
    """Look for secrets in everything that is stored, every version of it. Exits with 1 when there are some."""
    with here.opened() as jay, progress("reading", None) as steps:
        found = jay.workspace.scan_secrets(progress=steps.done, **here.where)
    if json:
        rows = [{**asdict(one), "id": str(one.id), "kinds": list(one.kinds)} for one in found.found]
        write_json({"memories": found.memories, "found": rows})
    else:
        rows_shown = [
            (str(one.id), one.memory_kind, one.place, ", ".join(one.kinds), "current" if one.current else "past")
            for one in found.found
        ]
        write_table(("memory", "kind", "where", "secret", "version"), rows_shown)
        note(f"read {found.memories:,} versions, {len(found.found):,} places hold secrets")
        if found.found:
            note("tell the memory again without it, then delete it with `scrubjay forget ID --purge`")
    if found.found:
        output().file.flush()
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Add these commands to those about the workspace."""
    for command in (ingest, code, files, cite, check, secrets):
        app.command(command.__name__)(command)
