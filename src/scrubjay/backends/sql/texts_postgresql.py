"""Search by words in PostgreSQL: tsvector with GIN, ranked by BM25.

PostgreSQL ranks by how often a word occurs and not by how rare it is, so the score is made here, from the same parts as
SQLite's: how often, how rare, how long the text. Whatever is asked, hardly more rows than `RANKED` are looked at: those
that the filter admits, when they are few; else those that are likely to be best, with one of the rarest words or two of
the others; and when even these are too common, the newest. All are ranked by all of the words.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

from sqlalchemy import Connection, delete, text

from scrubjay.backends.sql import derived
from scrubjay.backends.sql.driver_postgresql import admitted, told, told_together
from scrubjay.backends.sql.schema import (
    TEXT_CONFIGURATION,
    texts,
    texts_postgresql,
    texts_postgresql_configuration,
    texts_postgresql_index,
)
from scrubjay.model import Filter, Memory
from scrubjay.model.words import words_of_memory
from scrubjay.ports import Match

RANKED: Final = 8_000
"""Rows that one search looks at, at most, as far as can be told before."""

TOGETHER: Final = 2
"""How many times as many rows have two words as would by chance: words of one question go together."""

BYTES: Final = 400_000
"""How much of one memory's words is indexed, since a tsvector has a limit: each word once."""

_COUNTS_HELD: Final = 10_000

_MOST: Final = 3
"""A filter admits most rows when it admits one in so many, as the planner thinks, who thinks too few."""

_GUESSED: Final = 0.005
"""The share of rows that the planner thinks a word has, at most, when its statistics do not know the word."""

_CLOSELY: Final = 1_000
"""Rows up to which those of a word are counted all the same: the rarest words say most, and are quickly counted."""

_SHORT: Final = 500
"""Bytes below which the words of a text are never packed."""

_SATURATION: Final = 1.2
_LENGTH: Final = 0.75

_CONFIGURED: Final = text("SELECT 1 FROM pg_ts_config WHERE cfgname = :name AND pg_ts_config_is_visible(oid)")
_WHOLE: Final = text(
    "SELECT count(*) FROM pg_attribute WHERE attrelid = to_regclass('texts') AND attnum > 0 AND NOT attisdropped "
    "AND attname::text || attgenerated::text IN ('seq', 'body', 'wordss')"
)
_VALID: Final = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('ix_texts_words')")
_ADD: Final = text("INSERT INTO texts (seq, body) VALUES (:seq, :body) ON CONFLICT DO NOTHING")
_HAVE: Final = f"words @@ plainto_tsquery('{TEXT_CONFIGURATION}', %(term)s)"
_COUNT: Final = f"SELECT count(*) FROM (SELECT FROM texts WHERE {_HAVE} LIMIT %(most)s) AS few"
_PLANNED: Final = "EXPLAIN (FORMAT JSON) SELECT FROM {}"
_IN_ALL: Final = _PLANNED.format("texts")
_EXPECTED: Final = _PLANNED.format(f"texts WHERE {_HAVE}")

# To see whether a text has a word takes many times as long as the planner thinks, so that it would read them all.
_BY_INDEX: Final = "SELECT set_config('enable_seqscan', 'off', true)"

# What is looked at, and among how many: of all that the filter admits, if they are not too many, those with any word.
_FEW: Final = f"""
    admitted AS MATERIALIZED (SELECT seq, id FROM memories WHERE {{admitted}} LIMIT %(most)s + 1),
    size AS MATERIALIZED (SELECT count(*) AS in_all FROM admitted),
    found AS (
        SELECT seq, id, body, words FROM admitted JOIN texts USING (seq)
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s) AND (SELECT in_all FROM size) <= %(most)s
    )"""
# Those of all rows that are likely to be best. They are found first, whatever the planner thinks of it.
_LIKELY: Final = f"""
    size AS MATERIALIZED (SELECT %(in_all)s::bigint AS in_all),
    likely AS (
        SELECT seq, body, words FROM texts WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(likely)s) OFFSET 0
    )"""
_LIKELY_FIRST: Final = f"{_LIKELY}, found AS (SELECT seq, NULL AS id, body, words FROM likely)"
_LIKELY_ADMITTED: Final = f"""{_LIKELY},
    found AS (SELECT seq, id, body, words FROM likely JOIN memories USING (seq) WHERE {{admitted}})"""
# They and the newest of all rows, in one walk from the end of the table.
_NEWEST_FIRST: Final = f"""{_LIKELY},
    found AS (
        SELECT seq, NULL AS id, body, words
        FROM (SELECT seq, body, words FROM texts ORDER BY seq DESC LIMIT %(most)s) AS newest
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s)
        UNION ALL SELECT seq, NULL, body, words FROM likely
        WHERE seq < (SELECT min(seq) FROM (SELECT seq FROM texts ORDER BY seq DESC LIMIT %(most)s) AS newest)
    )"""
