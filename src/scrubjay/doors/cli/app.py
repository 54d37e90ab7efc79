"""The command line: `scrubjay VERB`. It translates, and knows nothing that the library does not."""

import os
import sys
from typing import Annotated

import typer

from scrubjay import __version__
from scrubjay.doors.cli import (
    access,
    agents,
    configuration,
    demo,
    doctor,
    episodes,
    facts,
    health,
    keys,
    mcp,
    moving,
    patterns,
    reading,
    stores,
    tasks,
    upkeep,
    vectors,
    work,
    working,
    workspace,
    workspace_code,
    writing,
)

WRITE = "Write"
READ = "Read"
KNOW = "Know"
LEARN = "Learn"
MOVE = "Carry"
UPKEEP = "Look after"
BEGIN = "Begin"

app = typer.Typer(
    name="scrubjay",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("demo", rich_help_panel=BEGIN)(demo.demo)
app.command("config", rich_help_panel=BEGIN)(configuration.config)
app.command("serve", rich_help_panel=BEGIN)(configuration.serve)
app.command("mcp", rich_help_panel=BEGIN)(mcp.mcp)
app.command("remember", rich_help_panel=WRITE)(writing.remember)
app.command("update", rich_help_panel=WRITE)(writing.update)
app.command("forget", rich_help_panel=WRITE)(writing.forget)
app.command("recall", rich_help_panel=READ)(reading.recall)
app.command("context", rich_help_panel=READ)(reading.context)
app.command("shape", rich_help_panel=READ)(reading.shape)
app.command("get", rich_help_panel=READ)(reading.get)
app.command("list", rich_help_panel=READ)(reading.list_)
app.command("history", rich_help_panel=READ)(reading.history)
app.add_typer(episodes.app, name="episodes", rich_help_panel=KNOW)
app.add_typer(facts.app, name="facts", rich_help_panel=KNOW)
app.add_typer(working.app, name="working", rich_help_panel=KNOW)
app.add_typer(agents.app, name="agents", rich_help_panel=KNOW)
app.add_typer(tasks.app, name="tasks", rich_help_panel=LEARN)
app.add_typer(patterns.app, name="patterns", rich_help_panel=LEARN)
app.add_typer(workspace.app, name="workspace", rich_help_panel=LEARN)
workspace_code.add_to(workspace.app)
app.command("export", rich_help_panel=MOVE)(moving.export)
app.command("import", rich_help_panel=MOVE)(moving.import_)
app.command("move", rich_help_panel=MOVE)(stores.move)
app.command("backup", rich_help_panel=MOVE)(stores.backup)
app.command("restore", rich_help_panel=MOVE)(stores.restore)
app.command("stats", rich_help_panel=UPKEEP)(upkeep.stats)
app.command("health", rich_help_panel=UPKEEP)(health.health)
app.command("consolidate", rich_help_panel=UPKEEP)(work.consolidate)
app.add_typer(work.app, name="work", rich_help_panel=UPKEEP)
app.add_typer(keys.app, name="keys", rich_help_panel=UPKEEP)
app.command("doctor", rich_help_panel=UPKEEP)(doctor.doctor)
app.command("reindex", rich_help_panel=UPKEEP)(upkeep.reindex)
app.add_typer(vectors.app, name="vectors", rich_help_panel=UPKEEP)
app.command("audit", rich_help_panel=UPKEEP)(access.audit)
app.command("migrate", rich_help_panel=UPKEEP)(upkeep.migrate)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"scrubjay {__version__}")
        raise typer.Exit


@app.callback()
def scrubjay(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Memory for AI agents: what, where and when."""


def main() -> None:
    """Run the command that the arguments name, and exit. A reader that goes away, as in `| head`, ends it quietly."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character of a memory shows a question mark, and the command goes on.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # both are text files here
    try:
        app(prog_name="scrubjay")
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes once more at its end, and would complain then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
