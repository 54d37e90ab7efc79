"""Write the pages that follow from the code: settings, errors, metrics and MCP in docs/reference, and .env.example."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from scrubjay import errors
from scrubjay.backends.telemetry.metrics import ASKED, COUNTED, Declared
from scrubjay.doors.http.app import application
from scrubjay.doors.mcp.asked import Place
from scrubjay.doors.mcp.greeting import INSTRUCTIONS
from scrubjay.doors.mcp.offered import MEMORY_URI, PROMPTS, STANDING_URI
from scrubjay.doors.mcp.tools import TOOLS
from scrubjay.errors import ScrubjayError
from scrubjay.model.work import STEPS
from scrubjay.settings import Settings, read_settings
from scrubjay.usual_variables import USUAL

ROOT = Path(__file__).resolve().parent.parent
GENERATED = "<!-- Written by `make reference` from the code. -->"


def settings_page() -> str:
    """All settings, in the order in which they are declared."""
    rows = [
        f"| `{variable(name)}` | {shown_default(field)} | {in_table(field.description or '')} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(
        [
            GENERATED,
            "",
            "# Settings",
            "",
            "Scrubjay needs no configuration. Each setting is an environment variable, or a line of a `.env` file in",
            "the current folder; the environment wins over the file. What is given to `scrubjay.open()` by name, in",
            "lower case and without the `SCRUBJAY_`, wins over both. `scrubjay config` shows the values in force.",
            "A variable that looks like one of these, misspelt, is named in the log.",
            "",
            "Variables that other programs share are taken where Scrubjay's own is not set:",
            *(f"`{name}` for `{variable(setting)}`," for setting, name in USUAL.items()),
            "in this order. A `DATABASE_URL` of another kind of database is left alone, and a key of OpenAI's is given",
            "to OpenAI only. `scrubjay config` and `scrubjay doctor` say where each value comes from.",
            "",
            "| setting | default | what it is |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def environment_example() -> str:
    """A `.env` file to copy: every setting with its default, commented out."""
    lines = ["# Copy to .env and take the # away from what you change. Written by `make reference`."]
    for name, field in Settings.model_fields.items():
        lines += ["", f"# {field.description}", f"# {variable(name)}={plain_default(field)}"]
    return "\n".join([*lines, ""])


def errors_page() -> str:
    """Every error with its place in the tree, the status that says the same over HTTP, and its message."""
    lines = [
        GENERATED,
        "",
        "# Errors",
        "",
        "Everything that Scrubjay raises is a `ScrubjayError`, so one `except` is enough; a narrower one says more.",
        "The message names what was wrong, with its value, and what to do. Where no more is known, it is the text",
        "below. All are in `scrubjay.errors`.",
        "",
        "| error | is a | HTTP | what it says |",
        "|---|---|---|---|",
    ]
    for error in error_classes():
        parents = ", ".join(f"`{parent.__name__}`" for parent in error.__bases__)
        lines.append(f"| `{error.__name__}` | {parents} | {error.status} | {in_table(inspect.getdoc(error) or '')} |")
    return "\n".join([*lines, ""])


def metrics_page() -> str:
    """Every metric with its kind and its labels; those of the steps of consolidation as one row for all."""
    return "\n".join(
        [
            GENERATED,
            "",
            "# Metrics",
            "",
            "What `GET /metrics` tells Prometheus. [Monitor](../howto/monitor.md) says how to use it.",
            "",
            "## Counted as things happen",
            "",
            "Over all processes of one `scrubjay serve`, since it started. A `kind` that is not one of Scrubjay's own",
            "is `other`. With `SCRUBJAY_METRICS_TENANT`, those marked * have a label `tenant` as well;",
            "of more than 1,000 in one process, all others are `(others)`.",
            "",
            *_metrics_table(COUNTED),
            "",
            "## Asked of the stores",
            "",
            "When somebody looks: the same whichever process or machine answers. What is not known is left out. `STEP`",
            f"is one of {', '.join(STEPS)}, whichever worker took it.",
            "",
            *_metrics_table([one for one in ASKED if "_drain_" in one.name or not _is_of_a_step(one)]),
            "",
        ]
    )


def _is_of_a_step(declared: Declared) -> bool:
    return any(declared.name.startswith(f"scrubjay_work_{step}_") for step in STEPS)


def _metrics_table(declared: Iterable[Declared]) -> list[str]:
    rows = ["| metric | kind | labels | what it tells |", "|---|---|---|---|"]
    for one in declared:
        shown = one.name.replace("_drain_", "_STEP_") if _is_of_a_step(one) else one.name
        tells = re.sub(r"\bdrain\b", "the step", one.tells) if _is_of_a_step(one) else one.tells
        mark = "*" if one.of_tenant else ""
        labels = ", ".join(f"`{label}`" for label in one.labels)
        rows.append(f"| `{shown}`{mark} | {one.kind} | {labels} | {in_table(tells)} |")
    return rows


def mcp_page() -> str:
    """Every tool, prompt and resource of `scrubjay mcp`, as an agent reads it."""
    lines = [
        GENERATED,
        "",
        "# MCP",
        "",
        "What `scrubjay mcp` offers to agents. [How to set it up](../howto/use-with-claude-code.md).",
        "",
        "Every tool also takes a place: `user`, `project`, `agent`, `session` and `workflow`. What is left out is as",
        "the server was started, and `*` leaves a name open. Over standard input and output, `.` as the project is the",
        "repository that the server was started in. A tool answers in words, and as structured content with a schema.",
        "In the words, all lines of a memory but the first are indented by four spaces: none poses as another memory.",
        "What goes wrong is an answer too, marked as an error: the field, the value and the remedy.",
        "",
        "## Tools",
    ]
    for tool in TOOLS.values():
        kind = "reads" if tool.reads else "forgets" if tool.destroys else "stores"
        lines += ["", f"### `{tool.name}`: {kind}", "", tool.description, "", "| argument | |", "|---|---|"]
        own = {name: field for name, field in tool.asks.model_fields.items() if name not in Place.model_fields}
        for name, field in own.items():
            needed = " **Needed.**" if field.is_required() else ""
            lines.append(f"| `{name}` | {in_table(field.description or '')}{needed} |")
    lines += ["", "## Prompts", "", "| prompt | takes | |", "|---|---|---|"]
    for prompt in PROMPTS.values():
        takes = ", ".join(f"`{one.name}`" for one in prompt.arguments)
        lines.append(f"| `{prompt.name}` | {takes} | {in_table(prompt.description)} |")
    lines += [
        "",
        "## Resources",
        "",
        "| address | |",
        "|---|---|",
        f"| `{STANDING_URI}` | Standing instructions, rules and preferences, and what happened last, as Markdown. |",
        f"| `{MEMORY_URI}` | One memory in full, in whatever state it is, as JSON. |",
        "",
        "## What the server tells an agent first",
        "",
        *(f"> {line}".rstrip() for line in INSTRUCTIONS.splitlines()),
        "",
    ]
    return "\n".join(lines)


def routes_page() -> str:
    """Every route of the service with its verb, by memory, in the order of the OpenAPI document."""
    with TemporaryDirectory() as home:
        document = application(read_settings(home=Path(home), embedder="none")).openapi()
    rows: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            verb = f"`{operation['x-verb']}`" if "x-verb" in operation else ""
            shown = f"| `{method.upper()} {path}` | {verb} | {in_table(operation['summary'])} |"
            rows.setdefault(operation["tags"][0], []).append(shown)
    lines = [
        GENERATED,
        "",
        "# Every route",
        "",
        "By memory, each with the verb of the [library](library.md) that it is. What all have in common is said in",
        "[HTTP](http.md); bodies, answers and examples are in `/docs` of a running service.",
    ]
    for tag, found in rows.items():
        lines += ["", f"## {tag.capitalize()}", "", "| route | verb | what it does |", "|---|---|---|", *found]
    return "\n".join([*lines, ""])


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/settings.md": settings_page,
    "docs/reference/mcp.md": mcp_page,
    "docs/reference/errors.md": errors_page,
    "docs/reference/http-routes.md": routes_page,
    "docs/reference/metrics.md": metrics_page,
    ".env.example": environment_example,
}


def error_classes() -> Iterator[type[ScrubjayError]]:
    """Every error class, in the order of the source."""
    for value in vars(errors).values():
        if isinstance(value, type) and issubclass(value, ScrubjayError):
            yield value


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{Settings.model_config['env_prefix']}{name}".upper()


def plain_default(field: FieldInfo) -> str:
    """The default as it is written in the environment; nothing when it is empty or depends on the machine."""
    default = field.default
    if field.default_factory is not None:
        return ""
    if isinstance(default, SecretStr):
        return default.get_secret_value()
    return str(default).lower() if isinstance(default, bool) else str(default)


def shown_default(field: FieldInfo) -> str:
    """The default as the table shows it."""
    if field.default_factory is not None:
        return "the user's data folder"
    plain = plain_default(field)
    return f"`{plain}`" if plain else "empty"


def in_table(text: str) -> str:
    """A text on one line, with nothing that would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    for path, page in PAGES.items():
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
