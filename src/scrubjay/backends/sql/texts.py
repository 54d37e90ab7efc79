"""Search by words: FTS5 with BM25 in SQLite, tsvector with GIN in PostgreSQL, over the words of `model.words`.

In SQLite a row's `marks` say where it belongs, as terms of the index. In the match they make a narrow search quick:
what is not in the scope is never ranked. A wide search is made quick the other way, by leaving out its commonest words.
"""

import time
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    Text,
    cast,
    column,
    func,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.places import place_condition
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import TEXT_CONFIGURATION, memories, scopes
from scrubjay.backends.sql.schema import texts as texts_postgresql
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
_COUNTS_SECONDS: Final = 60.0

CONFIGURATION: Final[ColumnElement[Any]] = literal_column(f"'{TEXT_CONFIGURATION}'::regconfig")

POSTGRESQL_BYTES: Final = 400_000
"""How much of one memory's words PostgreSQL indexes, since a tsvector has a limit: each word once."""

_ADD_SQLITE: Final = text("INSERT INTO texts (rowid, body, marks) VALUES (:seq, :body, :marks)")
_ADD_POSTGRESQL: Final = text("INSERT INTO texts (seq, body) VALUES (:seq, :body)")
_MARK: Final = text("UPDATE texts SET marks = :marks WHERE rowid = :seq")
_COUNT: Final = text("SELECT count(*) FROM texts WHERE texts MATCH :expression")
_PLACES: Final = select(scopes.c.id, *(scopes.c[name] for name in PLACE_NAMES))
_RANKED: Final = (
    text(
        "SELECT rowid AS seq, bm25(texts, 1.0, 0.0) AS score FROM texts WHERE texts MATCH :expression "
        "ORDER BY score LIMIT :ranked"
    )
    .columns(column("seq", Integer), column("score", Float))
    .subquery("ranked")
)


def body_of(memory: Memory) -> str:
    """The words that a memory is found by, as the index takes them."""
    return " ".join(words_of_memory(memory))


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


