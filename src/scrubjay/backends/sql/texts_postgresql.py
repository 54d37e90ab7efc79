"""Search by words in PostgreSQL: tsvector with GIN, ranked by BM25.

PostgreSQL ranks by how often a word occurs and not by how rare it is, so the score is made here, from the same parts as
SQLite's: how often, how rare, how long the text. Whatever is asked, no more rows than `RANKED` are looked at: those
that the filter admits, when they are few; else those that are likely to be best, with one of the rarest words or two of
the others; and when even these are too common, the newest. All are ranked by all of the words.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import combinations
from typing import Any, Final

from sqlalchemy import Connection, Select, literal_column, select, text

from scrubjay.backends.sql.conditions import conditions
from scrubjay.backends.sql.places import among_places
from scrubjay.backends.sql.schema import TEXT_CONFIGURATION, memories
from scrubjay.model import Filter, Memory
from scrubjay.model.words import words_of_memory
from scrubjay.ports import Match

RANKED: Final = 8_000
"""Rows that one search looks at, at most."""

TOGETHER: Final = 2
"""How many times as many rows have two words as would by chance: words of one question go together."""

BYTES: Final = 400_000
"""How much of one memory's words is indexed, since a tsvector has a limit: each word once."""

_COUNTS_HELD: Final = 10_000

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75

_ADD: Final = text("INSERT INTO texts (seq, body) VALUES (:seq, :body)")
_IN_ALL: Final = text("SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = 'texts'::regclass")
_COUNT: Final = text(
    f"SELECT count(*) FROM (SELECT FROM texts WHERE words @@ plainto_tsquery('{TEXT_CONFIGURATION}', :term) "
    "LIMIT :most) AS few"
)
_EXPECTED: Final = text(
    f"EXPLAIN (FORMAT JSON) SELECT FROM texts WHERE words @@ plainto_tsquery('{TEXT_CONFIGURATION}', :term)"
)
_AS_LIST: Final[Select[Any]] = select(literal_column("array_agg(numbers.seq)"))
_HAS_ANY: Final = text(
    f"memories.seq IN (SELECT seq FROM texts WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', :words))"
)


