"""Where something of this store is kept that is not in it, noted in the record database for those who must find it."""

from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, select

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.schema_elsewhere import kept_elsewhere
from scrubjay.ports.at_rest import KeptElsewhere

_COLUMN: Final = kept_elsewhere.c


class SqlElsewhere:
    """The `Elsewhere` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def kept(self, what: str) -> list[KeptElsewhere]:
        """Return where it was kept, and since when, the oldest first; nothing when it was always here."""
        wanted = select(_COLUMN.place, _COLUMN.at).where(_COLUMN.what == what).order_by(_COLUMN.at, _COLUMN.place)
        rows = await self._database.read(lambda connection: connection.execute(wanted).fetchall())
        return [KeptElsewhere(*row) for row in rows]

    async def keep(self, what: str, place: str, *, at: datetime) -> None:
        """Note that it is kept in this place, too. Durable."""

        def work(connection: Connection) -> None:
            note = insert_into(connection, kept_elsewhere).values(what=what, place=place, at=at)
            connection.execute(note.on_conflict_do_nothing(index_elements=["what", "place"]))

        if place not in [known.place for known in await self.kept(what)]:
            await self._database.write(work)

    async def forget(self, what: str, *, but: str) -> None:
        """Note that nothing of it is kept elsewhere, but in this place."""
        gone = delete(kept_elsewhere).where(_COLUMN.what == what, _COLUMN.place != but)
        await self._database.write(lambda connection: connection.execute(gone))
