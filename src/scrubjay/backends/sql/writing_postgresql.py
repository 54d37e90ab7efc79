"""The statements of a write transaction on PostgreSQL."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Text, and_, bindparam, func, or_, select, text

from scrubjay.backends.sql import texts_postgresql
from scrubjay.backends.sql.lookup import Lookup, Statement
from scrubjay.backends.sql.places import interned
from scrubjay.backends.sql.rows import BY_ID, Reader, rows, values_of
from scrubjay.backends.sql.schema import lineage, memories, scopes, texts
from scrubjay.model import Memory, Scope

__all__ = ["insert", "interned", "known", "last_positions", "queue_up"]

BATCH = 200
"""Drafts looked up in one statement: three times as many values stay well below every limit on parameters."""

_BELIEVED = rows().where(memories.c.superseded_at.is_(None))
_BY_WORDS = Lookup(_BELIEVED.where(memories.c.valid_to.is_(None)), memories.c.scope_id, memories.c.fingerprint)
_BY_KEY = Lookup(_BELIEVED.where(memories.c.key.is_not(None)), memories.c.scope_id, memories.c.key)

# One memory is what most writers bring, and a round trip takes longer than what it asks for: so each is one statement.
_COLUMN = memories.c
_SAME_ID = _COLUMN.id == bindparam("the_id")
_BELIEVED_HERE = and_(_COLUMN.scope_id == bindparam("the_scope"), _COLUMN.superseded_at.is_(None))
_SAME_WORDS = and_(_BELIEVED_HERE, _COLUMN.fingerprint == bindparam("the_words"), _COLUMN.valid_to.is_(None))
_SAME_KEY = and_(_BELIEVED_HERE, _COLUMN.key == bindparam("the_key"))
_BEARING = rows().where(or_(_SAME_ID, _SAME_WORDS))
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
    connection: Connection, reader: Reader, drafts: Sequence[Memory], numbers: Mapping[Scope, int]
) -> Iterator[Memory]:
    """What is stored under the same ids, or believed under the same keys or with the same words; some of it twice."""
    if len(drafts) == 1 and not drafts[0].is_event:
        yield from reader.fetch(connection, *_bearing(drafts[0], numbers))
        return
    for start in range(0, len(drafts), BATCH):
        for statement, parameters in _lookups(drafts[start : start + BATCH], numbers):
            yield from reader.fetch(connection, statement, parameters)


def _bearing(draft: Memory, numbers: Mapping[Scope, int]) -> Statement:
    """The same for one, all at once."""
    asked = {"the_id": draft.id, "the_scope": numbers[draft.scope], "the_words": draft.fingerprint}
    return (_BEARING_WITH_KEY, asked | {"the_key": draft.key}) if draft.key else (_BEARING, asked)


def _lookups(drafts: Sequence[Memory], numbers: Mapping[Scope, int]) -> list[Statement]:
    """Statements that are each answered by an index: by id, by key and by fingerprint within the scope."""
    words = [(numbers[draft.scope], draft.fingerprint) for draft in drafts if not draft.is_event]
    keys = list(dict.fromkeys((numbers[draft.scope], draft.key) for draft in drafts if draft.key))
    lookups: list[Statement] = [(BY_ID, {"ids": [draft.id for draft in drafts]})]
    if words:
        lookups.append(_BY_WORDS.of(words))
    if keys:
        lookups.append(_BY_KEY.of(keys))
    return lookups


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


def _insert_one(
    connection: Connection, memory: Memory, numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    row = _row(memory, numbers, marks)
    new = {f"new_{name}": value for name, value in row.items()}
    connection.execute(_INSERT, new | {"new_body": texts_postgresql.body_of(memory)})


def _insert_several(
    connection: Connection, opened: Sequence[Memory], numbers: Mapping[Scope, int], marks: Mapping[UUID, int]
) -> None:
    statement = text("SELECT nextval('memories_seq_seq') FROM generate_series(1, :count)")
    seqs = [row[0] for row in connection.execute(statement, {"count": len(opened)})]
    connection.execute(
        memories.insert(),
        [{"seq": seq, **_row(memory, numbers, marks)} for memory, seq in zip(opened, seqs, strict=True)],
    )
    scope_ids = (numbers[memory.scope] for memory in opened)
    texts_postgresql.add(connection, list(zip(seqs, scope_ids, opened, strict=True)))


def _row(memory: Memory, numbers: Mapping[Scope, int], marks: Mapping[UUID, int]) -> dict[str, Any]:
    """The row of this memory, without its number, which the database gives it."""
    row = {"id": memory.id, "scope_id": numbers[memory.scope], "fingerprint": memory.fingerprint, **values_of(memory)}
    return row | {"generation": marks[memory.id]} if memory.id in marks else row
