"""Leases in the record database, by the database's own clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, DateTime, Row, delete, func, insert, select, update

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import work_leases
from scrubjay.model import new_id
from scrubjay.ports.leases import LONGEST, Lease

_COLUMNS = work_leases.c


class SqlLeases:
    """The `Leases` port. A crash of the machine may forget a lease, and then nobody is left who had it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, name: str, worker: str, *, ttl: timedelta) -> Lease | None:
        """Take the name until `ttl` from now; None while somebody has it."""

        def work(connection: Connection) -> Lease | None:
            known = connection.execute(select(work_leases).where(_COLUMNS.name == name).with_for_update()).first()
            # Asked only now: a lease given after this moment would seem to be from before the clock was set back.
            now = _now(connection)
            if known is not None and _lease(known).lasts(now):
                return None
            lease = Lease(name=name, worker=worker, token=str(new_id()), until=now + min(ttl, LONGEST))
            given = {"worker": worker, "token": lease.token, "until": lease.until}
            if known is None:
                # Of two who insert at once, one is told that another was faster, and looks again.
                connection.execute(insert(work_leases).values(name=name, **given))
            else:
                connection.execute(update(work_leases).where(_COLUMNS.name == name).values(**given))
            return lease

        return await self._database.note(work)

    async def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | None:
        """Keep it until `ttl` from now; None when somebody else has taken it since, or it was released."""

        def work(connection: Connection) -> Lease | None:
            until = _now(connection) + min(ttl, LONGEST)
            mine = update(work_leases).where(_COLUMNS.name == lease.name, _COLUMNS.token == lease.token)
            if connection.execute(mine.values(until=until)).rowcount == 0:
                return None
            return Lease(name=lease.name, worker=lease.worker, token=lease.token, until=until)

        return await self._database.note(work)

    async def release(self, lease: Lease) -> None:
        """Give it back, unless somebody else has taken it since."""
        mine = delete(work_leases).where(_COLUMNS.name == lease.name, _COLUMNS.token == lease.token)
        await self._database.note(lambda connection: connection.execute(mine))

    async def held(self) -> list[Lease]:
        """Return all that have not lapsed, by name."""

        def work(connection: Connection) -> list[Lease]:
            found = connection.execute(select(work_leases)).all()
            now = _now(connection)
            return [lease for lease in map(_lease, found) if lease.lasts(now)]

        return sorted(await self._database.read(work), key=lambda one: one.name)


def _lease(row: Row[Any]) -> Lease:
    return Lease(name=row.name, worker=row.worker, token=row.token, until=row.until)


def _now(connection: Connection) -> datetime:
    """The time that all workers share: the server's, or that of the one machine on which a SQLite file can be used."""
    if connection.dialect.name == "postgresql":
        told: datetime = connection.execute(select(func.clock_timestamp(type_=DateTime(timezone=True)))).scalar_one()
        return told.astimezone(UTC)
    return datetime.now(UTC)
