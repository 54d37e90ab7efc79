"""Values as they travel: what a verb is given becomes JSON, and the JSON of an answer becomes the value again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from scrubjay.errors import InvalidInput, Unsupported
from scrubjay.model import PLACE_NAMES, Memory, Scope
from scrubjay.model.checks import Json, check_json, in_utc, shown
from scrubjay.model.portable import from_json, moment_text
from scrubjay.model.working import Message

_OF_MESSAGES: Final = ("id", "role", "content", "name", "tool_calls", "tool_call_id", "at")

_OF_MEMORIES: Final = frozenset({*(one.name for one in fields(Memory) if one.init), *PLACE_NAMES})

_JSON: Final = frozenset(
    {"data", "value", "tool_calls", "arguments", "output", "configuration", "state", "error_patterns"}
)
"""Arguments that are kept as they are given: what is no JSON in them is refused, as the library does."""

PLAIN: Final = (str, int, float, bool)


def written(name: str, value: object) -> Json:
    """A value as JSON. Raises InvalidInput, naming the argument, for what no server could take."""
    if value is None or type(value) in (str, int, bool):
        return cast("Json", value)
    for kind, writer in _WRITERS.items():
        if isinstance(value, kind):
            return writer(name, value)
    if name.rpartition(".")[2] in _JSON and isinstance(value, Iterable):
        check_json(name, value)
    match value:
        case Mapping():
            return {str(key): written(f"{name}.{key}", one) for key, one in value.items()}
        case Message():
            # What the store gave it stays behind: its position, and what was taken out of it.
            return {one: written(f"{name}.{one}", getattr(value, one)) for one in _OF_MESSAGES if getattr(value, one)}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _fields(name, value)
        case Iterable():
            return [written(name, one) for one in value]
    raise InvalidInput(f"{name} is {shown(value)}: a server can be sent text, numbers, moments, lists and dicts")


def _fields(name: str, value: Any) -> dict[str, Json]:  # noqa: ANN401 -- any of our dataclasses
    """What a value of ours was given: what is as it would be anyway is left out."""
    given: dict[str, Json] = {}
    for one in fields(value):
        held, anyway = getattr(value, one.name), one.default if one.default is not MISSING else None
        if one.init and held not in (anyway, ()):
            given[one.name.rstrip("_")] = written(f"{name}.{one.name}", held)
    return given


def _finite(name: str, value: float) -> float:
    if not isfinite(value):
        raise InvalidInput(f"{name} is {value}: use a finite number")
    return float(value)


_WRITERS: Final[dict[type, Callable[[str, Any], Json]]] = {
    datetime: lambda name, value: moment_text(in_utc(name, value) or value),
    timedelta: lambda _, value: value.total_seconds(),
    Enum: lambda name, value: written(name, value.value),
    UUID: lambda _, value: str(value),
    Path: lambda _, value: str(value),
    str: lambda _, value: str(value),
    int: lambda _, value: int(value),
    float: _finite,
}


def read(kind: Any, value: Any, tenant: str) -> Any:  # noqa: ANN401 -- a type, and what the JSON of one spells
    """The value of this type that the JSON spells, for this tenant. Raises Unsupported when it spells none."""
    if isinstance(kind, type):
        if kind is Memory:
            # A newer server, or one that tells more than was asked for, is understood all the same.
            return from_json({name: one for name, one in value.items() if name in _OF_MEMORIES}, tenant)
        if is_dataclass(kind):
            return _dataclass(kind, value, tenant)
        return _single(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(inner, value, tenant)
    if origin is None or origin is Literal:
        return value
    return _several(origin, inner, value, tenant)


def _single(kind: type, value: Any) -> Any:  # noqa: ANN401 -- see `read`
    reader = _READERS.get(kind)
    if reader is not None:
        return reader(value)
    if issubclass(kind, Enum):
        return kind(value)
    if issubclass(kind, float) and isinstance(value, int):
        return float(value)
    return value


def _moment(value: str) -> datetime:
    return datetime.fromisoformat(value).astimezone(UTC)


_READERS: Final[dict[type, Callable[[Any], object]]] = {
    datetime: _moment,
    timedelta: lambda value: timedelta(seconds=value),
    UUID: UUID,
    Path: Path,
    NoneType: lambda _: None,
}


def _one_of(kinds: Sequence[Any], value: Any, tenant: str) -> Any:  # noqa: ANN401 -- see `read`
    if value is None and NoneType in kinds:
        return None
    for kind in kinds:
        if kind is not NoneType and _spells(kind, value):
            return read(kind, value, tenant)
    raise Unsupported(f"the server answered {shown(value)}, which this version cannot read: use the same on both sides")


def _spells(kind: Any, value: Any) -> bool:  # noqa: ANN401 -- see `read`
    """Whether JSON of this shape can be a value of this type: enough to tell the types of one union apart."""
    origin = get_origin(kind)
    if origin is Literal:
        return value in get_args(kind)
    if not isinstance(origin or kind, type):
        return True
    found: type = origin or kind
    if found is Memory:
        return isinstance(value, dict) and {"kind", "content", "valid_from"} <= set(value)
    if is_dataclass(found):
        return isinstance(value, dict) and set(value) >= _needed(found)
    if issubclass(found, Mapping):
        return isinstance(value, dict)
    if found in PLAIN:
        return isinstance(value, found) or (found is float and isinstance(value, int))
    if issubclass(found, Sequence | AbstractSet) and not issubclass(found, str):
        return isinstance(value, list)
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _several(origin: type, inner: tuple[Any, ...], value: Any, tenant: str) -> Any:  # noqa: ANN401 -- see `read`
    if issubclass(origin, Mapping):
        return {_key(inner[0], key): read(inner[1], one, tenant) for key, one in value.items()}
    if issubclass(origin, tuple) and (len(inner) != 2 or inner[1] is not ...):
        return tuple(read(kind, one, tenant) for kind, one in zip(inner, value, strict=True))
    found = [read(inner[0], one, tenant) for one in value]
    if issubclass(origin, AbstractSet):
        return frozenset(found)
    return found if issubclass(origin, list) else tuple(found)


def _key(kind: Any, key: str) -> Any:  # noqa: ANN401 -- see `read`
    return read(kind, key, "") if isinstance(kind, type) else key


def _dataclass(kind: type, value: Any, tenant: str) -> Any:  # noqa: ANN401 -- see `read`
    if not isinstance(value, dict) or not set(value) >= _needed(kind):
        missing = ", ".join(sorted(_needed(kind) - set(value))) if isinstance(value, dict) else "everything"
        raise Unsupported(f"the server's {kind.__name__} lacks {missing}: use the same version on both sides")
    given: dict[str, Any] = {}
    for name, (spoken, hint) in _hints(kind).items():
        if spoken in value:
            given[name] = read(hint, value[spoken], tenant)
        elif name == "tenant":
            given[name] = tenant
    if issubclass(kind, Scope):
        given["tenant"] = tenant
    return kind(**given)


@cache
def _hints(kind: type) -> dict[str, tuple[str, Any]]:
    """Each field that a value is made with: its name, its name in JSON, and its type."""
    hints = get_type_hints(kind, localns={"Json": Any})
    return {one.name: (one.name.rstrip("_"), hints[one.name]) for one in fields(kind) if one.init}


@cache
def _needed(kind: type) -> frozenset[str]:
    """What no value of this type is without."""
    return frozenset(
        one.name.rstrip("_")
        for one in fields(kind)
        if one.init and one.default is MISSING and one.default_factory is MISSING and one.name != "tenant"
    )
