"""Memories and their vectors, written in one transaction: both lie in one database."""

from collections.abc import Sequence
from uuid import UUID

from scrubjay.backends.sql import writing_sqlite
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.rows import Reader
from scrubjay.backends.sql.tellings import Teller
from scrubjay.model import Memory, Remembered
from scrubjay.ports import Ahead, Decide, Sight


class SqliteJoint:
    """The `Joint` port, for the embedded vector engine on a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._teller = Teller(database, Reader())

    async def unknown(self, drafts: Sequence[Memory]) -> set[UUID]:
        """Return the ids of those that nothing stored stands for."""
        if not drafts:
            return set()
        return await self._database.read(lambda connection: writing_sqlite.unknown(connection, drafts))

    async def write(
        self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead, *, sight: Sight | None = None
    ) -> list[Remembered]:
        """Store what `decide` says about each draft, with the vectors that were made of it."""
        return await self._teller.tell(drafts, decide, ahead, sight=sight)
