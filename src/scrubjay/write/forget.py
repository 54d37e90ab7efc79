"""Forgetting: closed by default, so that the past stays answerable; purged on request, with proof."""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Filter, ForgetReceipt, Memory, Scope
from scrubjay.model.memory import ARCHIVED, FORGOTTEN, MESSAGE_KIND
from scrubjay.model.working import id_in
from scrubjay.ports import SILENT, Events, Records, Stores, Working, Works, stage
from scrubjay.write.announce import forgotten, purged
from scrubjay.write.holding import undisturbed
from scrubjay.write.index import Index
from scrubjay.write.leftovers import clear, clear_shared
from scrubjay.write.reconcile import restored_from

Again: TypeAlias = Callable[[], Awaitable[Sequence[UUID]]]
"""Asks once more what is meant, and notes it."""

ROUNDS: Final = 10
"""How often it is asked again what is meant, when others go on writing meanwhile."""

_SESSIONS: Final = 1_000
_MESSAGES: Final = 500
_SESSION: Final = 1_000_000
_TROUBLES: Final = 1_000_000


async def meant(scope: Scope, *, key: str | None, purging: bool, records: Records, now: datetime) -> list[UUID]:
    """All that the scope holds, or that has this key.

    Only what is believed, unless it is to be purged: then past versions, too.
    """
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
    again: Again | None = None,
) -> ForgetReceipt:
    """Stop believing these and what was made from them, all at once. They still answer questions about the past.

    Raises Conflict when one of them was replaced by another version since it was meant, or with `again`, which says
    what is meant now, when that happens time after time; and NotFound when somebody else was quicker to forget them.
    With `seen`, one of them as it was read: raises Conflict when it was changed since.
    """
    with stage("forget", tenant=scope.tenant, purge=False) as forgetting:
        reason = f"{FORGOTTEN}: {because}" if because else FORGOTTEN
        # Why somebody wanted it forgotten is told to those who could read it, and to nobody else.
        with_it, elsewhere = (f"{why}, with its source" for why in (reason, FORGOTTEN))
        closing = partial(stores.records.forget, at=at, because=reason, with_it=with_it, elsewhere=elsewhere, seen=seen)
        for rest in reversed(range(ROUNDS)):
            try:
                done = await closing(scope, ids)
                break
            except Conflict:
                if again is None or not rest:
                    raise
                ids = await again()
        if not done.closed:
            raise NotFound(f"there is nothing left to forget in {scope}: somebody else was quicker")
        await index.retire([*done.closed, *done.derived])
        await events.publish(forgotten([*done.closed, *done.derived], at))
        forgetting.note(memories=len(done.closed) + len(done.derived))
    return ForgetReceipt(ids=tuple(one.id for one in done.closed), derived=tuple(one.id for one in done.derived), at=at)


async def purge(
    scope: Scope,
    ids: Sequence[UUID],
    *,
    stores: Stores,
    index: Index,
    events: Events,
    at: datetime,
    versions: bool = True,
    working: Working | None = None,
) -> ForgetReceipt:
    """Delete these, every version of them and what was made from them, from every store; count again what is left.

    Files go first: if this stops half-way, the records still say what is left to delete. Vectors go last, and what is
    left of them while their engine is away goes when it is back: the receipt counts it, and the records have noted it.
    So does what models share in Redis, by names that were noted as long as the texts were known. What others wrote in
    between is found by the transaction that deletes the records, and its files and vectors go right after it.
    `versions` is false when the ids name every version already. With `working`, messages go from their sessions, too.
    """
    tenant = Scope(tenant=scope.tenant)
    held = [memory for memory in await stores.records.get(scope, ids) if scope.holds(memory.scope)]
    roots, family = dict.fromkeys(memory.id for memory in held), dict.fromkeys(memory.id for memory in held)
    for memory in held if versions else ():
        kin = await _family(memory, stores.records)
        family |= dict.fromkeys(version.id for version in kin)
        # Of these the versions are found again, where what comes meanwhile cannot be missed.
        roots |= dict.fromkeys(source for version in kin if (source := restored_from(version)) in family)
    derived = [one for one in await stores.records.derived(scope, list(family)) if one not in family]
    gone = {memory.id: memory for memory in await stores.records.get(tenant, [*family, *derived])}
    with stage("forget", tenant=scope.tenant, purge=True) as purging:
        if working is not None:
            # Before they are purged: who takes them from there after that would store them again.
            await _discard(list(gone.values()), working=working, at=at)
        known = [one.identity for one in await stores.generations.generations()]

        async def let_go(memories: Sequence[Memory]) -> tuple[list[UUID], list[str]]:
            shared = index.models.forget(memories, known)
            await stores.blobs.release(tenant, [memory.id for memory in memories])
            # What a model never saw has no vectors. What was archived is noted for whoever looks after the files.
            loud = [memory.id for memory in memories if memory.generation != SILENT or _is_archived(memory)]
            await stores.generations.leave(loud, at=at, due=at)
            await stores.generations.leave_shared(shared, at=at, due=at)
            return loud, shared

        async def deleted() -> tuple[list[UUID], list[str]]:
            """Delete the records, and let go of what came meanwhile; announce it."""
            taken = await stores.records.purge(tenant, list(roots), versions=versions)
            late = {memory.id: memory for memory in taken if memory.id not in gone}
            more = await let_go(list(late.values())) if late else ([], [])
            gone.update(late)
            await events.publish(purged(taken, at))
            return more

        loud, shared = await let_go(list(gone.values()))
        # Whoever is stopped ends this first: once the records are gone, nothing says what lies elsewhere.
        more = await undisturbed(deleted())
        loud, shared = loud + more[0], shared + more[1]
        is_clear = await clear(loud, stores=stores, at=at)
        # Once more, for somebody may have been embedding one of these. They are purged now.
        index.models.forget(list(gone.values()), known)
        is_shared_clear = await clear_shared(shared, models=index.models, generations=stores.generations, at=at)
        purging.note(memories=len(gone))
    everything, named = list(gone), {memory.id for memory in held}
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


