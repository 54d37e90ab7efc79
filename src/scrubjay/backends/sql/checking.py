"""Look the records over: the file itself, whether every memory has its words, and whether any contradict each other."""

import sqlite3
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, func, literal, or_, select, text
from sqlalchemy.exc import DBAPIError

from scrubjay.backends.sql.driver import driver_of
from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import Instant
from scrubjay.elapsed import moment
from scrubjay.ports.records import overlap

WORDS_SECONDS: Final = 10.0
"""How long the index of words is looked at."""

_OF_AN_INDEX: Final = ("missing from index", "wrong # of entries in index", "non-unique entry in index")
_COLUMN: Final = memories.c
_NEVER: Final = literal(datetime(9999, 12, 31, tzinfo=UTC), Instant)
_BELIEVED: Final = (_COLUMN.superseded_at.is_(None), _COLUMN.key.is_not(None))

# One walk along the index of keys: each stretch beside the latest end of those of its key that began before it.
_STRETCHES: Final = (
    select(
        _COLUMN.seq,
        _COLUMN.valid_from,
        func.max(func.coalesce(_COLUMN.valid_to, _NEVER))
        .over(partition_by=(_COLUMN.scope_id, _COLUMN.key), order_by=(_COLUMN.valid_from, _COLUMN.seq), rows=(None, -1))
        .label("before"),
    )
    .where(*_BELIEVED)
    .subquery()
)
_OVERLAPPING: Final = select(func.count(), func.min(_STRETCHES.c.seq)).where(
    _STRETCHES.c.valid_from < _STRETCHES.c.before
)


def faults_of(connection: Connection) -> list[str]:
    """One sentence for each fault."""
    faults: list[str] = []
    if connection.dialect.name == "sqlite":
        faults += _file_faults(connection)
        orphans = connection.execute(text("PRAGMA foreign_key_check")).fetchall()
        faults += [f"{len(orphans)} rows point at rows that are gone"] if orphans else []
    stored = connection.execute(select(func.count()).select_from(memories)).scalar_one()
    try:
        indexed = connection.execute(text("SELECT count(*) FROM texts")).scalar_one()
    except DBAPIError as error:
        reason = str(error.orig).partition("\n")[0]
        return [*faults, f"the index of words cannot be read ({reason}): run `scrubjay reindex --words`"]
    if stored != indexed:
        faults.append(f"{stored} memories but {indexed} in the text index: run `scrubjay reindex --words`")
    return [*faults, *_overlaps(connection)]


def words_fault(connection: Connection) -> list[str]:
    """What is wrong inside the index of words of SQLite. Writers wait meanwhile, so it ends after a while."""
    file = driver_of(connection)
    until = moment() + WORDS_SECONDS
    file.set_progress_handler(lambda: moment() > until, 100_000)
    try:
        file.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")
        known = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'trigger')")}
    except sqlite3.DatabaseError as error:
        if "interrupted" in str(error):
            return []
        return [f"the index of words is damaged ({error}): run `scrubjay reindex --words`"]
    finally:
        file.set_progress_handler(None, 0)
    lost = sorted({"text_changes", "memories_changed", "text_changes_forgotten"} - known)
    return [f"{', '.join(lost)} of the index of words is gone: run `scrubjay reindex --words`"] if lost else []


def _file_faults(connection: Connection) -> list[str]:
    """What SQLite's integrity check finds, of which table it is, and what to do about it."""
    file = driver_of(connection)
    if not (whole := _check(file, "PRAGMA integrity_check")):
        return []
    faults: list[str] = []
    for (table,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall():
        if not (found := _check(file, f"PRAGMA integrity_check('{table}')")):
            continue
        if table.startswith(("texts_", "text_changes", "lineage")):
            remedy = "run `scrubjay reindex --words`, which makes it again"
        elif table == "vectors":
            remedy = "run `scrubjay reindex --rebuild`, which makes it again"
        elif all(any(sign in fault for sign in _OF_AN_INDEX) for fault in found):
            remedy = "run `scrubjay reindex --words`, which makes its indexes again"
        else:
            remedy = "run `scrubjay backup` and restore it elsewhere; if that fails, restore an older backup"
        faults.append(f"the table {table} fails its integrity check ({found[0]}): {remedy}")
    return faults or [f"the file fails its integrity check ({whole[0]}): run `scrubjay backup` and restore it"]


def _check(file: sqlite3.Connection, pragma: str) -> list[str]:
    try:
        said = [line for (found,) in file.execute(pragma) for line in found.splitlines()]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [line for line in said if line != "ok" and not line.startswith("***")]


def _overlaps(connection: Connection) -> list[str]:
    """Say that some keys have two values at one moment, both believed, with the first pair of them."""
    count, first = connection.execute(_OVERLAPPING).one()
    if not count:
        return []
    one = connection.execute(select(memories).where(_COLUMN.seq == first)).one()
    beside = select(_COLUMN.id).where(
        *_BELIEVED,
        _COLUMN.scope_id == one.scope_id,
        _COLUMN.key == one.key,
        _COLUMN.seq != first,
        _COLUMN.valid_from <= one.valid_from,
        or_(_COLUMN.valid_to.is_(None), _COLUMN.valid_to > one.valid_from),
    )
    other = connection.execute(beside.order_by(_COLUMN.seq)).scalars().first()
    # Both are there: a check sees one snapshot.
    return [overlap(count, one.id, other)] if other is not None else []
