"""Which embedding models have vectors, in the record database, so that every process agrees."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, Row, Table, case, delete, insert, select, update

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.schema import counters, generations, leftovers, memories
from scrubjay.backends.sql.schema_elsewhere import shared_leftovers
from scrubjay.backends.sql.types import microseconds, moment
from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Generation, GenerationState, Identity
from scrubjay.ports import UNSURE, Keeping, Leftover, SharedLeftover

_COLUMNS = generations.c
_PAGE: Final = 500

_ENGINE: Final = "engine:"
"""Begins the name of the counter that says which vector engine the marks speak of, and when it was last in use."""

_FILLING: Final = "engine:"  # no name follows: while this is there, marks were doubted


class SqlGenerations:
    """The `Generations` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def generations(self) -> list[Generation]:
        """Return all, oldest first."""
        statement = select(generations).order_by(_COLUMNS.number)
        return await self._database.read(
            lambda connection: [generation_of(row) for row in connection.execute(statement)]
        )

    async def add(self, identity: Identity, *, state: GenerationState, at: datetime) -> Generation:
        """Return the generation of this identity, added in this state unless it is there already."""

        def work(connection: Connection) -> Generation:
            known = select(generations).where(
                _COLUMNS.provider == identity.provider,
                _COLUMNS.model == identity.model,
                _COLUMNS.version == identity.version,
                _COLUMNS.dimensions == identity.dimensions,
            )
            row = connection.execute(known).one_or_none()
            if row is None:
                taken = connection.execute(select(_COLUMNS.number).where(_COLUMNS.state == "active")).first()
                begins: GenerationState = "building" if state == "active" and taken else state
                connection.execute(
                    insert(generations).values(
                        provider=identity.provider,
                        model=identity.model,
                        version=identity.version,
                        dimensions=identity.dimensions,
                        state=begins,
                        created_at=at,
                        switched_at=at if begins == "active" else None,
                    )
                )
                row = connection.execute(known).one()
            return generation_of(row)

        return await self._database.write(work)

    async def switch(self, number: int, *, at: datetime, leaving: GenerationState = "retired") -> None:
        """Make this generation the active one and give the one that was active the other state, at once."""

        def work(connection: Connection) -> None:
            leave = update(generations).where(_COLUMNS.state == "active", _COLUMNS.number != number)
            connection.execute(leave.values(state=leaving))
            enter = update(generations).where(_COLUMNS.number == number).values(state="active", switched_at=at)
            if connection.execute(enter).rowcount != 1:
                raise NotFound(f"there is no generation {number}: `scrubjay stats` lists them")

        await self._database.write(work)

    async def drop(self, number: int) -> None:
        """Forget a generation that is not active."""

        def work(connection: Connection) -> None:
            state = connection.execute(select(_COLUMNS.state).where(_COLUMNS.number == number)).scalar()
            if state == "active":
                raise Conflict(f"generation {number} is active: switch to another one before you drop it")
            connection.execute(delete(generations).where(_COLUMNS.number == number))

        await self._database.write(work)

    async def keeping(self) -> Keeping:
        """Return which vector engine the marks speak of, and whether it is being filled."""
        named = select(counters).where(counters.c.name.startswith(_ENGINE))

        def work(connection: Connection) -> Keeping:
            found = {row.name: row.value for row in connection.execute(named)}
            filling = found.pop(_FILLING, None) is not None
            for name, seen in found.items():
                return Keeping(engine=name.removeprefix(_ENGINE), seen=moment(seen), filling=filling)
            return Keeping(filling=filling)

        return await self._database.read(work)

    async def keep(self, engine: str, *, at: datetime) -> None:
        """Note that the marks speak of this engine, and that a process works with it now."""
        await self._database.note(lambda connection: _kept(connection, engine, at))

    async def refill(self, engine: str, *, at: datetime, doubt: bool = True) -> int:
        """The same, and doubt every mark, or none; return how many memories were marked."""

        def work(connection: Connection) -> int:
            _kept(connection, engine, at)
            if connection.execute(update(counters).where(counters.c.name == _FILLING).values(value=1)).rowcount == 0:
                connection.execute(insert(counters).values(name=_FILLING, value=1))
            doubted = update(memories).where(memories.c.generation.is_not(None)).values(generation=UNSURE)
            return connection.execute(doubted).rowcount if doubt else 0

        # Every row is written: a server may take longer for that than for anything else.
        return await self._database.rework(work)

    async def filled(self) -> None:
        """Note that every memory whose mark was doubted has been looked at."""
        await self._database.note(
            lambda connection: connection.execute(delete(counters).where(counters.c.name == _FILLING))
        )

    async def leave(self, ids: Sequence[UUID], *, at: datetime, due: datetime) -> None:
        """Note that these are purged at one moment, and that their vectors have to be removed at another."""

        def work(connection: Connection) -> None:
            _noted(connection, leftovers, [{"id": one, "at": at, "due": due} for one in sorted(set(ids))])

        if ids:
            await self._database.write(work)

    async def leftovers(self, *, now: datetime, limit: int) -> list[Leftover]:
        """Return those whose vectors have to be removed by now, those that are due for longest first."""
        due = select(leftovers.c.id, leftovers.c.at).where(leftovers.c.due <= now).order_by(leftovers.c.due)
        return await self._database.read(
            lambda connection: [Leftover(*row) for row in connection.execute(due.limit(limit))]
        )

    async def cleared(self, ids: Sequence[UUID]) -> None:
        """Note that nothing is left of these."""

        def work(connection: Connection) -> None:
            for start in range(0, len(ids), _PAGE):
                connection.execute(delete(leftovers).where(leftovers.c.id.in_(ids[start : start + _PAGE])))

        if ids:
            await self._database.note(work)

    async def purged_since(self, moment: datetime) -> bool:
        """Say whether any of those that are noted was purged then or later."""
        any_later = select(leftovers.c.id).where(leftovers.c.at >= moment).limit(1)
        return await self._database.read(lambda connection: connection.execute(any_later).first() is not None)

    async def leave_shared(self, names: Sequence[str], *, at: datetime, due: datetime) -> None:
        """Note the names that vectors of what is purged have where models share them."""

        def work(connection: Connection) -> None:
            _noted(connection, shared_leftovers, [{"name": one, "at": at, "due": due} for one in sorted(set(names))])

        if names:
            await self._database.write(work)

    async def shared_leftovers(self, *, now: datetime, limit: int) -> list[SharedLeftover]:
        """Return those that have to be removed by now, those that are due for longest first."""
        column = shared_leftovers.c
        due = select(column.name, column.at).where(column.due <= now).order_by(column.due)
        return await self._database.read(
            lambda connection: [SharedLeftover(*row) for row in connection.execute(due.limit(limit))]
        )

    async def cleared_shared(self, names: Sequence[str]) -> None:
        """Note that nothing is left under these names."""

        def work(connection: Connection) -> None:
            for start in range(0, len(names), _PAGE):
                some = shared_leftovers.c.name.in_(names[start : start + _PAGE])
                connection.execute(delete(shared_leftovers).where(some))

        if names:
            await self._database.note(work)


