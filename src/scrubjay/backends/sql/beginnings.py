"""What the keys of memories begin with, found by stepping along the index of keys: one step for each beginning."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, case, func, literal, select, true

from scrubjay.backends.sql.conditions import LAST_KEY, conditions
from scrubjay.backends.sql.places import place_condition
from scrubjay.backends.sql.schema import memories, scopes
from scrubjay.model import Filter

_COLUMN = memories.c


def one_of_each(
    connection: Connection, filter: Filter, now: datetime, length: int, limit: int | None = None
) -> list[Any] | None:
    """The ids of one matching memory for each beginning of their keys, ordered by the beginnings.

    None when there are more than the limit, counted in each scope by itself.
    """
    steps = statement(connection, filter, now, length)
    steps = steps.limit(limit + 1) if limit is not None else steps
    rows = connection.execute(steps).all()
    if limit is not None and len(rows) > limit:
        return None
    found = {key[:length]: memory for key, memory in rows}
    return [found[beginning] for beginning in sorted(found)]


def statement(connection: Connection, filter: Filter, now: datetime, length: int) -> Select[Any]:
    """The first key of each beginning, in every scope that the filter admits, and a memory that has it."""
    prefix = filter.key_prefix or ""
    # What is said of keys is said once, in each step: given more, SQLite may take the wrong end of the index.
    matching = conditions(replace(filter, key_prefix=None), now, connection.dialect.name, place=true())

    before = _COLUMN.key <= f"{prefix}{LAST_KEY}"

    def following(place: ColumnElement[int], behind: ColumnElement[bool]) -> ScalarSelect[str]:
        wanted = select(_COLUMN.key).where(_COLUMN.scope_id == place, behind, before, matching)
        return wanted.order_by(_COLUMN.key).limit(1).correlate_except(memories).scalar_subquery()

    first = following(scopes.c.id, _COLUMN.key >= prefix)
    step = select(scopes.c.id.label("place"), first.label("key")).where(place_condition(filter)).cte(recursive=True)
    beginning = func.substr(step.c.key, 1, length)
    # A shorter key is its own beginning: what comes next may go on where it ends.
    last = case((func.length(step.c.key) < length, step.c.key), else_=beginning.concat(literal(LAST_KEY)))
    onwards = following(step.c.place, _COLUMN.key > last)
    step = step.union_all(select(step.c.place, onwards).where(step.c.key.is_not(None)))
    memory = select(_COLUMN.id).where(_COLUMN.scope_id == step.c.place, _COLUMN.key == step.c.key, matching)
    one = memory.limit(1).correlate_except(memories).scalar_subquery()
    return select(step.c.key, one).where(step.c.key.is_not(None))
