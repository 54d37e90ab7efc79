"""Forgetting: closed by default, so that the past stays answerable; purged on request, with proof."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from scrubjay.model import Filter, ForgetReceipt, Memory, Scope
from scrubjay.model.memory import ARCHIVED
from scrubjay.ports import SILENT, Events, Records, Stores, Working, Works, stage
from scrubjay.write.announce import forgotten, purged
from scrubjay.write.index import Index
from scrubjay.write.leftovers import clear, clear_shared
from scrubjay.write.reconcile import restored_from

FORGOTTEN = "forgotten"

_SESSIONS: Final = 1_000
_MESSAGES: Final = 500
_TROUBLES: Final = 1_000_000


async def meant(
    scope: Scope, ids: Sequence[UUID] | None, *, key: str | None, purging: bool, records: Records, now: datetime
) -> list[UUID]:
    """Those of these ids that the scope holds; without ids, all that it holds, or that have this key.

    Only what is believed, unless it is to be purged: then past versions, too.
    """
    if ids is not None:
        found = [memory for memory in await records.get(scope, ids) if scope.holds(memory.scope)]
        return [memory.id for memory in found if purging or memory.superseded_at is None]
    wanted = Filter(scope=scope, reach="holds", key=key, history=True)
    return [
        memory.id
        async for batch in records.scan(wanted, now=now)
        for memory in batch
        if purging or memory.superseded_at is None
    ]


async def forget(
    scope: Scope,
    ids: Sequence[UUID],
    *,
    stores: Stores,
    index: Index,
    events: Events,
    at: datetime,
    because: str | None,
    seen: Memory | None = None,
) -> ForgetReceipt:
    """Stop believing these and what was made from them. They still answer questions about the past.

    With `seen`, one of them as it was read: raises Conflict when it was changed since.
    """
    with stage("forget", tenant=scope.tenant, purge=False) as forgetting:
        derived = await stores.records.derived(scope, ids)
        reason = f"{FORGOTTEN}: {because}" if because else FORGOTTEN
        closed = await stores.records.close(scope, ids, at=at, because=reason, seen=seen)
        # What was made from it may lie in a wider scope than the caller's; the tenant is the border here.
        tenant, with_it = Scope(tenant=scope.tenant), f"{reason}, with its source"
        went = await stores.records.close(tenant, derived, at=at, because=with_it) if closed else []
        await index.retire([*closed, *went])
        await events.publish(forgotten([*closed, *went], at))
        forgetting.note(memories=len(closed) + len(went))
    return ForgetReceipt(ids=tuple(one.id for one in closed), derived=tuple(one.id for one in went), at=at)


async def purge(
    scope: Scope,
    ids: Sequence[UUID],
    *,
    stores: Stores,
    index: Index,
    events: Events,
    at: datetime,
    versions: bool = True,
) -> ForgetReceipt:
    """Delete these, every version of them and what was made from them, from every store; count again what is left.

    Files go first: if this stops half-way, the records still say what is left to delete. Vectors go last, and what is
    left of them while their engine is away goes when it is back: the receipt counts it, and the records have noted it.
    So does what models share in Redis, by names that were noted as long as the texts were known. `versions` is false
    when the ids name every version already.
    """
    tenant = Scope(tenant=scope.tenant)
    held = [memory for memory in await stores.records.get(scope, ids) if scope.holds(memory.scope)]
    family = dict.fromkeys(memory.id for memory in held)
    for memory in held if versions else ():
        family |= dict.fromkeys(version.id for version in await _family(memory, stores.records))
    derived = [one for one in await stores.records.derived(scope, list(family)) if one not in family]
    everything = [*family, *derived]
    gone = await stores.records.get(tenant, everything)
    with stage("forget", tenant=scope.tenant, purge=True, memories=len(gone)):
        known = [one.identity for one in await stores.generations.generations()]
        shared = index.models.forget(gone, known)
        await stores.blobs.release(tenant, everything)
        # What a model never saw has no vectors. What was archived is noted for whoever looks after the files.
        loud = [memory.id for memory in gone if memory.generation != SILENT or _is_archived(memory)]
        await stores.generations.leave(loud, at=at, due=at)
        await stores.generations.leave_shared(shared, at=at, due=at)
        await stores.records.purge(tenant, everything)
        is_clear = await clear(loud, stores=stores, at=at)
        # Once more, for somebody may have been embedding one of these. They are purged now.
        index.models.forget(gone, known)
        is_shared_clear = await clear_shared(shared, models=index.models, generations=stores.generations, at=at)
        await events.publish(purged(gone, at))
    named = {memory.id for memory in held}
    return ForgetReceipt(
        ids=tuple(memory.id for memory in held),
        derived=tuple(one for one in everything if one not in named),
        purged=True,
        at=at,
        remaining={
            "records": len(await stores.records.get(tenant, everything)),
            "vectors": await stores.vectors.traces(everything) if is_clear else len(loud),
            "blobs": len(await stores.blobs.held(tenant, everything)),
            **({} if is_shared_clear else {"shared": len(gone)}),
        },
    )


def _is_archived(memory: Memory) -> bool:
    return (memory.closed_because or "").startswith(ARCHIVED)


async def purge_scope(
    scope: Scope,
    ids: Sequence[UUID],
    *,
    stores: Stores,
    index: Index,
    events: Events,
    working: Working,
    works: Works | None,
    at: datetime,
) -> ForgetReceipt:
    """Delete these, which are all that the scope holds, and what is not a memory yet: its sessions, what is parked."""
    await _empty_sessions(scope, working=working, works=works, at=at)
    receipt = await purge(scope, ids, stores=stores, index=index, events=events, at=at, versions=False)
    left = await working.sessions(scope, now=at, limit=_SESSIONS)
    return replace(receipt, remaining={**receipt.remaining, "sessions": len(left)})


async def _empty_sessions(scope: Scope, *, working: Working, works: Works | None, at: datetime) -> None:
    while sessions := await working.sessions(scope, now=at, limit=_SESSIONS):
        for session in sessions:
            await working.end(session.scope, now=at)
            while messages := await working.take(session.scope, limit=_MESSAGES):
                await working.drained(session.scope, [message.id for message in messages], now=at)
            await working.drained(session.scope, [], now=at)
    if works is None:
        return
    for trouble in await works.log.troubles(scope.tenant, limit=_TROUBLES):
        if scope.holds(trouble.scope):
            await works.log.settled(trouble.step, trouble.item)


async def versions_of(memory: Memory, records: Records) -> list[Memory]:
    """Every version of it: what it replaced and what replaced it, and what these were restored from."""
    found = {version.id: version for version in await records.versions(memory.scope, id=memory.id)}
    waiting = list(found.values())
    while waiting:
        version = waiting.pop()
        source = restored_from(version)
        if source is None or source in found:
            continue
        earlier = {one.id: one for one in await records.versions(memory.scope, id=source)}
        # Anybody may tell a reason that reads like ours. What was restored says the same as before.
        if source in earlier and _says_the_same(earlier[source], version):
            fresh = [one for one in earlier.values() if one.id not in found]
            found |= {one.id: one for one in fresh}
            waiting += fresh
    return list(found.values())


def _says_the_same(one: Memory, other: Memory) -> bool:
    return (one.scope, one.fingerprint) == (other.scope, other.fingerprint)


async def _family(memory: Memory, records: Records) -> list[Memory]:
    """Every version of it, and all that its key ever had in its scope."""
    keyed = await records.versions(memory.scope, key=memory.key) if memory.key is not None else []
    return await versions_of(memory, records) + [version for version in keyed if version.scope == memory.scope]
