"""Search by words as it is once a process has asked often enough: from what it holds in memory."""

import asyncio

from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.shelf import Shelf
from scrubjay.backends.sql.texts import SqlTexts


class HeldTexts(SqlTexts):
    """Waits before each search until there is a book for it."""

    def __init__(self, database):
        super().__init__(database)
        self._shelf = Shelf(database)

    async def match(self, terms, filter, *, now, limit, guess=True):
        await self.book_of(filter)
        return await super().match(terms, filter, now=now, limit=limit, guess=guess)

    async def book_of(self, filter):
        """The book of the tenant that a filter names, with everything that was told."""
        while True:
            found = await self._database.read(lambda connection: self._shelf.look_up(connection, ["word"], filter))
            if found is not None:
                return found[0]
            await asyncio.sleep(0.001)


class HeldStore(SqlRecords, HeldTexts):
    """Records and words on one SQLite file."""

    def __init__(self, database):
        SqlRecords.__init__(self, database)
        HeldTexts.__init__(self, database)
