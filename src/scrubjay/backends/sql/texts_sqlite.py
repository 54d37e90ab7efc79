"""Search by words in SQLite: FTS5 with BM25.

A row's `marks` say where it belongs, as terms of the index. In the match they make a narrow search quick: what is not
in the scope is never ranked. A wide search is made quick the other way, by leaving out its commonest words.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Float, Integer, LargeBinary, column, select, text, type_coerce

from scrubjay.backends.sql import driver
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import id_from
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Memory, Scope
from scrubjay.model.words import words_of_memory
from scrubjay.ports import Match

SCOPES_IN_MATCH: Final = 20
"""Scopes that a match names one by one. More cost more than they save."""

SCOPES_LOOKED_AT: Final = 2_000
"""Scopes that are looked through for a name that most of them share, such as one user's many sessions."""

POSTINGS: Final = 4_000
"""Rows that a wide search ranks, about: its words are looked for from the rarest on until so many rows have them."""

_COUNTS_HELD: Final = 10_000

_Search: TypeAlias = Callable[[str, int], Sequence[Any]]
"""What a match expression finds, so many of the best: the id, the score (lower is better), whether it stands alone, and
whether it passes."""

_ADD: Final = "INSERT INTO texts (rowid, body, marks) VALUES (?, ?, ?)"
_MARK: Final = text("UPDATE texts SET marks = :marks WHERE rowid = :seq")
_REMOVE: Final = text("DELETE FROM texts WHERE rowid = :seq")
_COUNT: Final = "SELECT count(*) FROM texts WHERE texts MATCH ?"
_BM25: Final = (
    "SELECT rowid AS seq, bm25(texts, 1.0, 0.0) AS score FROM texts WHERE texts MATCH :expression "
    "ORDER BY score LIMIT :ranked"
)
_RANKED: Final = text(_BM25).columns(column("seq", Integer), column("score", Float)).subquery("ranked")


