"""API keys and the audit log in the record database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Connection, Row, delete, func, insert, or_, select, update

from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.schema_access import api_keys, audit_log
from scrubjay.errors import Conflict, NotFound
from scrubjay.model.access import ApiKey, AuditEntry, bounds_of
from scrubjay.ports.access import StoredKey

_KEYS: Final = api_keys.c
_LOG: Final = audit_log.c


class SqlKeys:
    """The `Keys` port. A key is one row, found by its primary key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, stored: StoredKey, *, replaces: str | None = None, until: datetime | None = None) -> None:
        """Keep a new key. With `replaces`, that key of the same tenant ends at `until`, in the same transaction."""

        def work(connection: Connection) -> None:
            if connection.execute(select(_KEYS.id).where(_KEYS.id == stored.key.id)).first() is not None:
                raise Conflict(f"there is a key {stored.key.id} already: make another one")
            if replaces is not None:
                old = _held(connection, stored.key.tenant, replaces)
                if old is None:
                    raise NotFound(f"there is no key {replaces} to replace: see `scrubjay keys list`")
                if until is not None and (old.expires_at is None or old.expires_at > until):
                    connection.execute(update(api_keys).where(_KEYS.id == replaces).values(expires_at=until))
            connection.execute(insert(api_keys).values(**_row_of(stored)))

        await self._database.write(work)

    async def find(self, id: str) -> StoredKey | None:
        """Return the key of this id, of whatever tenant and in whatever state; None when there is none."""
        wanted = select(api_keys).where(_KEYS.id == id)
        row = await self._database.read(lambda connection: connection.execute(wanted).first())
        return _stored_of(row) if row is not None else None

    async def known(self, tenant: str) -> list[ApiKey]:
        """Return all keys of the tenant, in the order they were made, revoked ones too."""
        wanted = select(api_keys).where(_KEYS.tenant == tenant).order_by(_KEYS.created_at, _KEYS.id)
        return await self._database.read(lambda connection: [_key_of(row) for row in connection.execute(wanted)])

    async def revoke(self, tenant: str, id: str, *, at: datetime) -> ApiKey | None:
        """End a key; whoever asks `find` from now on is told. Returns it as it now is; None when there is none."""
        mine = update(api_keys).where(_KEYS.id == id, _KEYS.tenant == tenant, _KEYS.revoked_at.is_(None))

        def work(connection: Connection) -> ApiKey | None:
            connection.execute(mine.values(revoked_at=at))
            row = _held(connection, tenant, id)
            return _key_of(row) if row is not None else None

        return await self._database.write(work)

    async def used(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        """Note that the key was used, unless it was noted since then."""
        stale = or_(_KEYS.used_at.is_(None), _KEYS.used_at < unless_since)
        noted = update(api_keys).where(_KEYS.id == id, stale).values(used_at=at)
        await self._database.note(lambda connection: connection.execute(noted))

    async def any(self) -> bool:
        """Whether there is a key of any tenant, in whatever state."""
        wanted = select(_KEYS.id).limit(1)
        return await self._database.read(lambda connection: connection.execute(wanted).first() is not None)


class SqlAudit:
    """The `Audit` port. There is no statement here that changes an entry, and one that deletes those that are old."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, entry: AuditEntry) -> None:
        """Keep one entry."""
        row = insert(audit_log).values(**_entry_row(entry))
        await self._database.write(lambda connection: connection.execute(row))

    async def entries(
        self, tenant: str, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> list[AuditEntry]:
        """Return entries of the tenant, newest first; `before` is the number of the last one of the page before."""
        wanted = select(audit_log).where(_LOG.tenant == tenant).order_by(_LOG.number.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(_LOG.number < before)
        if since is not None:
            wanted = wanted.where(_LOG.at >= since)
        return await self._database.read(lambda connection: [_entry_of(row) for row in connection.execute(wanted)])

    async def sweep(self, *, before: datetime) -> int:
        """Delete what was done before this moment, but for the newest entry of all."""
        newest = select(func.max(_LOG.number)).scalar_subquery()
        old = delete(audit_log).where(_LOG.at < before, _LOG.number < newest)
        return await self._database.write(lambda connection: connection.execute(old).rowcount)


# Whole, for those who carry a store elsewhere


def all_keys(connection: Connection) -> tuple[StoredKey, ...]:
    """The keys of all tenants, by their ids."""
    rows = connection.execute(select(api_keys)).fetchall()
    # Sorted here, since two databases may not agree on the alphabet.
    return tuple(sorted((_stored_of(row) for row in rows), key=lambda one: one.key.id))


def put_keys(connection: Connection, keys: Sequence[StoredKey]) -> None:
    """Keep exactly these."""
    connection.execute(delete(api_keys))
    if keys:
        connection.execute(insert(api_keys), [_row_of(one) for one in keys])


def entries_after(connection: Connection, number: int, *, batch: int) -> list[AuditEntry]:
    """The next entries of all tenants, in their order."""
    wanted = select(audit_log).where(_LOG.number > number).order_by(_LOG.number).limit(batch)
    return [_entry_of(row) for row in connection.execute(wanted)]


def put_entries(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    """Keep these under their own numbers, as far as they are not there."""
    numbers = [entry.number for entry in entries]
    there = set(connection.execute(select(_LOG.number).where(_LOG.number.in_(numbers))).scalars())
    fresh = [{**_entry_row(entry), "number": entry.number} for entry in entries if entry.number not in there]
    if fresh:
        connection.execute(insert(audit_log), fresh)


def _held(connection: Connection, tenant: str, id: str) -> Row[Any] | None:
    return connection.execute(select(api_keys).where(_KEYS.id == id, _KEYS.tenant == tenant)).first()


def _row_of(stored: StoredKey) -> dict[str, Any]:
    key = stored.key
    return {
        "id": key.id,
        "tenant": key.tenant,
        "name": key.name,
        "digest": stored.digest,
        "rights": ",".join(key.rights),
        "users": list(key.bounds.users),
        "projects": list(key.bounds.projects),
        "agents": list(key.bounds.agents),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "used_at": key.used_at,
    }


def _stored_of(row: Row[Any]) -> StoredKey:
    return StoredKey(key=_key_of(row), digest=bytes(row.digest))


def _key_of(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        tenant=row.tenant,
        name=row.name,
        rights=tuple(row.rights.split(",")),
        bounds=bounds_of(users=row.users or (), projects=row.projects or (), agents=row.agents or ()),
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        used_at=row.used_at,
    )


def _entry_row(entry: AuditEntry) -> dict[str, Any]:
    return {
        "at": entry.at,
        "tenant": entry.tenant,
        "key": entry.key,
        "action": entry.action,
        "target": entry.target,
        "ids": [str(one) for one in entry.ids],
        "request": entry.request,
    }


def _entry_of(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        number=row.number,
        at=row.at,
        tenant=row.tenant,
        key=row.key,
        action=row.action,
        target=row.target,
        ids=tuple(UUID(one) for one in row.ids or ()),
        request=row.request,
    )
