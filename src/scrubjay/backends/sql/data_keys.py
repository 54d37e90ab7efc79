"""The data keys of tenants in the record database, wrapped."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, func, select, update

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.schema_encryption import data_keys
from scrubjay.ports.encryption import WrappedKey

_COLUMN: Final = data_keys.c


class SqlDataKeys:
    """The `DataKeys` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, tenant: str) -> list[WrappedKey]:
        """Return the keys of this tenant, by their numbers."""
        mine = select(data_keys).where(_COLUMN.tenant == tenant).order_by(_COLUMN.number)
        return await self._database.read(lambda connection: [key_of(row) for row in connection.execute(mine)])

    async def add(self, keys: Sequence[WrappedKey]) -> None:
        """Add these; a number that the tenant has already keeps the key that is there."""
        await self._database.write(lambda connection: add(connection, keys))

    async def masters(self) -> dict[str, int]:
        """Say which master keys wrap something, and how many data keys each."""
        counted = select(_COLUMN.master, func.count()).group_by(_COLUMN.master).order_by(_COLUMN.master)
        found = await self._database.read(lambda connection: connection.execute(counted).fetchall())
        return {row[0]: row[1] for row in found}

    async def tenants(self) -> list[str]:
        """Return the tenants that have keys, sorted."""
        named = select(_COLUMN.tenant).distinct()
        return sorted(await self._database.read(lambda connection: connection.execute(named).scalars().all()))

    async def wrapped_otherwise(self, master: str, *, limit: int) -> list[WrappedKey]:
        """Return keys of any tenant that another master key wraps."""
        others = select(data_keys).where(_COLUMN.master != master).order_by(_COLUMN.tenant, _COLUMN.number)
        return await self._database.read(
            lambda connection: [key_of(row) for row in connection.execute(others.limit(limit))]
        )

    async def settled(self, tenant: str) -> None:
        """Return once nothing is on its way into this store any more that an older key of the tenant seals."""
        if self._database.dialect == "sqlite":
            return  # Nobody could add a key while another one was writing.
        # Whoever stores something holds the key that was the newest then: see `sealing`. The one that is it now is not
        # asked for: somebody always holds it while the tenant writes, and they do not queue behind us.
        mine = _COLUMN.tenant == tenant
        newest = select(func.max(_COLUMN.number)).where(mine).scalar_subquery()
        held = select(_COLUMN.number).where(mine, _COLUMN.number < newest).order_by(_COLUMN.number).with_for_update()
        await self._database.write(lambda connection: connection.execute(held).fetchall())

    async def remove(self, tenant: str, numbers: Sequence[int]) -> int:
        """Delete these keys of a tenant for good."""
        gone = delete(data_keys).where(_COLUMN.tenant == tenant, _COLUMN.number.in_(numbers))
        return await self._database.write(lambda connection: connection.execute(gone).rowcount)

    async def rewrap(self, keys: Sequence[WrappedKey]) -> int:
        """Store these, which are the same keys wrapped anew, in place of what is there."""

        def work(connection: Connection) -> int:
            there = 0
            for key in keys:
                same = update(data_keys).where(_COLUMN.tenant == key.tenant, _COLUMN.number == key.number)
                there += connection.execute(same.values(master=key.master, wrapped=key.wrapped)).rowcount
            return there

        return await self._database.write(work)


def all_keys(connection: Connection) -> tuple[WrappedKey, ...]:
    """The keys of every tenant, in one order for every database."""
    found = (key_of(row) for row in connection.execute(select(data_keys)))
    return tuple(sorted(found, key=lambda key: (key.tenant, key.number)))


def add(connection: Connection, keys: Sequence[WrappedKey]) -> None:
    """Add these; a number that the tenant has already keeps the key that is there."""
    rows = [
        {
            "tenant": key.tenant,
            "number": key.number,
            "master": key.master,
            "wrapped": key.wrapped,
            "created_at": key.created_at,
        }
        for key in keys
    ]
    if rows:
        connection.execute(insert_into(connection, data_keys).on_conflict_do_nothing(), rows)


def key_of(row: Row[Any]) -> WrappedKey:
    """The key that this row holds."""
    return WrappedKey(
        tenant=row.tenant,
        number=row.number,
        master=row.master,
        wrapped=bytes(row.wrapped),
        created_at=row.created_at,
    )
