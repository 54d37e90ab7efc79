"""The busiest reads of a PostgreSQL server, in plain text and straight from its driver.

As for a file, to build an expression and to unpack its rows takes longer than the server does to answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.driver import SELECTED
from scrubjay.backends.sql.places import PLACES_NAMED, in_place
from scrubjay.backends.sql.schema import memories
from scrubjay.model import PLACE_NAMES, Filter, Memory, Scope, Trust
from scrubjay.model.memory import as_stored

_PRESENT: Final = (
    "superseded_at IS NULL AND (valid_from <= %(now)s OR valid_from <= created_at) "
    "AND (valid_to IS NULL OR (valid_to > %(now)s AND valid_to > created_at)) "
    "AND (expires_at IS NULL OR (expires_at > %(now)s AND expires_at > created_at))"
)
_BY_IDS: Final = f"SELECT {SELECTED} FROM memories WHERE id = ANY(%(ids)s::uuid[])"
_FOLLOWING: Final = (
    f"SELECT {SELECTED} FROM memories JOIN memories AS earlier ON earlier.scope_id = memories.scope_id "
    "AND memories.position = earlier.position + 1 WHERE earlier.id = ANY(%(ids)s::uuid[]) "
    "AND memories.superseded_at IS NULL ORDER BY memories.seq"
)
_TRUST: Final = {trust.value: trust for trust in Trust}


def driver_of(connection: Connection) -> Any:  # noqa: ANN401 -- psycopg's, which is an extra
    """The driver's own connection."""
    return connection.connection.driver_connection


