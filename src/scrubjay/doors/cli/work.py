"""Commands about consolidation: consolidate, and work with its status, parked, retry, archives and restore-archive."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from scrubjay.doors.cli.output import local, note, write_json, write_line, write_table
from scrubjay.doors.cli.place import House, Place, log_to_standard_error
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model.portable import moment_text
from scrubjay.model.work import STEPS, Consolidated, Planned, Run, Step, StepDone, Trouble, WorkStatus

if TYPE_CHECKING:
    from datetime import datetime

    from scrubjay.model import Json

PAUSE = 5.0
"""Seconds between two consolidations with `--forever`."""

app = typer.Typer(invoke_without_command=True, help="Consolidate until Ctrl-C; and see how that is going.")


@verb
def consolidate(
    here: Place,
    once: Annotated[
        bool, typer.Option("--once/--forever", help="Take the steps once; or again and again until Ctrl-C.")
    ] = True,
    steps: Annotated[
        list[str] | None,
        typer.Option("--step", help=f"Only this one of {', '.join(STEPS)}; may be given several times."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; say what would be done, and why.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Turn sessions into knowledge and keep the memory tidy, inside a scope."""
    asked = cast("list[Step] | None", steps or None)
    with here.opened(lasts=not once) as jay:
        done = jay.consolidate(steps=asked, dry_run=dry_run, **here.where)
        _show(done, json=json)
        if not once:
            with _until_signalled() as stop:
                while not stop.wait(PAUSE):
                    done = jay.consolidate(steps=asked, dry_run=dry_run, **here.where)
                    _show(done, json=json)
    if done.errors:
        raise typer.Exit(1)


def _show(done: Consolidated, *, json: bool) -> None:
    if json:
        write_json(_document(done))
        return
    if done.dry_run:
        rows = [(one.step, str(one.id or ""), str(one.scope or ""), one.what, one.why) for one in done.planned]
        write_table(("step", "id", "scope", "what", "why"), rows)
        if not done.planned:
            note("nothing would be done")
        return
    write_table(("step", "what was done", "failed"), [_row(one) for one in done])


def _row(done: StepDone) -> tuple[str, str, str]:
    return done.step, done.error or done.skipped or done.counted or "nothing", str(done.failed or "")


@app.callback()
@verb
def work(here: House, context: typer.Context) -> None:
    """Consolidate until Ctrl-C, for every tenant. Run as many of these as you like; they share the work."""
    if context.invoked_subcommand is not None:
        return
    with here.opened() as jay, _until_signalled() as stop:
        _log(here)
        note(f"at work on {jay!r}; Ctrl-C ends it")
        worker = threading.Thread(target=jay.work.run, args=(stop,), name="scrubjay-work")
        worker.start()
        # In short waits: a signal reaches Python between two of them.
        while worker.is_alive():
            worker.join(0.2)
    note("stopped; what was under way is finished")


def _log(here: House) -> None:
    """Say what is done: to a person as lines, and to a supervisor as the server does."""
    if sys.stderr.isatty():
        log_to_standard_error("info")
        return
    from scrubjay.doors.http.logs import log_as_json  # noqa: PLC0415 -- for this command only

    log_as_json(here.settings().log_level)


