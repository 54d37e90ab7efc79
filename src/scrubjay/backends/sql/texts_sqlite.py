"""Search by words in SQLite: FTS5 with BM25.

A row's `marks` say where it belongs, as terms of the index. In the match they make a narrow search quick: what is not
in the scope is never ranked. A wide search finds more rows than can be ranked in time, so they are weighed first.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Protocol

from sqlalchemy import Connection, Float, Integer, LargeBinary, column, select, table, text, type_coerce

from scrubjay.backends.sql import driver
from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import id_from
from scrubjay.backends.sql.weighing import CUT, DIGITS, LOOKED_AT, Listed, Ranking, heaviest, rarity
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Memory, Scope
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.model.words import text_of_words
from scrubjay.ports import Match

SCOPES_IN_MATCH: Final = 20
"""Scopes that a match names one by one. More cost more than they save."""

SCOPES_LOOKED_AT: Final = 2_000
"""Scopes that are looked through for a name that most of them share, such as one user's many sessions."""

RANKED: Final = 4_000
"""Rows that FTS5 ranks. Where more have the words, rows are weighed, and the heaviest are read until enough pass."""

WALKED: Final = 10_000
"""Rows that FTS5 walks through to rank some of them. In a narrow scope, where it ranks few, four times as many."""

WEIGHED: Final = 100_000
"""Rows that are weighed at most, about, where a fifth of all are not fewer: words are looked for from the rarest on."""

NARROW: Final = 0.1
"""A scope with less than this share of all rows is part of the match when rows are weighed; any other filters them."""

READ: Final = 200
"""Rows that are read and ranked by all words, of those that were weighed."""

LETTERS: Final = 300_000
"""Where texts are long, fewer are read: when these are so many letters, and enough."""

SMALL: Final = 200
"""Rows up to which a scope has no place in the match: to hold a filter against all that is found is as quick."""

MOST_OF_ALL: Final = 0.9
"""From this share of all rows on, a scope has no place in the match: nearly everything that is found is in it."""

FEW: Final = 10
"""A search that finds fewer is made again by FTS5: in a narrow scope with every word, however common elsewhere."""

EVERYTHING: Final = 0
"""The number under which it is written down that all rows may have other words now."""

_COUNTED: Final = 2_000
"""Rows that are counted. How many more there are is told from how far into the index so many went."""

_SAMPLED: Final = 200
"""Texts from which the usual length of one is told."""

_COUNTS_HELD: Final = 10_000
_MARKS_HELD: Final = 10_000

_ADD: Final = "INSERT INTO texts (rowid, body, marks) VALUES (?, ?, ?)"
_MARK: Final = text("UPDATE texts SET marks = :marks WHERE rowid = :seq")
_REMOVE: Final = text("DELETE FROM texts WHERE rowid = :seq")
_REWORDED: Final = text("INSERT INTO text_changes (seq, reworded) VALUES (:seq, 1)")
_COUNT: Final = (
    f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid LIMIT {_COUNTED})"
)
_LAST: Final = "SELECT max(seq) FROM memories"
_SOME: Final = "SELECT c0 FROM texts_content WHERE id IN (SELECT value FROM json_each(?))"
# In the order that `_best` has in the end, so that of many that score alike the right ones are among the first.
_BM25: Final = (
    "SELECT rowid AS seq, bm25(texts, 1.0, 0.0) AS score FROM texts WHERE texts MATCH :words "
    f"ORDER BY CAST(score * 1e{DIGITS} - 0.5 AS INTEGER), rowid LIMIT :most"
)
_HEAVIEST: Final = "SELECT value AS seq FROM json_each(:rows)"
_CONTENT: Final = table("texts_content", column("id"), column("c0"))
_ID: Final = type_coerce(memories.c.id, LargeBinary)
ALONE: Final = f"memories.position IS NULL AND memories.kind <> '{MESSAGE_KIND}'"
"""Whether a memory stands in no session and is no message, as `Match` wants to know it."""
IS_ALONE: Final = memories.c.position.is_(None) & (memories.c.kind != MESSAGE_KIND)


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
    """Take these rows out of the index, for good or to add them with other words."""
    if seqs:
        connection.execute(_REMOVE, [{"seq": seq} for seq in seqs])
        note_reworded(connection, seqs)


