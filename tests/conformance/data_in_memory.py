"""Conditions on `data` as they are once a process has asked often enough: from what it holds in memory."""

import asyncio

from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.records import SqlRecords


class ColumnRecords(SqlRecords):
    """Waits before each question until there is a column for all that it asks of `data`."""

    async def find(self, filter, **more):
        await self._settled(filter)
        return await super().find(filter, **more)

    async def among(self, filter, **more):
        await self._settled(filter)
        return await super().among(filter, **more)

    async def count(self, filter, **more):
        await self._settled(filter)
        return await super().count(filter, **more)

    async def scan(self, filter, **more):
        await self._settled(filter)
        async for batch in super().scan(filter, **more):
            yield batch

    async def _settled(self, filter):
        columns = columns_of(self._database)

        def is_read(connection):
            columns.narrowed(connection, filter)
            return columns.holds(filter)

        while filter.data and not await self._database.read(is_read):  # noqa: ASYNC110 -- a thread reads it, and tells nobody
            await asyncio.sleep(0.001)
