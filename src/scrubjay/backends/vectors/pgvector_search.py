"""How pgvector is asked: by comparing all that is wanted, or along a tenant's graph.

In plain text, each search one round trip with the settings that it needs: to put an expression together takes longer
than the server does to answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from scrubjay.backends.sql.driver_postgresql import listed, places, told, told_together
from scrubjay.backends.vectors.pgvector_tables import Found, named, spelled
from scrubjay.model import Filter
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.ports import Match

_MORE: Final = 8
"""How many parts are asked for beyond the limit at first, since a memory may come with several."""

_WIDEST: Final = 1_000
"""What pgvector allows for the breadth."""

_SETTINGS: Final[Mapping[str, str]] = {
    # Without statistics, the server would read a whole table for a few rows of it, and start workers, which takes
    # longer than what they are for. And a plan that is made for any tenant cannot use the graph of one.
    "enable_seqscan": "off",
    "max_parallel_workers_per_gather": "0",
    "plan_cache_mode": "force_custom_plan",
}
_LIVE: Final = "live AND since <= %(now)s AND (until IS NULL OR until > %(now)s)"
_PLACE: Final = f"kind = '{MESSAGE_KIND}', (SELECT session = '' FROM scopes WHERE id = scope_id)"
"""What is known of a memory beside its vector: whether it is a message, and whether it stands in no session."""

# Nothing is like a vector of zeros, whose cosine is no number. Materialized, so that no graph has a say.
_COMPARED: Final = f"""
    WITH every AS MATERIALIZED (
        SELECT memory_id, start, stop, scope_id, kind,
            coalesce(nullif(embedding <=> %(asked)s::{{type}}, 'NaN'::float8), 1.0) AS distance
        FROM {{table}} WHERE {{wanted}}
    )
    SELECT memory_id, start, stop, distance, {_PLACE}, (SELECT count(*) FROM every)
    FROM every ORDER BY distance, memory_id LIMIT %(most)s"""
_NEAR: Final = f"""
    SELECT memory_id, start, stop, embedding <=> %(asked)s::{{type}} AS distance, {_PLACE}
    FROM {{table}} WHERE {{wanted}} ORDER BY distance LIMIT %(most)s"""

_Rows = Sequence[tuple[Any, ...]]


class Search:
    """One question to one generation."""

    def __init__(self, connection: Connection, generation: int, there: Found, asked: NDArray[np.float64]) -> None:
        there.check_dimensions(len(asked))
        self._connection = connection
        self._there = there
        self._table = named(generation)
        self._given: dict[str, Any] = {"asked": spelled(asked, there.shape)}

    def among(self, ids: Iterable[UUID], filter: Filter, limit: int) -> list[Match]:
        """The nearest of these, whether they are live or not."""
        # One walk along the index of ids: there is no other that the server could use.
        wanted, given = self._placed(filter)
        return self._compared(f"{wanted} AND memory_id = ANY(%(ids)s::uuid[])", {**given, "ids": listed(ids)}, limit)[0]

    def compared(self, filter: Filter, now: datetime, limit: int) -> tuple[list[Match], int]:
        """The nearest of all that is wanted, exactly, and how many vectors were compared."""
        wanted, given = self._placed(filter)
        return self._compared(f"{_LIVE} AND {wanted}", {**given, "now": now}, limit)

    def _compared(self, wanted: str, given: Mapping[str, Any], limit: int) -> tuple[list[Match], int]:
        statement = _COMPARED.format(type=self._there.shape.type, table=self._table, wanted=wanted)
        counted = 0

        def ask(most: int) -> _Rows:
            nonlocal counted
            rows = self._asked(statement, {**given, "most": most}, _SETTINGS)
            counted = rows[0][6] if rows else 0
            return rows

        return _enough(ask, limit), counted

    def proposed(self, filter: Filter, now: datetime, limit: int, *, breadth: int) -> list[Match] | None:
        """What the graph finds; None when it finds too few."""
        wanted, given = self._placed(filter, row_by_row=True)
        statement = _NEAR.format(type=self._there.shape.type, table=self._table, wanted=f"{_LIVE} AND {wanted}")
        settings = {
            **_SETTINGS,
            # Without sorting, the graph is the only way to the order.
            "enable_sort": "off",
            "hnsw.ef_search": str(min(_WIDEST, max(breadth, 2 * limit))),
        }
        if self._there.iterates:
            settings["hnsw.iterative_scan"] = "strict_order"
        matches = _enough(lambda most: self._asked(statement, {**given, "now": now, "most": most}, settings), limit)
        return matches if len(matches) >= limit else None

    def count(self, filter: Filter, most: int) -> int:
        """How many live vectors the filter admits, counted up to so many."""
        wanted, given = self._placed(filter)
        few = f"SELECT FROM {self._table} WHERE live AND {wanted} LIMIT %(most)s"
        [(many,)] = told(self._connection, f"SELECT count(*) FROM ({few}) AS few", {**given, "most": most})
        return int(many)

    def _asked(self, statement: str, given: Mapping[str, Any], settings: Mapping[str, str]) -> _Rows:
        calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        return told_together(self._connection, [(f"SELECT {calls}", {}), (statement, {**self._given, **given})])[1]

    def _placed(self, filter: Filter, *, row_by_row: bool = False) -> tuple[str, dict[str, Any]]:
        """Scope and kinds. `row_by_row` is for a walk along a graph, which would lose its order in a join."""
        inside, given = places(filter)
        conditions = ["tenant = %(tenant)s"]
        if not filter.scope.is_whole:
            conditions.append(f"(scope_id IN (SELECT id FROM scopes WHERE {inside})){' IS TRUE' if row_by_row else ''}")
        if filter.kinds:
            conditions.append("kind = ANY(%(kinds)s)")
        return " AND ".join(conditions), {**given, "kinds": list(filter.kinds)}


def _enough(ask: Callable[[int], _Rows], limit: int) -> list[Match]:
    """The best part of each of the nearest memories; asks for more parts while they belong to too few memories."""
    most = limit + _MORE
    while True:
        rows = ask(most)
        best: dict[UUID, Match] = {}
        for memory, start, stop, distance, message, outside, *_ in rows:
            if memory not in best:
                alone = outside and not message
                best[memory] = Match(memory, round(1.0 - distance, 7), start, stop, alone=alone, outside=outside)
        if len(best) >= limit or len(rows) < most:
            return sorted(best.values(), key=lambda match: (-match.score, match.id))[:limit]
        most *= 4