def note_reworded(connection: Connection, seqs: Sequence[int]) -> None:
    """Write down for those who hold words in memory that these rows have no words any more, or others."""
    connection.execute(_REWORDED, [{"seq": seq} for seq in seqs])


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
    asked = counts.asked(connection, terms, _marks(places, filter))
    search = _Plainly(connection, filter, now) if filter.is_plain else _ByExpression(connection, filter, now)
    if asked.ranking is None:
        return _ranked(search, asked.words, limit)
    file = driver_of(connection)
    for words in (asked.weighed, (*asked.weighed, *asked.common)):
        rows = heaviest(file, words, asked.ranking.usual)
        matches = _read(search.admitted(rows), asked.ranking, limit)
        if len(matches) >= min(FEW, limit) or not asked.common:
            break
    if len(matches) == limit or (len(rows) < LOOKED_AT and not any(word.is_cut for word in words)):
        return matches
    # The filter left too few of the heaviest, so that it must be held against everything.
    known = {match.id for match in matches}
    others = [match for match in _ranked(search, asked.words, limit) if match.id not in known]
    return sorted([*matches, *others], key=lambda match: -match.score)[:limit]


def _ranked(search: "_Search", words: str, limit: int) -> list[Match]:
    """The best as FTS5 ranks them."""
    # First rank alone and filter the best, which nearly always leaves enough; otherwise filter all that matched.
    for most in (limit + limit // 4 + 20, -1):
        found = search.ranked(words, most)
        passing = [(round(-score, DIGITS), seq, memory, alone) for seq, memory, score, alone, passes in found if passes]
        matches = _best(passing, limit)
        if len(matches) == limit or len(found) < most:
            break
    return matches


def _read(found: Iterable[Sequence[Any]], ranking: Ranking, limit: int) -> list[Match]:
    """The best of those that were weighed, which come heaviest first."""
    scored: list[tuple[float, int, bytes, int]] = []
    letters = 0
    for seq, memory, alone, body in found:
        scored.append((round(ranking.score(body), DIGITS), seq, memory, alone))
        letters += len(body)
        if len(scored) >= max(limit, READ if letters < LETTERS else 0):
            break
    return _best(scored, limit)


def _best(scored: Iterable[tuple[float, int, bytes, int]], limit: int) -> list[Match]:
    """The best of rows with score, number, id and whether each stands alone; of those that score alike, the oldest."""
    best = sorted(scored, key=lambda one: (-one[0], one[1]))[:limit]
    return [Match(id_from(memory), score, alone=bool(alone)) for score, _, memory, alone in best]


class Asked(NamedTuple):
    """What is asked for the terms, in the language of FTS5."""

    words: str
    """What FTS5 ranks: all of the words, or the rarest where these are too common."""
    weighed: Sequence[Listed] = ()
    """The words whose rows are weighed before that, and mostly instead, where FTS5 would take too long."""
    common: Sequence[Listed] = ()
    """The words whose rows are too many to be weighed, unless nothing else is found."""
    ranking: Ranking | None = None
    """How those that were weighed are ranked; None when FTS5 does it."""


class _Search(Protocol):
    """How the index is asked, and what it finds is held against a filter."""

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        """The best, or all with -1: number, id, score (lower is better), if it stands alone, and if it passes."""

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        """Those of the rows that pass, in their order: number, id, whether it stands alone, and its words."""


class _Plainly:
    """How a plain filter is asked. The expression that says the same would take longer to build than to answer."""

    def __init__(self, connection: Connection, filter: Filter, now: datetime) -> None:
        self._file = driver_of(connection)
        self._admits = driver.plainly_admits(filter)
        self._values = driver.plain_values(filter, now)

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        statement = (
            f"SELECT memories.seq, memories.id, ranked.score, {ALONE}, {self._admits} "
            f"FROM memories JOIN ({_BM25}) AS ranked ON memories.seq = ranked.seq ORDER BY ranked.score"
        )
        return self._file.execute(statement, {**self._values, "words": words, "most": most}).fetchall()

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        # A cross join keeps the order of its parts.
        statement = (
            f"SELECT memories.seq, memories.id, {ALONE}, texts_content.c0 FROM ({_HEAVIEST}) AS heaviest "
            "CROSS JOIN memories ON memories.seq = heaviest.seq "
            f"CROSS JOIN texts_content ON texts_content.id = heaviest.seq WHERE {self._admits}"
        )
        return self._file.execute(statement, {**self._values, "rows": json.dumps(rows)})


class _ByExpression:
    def __init__(self, connection: Connection, filter: Filter, now: datetime) -> None:
        self._connection = connection
        self._admits = conditions(filter, now, "sqlite")

    def ranked(self, words: str, most: int) -> Sequence[Sequence[Any]]:
        best = text(_BM25).columns(column("seq", Integer), column("score", Float)).subquery("ranked")
        statement = (
            select(memories.c.seq, _ID, best.c.score, IS_ALONE, self._admits.label("allowed"))
            .select_from(memories.join(best, memories.c.seq == best.c.seq))
            .order_by(best.c.score)
        )
        return self._connection.execute(statement, {"words": words, "most": most}).fetchall()

    def admitted(self, rows: Sequence[int]) -> Iterable[Sequence[Any]]:
        heavy = text(_HEAVIEST).columns(column("seq", Integer)).subquery("heaviest")
        joined = heavy.join(memories, memories.c.seq == heavy.c.seq).join(_CONTENT, _CONTENT.c.id == heavy.c.seq)
        statement = select(memories.c.seq, _ID, IS_ALONE, _CONTENT.c.c0).select_from(joined).where(self._admits)
        return self._connection.execute(statement, {"rows": json.dumps(rows)})


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
        self._length: float | None = None

    def asked(self, connection: Connection, terms: Sequence[str], marks: str | None) -> Asked:
        """What to ask for the best rows that have any of the terms; with marks, only rows that have one of them."""
        everything = among = self._everything(connection)
        if marks is not None and everything > SMALL:
            among = self._having(connection, f"marks : ({marks})")
        share = among / max(everything, 1)
        inside = f" AND marks : ({marks})" if marks is not None and share < MOST_OF_ALL else ""
        walked = WALKED / max(share, 0.25)
        if among <= RANKED and everything <= walked:
            return Asked(f"{_body(terms)}{inside}")
        rows = {term: self._having(connection, _body([term])) for term in terms}
        every = sum(rows.values())
        if every * share <= RANKED and every <= walked:
            return Asked(f"{_body(terms)}{inside}")
        is_narrow = bool(inside) and share < NARROW
        # Where a scope is part of the match, most rows of a word are passed over, eight times as fast, and those of the
        # scope are walked through again for each word.
        costs = {term: many / 8 + among / 2 if is_narrow else many for term, many in rows.items()}
        rarities = {term: rarity(many, everything) for term, many in rows.items()}
        listed = {
            term: Listed(
                f"{_body([term])}{inside if is_narrow else ''}",
                rarities[term],
                is_cut=many * (share if is_narrow else 1) > CUT,
            )
            for term, many in rows.items()
        }
        most = max(2 * WALKED, min(WEIGHED, everything / 5))
        weighed = [listed.pop(term) for term in _rarest(rows, costs, most)]
        words = f"{_body(_rarest(rows, rows, walked))}{inside}"
        return Asked(words, weighed, tuple(listed.values()), Ranking(rarities, self._usual(connection)))

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

    def _usual(self, connection: Connection) -> float:
        """How many words a text has, about."""
        if self._length is None:
            last = self._everything(connection)
            sample = json.dumps(list(range(1, last + 1, max(1, last // _SAMPLED))))
            lengths = [len(body.split()) for [body] in driver_of(connection).execute(_SOME, (sample,))]
            self._length = max(1.0, sum(lengths) / max(1, len(lengths)))
        return self._length


def _body(terms: Iterable[str]) -> str:
    return f"body : ({_quoted(terms)})"


def _rarest(rows: Mapping[str, float], costs: Mapping[str, float], most: float) -> list[str]:
    """The terms without the commonest: the two that fewest rows have, and more while all together cost so little.

    One that no row has is kept, since by now one may, and is none of the two.
    """
    kept: list[str] = []
    spent = 0.0
    for term in sorted(rows, key=rows.__getitem__):
        spent += costs[term]
        if sum(rows[one] > 0 for one in kept) >= 2 and spent > most:
            break
        kept.append(term)
    return kept