def told(connection: Connection, statement: str, given: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of one statement. What the driver raises is raised as SQLAlchemy would."""
    try:
        # Numbers, ids and moments need not be spelled out by one side and read by the other.
        with driver_of(connection).cursor(binary=True) as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(statement, given).fetchall()
            return rows
    except connection.dialect.loaded_dbapi.Error as error:
        raise as_sqlalchemy(error, connection, statement) from error


def told_together(
    connection: Connection, asked: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[list[tuple[Any, ...]]]:
    """The rows of each of these statements, with their parameters: one round trip, and one transaction."""
    driver = driver_of(connection)
    try:
        with driver.pipeline():
            cursors = [driver.cursor(binary=True).execute(statement, given) for statement, given in asked]
        return [cursor.fetchall() for cursor in cursors]
    except connection.dialect.loaded_dbapi.Error as error:
        # In a pipeline the driver takes a statement to be prepared before it is, and would ask for it ever after.
        connection.invalidate()
        raise as_sqlalchemy(error, connection, "; ".join(statement for statement, _ in asked)) from error


def copied(connection: Connection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Add these rows, which have a value for each of the columns, given with their types. None may be there yet."""
    statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
    try:
        with driver_of(connection).cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(list(columns.values()))
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        raise as_sqlalchemy(error, connection, statement) from error


def as_sqlalchemy(error: Exception, connection: Connection, statement: str) -> Exception:
    """The driver's error as SQLAlchemy has it for its own statements, so that the database translates it too."""
    dialect = connection.dialect
    return DBAPIError.instance(statement, None, error, dialect.loaded_dbapi.Error, dialect=dialect)


def by_ids(connection: Connection, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    """The rows of these memories, in the order asked, each once, over `driver.COLUMNS`."""
    found = {row[1]: row for row in told(connection, _BY_IDS, {"ids": listed(ids)})} if ids else {}
    return [found[one] for one in dict.fromkeys(ids) if one in found]


def following(connection: Connection, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    """The believed rows at the next position after these in their sessions, as they were stored."""
    return told(connection, _FOLLOWING, {"ids": listed(ids)}) if ids else []


def listed(ids: Iterable[UUID]) -> str:
    """These ids as the server reads an array of them: the driver takes many times as long to spell each of them."""
    return f"{{{','.join([one.hex for one in ids])}}}"


def memory_from(row: Sequence[Any], scope: Scope) -> Memory:
    """The memory that such a row holds."""
    (
        _, memory, kind, content, key, data, importance, trust, source, author, reason,
        derived_from, redacted, position, created_at, valid_from, valid_to, expires_at, superseded_at,
        superseded_by, closed_because, uses, used_at, generation,
    ) = row  # fmt: skip
    values = (
        memory,
        kind,
        content,
        key,
        data or {},
        importance,
        _TRUST[trust],
        source,
        author,
        reason,
        tuple(map(UUID, derived_from)) if derived_from else (),
        tuple(redacted) if redacted else (),
        False,
        scope,
        position,
        created_at.astimezone(UTC),
        valid_from.astimezone(UTC),
        None if valid_to is None else valid_to.astimezone(UTC),
        None if expires_at is None else expires_at.astimezone(UTC),
        None if superseded_at is None else superseded_at.astimezone(UTC),
        superseded_by,
        closed_because,
        uses,
        None if used_at is None else used_at.astimezone(UTC),
        generation,
        None,
    )
    return as_stored(values)


class Admitted(NamedTuple):
    """The rows of a table that a filter admits."""

    text: str
    """As a condition."""
    given: dict[str, Any]
    """What its parameters stand for."""


def admitted(connection: Connection, filter: Filter, now: datetime) -> Admitted:
    """What `conditions` says, as text. A few scopes are named one by one, for the reasons of `among_places`."""
    inside, names = places(filter)
    found = told(connection, f"SELECT id FROM scopes WHERE {inside} LIMIT {PLACES_NAMED + 1}", names)
    few = [row[0] for row in found] if len(found) <= PLACES_NAMED else None
    if not filter.is_plain:
        return _spelled_out(connection, filter, now, few)
    given = {"now": now, "kinds": list(filter.kinds), "left_out": sorted(filter.leaves_out), "few": few, **names}
    return Admitted(_plainly(inside, filter, is_few=few is not None), given)


def _plainly(inside: str, filter: Filter, *, is_few: bool) -> str:
    if is_few:
        place = "memories.scope_id = ANY(%(few)s)"
    elif any(filter.scope.names()):
        place = f"memories.scope_id IN (SELECT id FROM scopes WHERE {inside})"
    else:
        place = f"EXISTS (SELECT FROM scopes WHERE scopes.id = memories.scope_id AND {inside})"
    kinds = ["kind = ANY(%(kinds)s)"] if filter.kinds else []
    left_out = ["kind <> ALL(%(left_out)s)"] if filter.leaves_out else []
    return " AND ".join([place, *kinds, *left_out, _PRESENT])


def _spelled_out(connection: Connection, filter: Filter, now: datetime, few: list[int] | None) -> Admitted:
    """The same for any filter, from the expression."""
    place = memories.c.scope_id.in_(few) if few is not None else in_place(filter)
    condition = conditions(filter, now, "postgresql", place=place)
    compiled = condition.compile(dialect=connection.dialect, compile_kwargs={"render_postcompile": True})
    return Admitted(str(compiled), dict(compiled.params))


def places(filter: Filter) -> Admitted:
    """The rows of `scopes` that a filter admits."""
    names = filter.scope.names()
    text = _places(filter.reach, tuple(name is not None for name in names), filter.scope.bound)
    return Admitted(text, {"tenant": filter.scope.tenant, **dict(zip(PLACE_NAMES, names, strict=True))})


@lru_cache(maxsize=64)
def _places(reach: str, named: tuple[bool, ...], bound: str | None) -> str:
    """The rows of `scopes` that are admitted, when these of the names are given."""
    open_too = "scopes.\"{0}\" IN ('', %({0})s)" if reach == "sees" else 'scopes."{0}" = %({0})s'
    given = [open_too.format(name) for name, is_given in zip(PLACE_NAMES, named, strict=True) if is_given]
    if reach == "sees" and bound:
        inside = " AND ".join(f'scopes."{name}" = %({name})s' for name in bound.split())
        given.append(f"(scopes.\"user\" = '' OR {inside})")
    return " AND ".join(["scopes.tenant = %(tenant)s", *given])