# They and the newest that the filter admits.
_NEWEST: Final = f"""{_LIKELY},
    looked_at AS MATERIALIZED (
        (SELECT seq, id FROM memories WHERE {{admitted}} ORDER BY seq DESC LIMIT %(most)s)
        UNION SELECT seq, id FROM likely JOIN memories USING (seq) WHERE {{admitted}}
    ),
    found AS (
        SELECT seq, id, body, words
        FROM looked_at, LATERAL (SELECT body, words FROM texts WHERE texts.seq = looked_at.seq OFFSET 0) AS text
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s)
    )"""

# The best of those that were found.
_BEST: Final = "SELECT seq, id, score FROM scored LIMIT %(limit)s"
# The same, where the filter has not been asked yet: from the best on, only until there are enough that it admits.
_BEST_ADMITTED: Final = """
    SELECT memories.seq, memories.id, score FROM scored JOIN memories ON memories.seq = scored.seq WHERE {admitted}
    ORDER BY score DESC, scored.seq LIMIT %(limit)s"""


def make_again(connection: Connection, *, unlinking: bool = False) -> None:  # noqa: ARG001 -- as on SQLite
    """Empty the table of words, or make it anew if it is not as it should be."""
    if not connection.execute(_CONFIGURED, {"name": TEXT_CONFIGURATION}).scalar():
        for statement in texts_postgresql_configuration:
            connection.execute(text(statement))
    is_whole = connection.execute(_WHOLE).scalar() == len(texts.columns)
    if is_whole and connection.execute(_VALID).scalar():
        connection.execute(delete(texts))
        return
    derived.drop(connection, ["texts"])
    connection.execute(text(texts_postgresql))
    connection.execute(text(texts_postgresql_index))


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
    condition, given = admitted(connection, filter, now)
    given |= {f"term{place}": term for place, term in enumerate(asked)}
    given |= {"any": _any_of(asked), "most": RANKED, "limit": limit}

    def ranked(found: str, known: Mapping[str, object], best: str = _BEST) -> tuple[int, list[Match]]:
        statement = _ranking(found.format(admitted=condition), best.format(admitted=condition), len(asked))
        _, rows = told_together(connection, [(_BY_INDEX, {}), (statement, {**given, **known})])
        return rows[0][0], [Match(id=one, score=score) for _, one, score in rows if one is not None]

    expected = counts.wide.get(filter)
    if expected is None:
        many, matches = ranked(_FEW, {"known": [None] * len(asked)})
        if many <= RANKED:
            return matches
        expected = counts.note_wide(filter, told(connection, _PLANNED.format(f"memories WHERE {condition}"), given))
    rows, in_all = counts.rows(connection, asked)
    likely = _likely(rows, in_all)
    # To rank a row takes less than to ask whether the filter admits it, which pays as long as it admits most.
    is_most = expected * _MOST > in_all
    known = {"known": [rows[term] for term in asked], "in_all": in_all, "likely": likely}
    if likely:
        matches = ranked(_LIKELY_FIRST, known, _BEST_ADMITTED)[1] if is_most else ranked(_LIKELY_ADMITTED, known)[1]
        if len(matches) >= limit:
            return matches
    # Whoever else has any of the words has only one, and a common one.
    if is_most and len(matches := ranked(_NEWEST_FIRST, known, _BEST_ADMITTED)[1]) >= limit:
        return matches
    return ranked(_NEWEST, known)[1]


def _likely(rows: Mapping[str, int], in_all: int) -> str:
    """The rows that are likely to be best, as a tsquery; empty when all of the words are too common.

    Half of them may have but one word, from the rarest on; the others have two of those that are commoner.
    """
    # One that nobody had a moment ago is looked for too: it may just have been told.
    terms = sorted(rows, key=rows.__getitem__)
    chosen: list[str] = []
    many = 0.0
    while len(chosen) < len(terms) and many + rows[terms[len(chosen)]] <= RANKED / 2:
        many += rows[terms[len(chosen)]]
        chosen.append(f"'{terms[len(chosen)]}'")
    common = terms[len(chosen) :]
    both = {pair: TOGETHER * rows[pair[0]] * rows[pair[1]] / in_all for pair in combinations(common, 2)}
    partners: dict[str, list[str]] = {}
    for one, other in sorted(both, key=both.__getitem__):
        many += both[one, other]
        if many > RANKED:
            break
        partners.setdefault(one, []).append(f"'{other}'")
    # Each word as seldom as can be: the expression is evaluated for every row that comes into question.
    chosen += [f"('{one}' & ({' | '.join(others)}))" for one, others in partners.items()]
    return " | ".join(chosen)


