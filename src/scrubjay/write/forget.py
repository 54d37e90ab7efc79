"""Forgetting: closed by default, so that the past stays answerable; purged on request, with proof."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from scrubjay.model import ForgetReceipt, Memory, Scope
from scrubjay.ports import Records, Stores
from scrubjay.write.index import Index

FORGOTTEN = "forgotten"


async def forget(
    scope: Scope, ids: Sequence[UUID], *, stores: Stores, index: Index, at: datetime, because: str | None
) -> ForgetReceipt:
    """Stop believing these and what was made from them. They still answer questions about the past."""
    derived = await stores.records.derived(scope, ids)
    reason = f"{FORGOTTEN}: {because}" if because else FORGOTTEN
    closed = await stores.records.close(scope, ids, at=at, because=reason)
    # What was made from it may lie in a wider scope than the caller's; the tenant is the border here.
    tenant = Scope(tenant=scope.tenant)
    went = await stores.records.close(tenant, derived, at=at, because=f"{reason}, with its source") if closed else []
    await index.retire([*closed, *went])
    return ForgetReceipt(ids=tuple(one.id for one in closed), derived=tuple(one.id for one in went), at=at)


async def purge(
    scope: Scope, ids: Sequence[UUID], *, stores: Stores, at: datetime, versions: bool = True
) -> ForgetReceipt:
    """Delete these, every version of them and what was made from them, from every store; count again what is left.

    The vectors go first: if this stops half-way, the records still say what is left to delete, and wait to be indexed.
    They go once more at the end, for somebody may have been indexing one of these meanwhile. `versions` is false when
    the ids name every version already.
    """
    tenant = Scope(tenant=scope.tenant)
    held = [memory for memory in await stores.records.get(scope, ids) if scope.holds(memory.scope)]
    family = dict.fromkeys(memory.id for memory in held)
    for memory in held if versions else ():
        family |= dict.fromkeys(version.id for version in await _versions(memory, stores.records))
    derived = [one for one in await stores.records.derived(scope, list(family)) if one not in family]
    everything = [*family, *derived]
    await stores.records.mark(everything, None)
    await stores.vectors.remove(everything)
    await stores.records.purge(tenant, everything)
    await stores.vectors.remove(everything)
    named = {memory.id for memory in held}
    return ForgetReceipt(
        ids=tuple(memory.id for memory in held),
        derived=tuple(one for one in everything if one not in named),
        purged=True,
        at=at,
        remaining={
            "records": len(await stores.records.get(tenant, everything)),
            "vectors": await stores.vectors.traces(everything),
        },
    )


async def _versions(memory: Memory, records: Records) -> list[Memory]:
    """Every version of it: what it replaced and what replaced it, and all that its key ever had in its scope."""
    versions = await records.versions(memory.scope, id=memory.id)
    keyed = await records.versions(memory.scope, key=memory.key) if memory.key is not None else []
    return versions + [version for version in keyed if version.scope == memory.scope]
