"""What makes a function a command: groups of options are spread into its signature, and its errors are one line."""

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from scrubjay.doors.cli.output import complain
from scrubjay.errors import ScrubjayError

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.", rich_help_panel="Output")]
"""Taken by every command as `json`: one JSON document on standard output, and errors as JSON on standard error."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that several commands share. Each field is one, declared with `Annotated[…, typer.Option(…)]`."""


def verb(command: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function. An argument that is a kind of `Options` becomes one option for each field.

    A ScrubjayError ends the command with exit code 1 and one line that says what to do, never with a traceback.
    """
    signature = inspect.signature(command)
    groups = {name: one.annotation for name, one in signature.parameters.items() if _is_group(one.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, one in signature.parameters.items():
        parameters += _spread(groups[name]) if name in groups else [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 -- whatever the options are; Typer has checked them
        try:
            gathered = {name: _gather(group, given) for name, group in groups.items()}
            command(**gathered, **given)
            with suppress(BrokenPipeError):  # A reader that has what it wants, as `head`.
                sys.stdout.flush()
        except ScrubjayError as error:
            complain(error, as_json=bool(given.get("json")))
            raise typer.Exit(1) from error

    # Options of groups come last, so that a command's help begins with what is its own.
    own = [one for one in parameters if one.name in signature.parameters]
    shared = [one for one in parameters if one.name not in signature.parameters]
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]  # what inspect looks for first
    run.__annotations__ = {one.name: one.annotation for one in [*own, *shared]}
    return run


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


def _spread(group: type[Options]) -> list[inspect.Parameter]:
    """One parameter for each field: those of the group itself before those that it inherits."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in sorted(fields(group), key=lambda one: one.name not in vars(group)["__annotations__"])
    ]


def _gather(group: type[Options], given: dict[str, Any]) -> Options:
    return group(**{one.name: given.pop(one.name) for one in fields(group)})
