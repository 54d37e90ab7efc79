"""What the rows of working memory tell, and how what they keep is written."""

from typing import Any, Final

from sqlalchemy import Connection, Row

from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.schema import working_scratch
from scrubjay.model import Scope
from scrubjay.model.working import Message, Scratch, Session, message_text, scratch_text

_SCRATCH: Final = working_scratch.c


def session_of(scope: Scope, row: Row[Any]) -> Session:
    """The session that a row tells of."""
    return Session(
        scope=scope,
        messages=row.following - row.first,
        first=row.first,
        bytes=row.bytes,
        started_at=row.started_at,
        expires_at=row.expires_at,
        ended_at=row.ended_at,
    )


def message_row(number: int, message: Message) -> dict[str, Any]:
    """The message as a row of the session with this number."""
    body = message_text(message)
    return {
        "scope_id": number,
        "position": message.position,
        "id": message.id,
        "bytes": len(body.encode()),
        "body": body,
    }


def put_scratch(connection: Connection, number: int, scratch: Scratch) -> None:
    """Store the value in place of the one with its name."""
    row = {"version": scratch.version, "body": scratch_text(scratch)}
    new = insert_into(connection, working_scratch).values(scope_id=number, name=scratch.name, **row)
    connection.execute(new.on_conflict_do_update(index_elements=[_SCRATCH.scope_id, _SCRATCH.name], set_=row))
