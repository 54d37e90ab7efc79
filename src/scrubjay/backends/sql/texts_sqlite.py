"""Search by words in SQLite: FTS5 with BM25.

A row's `marks` say where it belongs, as terms of the index. In the match they make a narrow search quick: what is not
in the scope is never ranked. A wide search finds more rows than can be ranked in time, for to rank one takes as long as
to find ten. So it ranks those that are likely to be best: that have a rare word, or two of the words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Float, Integer, LargeBinary, column, select, text, type_coerce

from scrubjay.backends.sql import driver
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import id_from
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Memory, Scope
from scrubjay.model.words import text_of_words
from scrubjay.ports import Match

SCOPES_IN_MATCH: Final = 20
"""Scopes that a match names one by one. More cost more than they save."""

SCOPES_LOOKED_AT: Final = 2_000
"""Scopes that are looked through for a name that most of them share, such as one user's many sessions."""

RANKED: Final = 4_000
"""Rows that are ranked. Where more have the words, the likely ones are chosen first, and of those the newest."""

WALKED: Final = 10_000
"""Rows that a wide search looks at, about: its words are looked for from the rarest on until so many rows have them."""

NARROW: Final = 0.25
"""A scope with no more than this share of all rows looks at four times as many: it ranks few of those it looks at."""

FEWEST: Final = 200
ALONE: Final = 1_000
"""Rows that are likely to be best for one word: those with the rarest, and with the next while so few or so many."""

PAIRS: Final = 4
"""Words that are looked for together with each commoner one. The others are so common that a pair says little."""

MOST_OF_ALL: Final = 0.9
"""From this share of all rows on, a scope has no place in the match: nearly everything that is found is in it."""

_COUNTED: Final = 2_000
"""Rows that are counted. How many more there are is told from how far into the index so many went."""

_COUNTS_HELD: Final = 10_000
_MARKS_HELD: Final = 10_000

_Search: TypeAlias = Callable[["Asked"], Sequence[Any]]
"""What is found, best first: the id, the score (lower is better), whether it stands alone, and whether it passes."""

_ADD: Final = "INSERT INTO texts (rowid, body, marks) VALUES (?, ?, ?)"
_MARK: Final = text("UPDATE texts SET marks = :marks WHERE rowid = :seq")
_REMOVE: Final = text("DELETE FROM texts WHERE rowid = :seq")
_COUNT: Final = (
    f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid LIMIT {_COUNTED})"
)
_LAST: Final = "SELECT max(seq) FROM memories"
# The plus keeps FTS5 from being asked for the likely rows one by one. Only rows that pass are given a score.
_BM25: Final = (
    "SELECT rowid AS seq, bm25(texts, 1.0, 0.0) AS score FROM texts WHERE texts MATCH :words{likely} "
    "ORDER BY score LIMIT :ranked"
)
_OF_ALL: Final = _BM25.format(likely="")
_OF_LIKELY: Final = _BM25.format(
    likely=f" AND +rowid IN (SELECT rowid FROM texts WHERE texts MATCH :likely ORDER BY rowid DESC LIMIT {RANKED})"
)


