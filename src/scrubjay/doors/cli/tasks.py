"""Commands about tasks: add, similar, context, import and used."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast

import typer
from rich.text import Text

from scrubjay.doors.cli import learned, views
from scrubjay.doors.cli.moving import reading
from scrubjay.doors.cli.output import note, output, progress, write_json, write_line, write_table, write_text
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, Options, verb
from scrubjay.doors.cli.words import json_of, moment_ago, told
from scrubjay.errors import Unsupported
from scrubjay.model.similar import ReuseOutcome, SimilarMode
from scrubjay.model.tasks import ImportReport, MemoryType

_SHOWN = 20
"""Rejected lines that are shown one by one; --json has all of them."""

app = typer.Typer(no_args_is_help=True, help="Tasks: what was done, how it ended, and what came of using it.")


@dataclass(frozen=True, kw_only=True)
class Run(Options):
    """What may be said of an execution beside its id, summary and outcome."""

    attempt: Annotated[int, typer.Option(min=1, help="Which attempt at the task this was.")] = 1
    description: Annotated[str | None, typer.Option("--description", "-d", help="What was to be done.")] = None
    task_type: Annotated[str | None, typer.Option("--type", "-t", help="What sort of task: bugfix, migration, …")] = (
        None
    )
    goal: Annotated[str | None, typer.Option(help="What it was for.")] = None
    error: Annotated[list[str] | None, typer.Option(help="An error that was met, as text or JSON. Repeatable.")] = None
    tool: Annotated[list[str] | None, typer.Option(help="A tool that was used. Repeatable, in order.")] = None
    file: Annotated[list[str] | None, typer.Option(help="A file that was touched. Repeatable.")] = None
    model: Annotated[str | None, typer.Option(help="The model that did it.")] = None
    duration: Annotated[float | None, typer.Option(min=0, help="Seconds that it took.")] = None
    tokens: Annotated[int | None, typer.Option(min=0, help="Tokens that it used.")] = None
    cost: Annotated[float | None, typer.Option(min=0, help="What it cost.")] = None
    parent: Annotated[str | None, typer.Option(help="The ticket that it is part of.")] = None
    memory_type: Annotated[
        MemoryType | None, typer.Option(help="What there is to learn from it; usually decided by rule.")
    ] = None
    at: Annotated[
        datetime | None, typer.Option(parser=moment_ago, metavar="WHEN", help="When it ended: a date, or 2h ago.")
    ] = None

    def said(self) -> dict[str, Any]:
        """Those that were given, as the verb takes them."""
        given = {
            "attempt": self.attempt,
            "task_description": self.description,
            "task_type": self.task_type,
            "goal": self.goal,
            "error_patterns": [json_of(one) for one in self.error or ()],
            "tools": self.tool or (),
            "files": self.file or (),
            "model": self.model,
            "duration": self.duration,
            "tokens": self.tokens,
            "cost": self.cost,
            "parent": self.parent,
            "memory_type": self.memory_type,
            "at": self.at,
        }
        return {name: value for name, value in given.items() if value is not None}


@app.command("add")
@verb
def add(
    run: Run,
    here: Place,
    task_id: Annotated[str, typer.Argument(help="The id of the task, such as a ticket.")],
    success: Annotated[bool, typer.Option("--success/--failure", help="Whether it worked.")],
    summary: Annotated[str | None, typer.Argument(help="What was done. `-`, or nothing: standard input.")] = None,
    json: AsJson = False,
) -> None:
    """Remember how a task went. The same attempt told again is one memory; told otherwise, it is corrected."""
    text = told(summary)
    with here.opened() as jay:
        done = jay.tasks.store_execution(task_id, text, success, **run.said(), **here.where)
    if json:
        write_json(learned.stored(done))
        return
    kept = "known already, " if done.outcome == "unchanged" else "stored "
    line = Text(kept, style="green").append(str(done.id), style=views.ID)
    line.append(f" as {done.memory.data['memory_type']}", style=views.BACKGROUND)
    write_line(line, str(done.id), done.outcome, str(done.memory.data["memory_type"]))


@app.command("similar")
@verb
def similar(
    here: Place,
    description: Annotated[str, typer.Argument(help="The task at hand.")],
    top_k: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 5,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="The least similarity; usually the one measured for the model.")
    ] = None,
    success_only: Annotated[bool, typer.Option("--success-only", help="Only what worked.")] = False,
    mode: Annotated[SimilarMode, typer.Option(help="By meaning, by words, or both.")] = "hybrid",
    memory_type: Annotated[
        list[str] | None, typer.Option(help="Only what was learned as this, such as error_fix. Repeatable.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Find past tasks like this one, each with a receipt for `scrubjay tasks used`."""
    with here.opened() as jay:
        found = jay.tasks.search_similar(
            description,
            top_k=top_k,
            similarity_threshold=threshold,
            success_only=success_only,
            mode=mode,
            memory_types=cast("list[MemoryType]", memory_type or []),  # the verb checks each of them
            **here.where,
        )
    if json:
        write_json(learned.similar_tasks(found))
        return
    console = output()
    if console.is_terminal:
        for place, task in enumerate(found, 1):
            console.print(learned.similar_view(task, place))
    else:
        write_table((), [learned.similar_row(task) for task in found])
    if not found:
        note("no task like this is known: add more with `scrubjay tasks add`, or lower --threshold")
    if found.degraded:
        note(f"answered without {', '.join(found.degraded)}: `scrubjay doctor` says what is wrong")