async def _discard(gone: Sequence[Memory], *, working: Working, at: datetime) -> None:
    said: dict[Scope, set[UUID]] = defaultdict(set)
    for memory in gone:
        if memory.kind == MESSAGE_KIND and memory.scope.session is not None:
            said[memory.scope].add(memory.id)
    for place, ids in said.items():
        held = await working.take(place, limit=_SESSION)
        here = [message.id for message in held if message.id in ids or id_in(place, message) in ids]
        if here:
            await working.discard(place, here, now=at)


def _is_archived(memory: Memory) -> bool:
    return (memory.closed_because or "").startswith(ARCHIVED)


async def purge_scope(
    scope: Scope,
    *,
    stores: Stores,
    index: Index,
    events: Events,
    working: Sequence[Working],
    works: Works | None,
    at: datetime,
    again: Again,
) -> ForgetReceipt:
    """Delete all that the scope holds, and what is not a memory yet: its sessions, what is parked.

    What a worker has in memory by then is either stored before the purge is noted, and found here, or refused. What
    others tell meanwhile is deleted too, for some rounds; the receipt counts what the scope holds after them.
    """
    for store in working:
        await _empty_sessions(scope, working=store, at=at)
    await stores.records.purging(scope)
    await _settle(scope, works=works)
    ids = await meant(scope, key=None, purging=True, records=stores.records, now=at)
    receipt = await purge(scope, ids, stores=stores, index=index, events=events, at=at, versions=False)
    for _ in range(ROUNDS):
        late = await again()
        if not late:
            break
        more = await purge(scope, late, stores=stores, index=index, events=events, at=at, versions=False)
        receipt = _together(receipt, more)
    held = await stores.records.count(Filter(scope=scope, reach="holds", history=True), now=at)
    left = sum([len(await store.sessions(scope, now=at, limit=_SESSIONS)) for store in working])
    counted = {"records": receipt.remaining["records"] + held.versions, "sessions": left}
    return replace(receipt, remaining={**receipt.remaining, **counted})


def _together(one: ForgetReceipt, other: ForgetReceipt) -> ForgetReceipt:
    """Both as one receipt."""
    counted = Counter(one.remaining)
    counted.update(other.remaining)
    return replace(one, ids=one.ids + other.ids, derived=one.derived + other.derived, remaining=dict(counted))


async def _empty_sessions(scope: Scope, *, working: Working, at: datetime) -> None:
    while sessions := await working.sessions(scope, now=at, limit=_SESSIONS):
        for session in sessions:
            await working.end(session.scope, now=at)
            while messages := await working.take(session.scope, limit=_MESSAGES):
                await working.drained(session.scope, [message.id for message in messages], now=at)
            await working.drained(session.scope, [], now=at)


async def _settle(scope: Scope, *, works: Works | None) -> None:
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
    """Every version of it, and all that its key ever had in its scope. What lies in another scope is none of it."""
    keyed = await records.versions(memory.scope, key=memory.key) if memory.key is not None else []
    return [version for version in [*await versions_of(memory, records), *keyed] if version.scope == memory.scope]