@contextmanager
def _until_signalled() -> Iterator[threading.Event]:
    """An event that Ctrl-C and a supervisor's goodbye set, so that what is under way is finished."""
    stop = threading.Event()
    before = {one: signal.signal(one, lambda _number, _frame: stop.set()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@app.command("status")
@verb
def status(here: House, json: AsJson = False) -> None:
    """Say how consolidation is doing: what waits, how each step went, what failed, and who is at work."""
    with here.opened() as jay:
        found = jay.work.status()
    if json:
        write_json(_status(found))
        return
    waiting = "unknown: working memory is away" if found.sessions is None else f"{found.sessions:,}"
    rows = [
        ("sessions to drain", waiting),
        ("messages in them", "" if found.messages is None else f"{found.messages:,}"),
        ("waiting for", "" if found.lag is None else f"{found.lag.total_seconds():,.0f} s"),
        ("sessions to distill", f"{found.undistilled:,}"),
        ("memories to index", f"{found.pending:,}"),
        ("failing", f"{found.failing:,}"),
        ("parked", f"{found.parked:,}"),
        ("at work", ", ".join(found.workers) or "nobody"),
    ]
    write_table(("", ""), rows)
    write_table(
        ("step", "last run", "done", "in all", "runs", "failures", "error"),
        [
            (
                one.step,
                local(one.finished_at),
                str(one.done),
                str(one.total),
                str(one.runs),
                str(one.failures),
                one.error,
            )
            for one in found.steps
        ],
    )
    if found.parked:
        note("see what is parked with `scrubjay work parked`, and `scrubjay work retry` when its cause is gone")


@app.command("parked")
@verb
def parked(
    here: House,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 100,
    json: AsJson = False,
) -> None:
    """List what failed, with its error: what is parked first, then what is tried again."""
    with here.opened() as jay:
        found = jay.work.parked(limit)
    if json:
        write_json([_trouble(one) for one in found])
        return
    write_table(
        ("id", "step", "scope", "tries", "since", "error"),
        [
            (str(one.id), one.step, str(one.scope), str(one.tries), local(one.parked_at) or "tried again", one.error)
            for one in found
        ],
    )
    if not found:
        note("nothing has failed")


@app.command("retry")
@verb
def retry(
    here: House,
    id: Annotated[str | None, typer.Argument(help="What `parked` shows; nothing means all that is parked.")] = None,
    json: AsJson = False,
) -> None:
    """Let what is parked be tried again, from the beginning."""
    with here.opened() as jay:
        found = jay.work.retry(id)
    if json:
        write_json([_trouble(one) for one in found])
        return
    for one in found:
        write_line(f"{one.step} of {one.scope} is tried again", str(one.id), one.step)
    if not found:
        note("nothing was parked")


@app.command("archives")
@verb
def archives(here: House, json: AsJson = False) -> None:
    """List the files with archived episodes, oldest first."""
    with here.opened() as jay:
        found = jay.work.archives()
    if json:
        write_json([{"file": str(one.file), "episodes": one.episodes, "bytes": one.bytes} for one in found])
        return
    write_table(
        ("file", "episodes", "bytes"),
        [
            (str(one.file), "damaged" if one.episodes is None else f"{one.episodes:,}", f"{one.bytes:,}")
            for one in found
        ],
    )
    if not found:
        note("nothing is archived")


@app.command("restore-archive")
@verb
def restore_archive(
    here: House,
    file: Annotated[Path, typer.Argument(help="A file that `archives` lists, or its name.")],
    json: AsJson = False,
) -> None:
    """Put archived episodes back from a file. Safe to repeat."""
    with here.opened() as jay:
        count = jay.work.restore_archive(file)
    if json:
        write_json({"restored": count})
        return
    write_line(f"restored {count:,} {'episode' if count == 1 else 'episodes'}", str(count))


def _moment(moment: "datetime | None") -> str | None:
    return moment_text(moment) if moment is not None else None


def _document(done: Consolidated) -> "dict[str, Json]":
    steps: list[Json] = [
        {
            "step": one.step,
            "done": one.done,
            "counts": dict(one.counts),
            "failed": one.failed,
            "seconds": round(one.seconds, 3),
            "error": one.error,
            "skipped": one.skipped,
        }
        for one in done
    ]
    return {
        "at": moment_text(done.at),
        "dry_run": done.dry_run,
        "steps": steps,
        "planned": [_planned(one) for one in done.planned],
    }


def _planned(one: Planned) -> "Json":
    return {
        "step": one.step,
        "what": one.what,
        "why": one.why,
        "scope": str(one.scope) if one.scope is not None else None,
        "id": str(one.id) if one.id is not None else None,
    }


def _run(run: Run) -> "dict[str, Json]":
    return {
        "step": run.step,
        "finished_at": _moment(run.finished_at),
        "succeeded_at": _moment(run.succeeded_at),
        "worker": run.worker,
        "seconds": round(run.seconds, 3),
        "done": run.done,
        "total": run.total,
        "runs": run.runs,
        "failures": run.failures,
        "error": run.error,
    }


def _status(found: WorkStatus) -> "dict[str, Any]":
    return {
        "at": moment_text(found.at),
        "sessions": found.sessions,
        "messages": found.messages,
        "lag_seconds": found.lag.total_seconds() if found.lag is not None else None,
        "undistilled": found.undistilled,
        "pending": found.pending,
        "failing": found.failing,
        "parked": found.parked,
        "workers": list(found.workers),
        "steps": [_run(one) for one in found.steps],
        "metrics": found.metrics(),
    }


def _trouble(one: Trouble) -> "dict[str, Json]":
    return {
        "id": str(one.id),
        "step": one.step,
        "item": one.item,
        "scope": str(one.scope),
        "tries": one.tries,
        "error": one.error,
        "first_at": moment_text(one.first_at),
        "last_at": moment_text(one.last_at),
        "retry_at": moment_text(one.retry_at),
        "parked_at": _moment(one.parked_at),
    }
