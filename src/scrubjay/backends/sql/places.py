"""Scopes as rows: each place is stored once and named by a number, which memories and vectors carry."""

from collections.abc import Iterable, Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, and_, false, or_, select

from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.lookup import Lookup
from scrubjay.backends.sql.schema import memories, scopes
from scrubjay.model import PLACE_NAMES, SCOPE_NAMES, Filter, Scope

PLACES_NAMED: Final = 200
"""Scopes that a statement names one by one."""

KNOWN_SCOPES: Final = 10_000
"""Scopes whose numbers a connection to a server remembers."""

_KNOWN: Final = "scopes"
_ADDED_IN: Final = "scopes added in"

_COLUMNS = [scopes.c[name] for name in SCOPE_NAMES]
_BY_NAMES = Lookup(select(scopes.c.id, *_COLUMNS), *_COLUMNS)


def stored(scope: Scope) -> tuple[str, ...]:
    """The six names as the table holds them: an empty text for one left open."""
    return (
        scope.tenant,
        scope.user or "",
        scope.project or "",
        scope.agent or "",
        scope.session or "",
        scope.workflow or "",
    )


def scope_from(names: Sequence[str]) -> Scope:
    """The scope that a row's six names spell."""
    return Scope(**{name: value for name, value in zip(SCOPE_NAMES, names, strict=True) if value})


def interned(connection: Connection, wanted: Iterable[Scope]) -> dict[Scope, int]:
    """The numbers of these scopes, with those that are new added. Belongs in a write transaction."""
    left = set(wanted)
    numbers = _remembered(connection, left)
    missing = sorted(left - numbers.keys(), key=stored)
    if missing:
        connection.info[_ADDED_IN] = connection.get_transaction()
        rows = [dict(zip(SCOPE_NAMES, stored(scope), strict=True)) for scope in missing]
        connection.execute(insert_into(connection, scopes).on_conflict_do_nothing(), rows)
        numbers |= _numbers(connection, missing)
    return numbers


def known_places(connection: Connection, wanted: Iterable[Scope]) -> dict[Scope, int]:
    """The numbers of those of these scopes that are stored."""
    return _numbers(connection, set(wanted))


def _remembered(connection: Connection, wanted: set[Scope]) -> dict[Scope, int]:
    """The numbers of those that are stored. A connection to a server asks for each once, since it never changes."""
    if connection.dialect.name == "sqlite":
        return _numbers(connection, wanted)
    known: dict[Scope, int] = connection.info.setdefault(_KNOWN, {})
    unknown = wanted - known.keys()
    found = _numbers(connection, unknown) if unknown else {}
    # What was added in this transaction may yet be undone, and is remembered when it is found by the next one.
    if connection.info.get(_ADDED_IN) is not connection.get_transaction():
        if len(known) > KNOWN_SCOPES:
            known.clear()
        known |= found
    return {scope: known[scope] for scope in wanted if scope in known} | found


def _numbers(connection: Connection, wanted: Iterable[Scope]) -> dict[Scope, int]:
    by_names = {stored(scope): scope for scope in wanted}
    names = list(by_names)
    found: dict[Scope, int] = {}
    for start in range(0, len(names), 100):
        rows = connection.execute(*_BY_NAMES.of(names[start : start + 100]))
        found |= {by_names[tuple(row[1:])]: row[0] for row in rows}
    return found


def place_condition(filter: Filter) -> ColumnElement[bool]:
    """The rows of `scopes` that a filter admits."""
    conditions: list[ColumnElement[bool]] = [scopes.c.tenant == filter.scope.tenant]
    for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True):
        if value is not None:
            column = scopes.c[name]
            conditions.append(or_(column == "", column == value) if filter.reach == "sees" else column == value)
    if filter.reach == "sees" and (binding := filter.scope.binding):
        inside = [false() if value is None else scopes.c[name] == value for name, value in binding.items()]
        conditions.append(or_(scopes.c.user == "", and_(*inside)))
    return and_(*conditions)


def admitted(filter: Filter) -> Select[tuple[int]]:
    """The numbers of the scopes that a filter admits, as a subquery."""
    return select(scopes.c.id).where(place_condition(filter))


def in_place(filter: Filter) -> ColumnElement[bool]:
    """The rows of `memories` whose scope a filter admits.

    A narrow filter begins with its few scopes. One for a whole tenant begins with the memories and looks up the scope
    of each, so that the newest ten are found without reading the rest.
    """
    return memories.c.scope_id.in_(admitted(filter)) if any(filter.scope.names()) else each_in_place(filter)


def each_in_place(filter: Filter) -> ColumnElement[bool]:
    """The same, asked row by row: for a statement that names its memories.

    Given a list of scopes beside a hundred ids, SQLite walks all memories of those scopes and looks up none.
    """
    return select(scopes.c.id).where(scopes.c.id == memories.c.scope_id, place_condition(filter)).exists()


def among_places(connection: Connection, filter: Filter) -> ColumnElement[bool]:
    """The same, with a few scopes named one by one on PostgreSQL.

    A planner who sees them knows how many rows they have, and does not walk through everybody's to find a handful.
    """
    if connection.dialect.name == "postgresql":
        few = connection.execute(admitted(filter).limit(PLACES_NAMED + 1)).scalars().all()
        if len(few) <= PLACES_NAMED:
            return memories.c.scope_id.in_(few)
    return in_place(filter)
