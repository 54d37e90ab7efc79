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

    async def kept(self, what: str) -> KeptElsewhere | None:
        """Return where it was kept last, and since when; None when it was always here."""
        wanted = select(_COLUMN.place, _COLUMN.at).where(_COLUMN.what == what)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return KeptElsewhere(*row) if row is not None else None

    async def keep(self, what: str, place: str, *, at: datetime) -> None:
        """Note that it is kept in this place from now on. Durable."""

        def work(connection: Connection) -> None:
            note = insert_into(connection, kept_elsewhere).values(what=what, place=place, at=at)
            changed = {"place": place, "at": at}
            connection.execute(note.on_conflict_do_update(index_elements=["what"], set_=changed))

        if (known := await self.kept(what)) is None or known.place != place:
            await self._database.write(work)

    async def forget(self, what: str) -> None:
        """Note that nothing of it is kept elsewhere."""
        gone = delete(kept_elsewhere).where(_COLUMN.what == what)
        await self._database.write(lambda connection: connection.execute(gone))