def add(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these memories, given with their row number and their scope's."""
    if connection.dialect.name == "postgresql":
        bodies = [(seq, _within_limit(body_of(memory))) for seq, _, memory in indexed]
        connection.execute(_ADD_POSTGRESQL, [{"seq": seq, "body": body} for seq, body in bodies])
        return
    connection.execute(
        _ADD_SQLITE,
        [
            {"seq": seq, "body": body_of(memory), "marks": marks_of(scope_id, memory.scope, live=_live(memory))}
            for seq, scope_id, memory in indexed
        ],
    )


def _within_limit(body: str) -> str:
    if len(body) * 4 <= POSTGRESQL_BYTES or len(body.encode()) <= POSTGRESQL_BYTES:
        return body
    once = " ".join(dict.fromkeys(body.split(" ")))
    return once.encode()[:POSTGRESQL_BYTES].decode(errors="ignore")


def refresh(connection: Connection, closed: Sequence[Memory]) -> None:
    """Bring the marks of these up to date after they were closed."""
    if connection.dialect.name == "postgresql":
        return
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
    """Take these rows out of the index. PostgreSQL does it by itself, with the row."""
    if connection.dialect.name == "sqlite" and seqs:
        connection.execute(text("DELETE FROM texts WHERE rowid = :seq"), [{"seq": seq} for seq in seqs])


def _live(memory: Memory) -> bool:
    # What has an end date may still hold, so only what was closed or was past when it was written is not live.
    return memory.superseded_at is None and (memory.valid_to is None or memory.valid_to > memory.created_at)


class SqlTexts:
    """The `Texts` port over the words that `writing` keeps beside each record, in the same transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted = Counted()
        self._counted_at = time.monotonic()

    async def match(self, terms: Sequence[str], filter: Filter, *, now: datetime, limit: int) -> list[Match]:
        """Return the memories with any of the terms, best first."""
        usable = [term for term in terms if any(letter.isalnum() for letter in term)]
        if not usable:
            return []
        if self._database.dialect == "postgresql":
            return await self._database.read(
                lambda connection: _match_postgresql(connection, usable, filter, now, limit)
            )
        # Made anew now and then by whoever comes first: a store grows, and rare words become common ones.
        if time.monotonic() - self._counted_at > _COUNTS_SECONDS:
            self._counted, self._counted_at = Counted(), time.monotonic()
        counted = self._counted
        return await self._database.read(
            lambda connection: _match_sqlite(connection, usable, filter, now, limit, counted)
        )

    async def rebuild(self) -> int:
        """Build the index again from the records."""
        return await self._database.write(_rebuild)


def _match_sqlite(
    connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int, counts: "Counted"
) -> list[Match]:
    places = connection.execute(_PLACES.where(place_condition(filter)).limit(SCOPES_LOOKED_AT)).fetchall()
    if not places:
        return []
    marks = _marks(places, filter)
    words = _quoted(terms if marks else counts.rarest(connection, terms))
    expression = f"body : ({words}) AND marks : ({marks})" if marks else f"body : ({words})"
    allowed = conditions(filter, now, "sqlite").label("allowed")
    joined = memories.join(_RANKED, memories.c.seq == _RANKED.c.seq)
    # First rank alone and filter the best, which nearly always leaves enough; otherwise filter all that matched.
    for ranked in (limit + limit // 4 + 20, -1):
        statement = select(memories.c.id, _RANKED.c.score, allowed).select_from(joined).order_by(_RANKED.c.score)
        found = connection.execute(statement, {"expression": expression, "ranked": ranked}).fetchall()
        matches = [Match(id=found_id, score=-score) for found_id, score, passes in found if passes][:limit]
        if len(matches) == limit or len(found) < ranked:
            break
    return matches


def _quoted(terms: Sequence[str]) -> str:
    """The terms as FTS5 reads them: quoted, so that nothing in them can be an operator."""
    return " OR ".join('"' + term.replace('"', "") + '"' for term in terms)


def _marks(places: Sequence[Row[Any]], filter: Filter) -> str | None:
    """The marks that every admitted row has one of; None when the search is too wide for marks to help."""
    at_present = not filter.history and filter.as_of == AsOf()
    states = (True,) if at_present else (True, False)
    if len(places) <= SCOPES_IN_MATCH:
        return " OR ".join(_scope_mark(place.id, live=live) for place in places for live in states)
    if len(places) == SCOPES_LOOKED_AT:
        return None
    for name, value in zip(PLACE_NAMES, filter.scope.names(), strict=True):
        if value is None:
            continue
        beside = [place.id for place in places if getattr(place, name) != value]
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
                self._rows[term] = connection.execute(_COUNT, {"expression": f"body : {_quoted([term])}"}).scalar_one()
        kept: set[str] = set()
        ranked = 0
        for term in sorted(terms, key=self._rows.__getitem__):
            ranked += self._rows[term]
            if len(kept) >= 2 and ranked > POSTINGS:
                break
            kept.add(term)
        return [term for term in terms if term in kept]


def _match_postgresql(
    connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int
) -> list[Match]:
    words = texts_postgresql.c.words
    any_of = func.to_tsquery(CONFIGURATION, " | ".join(f"'{term}'" for term in _bare(terms)))
    matched = (
        select(memories.c.id, memories.c.seq, words.label("words"))
        .join(texts_postgresql, texts_postgresql.c.seq == memories.c.seq)
        .where(words.op("@@")(any_of), conditions(filter, now, "postgresql"))
        .cte("matched")
    )
    term = func.unnest(cast(_bare(terms), ARRAY(Text))).column_valued("term")
    asked = select(func.plainto_tsquery(CONFIGURATION, term).label("question")).cte("asked")
    # PostgreSQL ranks by how often a term occurs, not by how rare it is; the rarity is counted here, over what matched.
    among_all = select(func.count()).select_from(matched).scalar_subquery()
    having = (
        select(func.count()).select_from(matched).where(matched.c.words.op("@@")(asked.c.question)).scalar_subquery()
    )
    weighed = select(asked.c.question, func.ln(1.0 + (1.0 + among_all) / (0.5 + having)).label("weight")).cte("weighed")
    score = func.sum(weighed.c.weight * func.ts_rank(matched.c.words, weighed.c.question, 1)).label("score")
    statement = (
        select(matched.c.id, score)
        .select_from(matched.join(weighed, matched.c.words.op("@@")(weighed.c.question)))
        .group_by(matched.c.id, matched.c.seq)
        .order_by(score.desc(), matched.c.seq.desc())
        .limit(limit)
    )
    return [Match(id=found_id, score=float(found)) for found_id, found in connection.execute(statement)]


def _bare(terms: Sequence[str]) -> list[str]:
    """The terms without anything that a tsquery could read as its own."""
    return ["".join(letter for letter in term if letter.isalnum()) for term in terms]


def _rebuild(connection: Connection) -> int:
    connection.execute(text("DELETE FROM texts"))
    reader = Reader()
    done, last = 0, 0
    while True:
        statement = select(memories.c.seq, memories.c.scope_id, memories.c.id)
        page = connection.execute(statement.where(memories.c.seq > last).order_by(memories.c.seq).limit(500)).fetchall()
        if not page:
            return done
        last = page[-1].seq
        found = {
            memory.id: memory
            for memory in reader.fetch(connection, rows().where(memories.c.seq.between(page[0].seq, last)))
        }
        add(connection, [(seq, scope_id, found[known]) for seq, scope_id, known in page])
        done += len(page)
