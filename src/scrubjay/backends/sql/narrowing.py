"""A filter as SQL, with what columns know of its conditions on `data`: the rows are named, and no JSON is read."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    Connection,
    Integer,
    Select,
    and_,
    column,
    exists,
    func,
    literal,
    literal_column,
    select,
)
from sqlalchemy.types import Text

from scrubjay.backends.packed import PackedIds
from scrubjay.backends.sql.columns import Columns, Narrowed
from scrubjay.backends.sql.conditions import Condition, conditions
from scrubjay.backends.sql.places import admitted, among_places, in_place, place_condition
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import memories, scopes
from scrubjay.model import Filter, Memory, Order
from scrubjay.ports import Counts

NAMED: Final = 5_000
"""Rows up to which those that have the values are named to find a few: of more, the next in order are soon met."""

LIKELY: Final = 4
"""How many times as many rows are looked at as are wanted, before all that have the values are."""

_LEAST: Final = 200
_SEQ: Final = memories.c.seq
# A column in an expression: SQLite would walk through all rows of a scope, and look for each in the list.
_SCOPE: Final = literal_column("+memories.scope_id", Integer)


def narrow(connection: Connection, columns: Columns, filter: Filter, now: datetime) -> Condition:
    """The rows of `memories` that may answer."""
    narrowed = columns.narrowed(connection, filter)
    if narrowed is None:
        return _plainly(connection, filter, now)
    return _within(narrowed, now, narrowed.among)


def find(
    connection: Connection,
    reader: Reader,
    columns: Columns,
    filter: Filter,
    now: datetime,
    *,
    limit: int,
    order: Order,
    after: UUID | None,
) -> list[Memory]:
    """Matching memories in the order they were stored, behind one."""
    statement = rows().order_by(_SEQ.desc() if order == "newest" else _SEQ).limit(limit)
    narrowed = columns.narrowed(connection, filter, most=NAMED)
    if narrowed is None or narrowed.among is None:
        plain = statement.where(_plainly(connection, filter, now))
        return reader.fetch(connection, plain if after is None else plain.where(_behind(after, order)))
    left = narrowed.among
    if after is not None:
        last = connection.execute(_number(after)).scalar()
        if last is None:
            return []
        left = left[: bisect_left(left, last)] if order == "newest" else left[bisect_right(left, last) :]
    some = LIKELY * limit + _LEAST
    if len(left) > some:
        # Most that have the values hold, so that those next in order are nearly always enough.
        first = left[-some:] if order == "newest" else left[:some]
        likely = reader.fetch(connection, statement.where(_within(narrowed, now, first)))
        if len(likely) == limit:
            return likely
    return reader.fetch(connection, statement.where(_within(narrowed, now, left)))


def among(
    connection: Connection, columns: Columns, filter: Filter, now: datetime, *, limit: int
) -> Sequence[UUID] | None:
    """The ids of all that match, newest first; None when there are more than the limit."""
    matching = narrow(connection, columns, filter, now)
    statement = select(memories.c.id).where(matching).order_by(_SEQ.desc()).limit(limit + 1)
    found = _as_stored(connection, statement)
    if len(found) > limit:
        return None
    return PackedIds(found) if connection.dialect.name == "sqlite" else found


def _as_stored(connection: Connection, statement: Select[Any]) -> list[Any]:
    """The one column of a statement as the driver has it: to make a row of each takes as long as to find it."""
    result = connection.execute(statement)
    try:
        return [one for (one,) in result.cursor.fetchall()] if result.cursor is not None else []
    finally:
        result.close()


def count(connection: Connection, columns: Columns, filter: Filter, now: datetime) -> Counts:
    """How many match, of each kind, and what lies in the scope at all."""
    column = memories.c
    matching = select(column.kind, func.count()).where(narrow(connection, columns, filter, now)).group_by(column.kind)
    kinds = {kind: number for kind, number in connection.execute(matching)}  # noqa: C416 -- rows are not pairs to a type checker
    versions = select(func.count()).select_from(memories).where(column.scope_id.in_(admitted(filter)))
    places = (
        select(func.count())
        .select_from(scopes)
        .where(place_condition(filter), exists().where(column.scope_id == scopes.c.id))
    )
    return Counts(
        current=sum(kinds.values()),
        versions=connection.execute(versions).scalar_one(),
        scopes=connection.execute(places).scalar_one(),
        kinds=dict(sorted(kinds.items())),
    )


def _plainly(connection: Connection, filter: Filter, now: datetime) -> Condition:
    return conditions(filter, now, connection.dialect.name, place=among_places(connection, filter))


def _within(narrowed: Narrowed, now: datetime, among: Sequence[int] | None) -> Condition:
    rest = narrowed.rest
    place = in_place(rest) if among is None else _SCOPE.in_(admitted(rest))
    parts = [] if among is None else [_SEQ.in_(_listed(among))]
    if narrowed.outside:
        parts.append(_SEQ.not_in(_listed(narrowed.outside)))
    return and_(*parts, conditions(rest, now, "sqlite", place=place))


def _listed(numbers: Sequence[int]) -> Select[tuple[int]]:
    """These numbers as rows. A list of parameters may have no more than some thousands."""
    return select(func.json_each(literal(json.dumps(numbers), Text)).table_valued(column("value", Integer)).c.value)


def _behind(after: UUID, order: Order) -> Condition:
    place = _number(after).scalar_subquery()
    return memories.c.seq < place if order == "newest" else memories.c.seq > place


def _number(id: UUID) -> Select[tuple[int]]:
    return select(_SEQ).where(memories.c.id == id)