def add(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these memories, given with their row number and their scope's."""
    marks: dict[tuple[int, bool], str] = {}
    rows: list[tuple[int, str, str]] = []
    for seq, scope_id, memory in indexed:
        live = _live(memory)
        if (scope_id, live) not in marks:
            marks[scope_id, live] = marks_of(scope_id, memory.scope, live=live)
        rows.append((seq, text_of_words(memory), marks[scope_id, live]))
    driver_of(connection).executemany(_ADD, rows)


def marks_of(scope_id: int, scope: Scope, *, live: bool) -> str:
    """The terms that say where a row belongs: its scope, and each name of it. The stemmer leaves all of them alone."""
    names = [
        _name_mark(name, value, live=live) for name, value in zip(PLACE_NAMES, scope.names(), strict=True) if value
    ]
    return " ".join([_scope_mark(scope_id, live=live), *names])


def _scope_mark(scope_id: int, *, live: bool) -> str:
    return f"scope{scope_id}x{int(live)}"


@lru_cache(maxsize=_MARKS_HELD)
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
    search = _plainly(connection, filter, now) if filter.is_plain else _by_expression(connection, filter, now)
    # First rank alone and filter the best, which nearly always leaves enough; otherwise filter all that matched.
    for asked in counts.asked(connection, terms, _marks(places, filter), limit + limit // 4 + 20):
        found = search(asked)
        matches = [
            Match(id_from(memory), -score, alone=bool(alone)) for memory, score, alone, passes in found if passes
        ][:limit]
        if len(matches) == limit or (asked.likely is None and len(found) < asked.ranked):
            break
    return matches


class Asked(NamedTuple):
    """What FTS5 is asked for, in its own language."""

    words: str
    """What is ranked, and by which words."""
    likely: str | None
    """Which of those rows are worth ranking; None for all."""
    ranked: int
    """How many of the best are wanted; -1 for all."""


def _plainly(connection: Connection, filter: Filter, now: datetime) -> _Search:
    """How a plain filter is asked. The expression that says the same would take longer to build than to answer."""
    file = driver_of(connection)
    values = driver.plain_values(filter, now)

    def search(asked: Asked) -> Sequence[Any]:
        statement = (
            f"SELECT memories.id, ranked.score, memories.position IS NULL, {driver.plainly_admits(filter)} "
            f"FROM memories JOIN ({_OF_LIKELY if asked.likely else _OF_ALL}) AS ranked ON memories.seq = ranked.seq "
            "ORDER BY ranked.score"
        )
        return file.execute(statement, {**values, **asked._asdict()}).fetchall()

    return search


def _by_expression(connection: Connection, filter: Filter, now: datetime) -> _Search:
    allowed = conditions(filter, now, "sqlite").label("allowed")
    known = type_coerce(memories.c.id, LargeBinary)
    alone = memories.c.position.is_(None)

    def search(asked: Asked) -> Sequence[Any]:
        best = text(_OF_LIKELY if asked.likely else _OF_ALL).columns(column("seq", Integer), column("score", Float))
        found = best.subquery("ranked")
        joined = memories.join(found, memories.c.seq == found.c.seq)
        statement = select(known, found.c.score, alone, allowed).select_from(joined).order_by(found.c.score)
        values = {name: value for name, value in asked._asdict().items() if value is not None}
        return connection.execute(statement, values).fetchall()

    return search


def _quoted(terms: Iterable[str]) -> str:
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
    """How many rows have a term, remembered: close enough is good enough to tell rare words from common ones."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._all: int | None = None

    def asked(self, connection: Connection, terms: Sequence[str], marks: str | None, ranked: int) -> list[Asked]:
        """What to ask, one after the other until enough is found, for the best rows that have any of the terms.

        With marks, only rows that have one of them count. All rows are ranked, or the likely ones of too many.
        """
        everything = among = self._everything(connection)
        if marks is not None and everything > RANKED:
            among = self._having(connection, f"marks : ({marks})")
        share = among / max(everything, 1)
        inside = f" AND marks : ({marks})" if marks is not None and share < MOST_OF_ALL else ""
        most = int(WALKED / max(share, NARROW))
        if among <= RANKED and everything <= most:
            rows = dict.fromkeys(terms, 0)
        else:
            rows = self._rarest(connection, terms, most)
        words = _body(rows)
        whole = f"{words}{inside}"
        within = {term: many * share for term, many in rows.items()}
        if sum(within.values()) <= RANKED:
            return [Asked(whole, None, ranked), Asked(whole, None, -1)]
        return [
            Asked(words, f"{_likely(within)}{inside}", ranked),
            Asked(words, whole, ranked),
            Asked(whole, None, -1),
        ]

    def _rarest(self, connection: Connection, terms: Sequence[str], most: int) -> dict[str, int]:
        """The terms without the commonest, rarest first, with their rows: two, and more while these are so few."""
        counted = {term: self._having(connection, _body([term])) for term in terms}
        kept: dict[str, int] = {}
        for term in sorted(counted, key=counted.__getitem__):
            if len(kept) >= 2 and sum(kept.values()) + counted[term] > most:
                break
            kept[term] = counted[term]
        return kept

    def _having(self, connection: Connection, expression: str) -> int:
        """About how many rows match."""
        known = self._rows.get(expression)
        if known is None:
            known, last = driver_of(connection).execute(_COUNT, (expression,)).fetchone()
            if known == _COUNTED:
                known = max(known, known * self._everything(connection) // last)
            if len(self._rows) >= _COUNTS_HELD:
                self._rows.clear()
            self._rows[expression] = known
        return known

    def _everything(self, connection: Connection) -> int:
        """How many rows there are, with those that were removed."""
        if self._all is None:
            self._all = driver_of(connection).execute(_LAST).fetchone()[0] or 0
        return self._all


def _body(terms: Iterable[str]) -> str:
    return f"body : ({_quoted(terms)})"


def _likely(rows: Mapping[str, float]) -> str:
    """The rows with the rarest of these words, or with two of the others; the words come rarest first.

    A word that too many rows have is not enough by itself, unless it is the only one.
    """
    terms = list(rows)
    alone, many = 0, 0.0
    while alone < len(terms) and many + rows[terms[alone]] <= (RANKED if many < FEWEST else ALONE):
        many += rows[terms[alone]]
        alone += 1
    common = terms[alone:]
    pairs = [f"({_quoted([term])} AND ({_quoted(common[at:])}))" for at, term in enumerate(common[:-1][:PAIRS], 1)]
    chosen = [_quoted(terms[:alone])] if alone else []
    return f"body : ({' OR '.join([*chosen, *pairs]) or _quoted(terms)})"
