"""How the index of words of a SQLite file is asked, and what it finds is held against a filter."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Float, Integer, LargeBinary, column, select, table, text, type_coerce

from scrubjay.backends.sql import driver
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.weighing import DIGITS
from scrubjay.model import Filter
from scrubjay.model.memory import MESSAGE_KIND

# In the order that the best have in the end, so that of many that score alike the right ones are among the first.
_BM25: Final = (
    "SELECT rowid AS seq, bm25(texts, 1.0, 0.0) AS score FROM texts WHERE texts MATCH :words "
    f"ORDER BY CAST(score * 1e{DIGITS} - 0.5 AS INTEGER), rowid LIMIT :most"
)
_HEAVIEST: Final = "SELECT value AS seq FROM json_each(:rows)"
_CONTENT: Final = table("texts_content", column("id"), column("c0"), column("c1"))
_ID: Final = type_coerce(memories.c.id, LargeBinary)
ALONE: Final = f"memories.position IS NULL AND memories.kind <> '{MESSAGE_KIND}'"
"""Whether a memory stands in no session and is no message, as `Match` wants to know it."""
IS_ALONE: Final = memories.c.position.is_(None) & (memories.c.kind != MESSAGE_KIND)


def any_of(terms: Iterable[str]) -> str:
    """Any of the terms, as FTS5 reads them: quoted, so that nothing in them can be an operator."""
    quoted = " OR ".join('"' + term.replace('"', "") + '"' for term in terms)
    return f"body : ({quoted})"


class Search(Protocol):
    """How the index is asked, and what it finds is held against a filter."""

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        """The best, or all with -1: number, id, score (lower is better), if it stands alone, and if it passes."""

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        """Those of the rows that pass, in their order: number, id, whether it stands alone, its words and its marks."""


class Plainly:
    """How a plain filter is asked. The expression that says the same would take longer to build than to answer."""

    def __init__(self, connection: Connection, filter: Filter, now: datetime) -> None:
        self._file = driver_of(connection)
        self._admits = driver.plainly_admits(filter)
        self._values = driver.plain_values(filter, now)

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        """The best, or all with -1."""
        statement = (
            f"SELECT memories.seq, memories.id, ranked.score, {ALONE}, {self._admits} "
            f"FROM memories JOIN ({_BM25}) AS ranked ON memories.seq = ranked.seq ORDER BY ranked.score"
        )
        return self._file.execute(statement, {**self._values, "words": words, "most": most}).fetchall()

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        """Those of the rows that pass, in their order."""
        # A cross join keeps the order of its parts.
        statement = (
            f"SELECT memories.seq, memories.id, {ALONE}, texts_content.c0, texts_content.c1 "
            f"FROM ({_HEAVIEST}) AS heaviest "
            "CROSS JOIN memories ON memories.seq = heaviest.seq "
            f"CROSS JOIN texts_content ON texts_content.id = heaviest.seq WHERE {self._admits}"
        )
        return self._file.execute(statement, {**self._values, "rows": json.dumps(rows)})


class ByExpression:
    """How any other filter is asked."""

    def __init__(self, connection: Connection, filter: Filter, now: datetime) -> None:
        self._connection = connection
        self._admits = conditions(filter, now, "sqlite")

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        """The best, or all with -1."""
        best = text(_BM25).columns(column("seq", Integer), column("score", Float)).subquery("ranked")
        statement = (
            select(memories.c.seq, _ID, best.c.score, IS_ALONE, self._admits.label("allowed"))
            .select_from(memories.join(best, memories.c.seq == best.c.seq))
            .order_by(best.c.score)
        )
        return self._connection.execute(statement, {"words": words, "most": most}).fetchall()

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        """Those of the rows that pass, in their order."""
        heavy = text(_HEAVIEST).columns(column("seq", Integer)).subquery("heaviest")
        joined = heavy.join(memories, memories.c.seq == heavy.c.seq).join(_CONTENT, _CONTENT.c.id == heavy.c.seq)
        statement = select(memories.c.seq, _ID, IS_ALONE, _CONTENT.c.c0, _CONTENT.c.c1).select_from(joined)
        return self._connection.execute(statement.where(self._admits), {"rows": json.dumps(rows)})
