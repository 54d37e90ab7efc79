"""Where something of this store is kept that is not in it, noted in the record database for those who must find it."""

from collections.abc import Iterable
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
        return [note for note in await self._database.read(all_notes) if note.what == what]

    async def keep(self, what: str, place: str, *, at: datetime) -> None:
        """Note that it is kept in this place, too. Durable."""
        if place not in [known.place for known in await self.kept(what)]:
            note = KeptElsewhere(what, place, at)
            await self._database.write(lambda connection: put_notes(connection, [note]))

    async def forget(self, what: str, *, but: str) -> None:
        """Note that nothing of it is kept elsewhere, but in this place."""
        gone = delete(kept_elsewhere).where(_COLUMN.what == what, _COLUMN.place != but)
        await self._database.write(lambda connection: connection.execute(gone))


def all_notes(connection: Connection) -> tuple[KeptElsewhere, ...]:
    """Everything that is noted, the oldest first."""
    wanted = select(_COLUMN.what, _COLUMN.place, _COLUMN.at).order_by(_COLUMN.at, _COLUMN.what, _COLUMN.place)
    return tuple(KeptElsewhere(*row) for row in connection.execute(wanted))


def put_notes(connection: Connection, notes: Iterable[KeptElsewhere]) -> None:
    """Note these, too. What is noted already stays as it is."""
    for note in notes:
        row = insert_into(connection, kept_elsewhere).values(what=note.what, place=note.place, at=note.at)
        connection.execute(row.on_conflict_do_nothing(index_elements=["what", "place"]))
