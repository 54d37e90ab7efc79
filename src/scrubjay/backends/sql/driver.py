"""The busiest reads of a SQLite file, in plain text and straight from its driver.

To build an expression costs several times what SQLite takes to answer it, and a recall asks three or four such
questions. What is not asked by every recall is written in the expression language, once for both dialects.
"""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeAlias
from uuid import UUID

from sqlalchemy import Connection

from scrubjay.backends.sql.onefile import history_of
from scrubjay.backends.sql.types import id_from, microseconds, moment_from
from scrubjay.model import PLACE_NAMES, Filter, Memory, Scope, Trust
from scrubjay.model.memory import as_stored

COLUMNS: Final = (
    "scope_id", "id", "kind", "content", "key", "data", "importance", "trust", "source", "author", "reason",
    "derived_from", "redacted", "position", "created_at", "valid_from", "valid_to", "expires_at", "superseded_at",
    "superseded_by", "closed_because", "uses", "used_at", "generation",
)  # fmt: skip
"""What a memory is read from, in the order that `memory_from` takes them."""

MAY_UNDO: Final = "scrubjay may undo"
"""In the `info` of a connection that writes: what it sees may be undone, and a scope's number given to another."""

RECORDS_ONLY: Final = "scrubjay records only"
"""In the `info` of a connection that writes: words and vectors are left out, for they are damaged."""

SELECTED: Final = ", ".join(f"memories.{name}" for name in COLUMNS)
_STEP: Final = 5
"""Ids are filled up to a multiple of this, so that few statements differ and the driver has most of them prepared."""

_PRESENT: Final = (
    "memories.superseded_at IS NULL AND (memories.valid_from <= :now OR memories.valid_from <= memories.created_at) "
    "AND (memories.valid_to IS NULL OR memories.valid_to > max(:now, memories.created_at)) "
    "AND (memories.expires_at IS NULL OR memories.expires_at > max(:now, memories.created_at))"
)

_NAMES: Final = ", ".join(f"scopes.{name}" for name in PLACE_NAMES)
_NEWEST: Final = "SELECT max(id) FROM scopes"
_KNOWN: Final = "scrubjay places"
_FEW_PLACES: Final = 50
_PLACES_HELD: Final = 1_000
_State: TypeAlias = tuple[int, int | None]
_Asked: TypeAlias = tuple[str, Scope, str | None, int]
"""The history of the store, and its newest scope."""

_TRUST: Final = {trust.value: trust for trust in Trust}


