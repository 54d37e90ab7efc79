"""The statements of a write transaction on PostgreSQL."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Text, and_, bindparam, func, or_, select

from scrubjay.backends.sql import texts_postgresql
from scrubjay.backends.sql.derived import has_records_only
from scrubjay.backends.sql.driver import SELECTED
from scrubjay.backends.sql.driver_postgresql import copied, listed, told
from scrubjay.backends.sql.lookup import Statement
from scrubjay.backends.sql.places import interned
from scrubjay.backends.sql.rows import Reader, rows, values_of
from scrubjay.backends.sql.schema import lineage, memories, scopes, texts
from scrubjay.model import Memory, Scope

__all__ = ["insert", "interned", "known", "last_positions", "mark", "queue_up"]

BATCH = 1_000
"""Drafts looked up in one statement."""

_BY_WORDS = (
    f"SELECT {SELECTED} FROM unnest(%(scopes)s::bigint[], %(words)s::bytea[]) AS wanted (scope_id, fingerprint) "
    "JOIN memories USING (scope_id, fingerprint) WHERE superseded_at IS NULL AND valid_to IS NULL"
)
_BY_WORDS_AND_END = (
    f"SELECT {SELECTED} FROM unnest(%(scopes)s::bigint[], %(words)s::bytea[], %(ends)s::timestamptz[]) "
    "AS wanted (scope_id, fingerprint, valid_to) JOIN memories USING (scope_id, fingerprint, valid_to) "
    "WHERE superseded_at IS NULL AND key IS NULL AND valid_to IS NOT NULL"
)
_BY_KEY = (
    f"SELECT {SELECTED} FROM unnest(%(scopes)s::bigint[], %(keys)s::text[]) AS wanted (scope_id, key) "
    "JOIN memories USING (scope_id, key) "
    "WHERE superseded_at IS NULL OR superseded_at >= %(since)s::timestamptz"
)

_NUMBERS = "SELECT array_agg(nextval('memories_seq_seq')) FROM generate_series(1, %(count)s)"
_TYPES = {
    "seq": "int8", "id": "uuid", "scope_id": "int8", "fingerprint": "bytea", "kind": "text", "key": "text",
    "content": "text", "data": "json", "importance": "float8", "trust": "text", "source": "text", "author": "text",
    "reason": "text", "derived_from": "json", "redacted": "json", "position": "int8", "created_at": "timestamptz",
    "valid_from": "timestamptz", "valid_to": "timestamptz", "expires_at": "timestamptz",
    "superseded_at": "timestamptz", "superseded_by": "uuid", "closed_because": "text", "uses": "int4",
    "used_at": "timestamptz", "generation": "int4", "checksum": "int8",
}  # fmt: skip
"""The columns of a memory, as many are copied at once."""

_MARKED = (
    "UPDATE memories SET generation = %(mark)s WHERE id = ANY(%(ids)s::uuid[]) RETURNING id, superseded_at IS NOT NULL"
)

# One memory is what most writers bring, and a round trip takes longer than what it asks for: so each is one statement.
_COLUMN = memories.c
_SAME_ID = _COLUMN.id == bindparam("the_id")
_BELIEVED_HERE = and_(_COLUMN.scope_id == bindparam("the_scope"), _COLUMN.superseded_at.is_(None))
_WORDS_HERE = and_(_BELIEVED_HERE, _COLUMN.fingerprint == bindparam("the_words"))
_SAME_WORDS = and_(_WORDS_HERE, _COLUMN.valid_to.is_(None))
_SAME_STRETCH = and_(_WORDS_HERE, _COLUMN.key.is_(None), _COLUMN.valid_to == bindparam("the_end"))
_BELIEVED_SINCE = or_(_COLUMN.superseded_at.is_(None), _COLUMN.superseded_at >= bindparam("since"))
_SAME_KEY = and_(_COLUMN.scope_id == bindparam("the_scope"), _COLUMN.key == bindparam("the_key"), _BELIEVED_SINCE)
_BEARING = rows().where(or_(_SAME_ID, _SAME_WORDS))
_BEARING_WITH_END = rows().where(or_(_SAME_ID, _SAME_STRETCH))
_BEARING_WITH_KEY = rows().where(or_(_SAME_ID, _SAME_WORDS, _SAME_KEY))
_NEW = [column for column in memories.columns if column is not _COLUMN.seq]
_STORED = memories.insert().values({column: bindparam(f"new_{column.name}", type_=column.type) for column in _NEW})
_SEQ = _STORED.returning(_COLUMN.seq).cte("stored").c.seq
_INSERT = texts.insert().from_select(["seq", "body"], select(_SEQ, bindparam("new_body", type_=Text)))


def queue_up(connection: Connection, shared: Sequence[int]) -> None:
    """Let writers of one key or one session wait for each other, given the numbers of their scopes in order."""
    statement = select(scopes.c.id).where(scopes.c.id.in_(shared)).order_by(scopes.c.id)
    connection.execute(statement.with_for_update(key_share=False)).fetchall()


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
    if len(drafts) == 1 and not drafts[0].is_event:
        yield from reader.fetch(connection, *_bearing(drafts[0], numbers, since))
        return
    for start in range(0, len(drafts), BATCH):
        batch = drafts[start : start + BATCH]
        yield from reader.by_ids(connection, [draft.id for draft in batch])
        for statement, given in _lookups(batch, numbers, since):
            yield from reader.told(connection, told(connection, statement, given))


def _bearing(draft: Memory, numbers: Mapping[Scope, int], since: datetime | None) -> Statement:
    """The same for one, all at once."""
    asked = {"the_id": draft.id, "the_scope": numbers[draft.scope], "the_words": draft.fingerprint}
    if draft.key:
        return _BEARING_WITH_KEY, asked | {"the_key": draft.key, "since": since}
    if draft.valid_to is not None:
        return _BEARING_WITH_END, asked | {"the_end": draft.valid_to}
    return _BEARING, asked


def _lookups(
    drafts: Sequence[Memory], numbers: Mapping[Scope, int], since: datetime | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Statements that are each answered by an index: by fingerprint and by key within the scope."""
    words = [(numbers[draft.scope], draft.fingerprint) for draft in drafts if not draft.is_event]
    ended = [one for one in drafts if one.valid_to is not None and one.key is None and not one.is_event]
    keys = list(dict.fromkeys((numbers[draft.scope], draft.key) for draft in drafts if draft.key))
    if words:
        yield _BY_WORDS, {"scopes": [scope for scope, _ in words], "words": [mark for _, mark in words]}
    if ended:
        yield (
            _BY_WORDS_AND_END,
            {
                "scopes": [numbers[one.scope] for one in ended],
                "words": [one.fingerprint for one in ended],
                "ends": [one.valid_to for one in ended],
            },
        )
    if keys:
        yield _BY_KEY, {"scopes": [scope for scope, _ in keys], "keys": [key for _, key in keys], "since": since}


