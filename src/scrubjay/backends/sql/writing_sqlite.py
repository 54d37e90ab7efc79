"""The statements of a write transaction on SQLite, in plain text and straight to its driver.

At thousands of rows a second the expression language would be most of the cost.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection

from scrubjay.backends.sql import bulk, driver, texts_sqlite
from scrubjay.backends.sql.derived import has_records_only
from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.places import stored
from scrubjay.backends.sql.rows import Reader, checksum_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import microseconds
from scrubjay.model import SCOPE_NAMES, Memory, Scope

BATCH: Final = 200
"""Drafts looked up in one statement: twice as many values stay well below every limit on parameters."""

_COLUMNS: Final = tuple(column.name for column in memories.columns)
_LAST: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'memories'"
_LINK: Final = "INSERT INTO lineage (source_id, derived_id) VALUES (?, ?)"
_PLACE: Final = f"SELECT id FROM scopes WHERE {' AND '.join(f'{name} = ?' for name in SCOPE_NAMES)}"
_NEW_PLACE: Final = f"INSERT INTO scopes ({', '.join(SCOPE_NAMES)}) VALUES (?, ?, ?, ?, ?, ?)"
_BETWEEN: Final = "SELECT 1 FROM memories WHERE id BETWEEN ? AND ? LIMIT 1"
_POSITION: Final = "SELECT max(position) FROM memories WHERE scope_id = ? AND position IS NOT NULL"
# As the indexes say it.
_OPEN: Final = "memories.superseded_at IS NULL AND memories.valid_to IS NULL"
_ENDED: Final = "memories.superseded_at IS NULL AND memories.key IS NULL AND memories.valid_to IS NOT NULL"
_KEYED: Final = "memories.superseded_at IS NULL AND memories.key IS NOT NULL"
_KEYED_SINCE: Final = "(memories.superseded_at IS NULL OR memories.superseded_at >= ?) AND memories.key IS NOT NULL"


def interned(connection: Connection, wanted: Iterable[Scope]) -> dict[Scope, int]:
    """The numbers of these scopes, with those that are new added."""
    found: dict[Scope, int] = {}
    cursor = driver_of(connection).cursor()
    for scope in wanted:
        names = stored(scope)
        row = cursor.execute(_PLACE, names).fetchone()
        found[scope] = row[0] if row else cursor.execute(_NEW_PLACE, names).lastrowid or 0
    return found


def known(
    connection: Connection,
    reader: Reader,
    drafts: Sequence[Memory],
    numbers: Mapping[Scope, int],
    since: datetime | None = None,
) -> Iterator[Memory]:
    """What is stored under the same ids, or believed under the same keys or with the same words; some of it twice.

    Under the same keys also what was closed since then.
    """
    cursor = driver_of(connection).cursor()
    for start in range(0, len(drafts), BATCH):
        some = drafts[start : start + BATCH]
        ids = _perhaps_stored(cursor, some)
        found = cursor.execute(_by_ids(len(ids)), ids).fetchall() if ids else []
        for columns, which, wanted in _lookups(some, numbers, since):
            if wanted:
                values = [*chain.from_iterable(wanted)]
                if since is not None and which is _KEYED_SINCE:
                    values.append(microseconds(since))
                found += cursor.execute(_believed(columns, which, len(wanted)), values).fetchall()
        if found:
            yield from reader.told(connection, found)


def _lookups(
    drafts: Sequence[Memory], numbers: Mapping[Scope, int], since: datetime | None
) -> Iterator[tuple[tuple[str, ...], str, Collection[tuple[Any, ...]]]]:
    """What to look up, each answered by an index: by which columns beside the scope, among which rows, which values."""
    words = [(numbers[draft.scope], bytearray(draft.fingerprint)) for draft in drafts if not draft.is_event]
    yield ("fingerprint",), _OPEN, words
    ended = [
        (numbers[draft.scope], bytearray(draft.fingerprint), microseconds(draft.valid_to))
        for draft in drafts
        if draft.valid_to is not None and draft.key is None and not draft.is_event
    ]
    yield ("fingerprint", "valid_to"), _ENDED, ended
    which = _KEYED if since is None else _KEYED_SINCE
    yield ("key",), which, {(numbers[draft.scope], draft.key) for draft in drafts if draft.key}


def _perhaps_stored(cursor: sqlite3.Cursor, drafts: Sequence[Memory]) -> list[bytearray]:
    """The ids of these, if any of them can be stored already."""
    ids = [bytearray(draft.id.bytes) for draft in drafts]
    # Those that were made together lie close together: where nothing lies between them, none of them is there.
    return ids if cursor.execute(_BETWEEN, (min(ids), max(ids))).fetchone() else []


@lru_cache(maxsize=64)
def _by_ids(many: int) -> str:
    return f"SELECT {driver.SELECTED} FROM memories WHERE memories.id IN ({', '.join('?' * many)})"


@lru_cache(maxsize=64)
def _believed(columns: tuple[str, ...], which: str, many: int) -> str:
    """Believed rows by their scope and these columns: a join with the values, for `IN` would read the whole table.

    An outer join: of an inner one SQLite would first read all rows into a Bloom filter, once somebody has run ANALYZE.
    """
    named = ("scope_id", *columns)
    if many == 1:
        same = " AND ".join(f"memories.{name} = ?" for name in named)
        return f"SELECT {driver.SELECTED} FROM memories WHERE {same} AND {which}"
    row = f"({', '.join('?' * len(named))})"
    same = " AND ".join(f"memories.{name} = wanted.{name}" for name in named)
    return (
        f"WITH wanted ({', '.join(named)}) AS (VALUES {', '.join([row] * many)}) SELECT {driver.SELECTED} FROM wanted "
        # Said so that SQLite does not see through it, and makes no inner join of it.
        f"LEFT JOIN memories ON {same} AND {which} WHERE coalesce(memories.seq, 0) > 0"
    )


def unknown(connection: Connection, drafts: Sequence[Memory]) -> set[UUID]:
    """The ids of those that nothing stored stands for, neither under the same id nor with the same words."""
    cursor = driver_of(connection).cursor()
    places = {scope: cursor.execute(_PLACE, stored(scope)).fetchone() for scope in {draft.scope for draft in drafts}}
    found: set[bytes | tuple[int, bytes]] = set()
    for start in range(0, len(drafts), BATCH):
        some = drafts[start : start + BATCH]
        if ids := _perhaps_stored(cursor, some):
            found.update(one for (one,) in cursor.execute(_ids(len(ids)), ids))
        words = [(places[draft.scope][0], bytearray(draft.fingerprint)) for draft in some if places[draft.scope]]
        if words:
            found.update(cursor.execute(_words(len(words)), [value for pair in words for value in pair]))
    return {
        draft.id
        for draft in drafts
        if draft.id.bytes not in found and ((places[draft.scope] or (0,))[0], draft.fingerprint) not in found
    }


@lru_cache(maxsize=64)
def _ids(many: int) -> str:
    return f"SELECT id FROM memories WHERE id IN ({', '.join('?' * many)})"


@lru_cache(maxsize=64)
def _words(many: int) -> str:
    return _believed(("fingerprint",), _OPEN, many).replace(driver.SELECTED, "memories.scope_id, memories.fingerprint")


def last_positions(connection: Connection, scope_ids: Collection[int]) -> dict[int, int]:
    """The highest position of each of these scopes; those without any are left out."""
    cursor = driver_of(connection).cursor()
    found = {scope_id: cursor.execute(_POSITION, (scope_id,)).fetchone()[0] for scope_id in scope_ids}
    return {scope_id: position for scope_id, position in found.items() if position is not None}


def mark(connection: Connection, ids: Sequence[UUID], generation: int | None) -> list[tuple[UUID, bool]]:
    """Mark these rows with a generation; return those that are there, each with whether it is closed."""
    # The moment itself: of `superseded_at IS NULL`, SQLite 3.40 returns here that it is not so where it is.
    which = f"id IN ({', '.join('?' * len(ids))}) RETURNING id, superseded_at"
    values = [generation, *(one.bytes for one in ids)]
    found = driver_of(connection).execute(f"UPDATE memories SET generation = ? WHERE {which}", values).fetchall()
    return [(UUID(bytes=one), closed_at is not None) for one, closed_at in found]


def insert(
    connection: Connection, opened: Sequence[Memory], numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    """Store these rows, their words and their lineage."""
    file = driver_of(connection)
    # Taken here, so that the text index can use them in the same round.
    last = (file.execute(_LAST).fetchone() or (0,))[0]
    indexed = [(seq, numbers[memory.scope], memory) for seq, memory in enumerate(opened, last + 1)]
    rows = [_row(memory, seq, scope_id, marks) for seq, scope_id, memory in indexed]
    bulk.insert(file, "memories", _COLUMNS, rows)
    if not has_records_only(connection):
        texts_sqlite.add(connection, indexed)
    links = [(source.bytes, memory.id.bytes) for memory in opened for source in dict.fromkeys(memory.derived_from)]
    if links:
        file.executemany(_LINK, links)


def _row(memory: Memory, seq: int, scope_id: int, marks: Mapping[UUID, int]) -> tuple[Any, ...]:
    """The row that holds this memory, in the order of the table."""
    created_at = microseconds(memory.created_at)
    valid_from = created_at if memory.valid_from is memory.created_at else microseconds(memory.valid_from)
    return (
        seq,
        bytearray(memory.id.bytes),
        scope_id,
        memory.kind,
        memory.key,
        memory.content,
        _json(memory.data) if memory.data else None,
        float(memory.importance),
        str.__str__(memory.trust),
        memory.source,
        memory.author,
        memory.reason,
        _json([str(one) for one in memory.derived_from]) if memory.derived_from else None,
        _json(memory.redacted) if memory.redacted else None,
        bytearray(memory.fingerprint),
        memory.position,
        created_at,
        valid_from,
        None if memory.valid_to is None else microseconds(memory.valid_to),
        None if memory.expires_at is None else microseconds(memory.expires_at),
        None if memory.superseded_at is None else microseconds(memory.superseded_at),
        None if memory.superseded_by is None else memory.superseded_by.bytes,
        memory.closed_because,
        memory.uses,
        None if memory.used_at is None else microseconds(memory.used_at),
        marks.get(memory.id, memory.generation),
        checksum_of(memory),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