@app.command("context")
@verb
def context(
    here: Place,
    description: Annotated[str | None, typer.Argument(help="The task at hand.")] = None,
    task_id: Annotated[str | None, typer.Option(help="Or the id of a known task.")] = None,
    top_k: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many similar tasks.")] = 3,
    budget: Annotated[int, typer.Option("--budget", "-b", min=1, help="At most this many tokens.")] = 1000,
    task_type: Annotated[str | None, typer.Option("--type", "-t", help="What sort of task it is.")] = None,
    tool: Annotated[list[str] | None, typer.Option(help="A tool used so far. Repeatable, in order.")] = None,
    error: Annotated[list[str] | None, typer.Option(help="An error met so far. Repeatable.")] = None,
    model: Annotated[str | None, typer.Option(help="The model that does it.")] = None,
    json: AsJson = False,
) -> None:
    """Print what to know before a task: what worked, what failed, similar tasks, and its chances if they are known."""
    with here.opened() as jay:
        known = jay.tasks.get_task_context(
            description,
            task_id=task_id,
            top_k=top_k,
            budget=budget,
            task_type=task_type,
            tools=tool or (),
            error_patterns=[json_of(one) for one in error or ()],
            model=model,
            **here.where,
        )
    if json:
        write_json(learned.task_context(known))
        return
    if known.text:
        write_text(known.text)
    left_out = f", {known.left_out} left out" if known.left_out else ""
    note(f"{known.tokens:,} of {known.budget:,} tokens{left_out}")
    if not known.prediction.has_basis:
        note(f"no prediction: {known.prediction.basis}")
    if known.receipt is not None:
        note(f"receipt {known.receipt}")


@app.command("import")
@verb
def import_(
    here: Place,
    file: Annotated[str, typer.Argument(help="Lines of JSON, an execution each. `-`: standard input.")],
    json: AsJson = False,
) -> None:
    """Remember executions in bulk. A line that cannot be read is reported and left out; the rest is stored."""
    with reading(file) as (lines, total), here.opened() as jay, progress("importing", total) as steps:
        try:
            report = jay.tasks.import_lines(lines, progress=steps.done, **here.where)
        except UnicodeDecodeError as error:
            raise Unsupported(f"{file} is not UTF-8 text: convert it first") from error
    if json:
        write_json(learned.imported(report))
    else:
        _show(report)
    if report.rejected:
        raise typer.Exit(1)


def _show(report: ImportReport) -> None:
    for one in report.rejected[:_SHOWN]:
        note(f"line {one.line}: {one.reason}")
    if len(report.rejected) > _SHOWN:
        note(f"… and {len(report.rejected) - _SHOWN:,} more: --json names all of them")
    write_line(
        f"{report.stored:,} stored, {report.unchanged:,} known already, {report.corrected:,} corrected, "
        f"{len(report.rejected):,} rejected",
        f"{report.stored}",
        f"{report.unchanged}",
        f"{report.corrected}",
        f"{len(report.rejected)}",
    )


@app.command("used")
@verb
def used(
    here: Place,
    receipt: Annotated[str, typer.Argument(help="The receipt of a result that was used.")],
    outcome: Annotated[ReuseOutcome, typer.Argument(help="What came of it.")],
    note: Annotated[str | None, typer.Option(help="How.")] = None,
    task_id: Annotated[str | None, typer.Option(help="In which task.")] = None,
    json: AsJson = False,
) -> None:
    """Report what came of using a result. A receipt counts once."""
    with here.opened() as jay:
        done = jay.tasks.used(receipt, outcome, note=note, task_id=task_id, **here.where)
    if json:
        write_json(learned.used(done))
        return
    counted = "counted" if done.counted else "counted before"
    for memory_id, credit in zip(done.memories, done.credits, strict=True):
        line = f"{counted}: helped {credit.helped}, hurt {credit.hurt}, neither {credit.neutral}"
        write_line(line, str(memory_id), counted, f"{credit.helped}", f"{credit.hurt}", f"{credit.neutral}")