def last_positions(connection: Connection, scope_ids: Collection[int]) -> dict[int, int]:
    """The highest position of each of these scopes; those without any are left out."""
    column = memories.c
    statement = (
        select(column.scope_id, func.max(column.position))
        .where(column.scope_id.in_(scope_ids), column.position.is_not(None))
        .group_by(column.scope_id)
    )
    return {scope_id: position for scope_id, position in connection.execute(statement)}  # noqa: C416 -- rows are not pairs to a type checker


def insert(
    connection: Connection, opened: Sequence[Memory], numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    """Store these rows, their words and their lineage."""
    if len(opened) == 1:
        _insert_one(connection, opened[0], numbers, marks)
    else:
        _insert_several(connection, opened, numbers, marks)
    links = [
        {"source_id": source, "derived_id": memory.id}
        for memory in opened
        for source in dict.fromkeys(memory.derived_from)
    ]
    if links:
        connection.execute(lineage.insert(), links)


def mark(connection: Connection, ids: Sequence[UUID], generation: int | None) -> list[tuple[UUID, bool]]:
    """Mark these rows with a generation; return those that are there, each with whether it is closed."""
    found = connection.exec_driver_sql(_MARKED, {"ids": listed(ids), "mark": generation}).fetchall()
    return [(one, is_closed) for one, is_closed in found]


def _insert_one(
    connection: Connection, memory: Memory, numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    row = _row(memory, numbers, marks)
    new = {f"new_{name}": value for name, value in row.items()}
    if has_records_only(connection):
        connection.execute(_STORED, new)
        return
    connection.execute(_INSERT, new | {"new_body": texts_postgresql.body_of(memory)})


def _insert_several(
    connection: Connection, opened: Sequence[Memory], numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    [(seqs,)] = told(connection, _NUMBERS, {"count": len(opened)})
    rows = (_copied(seq, _row(memory, numbers, marks)) for memory, seq in zip(opened, seqs, strict=True))
    copied(connection, "memories", _TYPES, rows)
    if has_records_only(connection):
        return
    bodies = ((seq, texts_postgresql.body_of(memory)) for memory, seq in zip(opened, seqs, strict=True))
    copied(connection, "texts", {"seq": "int8", "body": "text"}, bodies)


def _copied(seq: int, row: dict[str, Any]) -> list[Any]:
    """A row over `_TYPES`. What is empty and would be JSON is not there, as everywhere."""
    row["seq"] = seq
    return [row[name] or None if its_type == "json" else row[name] for name, its_type in _TYPES.items()]


def _row(memory: Memory, numbers: Mapping[Scope, int], marks: Mapping[UUID, int]) -> dict[str, Any]:
    """The row of this memory, without its number, which the database gives it."""
    row = {"id": memory.id, "scope_id": numbers[memory.scope], "fingerprint": memory.fingerprint, **values_of(memory)}
    return row | {"generation": marks[memory.id]} if memory.id in marks else row
