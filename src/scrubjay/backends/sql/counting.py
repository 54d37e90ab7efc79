"""Count uses: how often memories were found, for many readers in one transaction."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from sqlalchemy import Connection, update

from scrubjay.backends.sql.driver import driver_of, place_admitted, place_values
from scrubjay.backends.sql.kinship import hold, pages
from scrubjay.backends.sql.places import each_in_place
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import microseconds
from scrubjay.model import Filter, Scope


def count(connection: Connection, uses: Mapping[Scope, Sequence[UUID]], at: datetime) -> None:
    """Count these uses, of what a reader in each scope sees.

    A process that many ask has hundreds of scopes to count for each second, and what takes long here keeps them
    waiting: on a file it is one short statement for each, in plain text.
    """
    on_file = connection.dialect.name == "sqlite"
    if not on_file:
        # In one order, for whoever counts uses of the same memories meanwhile: each would wait for the other.
        hold(connection, {one for ids in uses.values() for one in ids})
    for scope, ids in uses.items():
        reader = Filter(scope=scope)
        for times, some in _as_often(ids):
            if on_file:
                _count_on_file(connection, reader, some, times, at)
            else:
                counted = update(memories).where(memories.c.id.in_(some), each_in_place(reader))
                connection.execute(counted.values(uses=memories.c.uses + times, used_at=at))


def _as_often(ids: Sequence[UUID]) -> Iterator[tuple[int, list[UUID]]]:
    """Those that are named equally often, as many as one statement takes, with how often that is."""
    named = Counter(ids)
    for times in set(named.values()):
        for page in pages([one for one in named if named[one] == times]):
            yield times, page


def _count_on_file(connection: Connection, reader: Filter, ids: Sequence[UUID], times: int, at: datetime) -> None:
    given = {f"id{place}": one.bytes for place, one in enumerate(ids)}
    values = {**place_values(reader), **given, "times": times, "at": microseconds(at)}
    driver_of(connection).execute(_statement(place_admitted(reader), len(ids)), values)


@lru_cache(maxsize=256)
def _statement(place: str, many: int) -> str:
    named = ", ".join(f":id{place}" for place in range(many))
    return (
        f"UPDATE memories SET uses = uses + :times, used_at = :at WHERE id IN ({named}) "
        f"AND EXISTS (SELECT 1 FROM scopes WHERE scopes.id = memories.scope_id AND {place})"
    )
