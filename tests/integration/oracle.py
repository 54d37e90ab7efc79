"""What is true, said as plainly as can be: which memories a question may find, and what each of them scores.

Nothing here is quick, and nothing is shared with what is: every memory is read and held against the filter, every word
is counted, every vector is compared. The quick ways have to say the same.
"""

import math
from collections import Counter
from itertools import pairwise, zip_longest

import numpy as np
from sqlalchemy import select

from scrubjay.backends.sql.places import scope_from
from scrubjay.backends.sql.schema import memories, scopes, vectors
from scrubjay.backends.sql.stems import stem_of
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.sql.weighing import DIGITS
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.model import SCOPE_NAMES, Filter, Memory, Scope
from scrubjay.model.words import words_of_memory
from scrubjay.ports import Match
from scrubjay.ports.indexes import stretch_of

SATURATION, LENGTH = 1.2, 0.75
LEAST = 1e-6
"""What a word weighs that half of all texts have."""

CLOSE = 2e-7
"""Scores that lie closer together may change places: cosines are rounded to seven digits, and sums to sixteen."""

ROUNDED = 2e-3
"""The same for servers that hold numbers of sixteen bits, and read questions so."""


class Truth:
    """All that a database holds at one moment, read without any index."""

    def __init__(self, told, parts, *, generation=1, words=words_of_memory):
        self.told = told
        """Every memory of every tenant, in any state, in the order of storing."""
        self.parts = parts
        """By generation and id: the scope, kind and parts of a memory that has vectors."""
        self.generation = generation
        """The one that answers."""
        self.words = {memory.id: [stem_of(word) for word in words(memory)] for memory in told}
        self.order = {memory.id: place for place, memory in enumerate(told)}

    @classmethod
    async def of(cls, jay, engine, tenants, now, *, words=words_of_memory):
        """What is stored of these tenants, and what a vector engine has. `words` says what each is found by."""
        stores, told = jay.parts.stores, []
        for tenant in tenants:
            every = Filter(scope=Scope(tenant=tenant), reach="holds", history=True)
            told += await stores.records.find(every, now=now, limit=1_000_000, order="oldest")
        seqs = await jay.database.read(lambda file: dict(file.execute(select(memories.c.id, memories.c.seq)).all()))
        told.sort(key=lambda memory: seqs[memory.id])
        known = await stores.generations.generations()
        active = next((one.number for one in known if one.state == "active"), 1)
        if isinstance(engine, EmbeddedVectors):
            parts = await jay.database.read(_rows)
        else:
            parts = _entries(active, await engine.entries(active, [memory.id for memory in told]))
        return cls(told, parts, generation=active, words=words)

    def behind(self, one, some, order):
        """Those of some that were stored before this one, newest first; or after it, oldest first."""
        place = self.order[one.id]
        if order == "newest":
            return [other for other in some if self.order[other.id] < place]
        return [other for other in reversed(some) if self.order[other.id] > place]

    def matched(self, terms, filter, now):
        """Every memory with a term that the filter admits, with its BM25, best first."""
        counted = [one for one in self.told if one.scope.tenant == filter.scope.tenant]
        lengths = {one.id: len(self.words[one.id]) + 1 + sum(map(bool, one.scope.names())) for one in counted}
        usual = sum(lengths.values()) / max(1, len(lengths))
        often = {one.id: Counter(self.words[one.id]) for one in counted}
        found = []
        rarities = {}
        for term in terms:
            having = sum(stem_of(term) in often[one.id] for one in counted)
            rarities[term] = max(LEAST, math.log((len(counted) - having + 0.5) / (having + 0.5)))
        for one in counted:
            times = {term: often[one.id][stem_of(term)] for term in terms}
            if not any(times.values()) or not filter.matches(one, now):
                continue
            length = SATURATION * (1 - LENGTH + LENGTH * lengths[one.id] / usual)
            score = sum(
                rarities[term] * many * (SATURATION + 1) / (many + length) for term, many in times.items() if many
            )
            found.append(Match(one.id, round(score, DIGITS), alone=one.position is None and one.kind != "message"))
        return sorted(found, key=lambda match: (-match.score, self.order[match.id]))

    def nearest(self, vector, filter, now, *, among=None):
        """Every memory that may answer, with its cosine and its best part, best first."""
        question = np.asarray(vector, np.float64)
        question = question / (np.linalg.norm(question) or 1.0)
        known = {memory.id: memory for memory in self.told}
        found = []
        for (of, one), (scope, kind, parts) in self.parts.items():
            if of != self.generation or not filter.admits(scope) or (filter.kinds and kind not in filter.kinds):
                continue
            if among is not None:
                if one not in among:
                    continue
            else:
                live, since, until = stretch_of(known[one])
                if not live or since > now or (until is not None and until <= now):
                    continue
            best = min((-_cosine(halves, question), start, stop) for start, stop, halves in parts)
            outside = scope.session is None
            alone = outside and kind != "message"
            found.append(Match(one, -best[0], best[1], best[2], alone=alone, outside=outside))
        return sorted(found, key=lambda match: (-match.score, match.id))


