"""The checks that values make when they are born, each with one message: the field, the value, the remedy."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from scrubjay.errors import InvalidInput
from scrubjay.model.sealed import SEALED_LIMIT, is_sealed

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

CONTENT_LIMIT = 1_000_000
"""Characters in one memory. Longer things are files: store them as several memories or keep a path to them."""

DATA_LIMIT = 1_000_000
"""Characters of one memory's `data`, written as JSON."""

NUMBER_LIMIT = 1_024
"""Bits of a whole number: no number with a fraction is larger either."""

DEPTH_LIMIT = 100
"""How deep lists and objects may lie inside each other."""

NAME_LIMIT = 255
"""Characters in a key, a scope name, a source or an author."""

_KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBER = re.compile(r"\s*[+-]?[\d._]+(e[+-]?\d+)?\s*", re.IGNORECASE)


def shown(value: object, limit: int = 80) -> str:
    """The value as it may stand in an error message: quoted, and cut when it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Of a number with thousands of digits, or of lists inside lists.
        return f"of type {type(value).__name__} and too large to show"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def check_name(field: str, value: str | None) -> None:
    """A short printable name, such as a user id or a key."""
    if value is None:
        return
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{field} is {shown(value)}: give it text, or leave it out")
    check_length(field, value)
    if _CONTROL.search(value):
        raise InvalidInput(f"{field} is {shown(value)}: remove the control characters")
    check_storable(field, value)


def check_length(field: str, value: object) -> None:
    """A name that is not too long, whatever else it is."""
    if isinstance(value, str) and len(value) > NAME_LIMIT:
        raise InvalidInput(f"{field} has {len(value)} characters: use at most {NAME_LIMIT}, for example a hash of it")


def check_named(field: str, value: str | None) -> None:
    """The same for a name that cannot be left out."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InvalidInput(f"{field} is {shown(value)}: give it text")
    check_name(field, value)


def check_kind(value: str) -> None:
    """A kind is a word in lower case, such as `preference`."""
    if not isinstance(value, str) or not _KIND.fullmatch(value):
        raise InvalidInput(
            f"kind is {shown(value)}: use a word of lower-case letters, digits and underscores, such as 'preference'"
        )


def check_content(value: str, field: str = "content") -> None:
    """Some text, within the cap, that every store can hold."""
    if not isinstance(value, str) or not value or value.isspace():
        raise InvalidInput(f"{field} is {shown(value)}: give it some text")
    if len(value) > (SEALED_LIMIT if is_sealed(value) else CONTENT_LIMIT):
        raise InvalidInput(f"{field} has {len(value):,} characters: split it into parts of at most {CONTENT_LIMIT:,}")
    check_storable(field, value)


def check_storable(field: str, value: str) -> None:
    """Text that every database can hold."""
    if "\x00" in value:
        raise InvalidInput(f"{field} holds a NUL character: remove it, databases cannot store it")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{field} holds half of a surrogate pair at {error.start}: decode it properly") from error


def check_fraction(field: str, value: float) -> None:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{field} is {shown(value)}: use a number from 0 to 1")


def check_whole(field: str, value: int, *, least: int, most: int) -> None:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInput(f"{field} is {shown(value)}: use a whole number from {least} to {most:,}")


def check_flag(field: str, value: object) -> None:
    """Yes or no. The text "false" is neither, and would read as yes."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} is {shown(value)}: use true or false")


def check_several(field: str, value: Iterable[object]) -> None:
    """A list, or anything else to go through. A text is one thing, and not as many as it has letters."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(f"{field} is {shown(value)}: give a list")


def check_handler(value: object) -> None:
    """Something that can be called with an event."""
    if not callable(value):
        raise InvalidInput(f"handler is {shown(value)}: give a function that takes an event")


def check_depth(field: str, value: object) -> None:
    """Lists and objects that lie inside each other no deeper than every reader of JSON can follow."""
    layer = [value]
    for _ in range(DEPTH_LIMIT):
        layer = [inner for one in layer for inner in _inside(one)]
        if not layer:
            return
    raise InvalidInput(f"{field} holds lists or objects more than {DEPTH_LIMIT} deep: flatten it, or keep it as text")


