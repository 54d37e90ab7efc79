"""Which embedding models have vectors, in the record database, so that every process agrees."""

from datetime import datetime

from sqlalchemy import Connection, Row, delete, insert, select, update

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import generations
from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Generation, GenerationState, Identity

_COLUMNS = generations.c


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


def generation_of(row: Row[tuple[object, ...]]) -> Generation:
    """The generation that a row holds."""
    return Generation(
        number=row.number,
        identity=Identity(provider=row.provider, model=row.model, version=row.version, dimensions=row.dimensions),
        state=row.state,
        created_at=row.created_at,
        switched_at=row.switched_at,
    )
