"""Commands about completed jobs: record, search, get, backfill, seed, prune and stats."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from scrubjay.doors.cli import views, workspace_code, workspace_views
from scrubjay.doors.cli.output import note, output, progress, write_json, write_line, write_table, write_text
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, Options, verb
from scrubjay.doors.cli.words import json_of, moment_ago, span
from scrubjay.model.workspace import CompletionStatus

app = typer.Typer(no_args_is_help=True, help="The workspace: what we know about this code.")

_ANY_REPO = "Only of this repository: its folder, or any path in it."
Repo = Annotated[Path, typer.Option("--repo", "-r", help="The repository: its folder, or any path in it.")]
AnyRepo = Annotated[Path | None, typer.Option("--repo", "-r", help=_ANY_REPO)]


@dataclass(frozen=True, kw_only=True)
class Made(Options):
    """What may be said of a job beside its goal."""

    file: Annotated[
        list[str] | None, typer.Option("--file", "-f", help="A file that it made or changed. Repeatable.")
    ] = None
    summary: Annotated[str | None, typer.Option(help="What was done.")] = None
    task_id: Annotated[str | None, typer.Option(help="Its id: told again, it is corrected.")] = None
    language: Annotated[str | None, typer.Option("--language", "-l", help="Usually seen by the files.")] = None
    model: Annotated[str | None, typer.Option(help="The model that did it.")] = None
    mode: Annotated[str | None, typer.Option(help="How it was done, such as single or duel.")] = None
    status: Annotated[CompletionStatus, typer.Option(help="How it ended; only what succeeded is kept.")] = "succeeded"
    artifact: Annotated[str | None, typer.Option(help="A file or folder that it left behind.")] = None
    zip: Annotated[str | None, typer.Option(help="A zip file that it left behind.")] = None
    tests: Annotated[str | None, typer.Option(help="How its tests went, as JSON or text.")] = None
    include_glob: Annotated[
        list[str] | None, typer.Option(help="A pattern of files that it was given, as 'src/**/*.py'. Repeatable.")
    ] = None
    session_id: Annotated[str | None, typer.Option(help="The session that it was done in.")] = None
    at: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="When it was done: a date, or 2h ago.")
    ] = None

    def said(self) -> dict[str, Any]:
        """Those that were given, as the verb takes them."""
        # A path on the command line begins in the current folder, wherever the repository is.
        given = {
            **{name: getattr(self, name) for name in ("summary", "task_id", "language", "model", "mode", "status")},
            **{name: getattr(self, name) for name in ("session_id", "at")},
            "include_globs": self.include_glob or None,
            "files": [str(Path(one).absolute()) for one in self.file or ()],
            "artifact": Path(self.artifact).absolute() if self.artifact else None,
            "zip": Path(self.zip).absolute() if self.zip else None,
            "tests": json_of(self.tests) if self.tests is not None else None,
        }
        return {name: value for name, value in given.items() if value is not None}


@app.command("record")
@verb
def record(
    made: Made,
    here: Place,
    goal: Annotated[str, typer.Argument(help="What was asked for.")],
    repo: Repo = Path(),
    json: AsJson = False,
) -> None:
    """Remember a job that is done, with its files. The same task told again is corrected."""
    with here.opened() as jay:
        done = jay.workspace.store_completion(goal=goal, repo_path=repo, **made.said(), **here.where)
    if json:
        write_json(workspace_views.stored(done))
        return
    if done.completion is None:
        note(done.reason)
        return
    kept = {"stored": "stored ", "unchanged": "known already, "}.get(done.outcome, "corrected ")
    line = Text(kept, style="green").append(str(done.id), style=views.ID)
    line.append(f"  {len(done.completion.files)} files, {done.completion.bytes:,} bytes", style=views.BACKGROUND)
    files, size = len(done.completion.files), done.completion.bytes
    write_line(line, str(done.id), done.outcome, str(files), str(size))
    for cut in done.completion.cuts:
        note(cut)


@app.command("search")
@verb
def search(
    here: Place,
    query: Annotated[str, typer.Argument(help="What is looked for; nothing: the newest.")] = "",
    repo: AnyRepo = None,
    language: Annotated[str | None, typer.Option("--language", "-l", help="Only in this language.")] = None,
    model: Annotated[str | None, typer.Option(help="Only done by this model.")] = None,
    mode: Annotated[str | None, typer.Option(help="Only done this way, such as duel.")] = None,
    status: Annotated[CompletionStatus, typer.Option(help="succeeded, or rejected for losers of duels.")] = "succeeded",
    since: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="Done from then on: a date or 7d.")
    ] = None,
    until: Annotated[datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="Done before then.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 5,
    json: AsJson = False,
) -> None:
    """Find completed jobs, by words, by meaning, and by the paths and symbols that you name."""
    with here.opened() as jay:
        found = jay.workspace.search_memories(
            repo,
            language,
            query,
            limit,
            model=model,
            mode=mode,
            status=status,
            since=since,
            until=until,
            **here.where,
        )
    if json:
        write_json(workspace_views.hits(found))
        return
    console = output()
    if console.is_terminal:
        for place, hit in enumerate(found, 1):
            console.print(workspace_views.hit_view(hit, place))
    else:
        write_table((), [workspace_views.hit_row(hit) for hit in found])
    if not found:
        note(
            "no completed job fits: record some with `scrubjay workspace record`, or ask more widely. "
            "What the code itself says is found by `scrubjay workspace code`"
        )
    if found.degraded:
        note(f"answered without {', '.join(found.degraded)}: `scrubjay doctor` says what is wrong")


@app.command("get")
@verb
def get(
    here: Place,
    id: Annotated[str, typer.Argument(help="The id of a completed job.")],
    file: Annotated[str | None, typer.Option("--file", "-f", help="Print what was kept of this file.")] = None,
    json: AsJson = False,
) -> None:
    """Show one completed job in full, and whether the working tree still has its files as they were."""
    with here.opened() as jay:
        found = jay.workspace.get(id, **here.where)
    if file is not None:
        write_text(workspace_views.text_of(found, file))
    elif json:
        write_json(workspace_views.detail(found))
    elif (console := output()).is_terminal:
        console.print(workspace_views.detail_view(found))
    else:
        write_table((), [workspace_views.file_row(one) for one in found.files])


@app.command("backfill")
@verb
def backfill(
    here: Place,
    directory: Annotated[Path, typer.Argument(help="Where the artifacts are: a folder or a zip file for each job.")],
    repo: Annotated[
        Path | None, typer.Option("--repo", "-r", help="The repository they belong to; usually the directory itself.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Remember jobs from the artifacts that they left behind. Safe to repeat."""
    with here.opened() as jay, progress("reading", None) as steps:
        done = jay.workspace.backfill(directory, repo_path=repo, progress=steps.done_of, **here.where)
    for one in done.rejected:
        note(f"{one.path}: {one.reason}")
    if json:
        write_json(workspace_views.backfilled(done))
    else:
        write_line(
            f"{done.stored:,} stored, {done.unchanged:,} known already, {done.corrected:,} corrected, "
            f"{done.skipped:,} skipped, {len(done.rejected):,} rejected",
            *(str(one) for one in (done.stored, done.unchanged, done.corrected, done.skipped, len(done.rejected))),
        )
    if done.rejected:
        raise typer.Exit(1)


