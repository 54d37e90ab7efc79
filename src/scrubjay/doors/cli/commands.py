"""Commands that load when they are asked for: one that is called waits for no other."""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from scrubjay.doors.cli.examples import EXAMPLES

_WRITTEN_WRONGLY: Final[Any] = typer.BadParameter.__mro__[1]
"""What is raised for a command that is written wrongly. Typer has no name for it, but for one kind of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One command, or one group of them: where it stands in the help, and where it is written."""

    name: str
    panel: str
    module: str
    """Of this package; it is loaded when the command is asked for."""
    function: str = ""
    """The command there; empty for a group, which is the module's `app`."""

    def load(self) -> Any:  # noqa: ANN401 -- a command of click, of which Typer has a copy of its own
        """The command itself."""
        module = import_module(f"{__package__}.{self.module}")
        around = typer.Typer(rich_markup_mode="rich", pretty_exceptions_enable=False)
        if self.function:
            around.command(self.name, rich_help_panel=self.panel)(getattr(module, self.function))
        else:
            around.add_typer(module.app, name=self.name, rich_help_panel=self.panel)
        command = typer.main.get_group(around).commands[self.name]
        _end_with_examples(command, self.name)
        return command


def _end_with_examples(command: Any, name: str) -> None:  # noqa: ANN401 -- see Entry.load
    """Let the help of a command, or of each in a group, end with a line to copy."""
    if isinstance(command, TyperGroup):
        for inner, one in command.commands.items():
            _end_with_examples(one, f"{name} {inner}")
    else:
        command.epilog = f"Example: scrubjay {EXAMPLES[name]}"


class Commands(MutableMapping[str, Any]):
    """Commands by name, in the order of the entries. Their names are known at once, and each loads by itself."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._found: dict[str, Any] = {one.name: one for one in entries}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 -- see Entry.load
        found = self._found[name]
        if isinstance(found, Entry):
            found = self._found[name] = found.load()
        return found

    def __setitem__(self, name: str, command: Any) -> None:  # noqa: ANN401 -- see Entry.load
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def group_of(entries: tuple[Entry, ...]) -> type[TyperGroup]:
    """The kind of group that has these commands."""

    class Group(TyperGroup):
        """Shows, completes and runs them as any other."""

        def __init__(self, **details: Any) -> None:  # noqa: ANN401 -- Typer's own
            super().__init__(**details)
            self.commands = Commands(entries)

        def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 -- see Entry.load
            """Run the command that was asked for. A value that is refused is named, with what to write instead."""
            is_program = "--json" in (*ctx._protected_args, *ctx.args)  # noqa: SLF001 -- what was typed; it goes away
            try:
                return super().invoke(ctx)
            except _WRITTEN_WRONGLY as error:
                if isinstance(error, typer.BadParameter):
                    error.message = _in_our_words(error)
                if not is_program:
                    raise
                _complain_to_program(error.format_message())
                raise typer.Exit(error.exit_code) from error

    return Group


def _complain_to_program(message: str) -> None:
    """Say it as any other error is said with `--json`: in one line, and not in a box."""
    from scrubjay.doors.cli.output import complain  # noqa: PLC0415 -- as below
    from scrubjay.errors import InvalidInput  # noqa: PLC0415 -- as below

    complain(InvalidInput(message), as_json=True)


def _in_our_words(error: typer.BadParameter) -> str:
    """What is wrong with an option, in the words that every door has for it, where Typer has only those of pydantic."""
    # For those who mistype something: any other command is done before all of this has loaded.
    from pydantic import ValidationError  # noqa: PLC0415 -- the same

    from scrubjay.model.checks import shown  # noqa: PLC0415 -- the same
    from scrubjay.model.remedies import wanted  # noqa: PLC0415 -- the same

    if not isinstance(error.__cause__, ValidationError):
        return error.message
    finding, *_ = error.__cause__.errors()
    remedy = wanted(finding)
    # What a parser refuses names the value and the remedy already, behind two words of pydantic.
    return f"it is {shown(finding['input'])}: use {remedy}" if remedy else error.message.removeprefix("Value error, ")