def add(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these memories, given with their row number and their scope's."""
    marks: dict[tuple[int, bool], str] = {}
    rows: list[tuple[int, str, str]] = []
    for seq, scope_id, memory in indexed:
        live = _live(memory)
        if (scope_id, live) not in marks:
            marks[scope_id, live] = marks_of(scope_id, memory.scope, live=live)
        rows.append((seq, " ".join(words_of_memory(memory)), marks[scope_id, live]))
    driver_of(connection).executemany(_ADD, rows)


def marks_of(scope_id: int, scope: Scope, *, live: bool) -> str:
    """The terms that say where a row belongs: its scope, and each name of it. The stemmer leaves all of them alone."""
    names = [
        _name_mark(name, value, live=live) for name, value in zip(PLACE_NAMES, scope.names(), strict=True) if value
    ]
    return " ".join([_scope_mark(scope_id, live=live), *names])


def _scope_mark(scope_id: int, *, live: bool) -> str:
    return f"scope{scope_id}x{int(live)}"


def _name_mark(name: str, value: str, *, live: bool) -> str:
    number = int.from_bytes(blake2b(value.encode(), digest_size=8).digest())
    return f"{name}{number}x{int(live)}"


def refresh(connection: Connection, closed: Sequence[Memory]) -> None:
    """Bring the marks of these up to date after they were closed."""
    scopes = {memory.id: memory.scope for memory in closed}
    ids = list(scopes)
    for start in range(0, len(ids), 500):
        statement = select(memories.c.id, memories.c.seq, memories.c.scope_id)
        found = connection.execute(statement.where(memories.c.id.in_(ids[start : start + 500])))
        changed = [
            {"seq": seq, "marks": marks_of(scope_id, scopes[known], live=False)} for known, seq, scope_id in found
        ]
        if changed:
            connection.execute(_MARK, changed)


def remove(connection: Connection, seqs: Sequence[int]) -> None:
    """Take these rows out of the index."""
    if seqs:
        connection.execute(_REMOVE, [{"seq": seq} for seq in seqs])


def _live(memory: Memory) -> bool:
    # What has an end date may still hold, so only what was closed or was past when it was written is not live.
    return memory.superseded_at is None and (memory.valid_to is None or memory.valid_to > memory.created_at)


def match(
    connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int, counts: "Counted"
) -> list[Match]:
    """Return the memories with any of the terms, best first."""
    # Without a name, only few scopes could be named in the match; with one, many may share it.
    most = SCOPES_LOOKED_AT if any(filter.scope.names()) else SCOPES_IN_MATCH + 1
    places = driver.places(connection, filter, limit=most)
    if not places:
        return []
    marks = _marks(places, filter)
    words = _quoted(terms if marks else counts.rarest(connection, terms))
    expression = f"body : ({words}) AND marks : ({marks})" if marks else f"body : ({words})"
    search = _plainly(connection, filter, now) if filter.is_plain else _by_expression(connection, filter, now)
    # First rank alone and filter the best, which nearly always leaves enough; otherwise filter all that matched.
    for ranked in (limit + limit // 4 + 20, -1):
        found = search(expression, ranked)
        matches = [
            Match(id_from(memory), -score, alone=bool(alone)) for memory, score, alone, passes in found if passes
        ][:limit]
        if len(matches) == limit or len(found) < ranked:
            break
    return matches


def _plainly(connection: Connection, filter: Filter, now: datetime) -> _Search:
    """How a plain filter is asked. The expression that says the same would take longer to build than to answer."""
    file = driver_of(connection)
    statement = (
        f"SELECT memories.id, ranked.score, memories.position IS NULL, {driver.plainly_admits(filter)} "
        f"FROM memories JOIN ({_BM25}) AS ranked ON memories.seq = ranked.seq ORDER BY ranked.score"
    )
    values = driver.plain_values(filter, now)
    return lambda expression, ranked: file.execute(
        statement, {**values, "expression": expression, "ranked": ranked}
    ).fetchall()


def _by_expression(connection: Connection, filter: Filter, now: datetime) -> _Search:
    allowed = conditions(filter, now, "sqlite").label("allowed")
    joined = memories.join(_RANKED, memories.c.seq == _RANKED.c.seq)
    known = type_coerce(memories.c.id, LargeBinary)
    alone = memories.c.position.is_(None)
    statement = select(known, _RANKED.c.score, alone, allowed).select_from(joined).order_by(_RANKED.c.score)
    return lambda expression, ranked: connection.execute(
        statement, {"expression": expression, "ranked": ranked}
    ).fetchall()


def _quoted(terms: Sequence[str]) -> str:
    """The terms as FTS5 reads them: quoted, so that nothing in them can be an operator."""
    return " OR ".join('"' + term.replace('"', "") + '"' for term in terms)


def _marks(places: Sequence[tuple[Any, ...]], filter: Filter) -> str | None:
    """The marks that every admitted row has one of; None when the search is too wide for marks to help."""
    at_present = not filter.history and filter.as_of == AsOf()
    states = (True,) if at_present else (True, False)
    if len(places) <= SCOPES_IN_MATCH:
        return " OR ".join(_scope_mark(number, live=live) for number, *_ in places for live in states)
    if len(places) == SCOPES_LOOKED_AT:
        return None
    for at, (name, value) in enumerate(zip(PLACE_NAMES, filter.scope.names(), strict=True), 1):
        if value is None:
            continue
        beside = [place[0] for place in places if place[at] != value]
        if len(beside) < SCOPES_IN_MATCH:
            marks = [_name_mark(name, value, live=live) for live in states]
            return " OR ".join([*marks, *(_scope_mark(place, live=live) for place in beside for live in states)])
    return None


class Counted:
    """How many rows have a word, remembered: close enough is good enough to tell rare words from common ones."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def rarest(self, connection: Connection, terms: Sequence[str]) -> list[str]:
        """The terms without the commonest, in their order: the two rarest, and more while the rows stay few."""
        if len(terms) <= 2:
            return list(terms)
        if len(self._rows) > _COUNTS_HELD:
            self._rows.clear()
        for term in terms:
            if term not in self._rows:
                self._rows[term] = driver_of(connection).execute(_COUNT, (f"body : {_quoted([term])}",)).fetchone()[0]
        kept: set[str] = set()
        ranked = 0
        for term in sorted(terms, key=self._rows.__getitem__):
            ranked += self._rows[term]
            if len(kept) >= 2 and ranked > POSTINGS:
                break
            kept.add(term)
        return [term for term in terms if term in kept]
