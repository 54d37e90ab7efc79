"""Write the pages that follow from the code: docs/reference/settings.md, docs/reference/errors.md and .env.example."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from scrubjay import errors
from scrubjay.errors import ScrubjayError
from scrubjay.settings import Settings

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


PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/settings.md": settings_page,
    "docs/reference/errors.md": errors_page,
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