@app.command("seed")
@verb
def seed(here: Place, repo: AnyRepo = None, json: AsJson = False) -> None:
    """Remember a few sample jobs of a small web shop, to try things out with. Safe to repeat."""
    with here.opened() as jay:
        done = jay.workspace.seed(repo, **here.where)
    if json:
        write_json([workspace_views.stored(one) for one in done])
        return
    for one in done:
        goal = one.completion.goal if one.completion is not None else ""
        line = Text(f"{one.outcome} ", style="green").append(str(one.id), style=views.ID).append(f"  {goal}")
        write_line(line, str(one.id), one.outcome, goal)


@app.command("prune")
@verb
def prune(
    here: Place,
    repo: AnyRepo = None,
    keep_for: Annotated[
        timedelta | None, typer.Option(parser=span, metavar="SPAN", help="Keep what was done less long ago: 90d.")
    ] = None,
    most_bytes: Annotated[int | None, typer.Option(min=1, help="Keep at most this much of each repository.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go, and why.")] = False,
    json: AsJson = False,
) -> None:
    """Delete completed jobs that are too old or too much, for good; the oldest first. Pinned ones stay."""
    with here.opened() as jay:
        done = jay.workspace.prune(repo, keep_for=keep_for, most_bytes=most_bytes, dry_run=dry_run, **here.where)
    if json:
        write_json(workspace_views.pruned(done))
        return
    if done.gone:
        write_table(("id", "done", "bytes", "goal", "why"), [workspace_views.prunable_row(one) for one in done.gone])
    verdict = "would be deleted" if dry_run else "deleted"
    note(f"{len(done.gone):,} {verdict}, {done.bytes:,} bytes; {done.kept:,} stay")


@app.command("stats")
@verb
def stats(here: Place, repo: AnyRepo = None, json: AsJson = False) -> None:
    """Say how much is kept of each repository, and what it takes."""
    with here.opened() as jay:
        found = jay.workspace.stats(repo, **here.where)
    if json:
        write_json(workspace_views.stats(found))
        return
    write_table(
        ("repository", "jobs", "files", "bytes", "oldest", "newest"),
        [workspace_views.size_row(one) for one in found.workspaces],
    )
    note(f"{found.blobs:,} different texts of the tenant take {found.stored_bytes:,} bytes on disk")


workspace_code.add_to(app)
