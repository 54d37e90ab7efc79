"""Search by words in PostgreSQL: tsvector with GIN, ranked by BM25.

PostgreSQL ranks by how often a word occurs and not by how rare it is, so the score is made here, from the same parts as
SQLite's: how often, how rare, how long the text. Whatever is asked, no more rows than `RANKED` are looked at: those
that the filter admits, when they are few; else those that are likely to be best, with one of the rarest words or two of
the others; and when even these are too common, the newest. All are ranked by all of the words.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Final

from sqlalchemy import Connection, text

from scrubjay.backends.sql.driver_postgresql import admitted, told_together
from scrubjay.backends.sql.schema import TEXT_CONFIGURATION
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
_IN_ALL: Final = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'texts'::regclass"
_HAVE: Final = f"words @@ plainto_tsquery('{TEXT_CONFIGURATION}', %(term)s)"
_COUNT: Final = f"SELECT count(*) FROM (SELECT FROM texts WHERE {_HAVE} LIMIT %(most)s) AS few"
_EXPECTED: Final = f"EXPLAIN (FORMAT JSON) SELECT FROM texts WHERE {_HAVE}"

# To see whether a text has a word takes many times as long as the planner thinks, so that it would read them all.
_BY_INDEX: Final = "SELECT set_config('enable_seqscan', 'off', true)"

# What is looked at, and among how many: of all that the filter admits, if they are not too many, those with any word.
_FEW: Final = f"""
    admitted AS MATERIALIZED (SELECT seq, id FROM memories WHERE {{admitted}} LIMIT %(most)s + 1),
    size AS MATERIALIZED (SELECT count(*) AS in_all FROM admitted),
    found AS MATERIALIZED (
        SELECT seq, id, body, words FROM admitted JOIN texts USING (seq)
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s) AND (SELECT in_all FROM size) <= %(most)s
    )"""
# Those of all rows that are likely to be best.
_LIKELY: Final = f"""
    size AS MATERIALIZED (SELECT %(in_all)s::bigint AS in_all),
    likely AS MATERIALIZED (
        SELECT seq, id, body, words FROM texts JOIN memories USING (seq)
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(likely)s) AND {{admitted}}
    ),
    found AS MATERIALIZED (SELECT * FROM likely ORDER BY seq DESC LIMIT %(most)s)"""
# They and the newest.
_NEWEST: Final = f"""
    size AS MATERIALIZED (SELECT %(in_all)s::bigint AS in_all),
    looked_at AS MATERIALIZED (
        (SELECT seq, id FROM memories WHERE {{admitted}} ORDER BY seq DESC LIMIT %(most)s)
        UNION SELECT seq, id FROM memories JOIN texts USING (seq)
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(likely)s) AND {{admitted}}
    ),
    found AS MATERIALIZED (
        SELECT seq, id, body, words FROM looked_at JOIN texts USING (seq)
        WHERE words @@ to_tsquery('{TEXT_CONFIGURATION}', %(any)s)
    )"""


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

    def ranked(found: str, **known: object) -> tuple[int, list[Match]]:
        statement = _ranking(found.format(admitted=condition), len(asked))
        _, rows = told_together(connection, [(_BY_INDEX, {}), (statement, {**given, **known})])
        return rows[0][0], [Match(id=one, score=score) for _, one, score in rows if one is not None]

    if filter not in counts.wide:
        many, matches = ranked(_FEW, known=[None] * len(asked))
        if many <= RANKED:
            return matches
        counts.note_wide(filter)
    rows, in_all = counts.rows(connection, asked)
    likely = _likely(rows, in_all)
    known = {"known": [rows[term] for term in asked], "in_all": in_all, "likely": likely}
    matches = ranked(_LIKELY, **known)[1] if likely else []
    # Whoever else has any of the words has only one, and a common one.
    return matches if len(matches) >= limit else ranked(_NEWEST, **known)[1]


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


@lru_cache(maxsize=64)
def _ranking(found: str, terms: int) -> str:
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
    rare = ", ".join(
        f"ln(1 + (greatest(in_all, n{place}) - n{place} + 0.5) / (n{place} + 0.5))::float8 AS rare{place}"
        for place in places
    )
    score = " + ".join(
        f"CASE WHEN r{place} > 0 THEN rare{place} / (1 + norm / (1 / (1.644934 * (1.000001 - r{place})) - 0.5)) "
        "ELSE 0 END"
        for place in places
    )
    return f"""
        WITH {found},
        -- Joined to nothing, the words of a long text are unpacked once instead of once for each term.
        matched AS MATERIALIZED (SELECT seq, id, octet_length(body) AS size, words || ''::tsvector AS words FROM found),
        ranked AS MATERIALIZED (SELECT seq, id, size, {often} FROM matched),
        counted AS (SELECT avg(size)::float8 AS usual, {having} FROM ranked),
        weighed AS MATERIALIZED (SELECT usual, {rare} FROM counted, size),
        best AS (
            SELECT seq, id, {_SATURATION + 1} * ({score})::float8 AS score
            FROM weighed, ranked,
                LATERAL (SELECT {_SATURATION} * ({1 - _LENGTH} + {_LENGTH} * size / usual) AS norm) AS length
            ORDER BY score DESC, seq DESC LIMIT %(limit)s
        )
        SELECT in_all, id, score FROM size LEFT JOIN best ON true ORDER BY score DESC, seq DESC"""


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
        self.wide: set[Filter] = set()
        """Filters that admit more rows than are ranked, or did a moment ago."""
        self._rows: dict[str, int] = {}
        self._in_all: int | None = None

    def note_wide(self, filter: Filter) -> None:
        """Remember that this filter admits more rows than are ranked."""
        if len(self.wide) > _COUNTS_HELD:
            self.wide.clear()
        self.wide.add(filter)

    def rows(self, connection: Connection, terms: Iterable[str]) -> tuple[dict[str, int], int]:
        """About how many rows have each of the terms, and how many there are at all.

        Rows are counted, up to as many as are ranked; beyond, it is as many as the planner expects.
        """
        if len(self._rows) > _COUNTS_HELD:
            self._rows.clear()
        rows = {term: self._rows.get(term, -1) for term in terms}
        new = [term for term, many in rows.items() if many < 0]
        if new or self._in_all is None:
            counting = [(_COUNT, {"term": term, "most": RANKED + 1}) for term in new]
            [[(in_all,)], *counted] = told_together(connection, [(_IN_ALL, {}), *counting])
            rows |= {term: many for term, [(many,)] in zip(new, counted, strict=True)}
            common = [term for term in new if rows[term] > RANKED]
            expected = told_together(connection, [(_EXPECTED, {"term": term}) for term in common]) if common else []
            for term, [([planned],)] in zip(common, expected, strict=True):
                rows[term] = max(rows[term], int(planned["Plan"]["Plan Rows"]))
            self._in_all = in_all
            self._rows |= {term: rows[term] for term in new}
        return rows, max(RANKED + 1, self._in_all)
