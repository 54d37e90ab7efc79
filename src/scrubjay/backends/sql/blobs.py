"""Blobs in the record database: each is stored once for a tenant, compressed, or as a difference from another."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, bindparam, delete, exists, func, select, update

from scrubjay.backends.deltas import difference, restored
from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.schema import blob_holders, blobs
from scrubjay.errors import NotFound, StoreDamaged
from scrubjay.model import Scope
from scrubjay.ports import Blob, Room
from scrubjay.ports.blobs import hash_of, parts_owner, sealed_with

_BLOBS: Final = blobs.c
_HOLDERS: Final = blob_holders.c

_NAMED: Final = 500
"""Values that one statement names: every SQLite takes more."""

MOST_DEPTH: Final = 8
"""Differences upon differences until a blob is stored whole again: reading one reads all below it."""

_LEAST_SAVED: Final = 0.5
"""A difference has to be this much smaller than the compressed whole to be worth reading two blobs for one."""

_KNOWN = select(_BLOBS.number, _BLOBS.hash).where(
    _BLOBS.tenant == bindparam("the_tenant"), _BLOBS.hash.in_(bindparam("hashes", expanding=True))
)
WHOLE = select(_BLOBS.number, _BLOBS.hash, _BLOBS.way, _BLOBS.base, _BLOBS.depth, _BLOBS.body)
_BY_HASH = WHOLE.where(_BLOBS.tenant == bindparam("the_tenant"), _BLOBS.hash.in_(bindparam("hashes", expanding=True)))
_BY_NUMBER = WHOLE.where(_BLOBS.number.in_(bindparam("numbers", expanding=True)))
_HELD = select(_HOLDERS.blob).where(_HOLDERS.owner.in_(bindparam("owners", expanding=True)))


class SqlBlobs:
    """The `Blobs` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, scope: Scope, owner: UUID, blobs: Sequence[Blob]) -> int:
        """Store these for the scope's tenant, held by this memory; return how many bytes were new."""
        given = {blob.hash: blob for blob in blobs}

        def work(connection: Connection) -> int:
            known = locked(connection, scope.tenant, given)
            new = [blob for blob in given.values() if blob.hash not in known]
            sealing.check_keys(connection, scope.tenant, {sealed_with(blob.content) for blob in new})
            for blob in new:
                known[blob.hash] = store_new(connection, scope.tenant, blob)
            for blob in given.values():
                _hold(connection, scope.tenant, parts_owner(scope.tenant, blob.hash), blob.parts)
            let_hold(connection, [(number, owner) for number in known.values()])
            return sum(len(blob.content) for blob in new)

        return await self._database.write(work)

    async def hold(self, scope: Scope, owner: UUID, hashes: Sequence[str]) -> None:
        """Let this memory hold blobs that are there already."""

        def work(connection: Connection) -> None:
            _hold(connection, scope.tenant, owner, hashes)

        await self._database.write(work)

    async def get(self, scope: Scope, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return those that the tenant has, checked against their hashes."""

        def work(connection: Connection) -> dict[str, bytes]:
            rows = [
                row
                for part in parts(list(dict.fromkeys(hashes)))
                for row in connection.execute(_BY_HASH, {"the_tenant": scope.tenant, "hashes": part})
            ]
            contents = contents_of(connection, rows)
            return {row.hash: checked(row.hash, contents[row.number]) for row in rows}

        return await self._database.read(work)

    async def missing(self, scope: Scope, hashes: Sequence[str]) -> list[str]:
        """Return those that the tenant does not have, in the order asked, each once."""
        asked = list(dict.fromkeys(hashes))

        def work(connection: Connection) -> list[str]:
            known = {
                row.hash
                for part in parts(asked)
                for row in connection.execute(_KNOWN, {"the_tenant": scope.tenant, "hashes": part})
            }
            return [digest for digest in asked if digest not in known]

        return await self._database.read(work)

    async def held(self, scope: Scope, owners: Sequence[UUID]) -> dict[UUID, tuple[str, ...]]:
        """Return what each of these memories holds, sorted."""
        statement = (
            select(_HOLDERS.owner, _BLOBS.hash)
            .join(blobs, _BLOBS.number == _HOLDERS.blob)
            .where(_BLOBS.tenant == scope.tenant, _HOLDERS.owner.in_(bindparam("owners", expanding=True)))
            .order_by(_BLOBS.hash)
        )

        def work(connection: Connection) -> dict[UUID, tuple[str, ...]]:
            found: dict[UUID, list[str]] = {}
            for part in parts(list(dict.fromkeys(owners))):
                for owner, digest in connection.execute(statement, {"owners": part}):
                    found.setdefault(owner, []).append(digest)
            return {owner: tuple(hashes) for owner, hashes in found.items()}

        return await self._database.read(work)

    async def release(self, scope: Scope, owners: Sequence[UUID]) -> int:
        """Let these memories hold nothing any more, and delete for good what nobody holds; return how many went."""

        def work(connection: Connection) -> int:
            mine = select(_BLOBS.number).where(_BLOBS.tenant == scope.tenant)
            concerned: set[int] = set()
            for part in parts(list(dict.fromkeys(owners))):
                concerned |= set(connection.execute(_HELD.where(_HOLDERS.blob.in_(mine)), {"owners": part}).scalars())
            lock(connection, concerned)
            for part in parts(list(dict.fromkeys(owners))):
                connection.execute(delete(blob_holders).where(_HOLDERS.owner.in_(part), _HOLDERS.blob.in_(mine)))
            return delete_unheld(connection, concerned)

        return await self._database.write(work)

    async def room(self, scope: Scope) -> Room:
        """Say how much the tenant keeps."""
        stored = func.coalesce(func.sum(func.length(_BLOBS.body)), 0)
        statement = select(func.count(), func.coalesce(func.sum(_BLOBS.size), 0), stored)
        row = await self._database.read(
            lambda connection: connection.execute(statement.where(_BLOBS.tenant == scope.tenant)).one()
        )
        return Room(blobs=row[0], bytes=int(row[1]), stored=int(row[2]))


def parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The values, as many at once as a statement may name."""
    for start in range(0, len(values), _NAMED):
        yield values[start : start + _NAMED]


def locked(connection: Connection, tenant: str, hashes: Iterable[str]) -> dict[str, int]:
    """The numbers of those that are there, which nobody deletes before this transaction ends."""
    return {
        row.hash: row.number
        for part in parts(sorted(set(hashes)))
        for row in connection.execute(
            _KNOWN.order_by(_BLOBS.number).with_for_update(), {"the_tenant": tenant, "hashes": part}
        )
    }


def store_new(connection: Connection, tenant: str, blob: Blob) -> int:
    """Store one that was not there, and return its number: also when another process was quicker."""
    way, body, base, depth = _smallest(connection, tenant, blob)
    row = {"tenant": tenant, "hash": blob.hash, "size": len(blob.content), "way": way, "body": body}
    statement = insert_into(connection, blobs).values(**row, base=base, depth=depth).on_conflict_do_nothing()
    connection.execute(statement)
    return locked(connection, tenant, [blob.hash])[blob.hash]


def _smallest(connection: Connection, tenant: str, blob: Blob) -> tuple[str, bytes, int | None, int]:
    """The way to store it that takes the least room: how, the bytes, what it builds on, and how deep that is."""
    packed = zlib.compress(blob.content, 6)
    whole = ("zlib", packed) if len(packed) < len(blob.content) else ("plain", blob.content)
    if blob.base is None or blob.base == blob.hash:
        return *whole, None, 0
    found = connection.execute(_BY_HASH.with_for_update(), {"the_tenant": tenant, "hashes": [blob.base]}).one_or_none()
    if found is None or found.depth >= MOST_DEPTH:
        return *whole, None, 0
    script = difference(contents_of(connection, [found])[found.number], blob.content)
    if script is None or len(script) > len(whole[1]) * _LEAST_SAVED:
        return *whole, None, 0
    return "difference", script, found.number, found.depth + 1


def _hold(connection: Connection, tenant: str, owner: UUID, hashes: Sequence[str]) -> None:
    known = locked(connection, tenant, hashes)
    for digest in hashes:
        if digest not in known:
            raise NotFound(f"there is no blob {digest} to hold: keep its content first")
    let_hold(connection, [(number, owner) for number in known.values()])


def let_hold(connection: Connection, pairs: Iterable[tuple[int, UUID]]) -> None:
    """Let each of these blobs be held by the memory beside it."""
    rows = [{"blob": number, "owner": owner} for number, owner in pairs]
    if rows:
        connection.execute(insert_into(connection, blob_holders).on_conflict_do_nothing(), rows)


def contents_of(connection: Connection, rows: Iterable[Any]) -> dict[int, bytes]:
    """The content of these rows by their numbers, and of those that they build on."""
    known = {row.number: row for row in rows}
    while wanted := {row.base for row in known.values() if row.base is not None} - known.keys():
        for part in parts(sorted(wanted)):
            known |= {row.number: row for row in connection.execute(_BY_NUMBER, {"numbers": part})}
        if lost := wanted - known.keys():
            raise StoreDamaged(f"blob {min(lost)} is gone, and others build on it: restore a backup")
    contents: dict[int, bytes] = {}
    for number in sorted(known, key=lambda number: known[number].depth):
        row = known[number]
        contents[number] = _unpacked(row, contents[row.base] if row.base is not None else b"")
    return contents


def _unpacked(row: Row[Any], base: bytes) -> bytes:
    try:
        match row.way:
            case "plain":
                return bytes(row.body)
            case "zlib":
                return zlib.decompress(row.body)
            case _:
                return restored(base, row.body)
    except zlib.error as error:
        raise StoreDamaged(f"blob {row.hash} cannot be read ({error}): restore a backup") from error


def checked(hash: str, content: bytes) -> bytes:
    """The content, if it is what was stored."""
    if hash_of(content) != hash:
        raise StoreDamaged(f"blob {hash} is not what was stored: restore a backup")
    return content


def lock(connection: Connection, numbers: Iterable[int]) -> None:
    """Whoever wants to hold one of these waits from now on, and then finds it gone."""
    for part in parts(sorted(numbers)):
        statement = select(_BLOBS.number).where(_BLOBS.number.in_(part)).order_by(_BLOBS.number)
        connection.execute(statement.with_for_update()).fetchall()


def delete_unheld(connection: Connection, numbers: set[int]) -> int:
    """Delete those of these, which are locked, that nobody holds, and their parts; return how many that were."""
    gone = unheld(connection, numbers)
    make_whole(connection, gone)
    listed: set[int] = set()
    for part in parts(sorted(gone)):
        named = connection.execute(select(_BLOBS.tenant, _BLOBS.hash).where(_BLOBS.number.in_(part))).fetchall()
        owners = [parts_owner(tenant, digest) for tenant, digest in named]
        listed |= set(connection.execute(_HELD, {"owners": owners}).scalars())
        connection.execute(delete(blob_holders).where(_HOLDERS.owner.in_(owners)))
        connection.execute(delete(blobs).where(_BLOBS.number.in_(part)))
    if not listed:
        return len(gone)
    lock(connection, listed)
    return len(gone) + delete_unheld(connection, listed)


def unheld(connection: Connection, numbers: set[int]) -> set[int]:
    """Those of these that nobody holds."""
    held = exists().where(_HOLDERS.blob == _BLOBS.number)
    return {
        number
        for part in parts(sorted(numbers))
        for number in connection.execute(select(_BLOBS.number).where(_BLOBS.number.in_(part), ~held)).scalars()
    }


def make_whole(connection: Connection, gone: set[int]) -> None:
    """Store those that build on one that goes as they are: nothing of it may stay, and they must."""
    for part in parts(sorted(gone)):
        building = [row for row in connection.execute(WHOLE.where(_BLOBS.base.in_(part))) if row.number not in gone]
        contents = contents_of(connection, building)
        for row in building:
            packed = zlib.compress(contents[row.number], 6)
            freed = {"way": "zlib", "body": packed, "base": None, "depth": 0}
            connection.execute(update(blobs).where(_BLOBS.number == row.number).values(**freed))
