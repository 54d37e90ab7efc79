"""Commands about patterns: list, extract, show, feedback and history."""

from typing import Annotated

import typer

from scrubjay.doors.cli import learned
from scrubjay.doors.cli.output import local, note, output, write_json, write_table
from scrubjay.doors.cli.place import Place
from scrubjay.doors.cli.verb import AsJson, verb
from scrubjay.model.patterns import PatternType, TaskPattern

_COLUMNS = ("id", "type", "confidence", "succeeded", "tasks", "regular expression")

app = typer.Typer(no_args_is_help=True, help="Patterns: what went with success and with failure in past tasks.")


@app.command("list")
@verb
def list_(
    here: Place,
    task_type: Annotated[str | None, typer.Argument(help="Only those about this task type or description.")] = None,
    pattern_type: Annotated[PatternType | None, typer.Option("--type", "-t", help="Only of this type.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most this many.")] = 20,
    json: AsJson = False,
) -> None:
    """List the patterns of a scope, the surest first."""
    with here.opened() as jay:
        found = jay.patterns.search_patterns(task_type, pattern_type, limit, **here.where)
    if json:
        write_json([learned.pattern(one) for one in found])
        return
    write_table(_COLUMNS, [learned.pattern_row(one) for one in found])
    if not found:
        note("no patterns yet: they are learned when past tasks differ in a way that is no coincidence")


@app.command("extract")
@verb
def extract(
    here: Place,
    task_type_pattern: Annotated[str, typer.Argument(help="A regular expression for task types and descriptions.")],
    pattern_type: Annotated[PatternType, typer.Option("--type", "-t", help="What to learn.")] = "success",
    min_samples: Annotated[int, typer.Option(min=1, help="Learn nothing from fewer tasks.")] = 3,
    json: AsJson = False,
) -> None:
    """Learn a pattern from the past tasks that a regular expression finds."""
    with here.opened() as jay:
        found = jay.patterns.extract_pattern(task_type_pattern, pattern_type, min_samples=min_samples, **here.where)
    if json:
        write_json(learned.pattern(found) if found is not None else None)
    elif found is None:
        note("nothing to learn: too few such tasks, or what sets them apart may be coincidence")
    else:
        _show(found)


@app.command("show")
@verb
def show(
    here: Place,
    pattern_id: Annotated[str, typer.Argument(help="The id of a pattern.")],
    json: AsJson = False,
) -> None:
    """Show a pattern with the counts behind it."""
    with here.opened() as jay:
        found = jay.patterns.get(pattern_id, **here.where)
    if json:
        write_json(learned.pattern(found))
        return
    _show(found)


def _show(found: TaskPattern) -> None:
    console = output()
    console.print(learned.pattern_view(found), soft_wrap=not console.is_terminal)


@app.command("feedback")
@verb
def feedback(
    here: Place,
    pattern_id: Annotated[str, typer.Argument(help="The id of a pattern.")],
    helpful: Annotated[bool, typer.Option("--helpful/--unhelpful", help="Whether following it helped.")],
    weight: Annotated[float, typer.Option(min=0, max=1, help="How much that counts: 0.1 as much as one task.")] = 0.1,
    json: AsJson = False,
) -> None:
    """Say whether a pattern helped. Its confidence moves as it does by past tasks."""
    with here.opened() as jay:
        found = jay.patterns.feedback(pattern_id, helpful, weight, **here.where)
    if json:
        write_json(learned.pattern(found))
        return
    write_table(_COLUMNS, [learned.pattern_row(found)])


@app.command("history")
@verb
def history(
    here: Place,
    pattern_id: Annotated[str, typer.Argument(help="The id of a pattern.")],
    json: AsJson = False,
) -> None:
    """Show how a pattern came to be what it is, oldest version first."""
    with here.opened() as jay:
        versions = jay.patterns.history(pattern_id, **here.where)
    if json:
        write_json([learned.pattern(one) for one in versions])
        return
    write_table(
        ("version", "since", "confidence", "succeeded", "helpful", "unhelpful", "indicators"),
        [
            (
                str(one.version),
                local(one.updated_at),
                f"{one.confidence:.2f}",
                f"{one.successes}/{one.samples}",
                f"{one.helpful:g}",
                f"{one.unhelpful:g}",
                "; ".join(indicator.said for indicator in one.indicators),
            )
            for one in versions
        ],
    )
