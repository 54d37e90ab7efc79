"""What workers tell of their work, in the record database."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, Select, and_, delete, func, insert, or_, select, update

from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.places import interned, scope_from
from scrubjay.backends.sql.schema import scopes, work_runs, work_troubles
from scrubjay.model import SCOPE_NAMES, Scope
from scrubjay.model.work import Run, Step, StepDone, Trouble, trouble_id

_RUNS: Final = work_runs.c
_TROUBLES: Final = work_troubles.c
_NAMES = [scopes.c[name] for name in SCOPE_NAMES]
_ROWS = select(work_troubles, *_NAMES).join(scopes, scopes.c.id == _TROUBLES.scope_id)
_RESTING: Final = 10_000


class SqlWorklog:
    """The `Worklog` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ran(self, done: StepDone, *, worker: str, at: datetime) -> None:
        """Note how a run of a step went."""
        failures = int(bool(done.error))
        fresh = {"finished_at": at, "worker": worker, "seconds": done.seconds, "done": done.done, "error": done.error}
        if not done.error:
            fresh["succeeded_at"] = at

        def work(connection: Connection) -> None:
            more = {
                "total": _RUNS.total + done.done,
                "runs": _RUNS.runs + 1,
                "failures": _RUNS.failures + failures,
            }
            known = update(work_runs).where(_RUNS.step == done.step)
            if connection.execute(known.values(**fresh, **more)).rowcount == 0:
                first = {"step": done.step, "total": done.done, "runs": 1, "failures": failures}
                connection.execute(insert(work_runs).values(**fresh, **first))

        await self._database.note(work)

    async def runs(self) -> dict[Step, Run]:
        """Return what is known of each step that was ever taken."""

        def work(connection: Connection) -> dict[Step, Run]:
            return {row["step"]: Run(**row) for row in connection.execute(select(work_runs)).mappings()}

        return await self._database.read(work)

    async def failed(
        self,
        step: Step,
        item: str,
        scope: Scope,
        *,
        error: str,
        at: datetime,
        tries: int,
        pause: timedelta,
        body: str | None = None,
    ) -> Trouble:
        """Count one more failure of an item, and return it as it now is."""
        known = trouble_id(step, item)

        def work(connection: Connection) -> Trouble:
            row = connection.execute(_locked(connection, _ROWS.where(_TROUBLES.id == known))).first()
            before = row.tries if row is not None else 0
            changed: dict[str, Any] = {
                "error": error,
                "tries": before + 1,
                "last_at": at,
                "retry_at": at + pause * 2**before,
                "parked_at": at if before + 1 >= tries else None,
            }
            if body is not None:
                sealing.check_texts(connection, scope.tenant, [body])
                changed["body"] = body
            if row is None:
                place = interned(connection, [scope])[scope]
                new = insert(work_troubles).values(
                    id=known, step=step, item=item, scope_id=place, first_at=at, **changed
                )
                connection.execute(new)
            else:
                connection.execute(update(work_troubles).where(_TROUBLES.id == known).values(**changed))
            return _trouble(connection.execute(_ROWS.where(_TROUBLES.id == known)).one())

        return await self._database.write(work)

    async def settled(self, step: Step, item: str) -> None:
        """Forget that the item ever failed: it is dealt with."""
        done = delete(work_troubles).where(_TROUBLES.id == trouble_id(step, item))
        await self._database.note(lambda connection: connection.execute(done))

    async def resting(self, step: Step, *, now: datetime) -> set[str]:
        """Return the items that are not to be tried now."""
        rests = and_(_TROUBLES.last_at <= now, _TROUBLES.retry_at > now)
        statement = (
            select(_TROUBLES.item)
            .where(_TROUBLES.step == step, or_(_TROUBLES.parked_at.is_not(None), rests))
            .limit(_RESTING)
        )
        return await self._database.read(lambda connection: set(connection.execute(statement).scalars()))

    async def troubles(self, tenant: str | None = None, *, limit: int) -> list[Trouble]:
        """Return what has failed and is not settled; the parked ones first, oldest first."""
        statement = _ROWS.order_by(_TROUBLES.parked_at.is_(None), _TROUBLES.first_at, _TROUBLES.id).limit(limit)
        if tenant is not None:
            statement = statement.where(scopes.c.tenant == tenant)
        return await self._database.read(lambda connection: [_trouble(row) for row in connection.execute(statement)])

    async def counted(self) -> tuple[int, int]:
        """Count what is being tried again, and what is parked, over all tenants."""
        statement = select(func.count(), func.count(_TROUBLES.parked_at)).select_from(work_troubles)

        def work(connection: Connection) -> tuple[int, int]:
            everything, parked = connection.execute(statement).one()
            return everything - parked, parked

        return await self._database.read(work)

    async def retry(self, tenant: str, ids: Sequence[UUID] | None = None, *, now: datetime) -> list[Trouble]:
        """Let these of the tenant, or all of its parked ones, be tried from the beginning."""
        meant = _TROUBLES.parked_at.is_not(None) if ids is None else _TROUBLES.id.in_(ids)

        def work(connection: Connection) -> list[Trouble]:
            statement = _ROWS.where(meant, scopes.c.tenant == tenant).order_by(_TROUBLES.first_at, _TROUBLES.id)
            found = [_trouble(row) for row in connection.execute(_locked(connection, statement))]
            again = update(work_troubles).where(_TROUBLES.id.in_([one.id for one in found]))
            connection.execute(again.values(tries=0, parked_at=None, retry_at=now))
            return found

        return await self._database.write(work)


def _locked(connection: Connection, statement: Select[Any]) -> Select[Any]:
    """On PostgreSQL, who counts a failure waits for who counts another; SQLite has one writer anyway."""
    return statement.with_for_update(of=work_troubles) if connection.dialect.name == "postgresql" else statement


def _trouble(row: Row[Any]) -> Trouble:
    return trouble_of(scope_from(tuple(row)[-len(SCOPE_NAMES) :]), row)


def trouble_of(scope: Scope, row: Row[Any]) -> Trouble:
    """The trouble that a row tells of."""
    return Trouble(
        step=row.step,
        item=row.item,
        scope=scope,
        error=row.error,
        tries=row.tries,
        first_at=row.first_at,
        last_at=row.last_at,
        retry_at=row.retry_at,
        parked_at=row.parked_at,
        body=row.body,
    )


def trouble_row(trouble: Trouble) -> dict[str, Any]:
    """The trouble as a row, but for the number of its scope."""
    return {
        "id": trouble.id,
        "step": trouble.step,
        "item": trouble.item,
        "error": trouble.error,
        "tries": trouble.tries,
        "first_at": trouble.first_at,
        "last_at": trouble.last_at,
        "retry_at": trouble.retry_at,
        "parked_at": trouble.parked_at,
        "body": trouble.body,
    }
