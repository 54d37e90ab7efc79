"""A `Filter` as SQL, saying exactly what `Filter.matches` says."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, cast, false, func, literal, not_, or_, true, type_coerce
from sqlalchemy.types import NullType, Numeric, Text

from scrubjay.backends.sql.places import in_place
from scrubjay.backends.sql.schema import memories
from scrubjay.model import Filter, Json
from scrubjay.model.checks import NAME_LIMIT
from scrubjay.ports import WORDS_ONLY

Condition = ColumnElement[bool]

_PLAIN: Final = re.compile(r"[\w ./:@+-]+", re.ASCII)
"""What is written in one way only, whoever writes it as JSON."""

_COMPARED: Final = 100
"""Letters that say whether one text comes before another that has fewer."""

LAST_KEY = "\U0010ffff" * NAME_LIMIT
"""No key comes after it."""


def conditions(filter: Filter, now: datetime, dialect: str, *, place: Condition | None = None) -> Condition:
    """The rows of `memories` that may answer. `place` says which scopes in other words, where that is quicker."""
    column = memories.c
    parts: list[Condition] = [in_place(filter) if place is None else place]
    if filter.kinds:
        parts.append(column.kind.in_(filter.kinds))
    if filter.leaves_out:
        parts.append(column.kind.not_in(sorted(filter.leaves_out)))
    if filter.key is not None:
        parts.append(column.key == filter.key)
    if filter.key_prefix is not None:
        parts.append(func.substr(column.key, 1, len(filter.key_prefix)) == filter.key_prefix)
        # Keys are ordered by their code points, so an index can begin where the prefix does.
        parts.append(column.key.between(filter.key_prefix, f"{filter.key_prefix}{LAST_KEY}"))
    if filter.least_importance:
        parts.append(column.importance >= filter.least_importance)
    if filter.since is not None:
        parts.append(column.valid_from >= filter.since)
    if filter.until is not None:
        parts.append(column.valid_from < filter.until)
    if not filter.history:
        known_at, valid_at = filter.as_of.known_at, filter.as_of.valid_at
        parts += [
            column.superseded_at.is_(None) if known_at is None else believed_at(known_at),
            holds(now) if valid_at is None else held_at(valid_at),
        ]
    asked = [(_value(path, dialect), wanted) for path, wanted in filter.data.items()]
    parts += [value.hinted(_equals(wanted)) for value, wanted in asked if isinstance(value, _SqliteValue)]
    parts += [_meets(value, wanted) for value, wanted in asked]
    return and_(*parts)


def believed_at(moment: datetime) -> Condition:
    """What we held to be so."""
    column = memories.c
    return and_(column.created_at <= moment, or_(column.superseded_at.is_(None), column.superseded_at > moment))


def held_at(moment: datetime) -> Condition:
    """What held in the world and had not expired."""
    column = memories.c
    return and_(
        column.valid_from <= moment,
        or_(column.valid_to.is_(None), column.valid_to > moment),
        or_(column.expires_at.is_(None), column.expires_at > moment),
    )


def holds(now: datetime) -> Condition:
    """What holds at present, which is not before it was told: `held_at` the later of the two."""
    column = memories.c
    return and_(
        or_(column.valid_from <= now, column.valid_from <= column.created_at),
        or_(column.valid_to.is_(None), and_(column.valid_to > now, column.valid_to > column.created_at)),
        or_(column.expires_at.is_(None), and_(column.expires_at > now, column.expires_at > column.created_at)),
    )


def unmarked(generation: int) -> Condition:
    """What waits to be indexed with this generation."""
    # Three ranges of one index; "not equal" would read all of it.
    mark = memories.c.generation
    return or_(mark.is_(None), and_(mark > WORDS_ONLY, mark < generation), mark > generation)


def _value(path: str, dialect: str) -> "_SqliteValue | _PostgresValue":
    names = path.split(".")
    return _PostgresValue(names) if dialect == "postgresql" else _SqliteValue(names)


def _equals(wanted: Json) -> list[Json]:
    """The values of which it has to equal one; none when something else is asked for."""
    if isinstance(wanted, dict):
        among = wanted.get("in")
        return among if isinstance(among, list) else []
    return wanted if isinstance(wanted, list) else [wanted]


def _meets(value: "_SqliteValue | _PostgresValue", wanted: Json) -> Condition:
    if isinstance(wanted, dict):
        return and_(true(), *(_compares(value, name, bound) for name, bound in wanted.items()))
    return or_(false(), *(value.found(one) for one in _equals(wanted)))


def _compares(value: "_SqliteValue | _PostgresValue", name: str, bound: Json) -> Condition:
    match name:
        case "exists":
            return not_(value.same(None)) if bound else value.same(None)
        case "ne":
            return not_(value.same(bound))
        case "in" if isinstance(bound, list):
            return or_(false(), *(value.found(one) for one in bound))
    if isinstance(bound, bool) or not isinstance(bound, str | int | float):
        return false()
    return value.ordered(name, bound)


def _ordered(name: str, value: ColumnElement[Any], bound: ColumnElement[Any]) -> Condition:
    return {"gt": value > bound, "gte": value >= bound, "lt": value < bound, "lte": value <= bound}[name]


class _SqliteValue:
    """The value at a path of `data`, in SQLite. Every condition is true or false, never NULL."""

    def __init__(self, path: Sequence[str]) -> None:
        place = "$" + "".join(f'."{name}"' for name in path)
        self._type = func.coalesce(func.json_type(memories.c.data, place, type_=Text), "null")
        self._value = func.json_extract(memories.c.data, place)

    def hinted(self, wanted: Sequence[Json]) -> Condition:
        """Whether the text of `data` has one of these anywhere: asked first, since to read it as JSON takes longer."""
        texts = [one for one in wanted if isinstance(one, str) and _PLAIN.fullmatch(one)]
        if not texts or len(texts) < len(wanted):
            return true()
        return or_(*(func.instr(memories.c.data, f'"{one}"') > 0 for one in texts))

    def found(self, wanted: Json) -> Condition:
        """Whether it equals, where nothing depends on what is said otherwise."""
        return self.same(wanted)

    def same(self, wanted: Json) -> Condition:
        """Whether it equals, in the same type."""
        match wanted:
            case None:
                return self._type == "null"
            case bool():
                return self._type == ("true" if wanted else "false")
            case str():
                return and_(self._type == "text", self._value == wanted)
        # The value before its type: most rows have another one, and each question reads the text as JSON.
        return and_(func.coalesce(self._value == wanted, false()), self._type.in_(("integer", "real")))

    def ordered(self, name: str, bound: str | float) -> Condition:
        """Whether it lies on that side of the bound, in the same type."""
        types = ("text",) if isinstance(bound, str) else ("integer", "real")
        return and_(func.coalesce(_ordered(name, self._value, literal(bound)), false()), self._type.in_(types))


class _PostgresValue:
    """The value at a path of `data`, in PostgreSQL. What is not negated may be NULL where nothing is said."""

    def __init__(self, path: Sequence[str]) -> None:
        from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 -- brings all drivers of PostgreSQL

        self._jsonb = JSONB()
        self._path = path
        # Only the value is made `jsonb`, and not all that is stored around it, which takes longer.
        self._json = func.coalesce(cast(self._stored("->"), self._jsonb), cast(literal("null"), self._jsonb))
        self._type = func.json_typeof(self._stored("->"), type_=Text())

    def found(self, wanted: Json) -> Condition:
        """Whether it equals, in the words that the index of `data` understands.

        Nothing beside it: of two that say the same, the planner would expect the few rows that have both by chance.
        """
        if wanted is None:
            return self.same(None)
        for name in reversed(self._path):
            wanted = {name: wanted}
        return cast(memories.c.data, self._jsonb).op("@>")(cast(literal(json.dumps(wanted), Text), self._jsonb))

    def same(self, wanted: Json) -> Condition:
        """Whether it equals, in the same type. True or false, never NULL."""
        if wanted is None:
            return func.coalesce(self._type, "null") == "null"
        return self._json == cast(func.to_jsonb(_typed(wanted)), self._jsonb)

    def ordered(self, name: str, bound: str | float) -> Condition:
        """Whether it lies on that side of the bound, in the same type.

        In the words of the indexes that docs/howto/use-postgresql.md tells to make. A test keeps them the same.
        """
        if isinstance(bound, str):
            return and_(_ordered(name, self._text(bound), literal(bound)), self._type == "string")
        # Never cast before it is known for a number. An index over this has statistics, which one of some rows has not.
        number = case((self._type == "number", cast(self._stored("->>"), Numeric)))
        return _ordered(name, number, _typed(bound))

    def _text(self, bound: str) -> ColumnElement[Any]:
        """Its text, or as much of it as decides: what is too long for an index could not be stored beside one."""
        text = self._stored("->>")
        # By bytes: what a letter is depends on the database.
        return (func.left(text, _COMPARED, type_=Text()) if len(bound.encode()) < _COMPARED else text).collate("C")

    def _stored(self, last: str) -> ColumnElement[Any]:
        """The value as it is stored, as JSON with `->` and as text with `->>`; NULL where there is none."""
        value: ColumnElement[Any] = memories.c.data
        for name, operator in zip(self._path, [*["->"] * (len(self._path) - 1), last], strict=True):
            # The operator takes a text for the name of a field, never for a place in a list.
            value = type_coerce(value, NullType()).op(operator)(cast(literal(name), Text))
        return value


def _typed(value: Json) -> ColumnElement[Any]:
    match value:
        case str():
            return cast(literal(value), Text)
        case bool():
            return literal(value)
    # As it is written: a driver hands a float over as one, and of that a cast keeps fifteen digits.
    return cast(literal(repr(value), Text), Numeric)