def _cosine(halves, question):
    exact = halves.astype(np.float64)
    return round(float(exact @ question / (np.linalg.norm(exact) or 1.0)), 7)


def _entries(generation, entries):
    """The same as `_rows`, of an engine that can only be asked."""
    parts = {one.id: [(*span, row) for span, row in zip(one.spans, one.vectors, strict=True)] for one in entries}
    return {(generation, one.id): (one.scope, one.kind, parts[one.id]) for one in entries}


def _rows(connection):
    columns = vectors.c
    statement = (
        select(
            columns.generation,
            columns.memory_id,
            columns.kind,
            columns.start,
            columns.stop,
            columns.vector,
            *(scopes.c[name] for name in SCOPE_NAMES),
        )
        .join(scopes, scopes.c.id == columns.scope_id)
        .where(columns.vector.is_not(None))
        .order_by(columns.memory_id, columns.part)
    )
    parts = {}
    for generation, one, kind, start, stop, vector, *names in connection.execute(statement):
        part = (start, stop, np.frombuffer(bytes(vector), "<f2"))
        parts.setdefault((generation, one), (scope_from(names), kind, []))[2].append(part)
    return parts


class TrueTexts(SqlTexts):
    """Search by words that counts everything. What a misspelt word was meant to be is guessed as ever."""

    def __init__(self, database):
        super().__init__(database)
        self.truth = None

    def _furnish(self):
        """Nothing is held."""

    def _found(self, connection, terms, filter, now, limit):
        return self.truth.matched(terms, filter, now)[:limit]


class TrueVectors:
    """A vector engine that compares everything when it is searched, and is another one otherwise."""

    def __init__(self, engine):
        self._engine = engine
        self.truth = None

    def __getattr__(self, verb):
        return getattr(self._engine, verb)

    async def search(self, generation, vector, filter, *, now, limit, among=None):
        assert generation == self.truth.generation
        return self.truth.nearest(vector, filter, now, among=among)[:limit]


def difference(found, wanted, limit, *, close=CLOSE):
    """How an answer differs from all that could be one, best first; empty when it does not.

    What scores alike may come in any order, and any of it may be cut off.
    """
    expected = wanted[:limit]

    def what(match):
        # Which of several parts is nearest is not certain where they lie so close together.
        place = match.id, match.alone, match.outside
        return (*place, match.start, match.stop) if close == CLOSE else place

    if len(found) != len(expected):
        return f"{len(found)} found instead of {len(expected)}"
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        if abs(one.score - other.score) > close * max(1.0, abs(other.score)):
            return f"at {place}: {one} instead of {other}"
    if len({what(one)[0] for one in found}) < len(found):
        return "one is found twice"
    groups = _groups(wanted, close)
    allowed = {what(one): number for number, group in enumerate(groups) for one in group}
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        if allowed.get(what(one)) != allowed[what(other)]:
            return f"at {place}: {one} instead of {other}"
    return ""


def _groups(wanted, close):
    """Those that score alike, together."""
    groups, last = [], None
    for one in wanted:
        if last is None or last - one.score > close * max(1.0, abs(last)):
            groups.append([])
        groups[-1].append(one)
        last = one.score
    return groups


def unlike(found, wanted, limit):
    """How an answer that may miss some of the best differs from what it may hold; empty when it does not.

    It has as many as there are, in order, and none scores more than its best part.
    """
    allowed = {(one.id, one.alone, one.outside): one.score for one in wanted}
    if len({one.id for one in found}) != min(limit, len(wanted)):
        return f"{len(found)} found instead of {min(limit, len(wanted))}"
    for one in found:
        score = allowed.get((one.id, one.alone, one.outside))
        if score is None or one.score > score + CLOSE:
            return f"{one}, which scores {score}"
    if any(one.score < other.score for one, other in pairwise(found)):
        return "not in order"
    return ""


def otherwise(ours, theirs):
    """Where two answers differ first."""
    if not (isinstance(ours, list) and isinstance(theirs, list)):
        return f"{ours} instead of {theirs}"
    place, one, other = next(
        (place, one, other) for place, (one, other) in enumerate(zip_longest(ours, theirs)) if one != other
    )
    return f"at {place} of {len(ours)} and {len(theirs)}: {_shown(one)} instead of {_shown(other)}"


def _shown(one):
    """All of it: of a memory, the usual words leave out most."""
    if isinstance(one, tuple):
        return tuple(map(_shown, one))
    return {name: getattr(one, name) for name in Memory.__slots__} if isinstance(one, Memory) else one