def _noted(connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
    """Store these notes. Of one that is there, when it is due is changed, and when it was purged if that is later.

    In the order given, for whoever notes the same ones meanwhile: each would wait for the other.
    """
    [key] = table.primary_key.columns
    noted = insert_into(connection, table)
    later = case((table.c.at < noted.excluded.at, noted.excluded.at), else_=table.c.at)
    changed = {"at": later, "due": noted.excluded.due}
    connection.execute(noted.on_conflict_do_update(index_elements=[key.name], set_=changed), rows)


def _kept(connection: Connection, engine: str, at: datetime) -> None:
    mine = counters.c.name == f"{_ENGINE}{engine}"
    engines = counters.c.name.startswith(_ENGINE)
    connection.execute(delete(counters).where(engines, ~mine, counters.c.name != _FILLING))
    if connection.execute(update(counters).where(mine).values(value=microseconds(at))).rowcount == 0:
        connection.execute(insert(counters).values(name=f"{_ENGINE}{engine}", value=microseconds(at)))


def generation_of(row: Row[tuple[object, ...]]) -> Generation:
    """The generation that a row holds."""
    return Generation(
        number=row.number,
        identity=Identity(provider=row.provider, model=row.model, version=row.version, dimensions=row.dimensions),
        state=row.state,
        created_at=row.created_at,
        switched_at=row.switched_at,
    )