def driver_of(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection. What it raises is the driver's error, too."""
    return connection.connection.dbapi_connection  # type: ignore[return-value]  # which is the driver's, for SQLite


def by_ids(connection: Connection, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    """The rows of these memories, in the order asked, each once, over `COLUMNS`."""
    given = _filled(ids)
    if not given:
        return []
    found = {row[1]: row for row in driver_of(connection).execute(_by_ids(len(given)), given)}
    return [found[one] for one in dict.fromkeys(given) if one in found]


def following(connection: Connection, ids: Sequence[UUID]) -> list[tuple[Any, ...]]:
    """The believed rows at the next position after these in their sessions, as they were stored, over `COLUMNS`."""
    given = _filled(ids)
    return driver_of(connection).execute(_following(len(given)), given).fetchall() if given else []


def _filled(ids: Sequence[UUID]) -> list[bytes]:
    given = [one.bytes for one in ids]
    return given + given[-1:] * (-len(given) % _STEP)


@lru_cache(maxsize=64)
def _by_ids(many: int) -> str:
    return f"SELECT {SELECTED} FROM memories WHERE memories.id IN ({', '.join('?' * many)})"


@lru_cache(maxsize=64)
def _following(many: int) -> str:
    return (
        f"SELECT {SELECTED} FROM memories JOIN memories AS earlier ON earlier.scope_id = memories.scope_id "
        f"AND memories.position = earlier.position + 1 WHERE earlier.id IN ({', '.join('?' * many)}) "
        "AND memories.superseded_at IS NULL ORDER BY memories.seq"
    )


def memory_from(row: Sequence[Any], scope: Scope) -> Memory:
    """The memory that such a row holds."""
    (
        _, memory, kind, content, key, data, importance, trust, source, author, reason,
        derived_from, redacted, position, created_at, valid_from, valid_to, expires_at, superseded_at,
        superseded_by, closed_because, uses, used_at, generation,
    ) = row  # fmt: skip
    values = (
        id_from(memory),
        kind,
        content,
        key,
        json.loads(data) if data else {},
        importance,
        _TRUST[trust],
        source,
        author,
        reason,
        tuple(map(UUID, json.loads(derived_from))) if derived_from else (),
        tuple(json.loads(redacted)) if redacted else (),
        False,
        scope,
        position,
        moment_from(created_at),
        moment_from(valid_from),
        None if valid_to is None else moment_from(valid_to),
        None if expires_at is None else moment_from(expires_at),
        None if superseded_at is None else moment_from(superseded_at),
        None if superseded_by is None else id_from(superseded_by),
        closed_because,
        uses,
        None if used_at is None else moment_from(used_at),
        generation,
        None,
    )
    return as_stored(values)


def places(connection: Connection, filter: Filter, *, limit: int) -> list[tuple[Any, ...]]:
    """The scopes that a filter admits: the number of each, and its user, project, agent, session and workflow.

    Few are remembered with the connection until a scope is added: none ever changes, or goes.
    """
    file = driver_of(connection)
    known: dict[_Asked, tuple[_State, list[tuple[Any, ...]]]] = connection.info.setdefault(_KNOWN, {})
    asked = (filter.reach, filter.scope, filter.scope.bound, limit)
    state = (history_of(connection), *file.execute(_NEWEST).fetchone())
    remembered = known.get(asked)
    if remembered is not None and remembered[0] == state:
        return remembered[1]
    statement = f"SELECT id, {_NAMES} FROM scopes WHERE {place_admitted(filter)} LIMIT {limit}"
    found = file.execute(statement, place_values(filter)).fetchall()
    if len(found) <= _FEW_PLACES:
        if len(known) >= _PLACES_HELD:
            known.clear()
        known[asked] = (state, found)
    return found


def place_admitted(filter: Filter) -> str:
    """The rows of `scopes` that a filter admits, as text; `place_values` are its parameters."""
    return _places(*_shape(filter))


def plainly_admits(filter: Filter) -> str:
    """The rows of `memories` that a plain filter admits, as text; `plain_values` are its parameters."""
    return _admits(place_admitted(filter), len(filter.kinds), filter.leaves_out)


@lru_cache(maxsize=256)
def _admits(place: str, kinds: int, left_out: frozenset[str]) -> str:
    conditions = [f"EXISTS (SELECT 1 FROM scopes WHERE scopes.id = memories.scope_id AND {place})"]
    if kinds:
        conditions.append(f"memories.kind IN ({', '.join(f':kind{at}' for at in range(kinds))})")
    if left_out:
        conditions.append(f"memories.kind NOT IN ({', '.join(map(repr, sorted(left_out)))})")
    return " AND ".join([*conditions, _PRESENT])


def plain_values(filter: Filter, now: datetime) -> dict[str, Any]:
    """What the parameters of `plainly_admits` stand for."""
    kinds = {f"kind{place}": kind for place, kind in enumerate(filter.kinds)}
    return {**place_values(filter), **kinds, "now": microseconds(now)}


def _shape(filter: Filter) -> tuple[str, tuple[bool, ...], str | None]:
    return filter.reach, tuple(name is not None for name in filter.scope.names()), filter.scope.bound


@lru_cache(maxsize=64)
def _places(reach: str, named: tuple[bool, ...], bound: str | None) -> str:
    """The rows of `scopes` that are admitted, when these of the names are given."""
    open_too = "(scopes.{0} = '' OR scopes.{0} = :{0})" if reach == "sees" else "scopes.{0} = :{0}"
    given = [open_too.format(name) for name, is_given in zip(PLACE_NAMES, named, strict=True) if is_given]
    if reach == "sees" and bound:
        inside = " AND ".join(
            f"scopes.{name} = :{name}" for name in bound.split()
        )  # Nothing equals a name that is not given.
        given.append(f"(scopes.user = '' OR {inside})")
    return " AND ".join(["scopes.tenant = :tenant", *given])


def place_values(filter: Filter) -> dict[str, Any]:
    """What the parameters of `place_admitted` stand for."""
    return {"tenant": filter.scope.tenant, **dict(zip(PLACE_NAMES, filter.scope.names(), strict=True))}
