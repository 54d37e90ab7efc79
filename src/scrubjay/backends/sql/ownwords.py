"""How rare words are among the memories of one tenant, where several share a SQLite file.

FTS5 counts over all rows, so that its scores would tell each tenant which words the others use. What is told here comes
from the tenant's own rows and from nothing else.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Final

from scrubjay.backends.sql.asking_sqlite import any_of
from scrubjay.backends.sql.stems import stem_of
from scrubjay.backends.sql.weighing import Forms, Ranking, rarity

SAMPLED: Final = 2_000
"""Texts in which the words are counted. Of a tenant that has more, every so manieth."""

LETTERS: Final = 1_000_000
"""Letters after which no more texts of a sample are read: of long ones, fewer say as much."""

CLOSELY: Final = 20
"""Texts of a sample in which a word has to be to say how common it is. The rows of a rarer one are counted."""

_IS_SHARED: Final = "SELECT (SELECT min(tenant) FROM scopes) < (SELECT max(tenant) FROM scopes)"
_NUMBERS: Final = (
    "SELECT memories.seq FROM scopes CROSS JOIN memories ON memories.scope_id = scopes.id WHERE scopes.tenant = ?"
)
_TEXTS: Final = "SELECT c0, c1 FROM json_each(?) AS sample CROSS JOIN texts_content ON texts_content.id = sample.value"
_ROUNDS: Final = 16
"""A sample goes through the tenant's time so often, so that one that is cut short has some of all of it."""
# From the rows of the word on, of which there are few.
_COUNT: Final = (
    "SELECT count(*) FROM texts CROSS JOIN memories ON memories.seq = texts.rowid "
    "CROSS JOIN scopes ON scopes.id = memories.scope_id WHERE texts MATCH ? AND scopes.tenant = ?"
)
_COUNTS_HELD: Final = 10_000


class OwnWords:
    """Rankings of tenants. What is counted of a large one is remembered: a few rows more make no difference there."""

    def __init__(self) -> None:
        self._samples: dict[str, tuple[int, str]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def ranking(self, file: sqlite3.Connection, terms: Sequence[str], tenant: str) -> Ranking | None:
        """How the tenant's texts are ranked by these terms; None when the file is the tenant's own."""
        if not file.execute(_IS_SHARED).fetchone()[0]:
            return None
        everything, sample = self._sample(file, tenant)
        forms, having = Forms(terms), Counter[str]()
        texts = words = letters = 0
        for body, marks in file.execute(_TEXTS, (sample,)):
            having.update(forms.often(body).keys())
            words += len(body.split()) + len(marks.split())
            texts += 1
            letters += len(body)
            if letters >= LETTERS:
                break
        rarities: dict[str, float] = {}
        for term in terms:
            many: float = having[stem_of(term)]
            if texts < everything:
                many = self._count(file, term, tenant) if many < CLOSELY else many * everything / texts
            rarities[term] = rarity(many, everything)
        return Ranking(rarities, max(1.0, words / max(1, texts)), marked=True)

    def _count(self, file: sqlite3.Connection, term: str, tenant: str) -> int:
        """How many rows of the tenant have the term."""
        known = self._counts.get((tenant, term))
        if known is None:
            [known] = file.execute(_COUNT, (any_of([term]), tenant)).fetchone()
            if tenant in self._samples:
                if len(self._counts) >= _COUNTS_HELD:
                    self._counts.clear()
                self._counts[tenant, term] = known
        return known

    def _sample(self, file: sqlite3.Connection, tenant: str) -> tuple[int, str]:
        """How many rows the tenant has, and the numbers of some of them, all over its time."""
        known = self._samples.get(tenant)
        if known is None:
            numbers = sorted(number for [number] in file.execute(_NUMBERS, (tenant,)))
            some = numbers[:: 1 + len(numbers) // SAMPLED]
            known = len(numbers), json.dumps([one for first in range(_ROUNDS) for one in some[first::_ROUNDS]])
            if len(numbers) > SAMPLED:
                self._samples[tenant] = known
        return known
