"""Changes of sessions that wait in the record database for a working memory that is away."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.places import interned, scope_from, stored
from scrubjay.backends.sql.schema import scopes, working_detours
from scrubjay.model import SCOPE_NAMES, Scope
from scrubjay.model.working import check_session
from scrubjay.ports.working import Detour, Operation, operation_from, operation_text

_COLUMNS: Final = working_detours.c
_NAMES = [scopes.c[name] for name in SCOPE_NAMES]
_OF_SCOPE = (
    select(_COLUMNS.number, _COLUMNS.body)
    .join(scopes, scopes.c.id == _COLUMNS.scope_id)
    .where(*(column == bindparam(f"the_{column.name}") for column in _NAMES))
    .order_by(_COLUMNS.number)
)


class SqlDetours:
    """The `Detours` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def detour(self, scope: Scope) -> Detour:
        """Return what is noted for this session."""
        check_session(scope)
        return await self._database.read(lambda connection: _detour(connection, scope))

    async def note(self, scope: Scope, decide: Callable[[Detour], Operation]) -> Operation:
        """Ask `decide` what to note, given what is noted, and note it in one transaction. Durable on return."""
        check_session(scope)

        def work(connection: Connection) -> Operation:
            place = interned(connection, [scope])[scope]
            if connection.dialect.name == "postgresql":
                # Who decides must have seen what was noted before; numbers then also grow in the order of commits.
                connection.exec_driver_sql("LOCK TABLE working_detours IN SHARE ROW EXCLUSIVE MODE")
            operation = decide(_detour(connection, scope))
            said = [*(one.content for one in operation.messages), operation.scratch and operation.scratch.value]
            sealing.check_texts(connection, scope.tenant, said)
            new = insert(working_detours).values(scope_id=place, body=operation_text(operation))
            number = connection.execute(new).inserted_primary_key
            return replace(operation, number=int(number[0]) if number else 0)

        return await self._database.write(work)

    async def settled(self, scope: Scope, number: int) -> None:
        """Forget the changes of this session up to this number: they are made. Safe to repeat."""
        check_session(scope)

        def work(connection: Connection) -> None:
            place = interned(connection, [scope])[scope]
            made = (_COLUMNS.scope_id == place, _COLUMNS.number <= number)
            last = select(_COLUMNS.number).where(*made).order_by(_COLUMNS.number.desc()).limit(1)
            kept = connection.execute(last).scalar()
            connection.execute(delete(working_detours).where(*made, _COLUMNS.number != kept))
            connection.execute(update(working_detours).where(*made).values(body=None))

        await self._database.write(work)

    async def detoured(self, *, limit: int) -> list[Scope]:
        """Return the sessions, of every tenant, for which something is noted."""
        statement = (
            select(*_NAMES)
            .where(scopes.c.id.in_(select(_COLUMNS.scope_id).where(_COLUMNS.body.is_not(None))))
            .order_by(scopes.c.id)
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [scope_from(tuple(row)) for row in connection.execute(statement)]
        )


def _detour(connection: Connection, scope: Scope) -> Detour:
    names = {f"the_{name}": value for name, value in zip(SCOPE_NAMES, stored(scope), strict=True)}
    return detour_of(connection.execute(_OF_SCOPE, names).fetchall())


def detour_of(rows: Sequence[Any]) -> Detour:
    """What the rows of one session say, in the order of their numbers."""
    return Detour(
        number=rows[-1].number if rows else 0,
        operations=tuple(operation_from(row.number, row.body) for row in rows if row.body is not None),
    )