def add(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these memories, given with their row number and their scope's."""
    connection.execute(_ADD, [{"seq": seq, "body": body_of(memory)} for seq, _, memory in indexed])


def body_of(memory: Memory) -> str:
    """The words of a memory, as they are indexed."""
    body = " ".join(words_of_memory(memory))
    if len(body) * 4 <= BYTES or len(body.encode()) <= BYTES:
        return body
    once = " ".join(dict.fromkeys(body.split(" ")))
    return once.encode()[:BYTES].decode(errors="ignore")


def match(
    connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int, counts: "Counted"
) -> list[Match]:
    """Return the memories with any of the terms, best first."""
    asked = _bare(terms)
    place = among_places(connection, filter)
    admitted = select(memories.c.seq).where(conditions(filter, now, "postgresql", place=place))
    seqs = _listed(connection, admitted.limit(RANKED + 1))
    in_all, rows = len(seqs), dict[str, int]()
    if in_all > RANKED:
        in_all = max(in_all, int(connection.execute(_IN_ALL).scalar_one()))
        rows = counts.rows(connection, asked)
        words = _likely(rows, in_all)
        seqs = _listed(connection, admitted.where(_HAS_ANY), {"words": words}) if words else []
        if len(seqs) > RANKED:
            seqs = sorted(seqs)[-RANKED:]
        if len(seqs) < limit:  # Whoever else has any of the words has only one, and a common one.
            seqs += _listed(connection, admitted.order_by(memories.c.seq.desc()).limit(RANKED - len(seqs)))
    return _ranked(connection, asked, rows, among=seqs, in_all=in_all, limit=limit) if seqs else []


def _likely(rows: Mapping[str, int], in_all: int) -> str:
    """The rows that are likely to be best, as a tsquery; empty when all of the words are too common.

    Half of them may have but one word, from the rarest on; the others have two of those that are commoner.
    """
    terms = sorted((term for term in rows if rows[term]), key=rows.__getitem__)
    chosen: list[str] = []
    many = 0.0
    while len(chosen) < len(terms) and many + rows[terms[len(chosen)]] <= RANKED / 2:
        many += rows[terms[len(chosen)]]
        chosen.append(f"'{terms[len(chosen)]}'")
    common = terms[len(chosen) :]
    both = {pair: TOGETHER * rows[pair[0]] * rows[pair[1]] / in_all for pair in combinations(common, 2)}
    for one, other in sorted(both, key=both.__getitem__):
        many += both[one, other]
        if many > RANKED:
            break
        chosen.append(f"('{one}' & '{other}')")
    return " | ".join(chosen)


def _listed(connection: Connection, numbers: Select[tuple[int]], given: dict[str, str] | None = None) -> list[int]:
    """The row numbers as one value, which the driver reads much faster than as many rows."""
    listed: list[int] | None = connection.execute(_AS_LIST.select_from(numbers.subquery("numbers")), given).scalar_one()
    return listed or []


def _ranked(
    connection: Connection,
    terms: Sequence[str],
    rows: Mapping[str, int],
    *,
    among: Sequence[int],
    in_all: int,
    limit: int,
) -> list[Match]:
    """The memories of those of these row numbers that have any of the terms, with their BM25 scores, best first.

    How many rows have a term is told from these, unless it is known of all.
    """
    given: dict[str, object] = {f"term{place}": term for place, term in enumerate(terms)}
    given |= {f"known{place}": rows.get(term) for place, term in enumerate(terms)}
    given |= {"any": _any_of(terms), "among": among, "in_all": in_all, "limit": limit}
    return [
        Match(id=memory, score=score) for memory, score in connection.exec_driver_sql(_statement(len(terms)), given)
    ]


@cache
def _statement(terms: int) -> str:
    """BM25 over the rows that match, in the driver's own words: an expression of that size takes long to put together.

    `ts_rank` of one word that occurs n times is 1 + 1/4 + … + 1/n², over what that sum tends to. What is missing from
    the whole is about 1 / (n + 1/2), which gives n back.
    """
    places = range(terms)
    asked = ", ".join(f"plainto_tsquery('{TEXT_CONFIGURATION}', %(term{place})s) AS asked{place}" for place in places)
    often = ", ".join(f"ts_rank('{{1,1,1,1}}', words, asked{place}) AS rank{place}" for place in places)
    having = {place: f"coalesce(%(known{place})s::bigint, count(*) FILTER (WHERE rank{place} > 0))" for place in places}
    rare = ", ".join(
        f"ln(1 + (greatest(%(in_all)s, {many}) - {many} + 0.5) / ({many} + 0.5)) AS rarity{place}"
        for place, many in having.items()
    )
    score = " + ".join(
        f"CASE WHEN rank{place} > 0 THEN rarity{place} * {_SATURATION + 1} "
        f"/ (1 + norm / (1 / (1.644934 * (1.000001 - rank{place})) - 0.5)) ELSE 0 END"
        for place in places
    )
    return f"""
        WITH asked AS MATERIALIZED (SELECT {asked}),
        -- Joined to nothing, the words of a long text are unpacked once instead of once for each term.
        matched AS MATERIALIZED (
            SELECT seq, octet_length(body) AS size, words || ''::tsvector AS words FROM texts
            WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s) AND seq = ANY(%(among)s::bigint[])
        ),
        ranked AS MATERIALIZED (SELECT seq, size, {often} FROM matched, asked),
        counted AS MATERIALIZED (SELECT avg(size)::float8 AS usual, {rare} FROM ranked),
        best AS MATERIALIZED (
            SELECT seq, ({score})::float8 AS score
            FROM counted, ranked,
                LATERAL (SELECT {_SATURATION} * ({1 - _LENGTH} + {_LENGTH} * size / usual) AS norm) AS length
            ORDER BY score DESC, seq DESC LIMIT %(limit)s
        )
        SELECT id, score FROM best JOIN memories USING (seq) ORDER BY score DESC, seq DESC"""


def _any_of(terms: Sequence[str]) -> str:
    return " | ".join(f"'{term}'" for term in terms)


def _bare(terms: Sequence[str]) -> list[str]:
    """The terms without anything that a tsquery could read as its own."""
    return ["".join(letter for letter in term if letter.isalnum()) for term in terms]


class Counted:
    """How many rows have a word, remembered: close enough is good enough to tell rare words from common ones."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def rows(self, connection: Connection, terms: Iterable[str]) -> dict[str, int]:
        """About how many rows have each of the terms: counted, or as many as the planner expects of a common one."""
        if len(self._rows) > _COUNTS_HELD:
            self._rows.clear()
        rows: dict[str, int] = {}
        for term in terms:
            many = self._rows.get(term)
            if many is None:
                many = connection.execute(_COUNT, {"term": term, "most": RANKED + 1}).scalar_one()
                if many > RANKED:
                    [planned] = connection.execute(_EXPECTED, {"term": term}).scalar_one()
                    many = max(many, int(planned["Plan"]["Plan Rows"]))
                self._rows[term] = many
            rows[term] = many
        return rows
