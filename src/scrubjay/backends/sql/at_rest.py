"""What the record database keeps beside memories and files and may be encrypted, to be stored anew in place."""

from collections.abc import AsyncIterator, Callable, Sequence
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, and_, or_, select, update

from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.answers import beginning_of
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.places import interned, scope_from
from scrubjay.backends.sql.schema import (
    scopes,
    work_troubles,
    working_messages,
    working_scratch,
    working_sessions,
)
from scrubjay.backends.sql.schema_access import kept_answers
from scrubjay.backends.sql.worklog import trouble_of
from scrubjay.model import SCOPE_NAMES, Scope
from scrubjay.model.work import Trouble
from scrubjay.model.working import Message, Scratch, message_from, message_text, scratch_from, scratch_text
from scrubjay.ports.access import Claim
from scrubjay.ports.at_rest import ANSWERS, SESSIONS, TROUBLES, KeptAnswer, Said

PAGE: Final = 100
"""Rows that are read at once: others write in between."""

_NAMES: Final = [scopes.c[name] for name in SCOPE_NAMES]


class SqlSessions:
    """The `AtRest` port for sessions of working memory in the record database, also for those that are over."""

    name = SESSIONS

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> AsyncIterator[Said]:
        """Go through messages and scratch values, some of one session at a time."""
        column = working_messages.c
        rows = _with_scope(working_messages.c.scope_id, column.position, column.body)
        async for page in _pages(self._database, rows, column.scope_id, column.position):
            for _, some in groupby(page, key=lambda row: row.scope_id):
                held = list(some)
                messages = tuple(message_from(row.body, row.position) for row in held)
                yield Said(scope=_scope(held[0]), messages=messages)
        value = working_scratch.c
        rows = _with_scope(value.scope_id, value.name, value.body)
        async for page in _pages(self._database, rows, value.scope_id, value.name):
            for row in page:
                yield Said(scope=_scope(row), scratch=(scratch_from(row.name, row.body),))

    async def replace(self, before: Said, after: Said) -> int:
        """Store those anew that are still what they were."""

        def work(connection: Connection) -> int:
            number = interned(connection, [before.scope])[before.scope]
            # As everybody does who changes a session.
            session = select(working_sessions.c.scope_id).where(working_sessions.c.scope_id == number)
            connection.execute(session.with_for_update()).first()
            messages = [pair for pair in zip(before.messages, after.messages, strict=True) if pair[0] != pair[1]]
            values = [pair for pair in zip(before.scratch, after.scratch, strict=True) if pair[0] != pair[1]]
            said = [*(new.content for _, new in messages), *(new.value for _, new in values)]
            sealing.check_texts(connection, before.scope.tenant, said)
            grown = [size for pair in messages if (size := _message_replaced(connection, number, *pair)) is not None]
            if sum(grown):
                longer = update(working_sessions).where(working_sessions.c.scope_id == number)
                connection.execute(longer.values(bytes=working_sessions.c.bytes + sum(grown)))
            return len(grown) + sum(_scratch_replaced(connection, number, *pair) for pair in values)

        return await self._database.write(work)


def _message_replaced(connection: Connection, number: int, before: Message, after: Message) -> int | None:
    """Store the message anew, and say by how many bytes it grew; None when it is not there as it was."""
    column = working_messages.c
    same = and_(column.scope_id == number, column.id == before.id)
    row = connection.execute(select(column.body, column.position, column.bytes).where(same)).first()
    if row is None or message_from(row.body, row.position) != before:
        return None
    body = message_text(after)
    size = len(body.encode())
    connection.execute(update(working_messages).where(same).values(body=body, bytes=size))
    return int(size - row.bytes)


def _scratch_replaced(connection: Connection, number: int, before: Scratch, after: Scratch) -> int:
    column = working_scratch.c
    same = and_(column.scope_id == number, column.name == before.name)
    body = connection.execute(select(column.body).where(same)).scalar()
    if body is None or scratch_from(before.name, body) != before:
        return 0
    return connection.execute(update(working_scratch).where(same).values(body=scratch_text(after))).rowcount


class SqlKeptAnswers:
    """The `AtRest` port for answers, those too that have ended and were not deleted yet."""

    name = ANSWERS

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> AsyncIterator[KeptAnswer]:
        """Go through the answers that say something."""
        column = kept_answers.c
        rows = select(column.tenant, column.name, column.request, column.body).where(column.body.is_not(None))
        async for page in _pages(self._database, rows, column.tenant, column.name):
            for row in page:
                claim = Claim(tenant=row.tenant, name=bytes(row.name), request=bytes(row.request))
                yield KeptAnswer(claim=claim, body=bytes(row.body))

    async def replace(self, before: KeptAnswer, after: KeptAnswer) -> int:
        """Store the answer anew, unless it was emptied or another one is there."""
        column, claim = kept_answers.c, before.claim
        same = and_(column.tenant == claim.tenant, column.name == claim.name, column.request == claim.request)
        anew = update(kept_answers).where(same, column.body == before.body).values(body=after.body)

        def work(connection: Connection) -> int:
            sealing.check_texts(connection, claim.tenant, [beginning_of(after.body)])
            return connection.execute(anew).rowcount

        return await self._database.write(work)


class SqlTroubles:
    """The `AtRest` port for work that failed, with what it was about."""

    name = TROUBLES

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> AsyncIterator[Trouble]:
        """Go through those that say something."""
        column = work_troubles.c
        rows = _with_scope(column.scope_id, *(one for one in column if one.name != "scope_id"))
        async for page in _pages(self._database, rows.where(column.body.is_not(None)), column.id):
            for row in page:
                yield trouble_of(_scope(row), row)

    async def replace(self, before: Trouble, after: Trouble) -> int:
        """Store it anew, unless it was settled or failed otherwise meanwhile."""
        column = work_troubles.c
        anew = update(work_troubles).where(column.id == before.id, column.body == before.body).values(body=after.body)

        def work(connection: Connection) -> int:
            sealing.check_texts(connection, before.scope.tenant, [after.body])
            return connection.execute(anew).rowcount

        return await self._database.write(work)


def _with_scope(scope_id: Column[Any], *columns: Column[Any]) -> Select[Any]:
    """A statement over these columns, and behind them the names of the place."""
    return select(scope_id, *columns, *_NAMES).join(scopes, scopes.c.id == scope_id)


def _scope(row: Row[Any]) -> Scope:
    return scope_from(tuple(row)[-len(SCOPE_NAMES) :])


async def _pages(database: Database, rows: Select[Any], *order: Column[Any]) -> AsyncIterator[Sequence[Row[Any]]]:
    """The rows in this order, which tells each from every other, some at a time."""
    ordered, last = rows.order_by(*order).limit(PAGE), None
    while True:
        page = await database.read(_fetching(ordered if last is None else ordered.where(_behind(order, last))))
        if page:
            yield page
        if len(page) < PAGE:
            return
        last = [getattr(page[-1], column.name) for column in order]


def _fetching(statement: Select[Any]) -> Callable[[Connection], Sequence[Row[Any]]]:
    return lambda connection: connection.execute(statement).fetchall()


def _behind(order: Sequence[Column[Any]], last: Sequence[Any]) -> ColumnElement[bool]:
    """What comes after these values. Spelled out, since SQLite compares a pair of columns without its index."""
    further: list[ColumnElement[bool]] = []
    for place, column in enumerate(order):
        same = [one == value for one, value in zip(order[:place], last[:place], strict=True)]
        further.append(and_(*same, column > last[place]))
    return or_(*further)
