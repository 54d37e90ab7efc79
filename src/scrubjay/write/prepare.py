"""Prepare: what a caller tells becomes a memory, with everything filled in and checked."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypedDict
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model import DEFAULT_KIND, PLACE_NAMES, Json, Memory, Scope, Trust, Where, id_of, new_id
from scrubjay.model.checks import (
    check_content,
    check_fraction,
    check_length,
    check_several,
    check_size,
    in_utc,
    shown,
)
from scrubjay.model.memory import MESSAGE_KIND, as_told
from scrubjay.model.remedies import instead
from scrubjay.model.working import words_of
from scrubjay.ports import Redactor
from scrubjay.write.redact import clean_text, redacted


class Details(TypedDict, total=False):
    """What may be told about a memory beside its content. All of it is optional."""

    id: UUID | str | None
    """Your own id for it: telling it again with the same id is one memory."""
    kind: str
    """`note` unless you say `fact`, `preference`, `instruction`, `rule`, `message`, …"""
    key: str | None
    """A name such as `pref:indent`. One current value per key and scope: a new one replaces the old."""
    data: Mapping[str, Json] | None
    importance: float
    trust: Trust | str
    source: str | None
    author: str | None
    reason: str | None
    derived_from: Sequence[UUID | str]
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    encrypt: bool
    """Store it encrypted, whatever SCRUBJAY_ENCRYPT says. What is made from it is encrypted too."""


class Told(Details, Where, total=False):
    """What `remember` takes beside the content: details, and the place."""


class Telling(Told, total=False):
    """One thing to remember, as `remember_many` takes it: its content, its details, and its own place if it has one."""

    content: str


class Changes(Where, total=False):
    """What `update` may change; the place says where to look for the memory."""

    content: str
    kind: str
    key: str | None
    data: Mapping[str, Json]
    importance: float
    expires_at: datetime | None
    """None: it is kept for ever."""
    valid_from: datetime
    valid_to: datetime
    source: str
    author: str
    reason: str


Tellings: TypeAlias = "Iterable[str | Telling]"

_DETAILS: Final = frozenset(Details.__annotations__)
_PLAIN: Final = frozenset(("content", *PLACE_NAMES))
"""What most tellings say, and no more."""

_KNOWN: Final = _DETAILS | _PLAIN
_PLACES_HELD: Final = 10_000
_TEXTS: Final = ("content", "key", "data", "source", "author", "reason")


def telling_of(item: object) -> Telling:
    """The item as a telling; a plain text is one with nothing but its content."""
    if isinstance(item, str):
        return {"content": item}
    if isinstance(item, dict) and "content" in item and item.keys() <= _KNOWN:
        return item  # type: ignore[return-value]  # checked, name by name
    if not isinstance(item, Mapping):
        raise InvalidInput(f"an item is {shown(item)}: give a text, or a dict with at least `content`")
    for name in item:
        if name != "content" and name not in _DETAILS and name not in PLACE_NAMES:
            known = ("content", *sorted(_DETAILS), *PLACE_NAMES)
            raise InvalidInput(f"{name} is not something a memory has: {instead(name, known)}")
    if "content" not in item:
        raise InvalidInput(f"an item is {shown(item)}: it lacks `content`")
    return dict(item)  # type: ignore[return-value]  # checked above, name by name


def prepare(
    telling: Telling, scope: Scope, *, now: datetime, redactor: Redactor | None, new: UUID | None = None
) -> Memory:
    """Build the memory. Secrets are taken out first, so that nothing later sees them.

    `new` is an id that was made for it, for one that brings none.
    """
    content = telling.get("content")
    found: tuple[str, ...] = ()
    _check_lengths(telling)
    if isinstance(content, str) and telling.keys() <= _PLAIN:
        # As most are: there is nothing else to look through, to fill in or to check.
        if redactor is not None:
            content, found = clean_text(redactor, content)
        place = scope if len(telling) == 1 else _place(scope, telling)
        return as_told(new or new_id(), content, place, now, found)
    told: dict[str, Any] = {name: value for name, value in telling.items() if value is not None or name == "content"}
    data = told["data"] = _data(told["data"]) if "data" in told else {}
    if redactor is not None:
        is_made = told.get("kind") == MESSAGE_KIND and told["content"] == _words_in(data)
        clean, found = redacted(redactor, {name: told[name] for name in _TEXTS if told.get(name)})
        told |= clean
        data = told["data"]
        if found and is_made:
            # The words of a message are made of its calls: they are made again of the clean ones.
            told["content"] = clean_text(redactor, str(_words_in(data)))[0]
    return Memory(
        id=id_of(told["id"], scope.tenant) if "id" in told else new or new_id(),
        kind=told.get("kind", DEFAULT_KIND),
        content=told.get("content", ""),
        key=told.get("key"),
        data=data,
        importance=told.get("importance", 0.5),
        trust=_trust(told.get("trust", Trust.TOLD)),
        source=told.get("source"),
        author=told.get("author"),
        reason=told.get("reason"),
        derived_from=_sources(told["derived_from"], scope.tenant) if "derived_from" in told else (),
        redacted=found,
        encrypted=told.get("encrypt", False),
        scope=_place(scope, told),
        created_at=now,
        valid_from=in_utc("valid_from", told.get("valid_from")) or now,
        valid_to=in_utc("valid_to", told.get("valid_to")),
        expires_at=in_utc("expires_at", told.get("expires_at")),
    )


def _check_lengths(telling: Telling) -> None:
    """Refuse what is too long before secrets are looked for in it."""
    check_content(telling.get("content", ""))
    if telling.keys() <= _PLAIN:
        return
    for name in ("key", "source", "author"):
        check_length(name, telling.get(name))
    if isinstance(reason := telling.get("reason"), str) and reason:
        check_content(reason, "reason")
    if data := telling.get("data"):
        check_size(data)


def _words_in(data: Mapping[str, Any]) -> str | None:
    """The words of a message that are made of these calls and what was said beside them; None where there are none."""
    calls, said = data.get("tool_calls"), data.get("content", "")
    if not calls or not isinstance(calls, list | tuple) or not isinstance(said, str):
        return None
    try:
        return words_of(said, calls)
    except (TypeError, ValueError):
        return None  # They are no JSON, and are refused where that is checked.


def check_changes(given: Mapping[str, Any]) -> None:
    """Refuse None for what every memory has: left out it stays, and told it would be as usual again, unasked."""
    if "importance" in given:
        check_fraction("importance", given["importance"])
    if "kind" in given and given["kind"] is None:
        raise InvalidInput("kind is None: leave it out to keep it, or name a kind")


def is_said(memory: Memory, name: str, value: object) -> bool:
    """Whether the memory has this value of one of `Changes` already, so that nothing would change."""
    there = getattr(memory, name)
    if isinstance(value, Mapping) and isinstance(there, dict):
        # As JSON, for in Python True is 1.
        return json.dumps(dict(value), sort_keys=True, default=repr) == json.dumps(there, sort_keys=True)
    return bool(there == value)


def _place(scope: Scope, told: Mapping[str, Any]) -> Scope:
    """The scope, with the names in it that are told."""
    names = (*map(told.get, PLACE_NAMES),)
    try:
        return _named(scope, names)
    except TypeError:
        return _named.__wrapped__(scope, names)  # Which says what is wrong with a name that cannot be looked up.


@lru_cache(maxsize=_PLACES_HELD)
def _named(scope: Scope, names: tuple[str | None, ...]) -> Scope:
    given = zip(PLACE_NAMES, names, scope.names(), strict=True)
    return Scope(tenant=scope.tenant, **{place: name if name is not None else there for place, name, there in given})


def _data(value: object) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"data is {shown(value)}: use a dict of JSON values")
    return dict(value)


def _sources(value: Iterable[UUID | str], tenant: str) -> tuple[UUID, ...]:
    check_several("derived_from", value)
    return tuple(id_of(one, tenant) for one in value)


def _trust(value: object) -> Trust:
    if isinstance(value, Trust):
        return value
    if not isinstance(value, str) or value not in list(Trust):
        raise InvalidInput(f"trust is {shown(value)}: use one of {', '.join(Trust)}")
    return Trust(value)
