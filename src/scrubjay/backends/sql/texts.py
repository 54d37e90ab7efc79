"""The words that each memory is found by, kept beside its record in the same transaction, and the search by them."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, bindparam, delete, select, text

from scrubjay.backends.sql import derived, texts_postgresql, texts_sqlite
from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.derived import has_records_only
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.narrowing import narrow
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import lineage, memories
from scrubjay.backends.sql.schema import texts as texts_table
from scrubjay.backends.sql.typos import SHORTEST, nearest
from scrubjay.model import Filter, Memory
from scrubjay.ports import Match

if TYPE_CHECKING:
    from scrubjay.backends.sql.shelf import Shelf

FEW: Final = 3
"""Matches below which misspelt words are guessed at. A search that finds enough is never slowed down by it."""

VOCABULARY_ROWS: Final = 1_000
"""Memories whose words a misspelt one is compared with: the newest that the filter admits, so nobody else's."""

_VOCABULARY_LETTERS: Final = 1_000
_GUESSES: Final = 4
_COUNTS_SECONDS: Final = 60.0


def add(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these memories, given with their row number and their scope's."""
    if indexed and not has_records_only(connection):
        engine = texts_postgresql if connection.dialect.name == "postgresql" else texts_sqlite
        engine.add(connection, indexed)


def replace(connection: Connection, indexed: Sequence[tuple[int, int, Memory]]) -> None:
    """Index these anew: they have other words than before."""
    if indexed and not has_records_only(connection):
        remove(connection, [seq for seq, _, _ in indexed])
        if connection.dialect.name == "postgresql":
            connection.execute(delete(texts_table).where(texts_table.c.seq.in_([seq for seq, _, _ in indexed])))
        add(connection, indexed)


def refresh(connection: Connection, changed: Sequence[Memory]) -> None:
    """Bring the index up to date after these were closed, or are believed anew. PostgreSQL's says nothing of that."""
    if connection.dialect.name == "sqlite" and not has_records_only(connection):
        texts_sqlite.refresh(connection, changed)


def remove(connection: Connection, seqs: Sequence[int]) -> None:
    """Take these rows out of the index. PostgreSQL does it by itself, with the row."""
    if connection.dialect.name == "sqlite" and not has_records_only(connection):
        texts_sqlite.remove(connection, seqs)


class SqlTexts:
    """The `Texts` port over the words that `writing` keeps beside each record."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._columns = columns_of(database)
        self._engine = texts_postgresql if database.dialect == "postgresql" else texts_sqlite
        self._counted = self._engine.Counted()
        self._counted_at = time.monotonic()
        self._is_new = True
        self._shelf: Shelf | None = None

    async def match(
        self, terms: Sequence[str], filter: Filter, *, now: datetime, limit: int, guess: bool = True
    ) -> list[Match]:
        """Return the memories with any of the terms, best first."""
        usable = [term for term in terms if term.isalnum() or any(letter.isalnum() for letter in term)]
        if not usable:
            return []
        # Made anew now and then by whoever comes first: a store grows, and rare words become common ones.
        if time.monotonic() - self._counted_at > _COUNTS_SECONDS:
            self._counted, self._counted_at = self._engine.Counted(), time.monotonic()
        self._furnish()

        def work(connection: Connection) -> list[Match]:
            found = self._found(connection, usable, filter, now, limit)
            if not guess or len(found) >= min(FEW, limit):
                return found
            meant = self._meant(connection, usable, filter, now, found=bool(found))
            if meant:
                found = self._found(connection, [*usable, *meant], filter, now, limit)
            return found

        return await self._database.glance(work)

    def _furnish(self) -> None:
        """From the second search on, words may be held in memory. Who asks once, as a command does, loads no numpy."""
        if self._shelf is None and not self._is_new and self._database.dialect == "sqlite":
            from scrubjay.backends.sql.shelf import Shelf  # noqa: PLC0415 -- loads numpy

            self._shelf = Shelf(self._database)
        self._is_new = False

    def _found(
        self, connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, limit: int
    ) -> list[Match]:
        held = self._shelf.match(connection, terms, filter, now, limit) if self._shelf else None
        if held is not None:
            return held
        found: list[Match] = self._engine.match(connection, terms, filter, now, limit, self._counted)
        return found

    def _meant(
        self, connection: Connection, terms: Sequence[str], filter: Filter, now: datetime, *, found: bool
    ) -> list[str]:
        """The words that were probably meant by terms that find nothing. `found` says whether some of them do."""
        unknown = [term for term in terms if len(term) >= SHORTEST and term.isalpha()][:_GUESSES]
        if found:
            unknown = [term for term in unknown if not self._found(connection, [term], filter, now, 1)]
        if not unknown:
            return []
        vocabulary = self._vocabulary(connection, filter, now)
        return [meant for term in unknown if (meant := nearest(term, vocabulary)) is not None]

    def _vocabulary(self, connection: Connection, filter: Filter, now: datetime) -> set[str]:
        admitted = select(memories.c.seq).where(narrow(connection, self._columns, filter, now))
        newest = connection.execute(admitted.order_by(memories.c.seq.desc()).limit(VOCABULARY_ROWS)).scalars().all()
        if not newest:
            return set()
        number = "rowid" if connection.dialect.name == "sqlite" else "seq"
        bodies = text(f"SELECT substr(body, 1, {_VOCABULARY_LETTERS}) FROM texts WHERE {number} IN :seqs")
        found = connection.execute(bodies.bindparams(bindparam("seqs", expanding=True)), {"seqs": newest}).scalars()
        return {word for body in found for word in body.split(" ")}

    async def rebuild(self) -> int:
        """Build the index again from the records, whatever is in its place; and lineage, and the indexes of SQLite."""
        return await derived.remake(self._database, _rebuilt)


def _rebuilt(connection: Connection, unlinking: bool) -> int:  # noqa: FBT001 -- of one shape with others
    engine = texts_postgresql if connection.dialect.name == "postgresql" else texts_sqlite
    if connection.dialect.name == "postgresql" and derived.columns_of(connection, lineage.name):
        connection.execute(delete(lineage))  # To drop it would keep everybody waiting.
    else:
        derived.make_again(connection, lineage, unlinking=unlinking)
    engine.make_again(connection, unlinking=unlinking)
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
        engine.add(connection, [(seq, scope_id, found[known]) for seq, scope_id, known in page])
        links = [
            {"source_id": source, "derived_id": memory.id}
            for memory in found.values()
            for source in dict.fromkeys(memory.derived_from)
        ]
        if links:
            connection.execute(insert_into(connection, lineage).on_conflict_do_nothing(), links)
        done += len(page)
