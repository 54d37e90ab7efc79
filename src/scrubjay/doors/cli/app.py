"""The command line: `scrubjay VERB`. It translates, and knows nothing that the library does not."""

import gc
import sys
from typing import Annotated, Final

import typer

from scrubjay import __version__
from scrubjay.doors.cli import stdout
from scrubjay.doors.cli.commands import Entry, group_of
from scrubjay.errors import InvalidInput

WRITE = "Write"
READ = "Read"
KNOW = "Know"
LEARN = "Learn"
MOVE = "Carry"
UPKEEP = "Look after"
BEGIN = "Begin"

_GARBAGE: Final = 50_000
"""Objects that are made before Python looks for garbage among them."""

# In the order in which the help shows them: commands first, then groups.
_ENTRIES: Final = (
    Entry("demo", BEGIN, "demo", "demo"),
    Entry("config", BEGIN, "configuration", "config"),
    Entry("serve", BEGIN, "configuration", "serve"),
    Entry("mcp", BEGIN, "mcp", "mcp"),
    Entry("remember", WRITE, "writing", "remember"),
    Entry("update", WRITE, "writing", "update"),
    Entry("forget", WRITE, "writing", "forget"),
    Entry("recall", READ, "reading", "recall"),
    Entry("context", READ, "reading", "context"),
    Entry("shape", READ, "reading", "shape"),
    Entry("get", READ, "reading", "get"),
    Entry("list", READ, "reading", "list_"),
    Entry("history", READ, "reading", "history"),
    Entry("export", MOVE, "moving", "export"),
    Entry("import", MOVE, "moving", "import_"),
    Entry("move", MOVE, "stores", "move"),
    Entry("backup", MOVE, "stores", "backup"),
    Entry("restore", MOVE, "stores", "restore"),
    Entry("stats", UPKEEP, "upkeep", "stats"),
    Entry("health", UPKEEP, "health", "health"),
    Entry("consolidate", UPKEEP, "work", "consolidate"),
    Entry("doctor", UPKEEP, "doctor", "doctor"),
    Entry("reindex", UPKEEP, "upkeep", "reindex"),
    Entry("audit", UPKEEP, "access", "audit"),
    Entry("migrate", UPKEEP, "upkeep", "migrate"),
    Entry("episodes", KNOW, "episodes"),
    Entry("facts", KNOW, "facts"),
    Entry("working", KNOW, "working"),
    Entry("agents", KNOW, "agents"),
    Entry("tasks", LEARN, "tasks"),
    Entry("patterns", LEARN, "patterns"),
    Entry("workspace", LEARN, "workspace"),
    Entry("work", UPKEEP, "work"),
    Entry("keys", UPKEEP, "keys"),
    Entry("vectors", UPKEEP, "vectors"),
)

app = typer.Typer(
    name="scrubjay",
    cls=group_of(_ENTRIES),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    stdout.stand_in()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character of a memory shows a question mark, and the command goes on.
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # both are text files here
    # What a command allocates are mostly its imports, which stay: to look for garbage among them takes a tenth of it.
    gc.set_threshold(_GARBAGE)
    stdout.guard()
    code: str | int | None = None
    try:
        app(prog_name="scrubjay")
    except SystemExit as ended:
        code = ended.code
    except InvalidInput as error:  # Of standard output, for all others are a command's.
        code = _complained(error)
    finally:
        unwritten = stdout.finish()
    if unwritten is not None and not code:  # Or it has complained already.
        code = _complained(unwritten)
    # An ending interpreter looks through every object that it ever imported, several times: a quarter of a command.
    gc.freeze()
    sys.exit(code)


def _complained(error: InvalidInput) -> int:
    from scrubjay.doors.cli.output import complain  # noqa: PLC0415 -- the version needs none of it

    complain(error, as_json=False)
    return 1
