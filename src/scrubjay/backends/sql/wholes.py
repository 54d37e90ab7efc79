"""Blobs and sessions, each read and stored whole: what is carried beside the rows."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, TypeVar

from sqlalchemy import Column, Connection, Row, Table, delete, func, insert, or_, select

from scrubjay.backends.sql.blobs import WHOLE, checked, contents_of, let_hold, locked, store_new
from scrubjay.backends.sql.places import interned, scope_from, stored
from scrubjay.backends.sql.schema import (
    blob_holders,
    blobs,
    scopes,
    work_marks,
    work_troubles,
    working_messages,
    working_scratch,
    working_sessions,
)
from scrubjay.backends.sql.working_rows import message_row, put_scratch, session_of
from scrubjay.backends.sql.worklog import trouble_of, trouble_row
from scrubjay.model import SCOPE_NAMES, Scope
from scrubjay.model.work import Step, Trouble
from scrubjay.model.working import Scratch, Session, message_from, scratch_from
from scrubjay.ports import Blob, WholeBlob, WholeSession

T = TypeVar("T")

_DISTILL: Final[Step] = "distill"
"""Its marks are positions of a session, which are the same everywhere. Those of other steps number the rows here."""

BYTES: Final = 8 * 1024 * 1024
"""Of one piece, unless a single blob or session is larger: what is stored in one transaction, and held in memory."""


def whole_blobs(connection: Connection, *, after: int, batch: int) -> list[tuple[int, WholeBlob]]:
    """The blobs of every tenant behind this number, in the order of storing, each with its number."""
    column = blobs.c
    sizes = select(column.number, column.size).where(column.number > after).order_by(column.number).limit(batch)
    numbers = as_many_as_fit([(row.number, row.size) for row in connection.execute(sizes)])
    found = connection.execute(
        WHOLE.add_columns(column.tenant).where(column.number.in_(numbers)).order_by(column.number)
    ).fetchall()
    contents = contents_of(connection, found)
    hashes = select(column.number, column.hash).where(column.number.in_([row.base for row in found if row.base]))
    bases = {row.number: row.hash for row in connection.execute(hashes)}
    holders = _by(blob_holders, blob_holders.c.blob, numbers, connection)
    return [
        (
            row.number,
            WholeBlob(
                tenant=row.tenant,
                blob=Blob(checked(row.hash, contents[row.number]), base=bases.get(row.base)),
                # Sorted here, since two databases may not agree on the order of ids.
                holders=tuple(sorted(holder.owner for holder in holders[row.number])),
            ),
        )
        for row in found
    ]


def store_blobs(connection: Connection, given: Sequence[WholeBlob]) -> None:
    """Store these with their holders. Those that are there already are only held."""
    for one in given:
        known = locked(connection, one.tenant, [one.blob.hash])
        number = known.get(one.blob.hash) or store_new(connection, one.tenant, one.blob)
        let_hold(connection, [(number, owner) for owner in one.holders])


def session_places(connection: Connection) -> list[tuple[Scope, int, int]]:
    """Every scope that something of a session is kept for, sorted, with its number and the bytes of its messages."""
    size = func.coalesce(working_sessions.c.bytes, 0)
    kept = or_(
        working_sessions.c.scope_id.is_not(None),
        scopes.c.id.in_(select(work_troubles.c.scope_id).where(work_troubles.c.body.is_not(None))),
        scopes.c.id.in_(select(work_marks.c.scope_id).where(work_marks.c.step == _DISTILL)),
    )
    statement = (
        select(scopes.c.id, size.label("bytes"), *(scopes.c[name] for name in SCOPE_NAMES))
        .outerjoin(working_sessions, working_sessions.c.scope_id == scopes.c.id)
        .where(kept)
    )
    found = [(scope_from(tuple(row)[2:]), row.id, row.bytes) for row in connection.execute(statement)]
    return sorted(found, key=lambda place: stored(place[0]))


def whole_sessions(
    connection: Connection, places: Sequence[tuple[Scope, int, int]], *, batch: int
) -> list[WholeSession]:
    """What is kept for the first of these, as many as make one piece."""
    some = as_many_as_fit([((scope, number), size) for scope, number, size in places[:batch]])
    numbers = [number for _, number in some]
    sessions = _by(working_sessions, working_sessions.c.scope_id, numbers, connection)
    messages = _by(working_messages, working_messages.c.scope_id, numbers, connection, working_messages.c.position)
    scratch = _by(working_scratch, working_scratch.c.scope_id, numbers, connection)
    troubles = _by(work_troubles, work_troubles.c.scope_id, numbers, connection)
    marks = _by(work_marks, work_marks.c.scope_id, numbers, connection)
    return [
        WholeSession(
            scope=scope,
            session=next((session_of(scope, row) for row in sessions[number]), None),
            messages=tuple(message_from(row.body, row.position) for row in messages[number]),
            scratch=tuple(_on_the_pad(scratch[number])),
            troubles=tuple(_kept_troubles(scope, troubles[number])),
            distilled=next((row.place for row in marks[number] if row.step == _DISTILL), -1),
        )
        for scope, number in some
    ]


def _on_the_pad(rows: Sequence[Row[Any]]) -> list[Scratch]:
    return sorted((scratch_from(row.name, row.body) for row in rows), key=lambda one: one.name)


def _kept_troubles(scope: Scope, rows: Sequence[Row[Any]]) -> list[Trouble]:
    """The others come again by themselves."""
    return sorted((trouble_of(scope, row) for row in rows if row.body is not None), key=lambda one: one.id)


def store_sessions(connection: Connection, given: Sequence[WholeSession]) -> None:
    """Store these in place of what there is of the same sessions."""
    if not given:
        return
    numbers = interned(connection, {one.scope for one in given})
    for table in (working_messages, working_scratch, working_sessions, work_troubles, work_marks):
        connection.execute(delete(table).where(table.c.scope_id.in_(numbers.values())))
    for one in given:
        number = numbers[one.scope]
        if one.session is not None:
            connection.execute(insert(working_sessions).values(scope_id=number, **_values(one.session)))
        if one.messages:
            connection.execute(insert(working_messages), [message_row(number, message) for message in one.messages])
        for scratch in one.scratch:
            put_scratch(connection, number, scratch)
        for trouble in one.troubles:
            connection.execute(insert(work_troubles).values(scope_id=number, **trouble_row(trouble)))
        if one.distilled >= 0:
            mark = insert(work_marks).values(step=_DISTILL, scope_id=number, place=one.distilled)
            connection.execute(mark)


def _values(session: Session) -> dict[str, Any]:
    return {
        "first": session.first,
        "following": session.first + session.messages,
        "bytes": session.bytes,
        "started_at": session.started_at,
        "expires_at": session.expires_at,
        "ended_at": session.ended_at,
    }


def as_many_as_fit(sized: Sequence[tuple[T, int]]) -> list[T]:
    """The first of these that make one piece: one at least."""
    taken = list(accumulate(size for _, size in sized))
    return [item for place, (item, _) in enumerate(sized) if place == 0 or taken[place] <= BYTES]


def _by(
    table: Table, column: Column[Any], numbers: Sequence[int], connection: Connection, *order: Column[Any]
) -> defaultdict[int, list[Row[Any]]]:
    """The rows of a table that have one of these numbers in the column, by that number."""
    found: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select(table).where(column.in_(numbers)).order_by(*order)):
        found[getattr(row, column.name)].append(row)
    return found