def _inside(value: object) -> Iterable[object]:
    match value:
        case dict():
            return value.values()
        case list() | tuple():
            return value
        case _:
            return ()


def check_moment(field: str, value: datetime | None) -> None:
    """An aware moment in UTC."""
    if value is None or getattr(value, "tzinfo", None) is UTC:
        return
    if not isinstance(value, datetime):
        raise InvalidInput(f"{field} is {shown(value)}: use a datetime")
    if value.tzinfo is None:
        raise InvalidInput(f"{field} is {value.isoformat()} without a time zone: use an aware datetime, such as UTC")
    if value.utcoffset() != timedelta(0):
        raise InvalidInput(f"{field} is {value.isoformat()}: convert it to UTC with .astimezone(UTC)")


def in_utc(field: str, value: datetime | None) -> datetime | None:
    """The same moment in UTC; a naive one is refused, never guessed."""
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        check_moment(field, value)
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{field} is {value.isoformat()}: in UTC that is outside the years 1 to 9999") from error


def written_out(moment: object) -> object:
    """A moment as a door was given it. A bare number is refused: as seconds since 1970, "2026" is not what is meant."""
    if isinstance(moment, int | float) or (isinstance(moment, str) and _NUMBER.fullmatch(moment)):
        raise InvalidInput(f"the moment is {shown(moment)}: write it out, such as 2026-03-01T12:00:00Z")
    return moment


def zoned(moment: object) -> str:
    """How to write a moment that was given without a time zone, for those who mean UTC."""
    try:
        return f"{datetime.fromisoformat(str(moment)).replace(tzinfo=None).isoformat()}Z"
    except ValueError:
        return "2026-03-01T12:00:00Z"


def check_order(field: str, start: datetime | None, end_field: str, end: datetime | None) -> None:
    """The end comes after the start."""
    if start is not None and end is not None and end <= start:
        raise InvalidInput(f"{end_field} is {end.isoformat()}: it must come after {field} ({start.isoformat()})")


def check_size(data: object) -> None:
    """Data that is not too long, whatever else it is."""
    try:
        size = len(json.dumps(data, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return  # It is no JSON, and is refused where that is checked.
    _check_size(size)


def _check_size(size: int) -> None:
    if size > DATA_LIMIT:
        raise InvalidInput(f"data has {size:,} characters as JSON: keep it under {DATA_LIMIT:,}")


def check_data(value: Mapping[str, Json]) -> None:
    """A JSON object: text keys, finite numbers, nothing else inside, within the cap."""
    if not isinstance(value, dict):
        raise InvalidInput(f"data is {shown(value)}: use a dict of JSON values")
    if not value:
        return
    check_depth("data", value)
    check_json("data", value)
    text = json.dumps(value, ensure_ascii=False)
    check_storable("data", text)
    if "\\u0000" in text:
        raise InvalidInput("data holds a NUL character: remove it, databases cannot store it")
    _check_size(len(text))


def _check_number(path: str, value: float) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}: JSON has no such number, use null")
    if isinstance(value, int) and value.bit_length() > NUMBER_LIMIT:
        raise InvalidInput(f"{path} is {shown(value)}: use at most {NUMBER_LIMIT:,} bits, or keep it as text")


def check_json(path: str, value: object) -> None:
    """What JSON can say, and nothing else inside."""
    match value:
        case None | bool() | str():
            return
        case int() | float():
            _check_number(path, value)
        case dict():
            for name, inner in value.items():
                if not isinstance(name, str):
                    raise InvalidInput(f"{path} has the key {shown(name)}: JSON keys are text")
                check_json(f"{path}.{name}", inner)
        case list() | tuple():
            for place, inner in enumerate(value):
                check_json(f"{path}[{place}]", inner)
        case _:
            raise InvalidInput(f"{path} is {shown(value)}, of type {type(value).__name__}: use JSON values only")
