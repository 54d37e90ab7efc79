"""Look the records over: the file itself, whether every memory has its words, and whether any contradict each other."""

from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection, func, literal, or_, select, text

from scrubjay.backends.sql.schema import memories
from scrubjay.backends.sql.types import Instant
from scrubjay.ports.records import overlap

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
        found = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        faults += [f"the file fails its integrity check: {fault}" for fault in found if fault != "ok"]
        orphans = connection.execute(text("PRAGMA foreign_key_check")).fetchall()
        faults += [f"{len(orphans)} rows point at rows that are gone"] if orphans else []
    stored = connection.execute(select(func.count()).select_from(memories)).scalar_one()
    indexed = connection.execute(text("SELECT count(*) FROM texts")).scalar_one()
    if stored != indexed:
        faults.append(f"{stored} memories but {indexed} in the text index: run `scrubjay reindex --words`")
    return [*faults, *_overlaps(connection)]


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
