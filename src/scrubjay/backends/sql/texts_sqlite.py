"""Search by words in SQLite: FTS5 with BM25.

A row's `marks` say where it belongs, as terms of the index. In the match they make a narrow search quick: what is not
in the scope is never ranked. A wide search finds more rows than can be ranked in time, so they are weighed first.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, select, text

from scrubjay.backends.sql import derived, driver, schema
from scrubjay.backends.sql.asking_sqlite import ByExpression, Plainly, Search, any_of
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.ownwords import OwnWords
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import id_from
from scrubjay.backends.sql.weighing import CUT, DIGITS, LOOKED_AT, Listed, Ranking, heaviest, lengths_of, rarity
from scrubjay.model import PLACE_NAMES, AsOf, Filter, Memory, Scope
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

WORDS: Final = 200_000
"""Words of all rows that are read where the tenant's own words rank them. Of longer texts, the heaviest are read."""

SMALL: Final = 200
"""Rows up to which a scope has no place in the match: to hold a filter against all that is found is as quick."""

MOST_OF_ALL: Final = 0.9
"""From this share of all rows on, a scope has no place in the match: nearly everything that is found is in it."""

FEW: Final = 10
"""A search that finds fewer is made again by FTS5: in a narrow scope with every word, however common elsewhere."""

EVERYTHING: Final = 0
"""The number under which it is written down that all rows may have other words now."""

_TABLES: Final = (
    "texts",
    *(f"texts_{part}" for part in ("data", "idx", "content", "docsize", "config")),
    "text_changes",
)
# Without those of vectors, which are made again with their table.
_INDEXED: Final = "SELECT DISTINCT tbl_name FROM sqlite_master WHERE type = 'index' AND tbl_name <> 'vectors'"

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
_HAVING: Final = "SELECT rowid FROM texts WHERE texts MATCH ?"
_LAST: Final = "SELECT max(seq) FROM memories"
_SOME: Final = "SELECT c0 FROM texts_content WHERE id IN (SELECT value FROM json_each(?))"


def make_again(connection: Connection, *, unlinking: bool = False) -> None:
    """Make the tables of words anew, empty, and every index of the file."""
    derived.drop(connection, _TABLES, unlinking=unlinking)
    file = driver_of(connection)
    for statement in ("DROP TRIGGER IF EXISTS memories_changed", schema.texts_sqlite, *schema.text_changes_sqlite_all):
        file.execute(statement)
    for (table,) in file.execute(_INDEXED).fetchall():
        file.execute(f"REINDEX {table}")


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


def refresh(connection: Connection, changed: Sequence[Memory]) -> None:
    """Bring the marks of these up to date after they were closed, or are believed anew. Each is given as it now is."""
    known = {memory.id: memory for memory in changed}
    ids = list(known)
    for start in range(0, len(ids), 500):
        statement = select(memories.c.id, memories.c.seq, memories.c.scope_id)
        found = connection.execute(statement.where(memories.c.id.in_(ids[start : start + 500])))
        marked = [
            {"seq": seq, "marks": marks_of(scope_id, known[one].scope, live=_live(known[one]))}
            for one, seq, scope_id in found
        ]
        if marked:
            connection.execute(_MARK, marked)


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
    file = driver_of(connection)
    own = counts.own.ranking(file, terms, filter.scope.tenant)
    asked = counts.asked(connection, terms, _marks(places, filter), own)
    search = Plainly(connection, filter, now) if filter.is_plain else ByExpression(connection, filter, now)

    def ranked() -> list[_Scored]:
        if own is None:
            return _ranked(search, asked.words, limit)
        rows = [seq for [seq] in file.execute(_HAVING, (asked.words,))]
        if sum(lengths_of(file, rows)) > WORDS:
            each = [Listed(f"{any_of([term])}{asked.inside}", own.rarities[term], is_cut=False) for term in terms]
            heavy = heaviest(file, each, own.usual)
            found = _read(search.admitted(heavy), own, limit)
            if len(found) >= limit or len(heavy) == len(rows):
                return found
        return _read(search.admitted(rows), own, len(rows))

    if asked.ranking is None:
        return _best(ranked(), limit)
    for words in (asked.weighed, (*asked.weighed, *asked.common)):
        rows = heaviest(file, words, asked.ranking.usual)
        found = _read(search.admitted(rows), asked.ranking, limit)
        if len(found) >= min(FEW, limit) or not asked.common:
            break
    if len(found) >= limit or (len(rows) < LOOKED_AT and not any(word.is_cut for word in words)):
        return _best(found, limit)
    # The filter left too few of the heaviest, so that it must be held against everything.
    known = {one.seq for one in found}
    return _best([*found, *(one for one in ranked() if one.seq not in known)], limit)


