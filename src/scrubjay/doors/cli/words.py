"""What people write becomes values: moments such as `7d`, data such as `lang=python`, standard input."""

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

from scrubjay.errors import InvalidInput
from scrubjay.model import Json
from scrubjay.model.checks import shown

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_GRAMMAR: Final = "use a date such as 2026-03-01 or 2026-03-01T12:00Z, or a span such as 90m, 12h, 7d or 2w"


def moment_ago(text: str) -> datetime:
    """A date, or how long ago: `7d`. A date without a time zone is in local time."""
    return _moment(text, -1)


def moment_ahead(text: str) -> datetime:
    """A date, or how far ahead: `30d`."""
    return _moment(text, 1)


def span(text: str) -> timedelta:
    """A stretch of time, such as `90m` or `2h`."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{shown(text)} is no span: use one such as 90m, 12h, 7d or 2w")
    try:
        return timedelta(**{_UNITS[found[2]]: float(found[1])})
    except OverflowError as error:
        raise typer.BadParameter(f"{shown(text)} is longer than anything lasts") from error


def _moment(text: str, direction: int) -> datetime:
    try:
        if span := _SPAN.fullmatch(text.strip()):
            return datetime.now(UTC) + direction * timedelta(**{_UNITS[span[2]]: float(span[1])})
        return datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise typer.BadParameter(f"{shown(text)} is no moment: {_GRAMMAR}") from error


def data_of(given: Sequence[str]) -> dict[str, Json]:
    """The data that `KEY=VALUE` pairs and JSON objects spell together. A value is JSON if it can be, or text."""
    data: dict[str, Json] = {}
    for one in given:
        if one.lstrip().startswith("{"):
            data |= _object(one)
            continue
        key, equals, value = one.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{shown(one)} is no data: use KEY=VALUE or a JSON object", param_hint="--data")
        data[key.strip()] = json_of(value)
    return data


def _object(text: str) -> dict[str, Json]:
    try:
        value: dict[str, Json] = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{shown(text)} is not JSON: {error}", param_hint="--data") from error
    return value


def json_of(text: str) -> Json:
    """The value that this spells as JSON, or the text itself."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


def objects(lines: str) -> list[dict[str, Json]]:
    """The JSON objects that these lines spell, one on each; empty lines are passed over."""
    found: list[dict[str, Json]] = []
    for number, line in enumerate(lines.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise InvalidInput(f"line {number} is {shown(line)}: each line is a JSON object, {error}") from error
    return found


def standard_input() -> str:
    """All of standard input, which has to be UTF-8."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text at byte {error.start}: convert it first") from error


def told(text: str | None) -> str:
    """The text that was given, or that comes through a pipe."""
    if text is not None and text != "-":
        return text
    if text is None and sys.stdin.isatty():
        raise typer.BadParameter("give a text, or pipe one in", param_hint="TEXT")
    return standard_input().rstrip("\r\n")