@lru_cache(maxsize=64)
def _ranking(found: str, best: str, terms: int) -> str:
    """BM25 over the rows that were `found`: how many there are in all, and beside it id and score of each of the best.

    How many rows have a term is told from these, unless it is known. `ts_rank` of one word that occurs n times is
    1 + 1/4 + … + 1/n², over what that sum tends to. What is missing from the whole is about 1 / (n + 1/2), which gives
    n back. As short as can be: the driver remembers what it made of a statement up to 4,096 letters.
    """
    places = range(terms)
    often = ", ".join(
        f"ts_rank('{{1,1,1,1}}', words, plainto_tsquery('{TEXT_CONFIGURATION}', %(term{place})s)) AS r{place}"
        for place in places
    )
    having = ", ".join(
        f"coalesce((%(known)s::bigint[])[{place + 1}], count(*) FILTER (WHERE r{place} > 0)) AS n{place}"
        for place in places
    )
    rare = ", ".join(f"greatest(ln((in_all + 1) / (n{place} + 0.5)), 1e-6)::float8 AS rare{place}" for place in places)
    score = " + ".join(
        f"CASE WHEN r{place} > 0 THEN rare{place} / (1 + norm / (1 / (1.644934 * (1.000001 - r{place})) - 0.5)) "
        "ELSE 0 END"
        for place in places
    )
    # Joined to nothing, the words of a long text are unpacked once instead of once for each term.
    statement = f"""
        WITH {found},
        matched AS (
            SELECT seq, id, octet_length(body)::float8 AS size,
                CASE WHEN octet_length(body) < {_SHORT} THEN words ELSE words || ''::tsvector END AS words
            FROM found OFFSET 0
        ),
        ranked AS MATERIALIZED (SELECT seq, id, size, {often} FROM matched),
        counted AS (SELECT avg(size) AS usual, {having} FROM ranked),
        weighed AS MATERIALIZED (SELECT usual, {rare} FROM counted, size),
        scored AS (
            SELECT seq, id, round({_SATURATION + 1}e10 * ({score})::float8) / 1e10 AS score
            FROM weighed, ranked,
                LATERAL (SELECT {_SATURATION} * ({1 - _LENGTH} + {_LENGTH} * size / usual) AS norm) AS length
            ORDER BY score DESC, seq OFFSET 0
        ),
        best AS ({best})
        SELECT in_all, id, score FROM size LEFT JOIN best ON true ORDER BY score DESC, seq"""
    return " ".join(statement.split())


def _any_of(terms: Sequence[str]) -> str:
    return " | ".join(f"'{term}'" for term in terms)


def _bare(terms: Sequence[str]) -> list[str]:
    """The terms without anything that a tsquery could read as its own."""
    return ["".join(letter for letter in term if letter.isalnum()) for term in terms]


class Counted:
    """How many rows there are and have a word, and which filters admit very many, remembered.

    Close enough is good enough to tell rare words from common ones.
    """

    def __init__(self) -> None:
        self.wide: dict[Filter, int] = {}
        """Filters that admit more rows than are ranked, or did a moment ago, and how many the planner expects."""
        self._rows: dict[str, int] = {}
        self._in_all: int | None = None

    def note_wide(self, filter: Filter, plan: Sequence[tuple[Any, ...]]) -> int:
        """Remember that this filter admits more rows than are ranked; return how many the planner expects."""
        if len(self.wide) > _COUNTS_HELD:
            self.wide.clear()
        expected = self.wide[filter] = _planned(plan)
        return expected

    def rows(self, connection: Connection, terms: Iterable[str]) -> tuple[dict[str, int], int]:
        """About how many rows have each of the terms, and how many there are at all.

        Of a common word it is what the planner expects. The rows of any other are counted, up to as many as are ranked.
        """
        if len(self._rows) > _COUNTS_HELD:
            self._rows.clear()
        rows = {term: self._rows.get(term, -1) for term in terms}
        new = [term for term, many in rows.items() if many < 0]
        if new or self._in_all is None:
            asked = [(_EXPECTED, {"term": term}) for term in new]
            [whole, *plans] = told_together(connection, [(_IN_ALL, {}), *asked])
            self._in_all = _planned(whole)
            rows |= {term: _planned(plan) for term, plan in zip(new, plans, strict=True)}
            rare = [term for term in new if rows[term] <= max(_CLOSELY, math.ceil(_GUESSED * self._in_all))]
            counting = [(_COUNT, {"term": term, "most": RANKED + 1}) for term in rare]
            counted = told_together(connection, counting) if rare else []
            for term, [(many,)] in zip(rare, counted, strict=True):
                rows[term] = many if many <= RANKED else max(many, rows[term])
            self._rows |= {term: rows[term] for term in new}
        return rows, max(RANKED + 1, self._in_all)


def _planned(plan: Sequence[tuple[Any, ...]]) -> int:
    """How many rows the planner expects, from what EXPLAIN says."""
    [([top],)] = plan
    return int(top["Plan"]["Plan Rows"])
