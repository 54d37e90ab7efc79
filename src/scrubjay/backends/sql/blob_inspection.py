"""Look the blobs of a database over: whether each is what was stored, and whether a memory holds it."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, delete, exists, func, select

from scrubjay.backends.sql.blobs import WHOLE, checked, contents_of, delete_unheld, lock, parts
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema import blob_holders, blobs, memories
from scrubjay.backends.sql.wholes import as_many_as_fit
from scrubjay.errors import StoreDamaged
from scrubjay.model import Finding
from scrubjay.ports.blobs import parts_owner

PAGE: Final = 500
"""Blobs that are looked at in one go, unless they are large."""

PATIENCE: Final = 5.0
"""Seconds after which a memory that is being written with its files is surely there."""

_NAMED: Final = 5
"""Damaged files that are named one by one."""

_BLOBS: Final = blobs.c
_HOLDERS: Final = blob_holders.c
_GONE: Final = ~exists().where(memories.c.id == _HOLDERS.owner)
_UNHELD: Final = ~exists().where(_HOLDERS.blob == _BLOBS.number)


class BlobInspection:
    """The `Inspected` port for blobs."""

    def __init__(self, database: Database, *, patience: float = PATIENCE) -> None:
        self._database = database
        self._patience = patience

    async def inspect(self, *, fix: bool = False) -> list[Finding]:
        """Read every blob. With `fix`, what no memory holds is deleted; what is damaged needs a backup."""
        found = [*await self._orphaned(fix=fix), *await self._unheld(fix=fix), *await self._damaged()]
        return found or [await self._database.read(_sound)]

    async def _orphaned(self, *, fix: bool) -> list[Finding]:
        """Holders that are no memories, as after a process that died between its files and its memory."""
        gone = await self._database.read(_gone_holders)
        if gone:
            # Files may be stored just before the memory that holds them.
            await asyncio.sleep(self._patience)
            gone &= await self._database.read(_gone_holders)
        if not gone:
            return []
        said = f"files are held by {_count(len(gone), 'memory', 'memories')} that {_are(len(gone))} not there"
        if not fix:
            remedy = "run `scrubjay doctor --fix`, which deletes what nobody else holds"
            return [Finding(about="kept files", said=said, remedy=remedy)]
        went = await self._database.write(lambda connection: _released(connection, sorted(gone)))
        return [Finding(about="kept files", said=said, fixed=f"{_count(went, 'file', 'files')} deleted")]

    async def _unheld(self, *, fix: bool) -> list[Finding]:
        numbers = await self._database.read(_unheld_numbers)
        if not numbers:
            return []
        said = f"{_count(len(numbers), 'file', 'files')} that no memory holds"
        if not fix:
            return [Finding(about="kept files", said=said, remedy="run `scrubjay doctor --fix`, which deletes them")]

        def work(connection: Connection) -> int:
            lock(connection, numbers)
            return delete_unheld(connection, numbers)

        went = await self._database.write(work)
        return [Finding(about="kept files", said=said, fixed=f"{_count(went, 'file', 'files')} deleted")]

    async def _damaged(self) -> list[Finding]:
        damaged: list[Any] = []
        after = 0
        while page := await self._database.read(partial(_page, after=after)):
            damaged += await self._database.read(partial(_damaged_among, numbers=page))
            after = page[-1]
        named = [await self._database.read(partial(_named, row=row)) for row in damaged[:_NAMED]]
        if more := len(damaged) - len(named):
            named.append(f"{_count(more, 'file', 'files')} more {_are(more)} damaged")
        remedy = "restore a backup, or purge what holds it and tell it again: `scrubjay forget ID --purge`"
        return [Finding(about="kept files", said=said, remedy=remedy) for said in named]


def _gone_holders(connection: Connection) -> set[UUID]:
    """Holders that are neither memories nor blobs with parts."""
    gone = set(connection.execute(select(_HOLDERS.owner).where(_GONE).distinct()).scalars())
    if gone:
        every = connection.execute(select(_BLOBS.tenant, _BLOBS.hash).execution_options(yield_per=1_000))
        gone.difference_update(parts_owner(tenant, digest) for tenant, digest in every)
    return gone


def _released(connection: Connection, owners: Sequence[UUID]) -> int:
    """Let these hold nothing, unless they are there by now; return how many blobs went with that."""
    owners = sorted(_gone_holders(connection).intersection(owners))
    concerned: set[int] = set()
    for part in parts(owners):
        held = select(_HOLDERS.blob).where(_HOLDERS.owner.in_(part))
        concerned |= set(connection.execute(held).scalars())
    lock(connection, concerned)
    for part in parts(owners):
        connection.execute(delete(blob_holders).where(_HOLDERS.owner.in_(part)))
    return delete_unheld(connection, concerned)


def _unheld_numbers(connection: Connection) -> set[int]:
    return set(connection.execute(select(_BLOBS.number).where(_UNHELD)).scalars())


def _page(connection: Connection, *, after: int) -> list[int]:
    statement = select(_BLOBS.number, _BLOBS.size).where(_BLOBS.number > after).order_by(_BLOBS.number).limit(PAGE)
    return as_many_as_fit([(row.number, row.size) for row in connection.execute(statement)])


def _damaged_among(connection: Connection, *, numbers: Sequence[int]) -> list[Any]:
    """Those of these that are not what was stored, or cannot be read."""
    rows = connection.execute(
        WHOLE.add_columns(_BLOBS.tenant).where(_BLOBS.number.in_(numbers)).order_by(_BLOBS.number)
    ).fetchall()
    if not _is_damaged(connection, rows):
        return []
    # Each on its own: one that cannot be read hides the others.
    return [row for row in rows if _is_damaged(connection, [row])]


def _is_damaged(connection: Connection, rows: Sequence[Any]) -> bool:
    try:
        contents = contents_of(connection, rows)
        for row in rows:
            checked(row.hash, contents[row.number])
    except StoreDamaged:
        return True
    return False


def _named(connection: Connection, *, row: Any) -> str:  # noqa: ANN401 -- a row of the driver
    owners = ", ".join(map(str, _memories_holding(connection, row)[:_NAMED])) or "nobody"
    return f"file {row.hash[:12]}… of tenant {row.tenant} is damaged, held by {owners}"


def _memories_holding(connection: Connection, row: Any) -> list[UUID]:  # noqa: ANN401 -- a row of the driver
    """The memories that hold a blob, or one that has it among its parts."""
    named = connection.execute(select(_BLOBS.number, _BLOBS.hash).where(_BLOBS.tenant == row.tenant))
    lists = {parts_owner(row.tenant, digest): number for number, digest in named}
    found, wanted, looked_at = set[UUID](), {row.number}, set[int]()
    while wanted:
        owners = [
            owner
            for part in parts(sorted(wanted))
            for owner in connection.execute(select(_HOLDERS.owner).where(_HOLDERS.blob.in_(part))).scalars()
        ]
        looked_at |= wanted
        found |= {owner for owner in owners if owner not in lists}
        wanted = {lists[owner] for owner in owners if owner in lists} - looked_at
    return sorted(found)


def _sound(connection: Connection) -> Finding:
    count, size = connection.execute(select(func.count(), func.coalesce(func.sum(_BLOBS.size), 0))).one()
    said = f"{_count(count, 'file', 'files')} of {int(size):,} bytes, every one as it was stored"
    return Finding(about="kept files", said=said)


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
