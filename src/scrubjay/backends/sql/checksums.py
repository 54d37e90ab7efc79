"""Look rows over by their checksums, which notice damage that a database does not notice itself.

What a checksum guards is what a write fixes: what a memory says, where it belongs, since when it holds and when it was
stored, as it is stored, which may be encrypted. What later writes change is outside of it: importance, ends, uses.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select, update
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.rows import COLUMNS, Reader, checksum_of
from scrubjay.backends.sql.schema import memories
from scrubjay.errors import StoreDamaged
from scrubjay.model import Memory

NAMED: Final = 5
"""Damaged rows that are named; the others are counted."""

_PAGE: Final = 500
_COLUMN: Final = memories.c
_ROWS: Final = select(*COLUMNS, _COLUMN.checksum, _COLUMN.seq)
_OTHERS: Final = 2
"""Columns of these that are no part of a memory."""


def faults_of(connection: Connection) -> list[str]:
    """One sentence about the rows that are not what was stored, if there are any."""
    found = [name for page in _pages(connection) for name in damaged(connection, Reader(), page)]
    if not found:
        return []
    named = ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more" if len(found) > NAMED else "")
    return [f"{_many(len(found))} not what was stored ({named}): {REMEDY}"]


REMEDY: Final = (
    "restore a backup, or `scrubjay export` what is left; `scrubjay doctor --accept` takes what can be read as it is"
)


def check(connection: Connection, reader: Reader, page: Select[Any]) -> list[Memory]:
    """The memories of these rows, over `COLUMNS`. Raises StoreDamaged when one of them is not what was stored."""
    kept, wrong = _compared(connection, reader, page)
    if wrong:
        raise StoreDamaged(f"{_many(len(wrong))} not what was stored, one is {wrong[0]}. Run `scrubjay doctor`")
    return kept


def damaged(connection: Connection, reader: Reader, page: Select[Any]) -> list[str]:
    """The ids of these rows that are not what was stored, or their numbers where even those cannot be read."""
    try:
        return _compared(connection, reader, page)[1]
    except (StoreDamaged, DBAPIError, sqlite3.DatabaseError):
        seqs = connection.execute(page.with_only_columns(_COLUMN.seq)).scalars().all()
    if len(seqs) == 1:
        return [f"row {seqs[0]}"]
    return [name for seq in seqs for name in damaged(connection, reader, _ROWS.where(_COLUMN.seq == seq))]


def unknown(connection: Connection) -> int:
    """Count the rows without a checksum: those that an older version stored."""
    return connection.execute(select(func.count()).where(_COLUMN.checksum.is_(None))).scalar_one()


def make(connection: Connection, *, anew: bool = False) -> int:
    """Give a checksum to the rows that have none; `anew`, also to those that are not what was stored. Returns how many.

    A row that cannot be read stays as it is.
    """
    reader, done = Reader(), 0
    for page in _pages(connection):
        rows = _readable(connection, page if anew else page.where(_COLUMN.checksum.is_(None)))
        for row in rows:
            try:
                [memory] = reader.memories(connection, [row[:-_OTHERS]])
            except StoreDamaged:
                continue
            checksum = checksum_of(memory)
            if row.checksum != checksum:
                connection.execute(update(memories).where(_COLUMN.seq == row.seq).values(checksum=checksum))
                done += 1
    return done


def _compared(connection: Connection, reader: Reader, page: Select[Any]) -> tuple[list[Memory], list[str]]:
    found = _read(connection, page)
    kept = reader.memories(connection, [row[:-_OTHERS] for row in found])
    wrong = [
        str(memory.id)
        for memory, row in zip(kept, found, strict=True)
        if row.checksum is not None and row.checksum != checksum_of(memory)
    ]
    return kept, wrong


def _read(connection: Connection, page: Select[Any]) -> Sequence[Any]:
    try:
        return connection.execute(page.with_only_columns(*_ROWS.selected_columns)).fetchall()
    except (ValueError, TypeError) as error:
        raise StoreDamaged from error


def _readable(connection: Connection, page: Select[Any]) -> Iterator[Any]:
    try:
        yield from _read(connection, page)
    except (StoreDamaged, DBAPIError):
        for seq in connection.execute(page.with_only_columns(_COLUMN.seq)).scalars().all():
            try:
                yield from _read(connection, _ROWS.where(_COLUMN.seq == seq))
            except (StoreDamaged, DBAPIError):
                continue


def _pages(connection: Connection) -> Iterator[Select[Any]]:
    """All rows, a few hundred at a time."""
    last = 0
    while True:
        seqs = select(_COLUMN.seq).where(_COLUMN.seq > last).order_by(_COLUMN.seq).limit(_PAGE).subquery()
        end = connection.execute(select(func.max(seqs.c.seq))).scalar()
        if end is None:
            return
        yield _ROWS.where(_COLUMN.seq > last, _COLUMN.seq <= end).order_by(_COLUMN.seq)
        last = end


def _many(count: int) -> str:
    return f"{count:,} {'memory is' if count == 1 else 'memories are'}"