class _Scored(NamedTuple):
    """A row that was found, and its score, of which more is better."""

    score: float
    seq: int
    memory: bytes
    alone: int


def _ranked(search: Search, words: str, limit: int) -> list[_Scored]:
    """The best as FTS5 ranks them, and a few more."""
    # First rank alone and filter the best, which nearly always leaves enough; otherwise filter all that matched.
    for most in (limit + limit // 4 + 20, -1):
        found = search.ranked(words, most)
        passing = [
            _Scored(round(-score, DIGITS), seq, memory, alone) for seq, memory, score, alone, passes in found if passes
        ]
        if len(passing) >= limit or len(found) < most:
            break
    return passing


def _read(found: Iterable[Sequence[Any]], ranking: Ranking, limit: int) -> list[_Scored]:
    """The best of those that were weighed, which come heaviest first, and a few more."""
    scored: list[_Scored] = []
    letters = 0
    for seq, memory, alone, body, marks in found:
        scored.append(_Scored(round(ranking.score(body, marks), DIGITS), seq, memory, alone))
        letters += len(body)
        if len(scored) >= max(limit, READ if letters < LETTERS else 0):
            break
    return scored


def _best(scored: Iterable[_Scored], limit: int) -> list[Match]:
    """The best, and of those that score alike the oldest."""
    best = sorted(scored, key=lambda one: (-one.score, one.seq))[:limit]
    return [Match(id_from(one.memory), one.score, alone=bool(one.alone)) for one in best]


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
    inside: str = ""
    """What in `words` says where the rows belong, if anything does."""


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
        self.own = OwnWords()
        self._rows: dict[str, int] = {}
        self._all: int | None = None
        self._length: float | None = None

    def asked(self, connection: Connection, terms: Sequence[str], marks: str | None, own: Ranking | None) -> Asked:
        """What to ask for the best rows that have any of the terms; with marks, only rows that have one of them.

        What is found is ranked by the tenant's own words, where it does not have the file to itself.
        """
        everything = among = self._everything(connection)
        if marks is not None and everything > SMALL:
            among = self._having(connection, f"marks : ({marks})")
        share = among / max(everything, 1)
        inside = f" AND marks : ({marks})" if marks is not None and share < MOST_OF_ALL else ""
        walked = WALKED / max(share, 0.25)
        if among <= RANKED and everything <= walked:
            return Asked(f"{any_of(terms)}{inside}", inside=inside)
        rows = {term: self._having(connection, any_of([term])) for term in terms}
        every = sum(rows.values())
        if every * share <= RANKED and every <= walked:
            return Asked(f"{any_of(terms)}{inside}", inside=inside)
        is_narrow = bool(inside) and share < NARROW
        # Where a scope is part of the match, most rows of a word are passed over, eight times as fast, and those of the
        # scope are walked through again for each word.
        costs = {term: many / 8 + among / 2 if is_narrow else many for term, many in rows.items()}
        rarities = own.rarities if own else {term: rarity(many, everything) for term, many in rows.items()}
        listed = {
            term: Listed(
                f"{any_of([term])}{inside if is_narrow else ''}",
                rarities[term],
                is_cut=many * (share if is_narrow else 1) > CUT,
            )
            for term, many in rows.items()
        }
        most = max(2 * WALKED, min(WEIGHED, everything / 5))
        weighed = [listed.pop(term) for term in _rarest(rows, costs, most)]
        words = f"{any_of(_rarest(rows, rows, walked))}{inside}"
        ranking = own or Ranking(rarities, self._usual(connection))
        return Asked(words, weighed, tuple(listed.values()), ranking, inside)

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
