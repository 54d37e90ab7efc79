"""Memories as JSON objects, for every door and for NDJSON files. What goes out comes back exactly the same."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final, cast
from uuid import UUID

from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.model.checks import Json, check_flag, check_whole, shown, zoned
from scrubjay.model.memory import Memory, Trust
from scrubjay.model.scope import PLACE_NAMES, Scope

FORMAT: Final = "scrubjay-memories"
VERSION: Final = 1
"""Of the NDJSON format. A reader takes every version up to its own."""

_MOMENTS: Final = ("created_at", "valid_from", "valid_to", "expires_at", "superseded_at", "used_at")
_PLAIN: Final = ("kind", "content", "key", "data", "importance", "source", "author", "reason")
_MOST_USES: Final = 2**31 - 1
_FIELDS: Final = tuple(field for field in fields(Memory) if field.init)
_LOCAL: Final = ("generation",)
"""What only means something in the store it came from."""


def to_json(memory: Memory) -> dict[str, Json]:
    """The memory as JSON: only what differs from its default, in a fixed order. The tenant stays behind."""
    shown_: dict[str, Json] = {"id": str(memory.id), "kind": memory.kind, "content": memory.content}
    for name in PLACE_NAMES:
        if (value := getattr(memory.scope, name)) is not None:
            shown_[name] = value
    for field in _FIELDS:
        value = getattr(memory, field.name)
        if field.name in shown_ or field.name in _LOCAL or field.name == "scope" or value in (None, (), {}):
            continue
        if value is False:  # Only of what is encrypted is anything said about it.
            continue
        shown_[field.name] = _WRITERS.get(type(value), _same)(value)
    return shown_


def from_json(value: Mapping[str, Any], tenant: str) -> Memory:
    """The memory that a JSON object spells, for this tenant. Raises InvalidInput, naming the field."""
    known = {field.name for field in _FIELDS} | set(PLACE_NAMES)
    if unknown := sorted(set(value) - known):
        raise InvalidInput(f"{unknown[0]} is not a field of a memory: remove it, or use a newer Scrubjay")
    for name in ("id", "content", "created_at", "valid_from"):
        if name not in value:
            raise InvalidInput(f"{name} is missing: every memory has one")
    given: dict[str, Any] = {name: value[name] for name in _PLAIN if name in value}
    given |= {name: _moment(name, value[name]) for name in _MOMENTS if value.get(name) is not None}
    if "position" in value:
        given["position"] = value["position"]
    if "uses" in value:
        check_whole("uses", value["uses"], least=0, most=_MOST_USES)
        given["uses"] = value["uses"]
    if value.get("closed_because") is not None:
        [given["closed_because"]] = _texts("closed_because", [value["closed_because"]])
    return Memory(
        id=_id("id", value["id"]),
        scope=Scope(tenant=tenant, **{name: value[name] for name in PLACE_NAMES if name in value}),
        trust=_trust(value.get("trust", Trust.TOLD)),
        derived_from=tuple(_id("derived_from", one) for one in _texts("derived_from", value.get("derived_from", []))),
        redacted=_texts("redacted", value.get("redacted", [])),
        encrypted=_flag("encrypted", value.get("encrypted", False)),
        superseded_by=_id("superseded_by", value["superseded_by"]) if value.get("superseded_by") else None,
        **given,
    )


def header() -> dict[str, Json]:
    """The first line of an NDJSON file."""
    return {"format": FORMAT, "version": VERSION}


def check_header(value: object) -> None:
    """Refuse what is not a file of ours, or is newer than this version."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise Unsupported(f"the first line is {shown(value)}: expected the header of a Scrubjay export")
    version = value.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise Unsupported(
            f"the file has format version {shown(version)}: this Scrubjay reads up to {VERSION}, use a newer one"
        )


def moment_text(value: datetime) -> str:
    """A moment in RFC 3339, exact to the microsecond."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _same(value: Any) -> Json:  # noqa: ANN401 -- JSON already
    return cast("Json", value)


_WRITERS: Final[dict[type, Callable[[Any], Json]]] = {
    datetime: moment_text,
    UUID: str,
    Trust: str,
    tuple: lambda value: [str(one) for one in value],
}


def _moment(name: str, value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} is {shown(value)}: use RFC 3339, such as 2026-03-01T12:00:00Z") from error
    raise InvalidInput(f"{name} is {shown(value)} without a time zone: write it with one, such as {zoned(value)}")


def _id(name: str, value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError as error:
        raise InvalidInput(f"{name} is {shown(value)}: use a UUID") from error


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{name} is {shown(value)}: use text")
    return tuple(value)


def _flag(name: str, value: object) -> bool:
    check_flag(name, value)
    return bool(value)


def _trust(value: object) -> Trust:
    try:
        return Trust(str(value))
    except ValueError as error:
        raise InvalidInput(f"trust is {shown(value)}: use one of {', '.join(Trust)}") from error
