"""The version that stands today for what a caller names."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

from scrubjay.errors import NotFound
from scrubjay.model import Memory, Remembered, Scope, id_of
from scrubjay.model.checks import check_several, in_utc
from scrubjay.model.citations import listed
from scrubjay.ports import Kept, Records
from scrubjay.ports.records import changed_meanwhile
from scrubjay.write.audit import Noted
from scrubjay.write.index import Index
from scrubjay.write.reconcile import CORRECTED, is_left_of, restored_from

_OURS: Final = (5, 7)
"""The versions of the UUIDs that we make: of new memories, and of what follows from another id."""


async def newest(scope: Scope, id: UUID | str, *, records: Records) -> Memory:
    """The memory of this id, in whatever state. Raises NotFound when the scope does not see it.

    An id of one's own names a memory in its newest version; an id that we made names one version.
    """
    found = await records.get(scope, [id_of(id, scope.tenant)])
    if not found:
        raise NotFound(f"there is no memory {id} in {scope}")
    return await _newest(found[0], scope, records) if is_own(id) else found[0]


async def held(scope: Scope, id: UUID | str, *, records: Records, now: datetime, seen: Memory | None = None) -> Memory:
    """The believed memory of this id, which the scope holds, to be changed. Ids name the same as in `newest`.

    With `seen`, the memory as it was read: raises Conflict when another version of it is believed by now.
    """
    known = id_of(id, scope.tenant)
    found = [memory for memory in await records.get(scope, [known]) if scope.holds(memory.scope)]
    if not found:
        raise NotFound(f"there is no memory {id} in {scope}")
    stands = await _newest(found[0], scope, records) if is_own(id) else found[0]
    if stands.superseded_at is not None:
        raise NotFound(f"memory {id} is {found[0].state(now)}: change its newest version, see `history`")
    _check_seen([stands.id], seen)
    return stands


async def named(
    scope: Scope,
    id: UUID | str | Sequence[UUID | str],
    *,
    purging: bool,
    records: Records,
    seen: Memory | None = None,
) -> list[UUID]:
    """The memories of these ids, which the scope holds, to be forgotten. Raises NotFound unless each of them is there.

    Ids name the same as in `newest`. Only what is believed, unless it is to be purged: then past versions, too. Of what
    another memory replaced for a part of its time, an id of one's own names the rest. With `seen`, one of them as it
    was read: raises Conflict when that is not among them.
    """
    if not isinstance(id, str | UUID):
        check_several("id", id)
    given = {id_of(one, scope.tenant): one for one in ([id] if isinstance(id, str | UUID) else id)}
    found = {memory.id: memory for memory in await records.get(scope, list(given)) if scope.holds(memory.scope)}
    there: dict[UUID, None] = {}
    missing: list[str] = []
    for known, told in given.items():
        memory = found.get(known)
        meant = [memory] if memory is not None else []
        if memory is not None and is_own(told):
            meant = [await _newest(memory, scope, records)]
            if meant[0].superseded_at is not None and not purging:
                meant = await _left_of(meant[0], records)
        meant = [one for one in meant if purging or one.superseded_at is None]
        there |= dict.fromkeys(one.id for one in meant)
        if not meant:
            missing.append(str(told))
    if missing or not there:
        raise NotFound(f"there is nothing to forget in {scope}: {listed(missing) or 'no id is given'}")
    if purging:
        _check_seen(there, seen)
    return list(there)


def is_own(id: UUID | str) -> bool:
    """Whether a caller names a memory by an id of their own: by a text, or by a UUID that cannot be one of ours."""
    # One of ours in another spelling is a text of theirs, too. The clients rely on it: they send without hyphens the
    # UUID that an id of one's own names, where the id itself would read as a route.
    try:
        known = UUID(str(id))
    except ValueError:
        return True
    return known.version not in _OURS or str(known) != str(id).lower()


async def _newest(memory: Memory, scope: Scope, records: Records) -> Memory:
    """What it became by corrections and by being restored, one after the other. Another memory is no version of it."""
    seen = {memory.id}
    while memory.superseded_at is not None:
        following = [one for one in await _following(memory, scope, records) if one.id not in seen]
        if not following:
            break
        memory = following[-1]
        seen.add(memory.id)
    return memory


async def _following(memory: Memory, scope: Scope, records: Records) -> list[Memory]:
    if memory.superseded_by is not None:
        ids = [memory.superseded_by] if memory.closed_because == CORRECTED else []
        found = await records.get(scope, ids) if ids else []
    else:
        made = await records.get(scope, await records.derived(scope, [memory.id])) if memory.is_forgotten else []
        found = [one for one in made if restored_from(one) == memory.id and one.fingerprint == memory.fingerprint]
    return [one for one in found if one.scope == memory.scope]


async def _left_of(memory: Memory, records: Records) -> list[Memory]:
    """What is still believed of it where others have taken its place: its stretches of time beside theirs."""
    keyed = await records.versions(memory.scope, key=memory.key) if memory.key is not None else []
    here = [one for one in keyed if one.scope == memory.scope]
    left: list[Memory] = []
    waiting = [memory]
    while waiting:
        old = waiting.pop()
        stretches = [one for one in here if is_left_of(one, old)]
        left += [one for one in stretches if one.superseded_at is None]
        waiting += [one for one in stretches if one.superseded_at is not None]
    return left


def _check_seen(ids: Collection[UUID], seen: Memory | None) -> None:
    if seen is not None and seen.id not in ids:
        raise changed_meanwhile(seen.id)


async def adjusted(
    old: Memory, given: Mapping[str, Any], *, records: Records, index: Index, noted: Noted, seen: Memory | None
) -> Remembered:
    """Change importance and expiry in place. That it ends sooner is noted before it does."""
    changes = cast("Kept", dict(given))
    if "expires_at" in changes:
        end = changes["expires_at"] = in_utc("expires_at", changes["expires_at"])
        if end is not None and (old.expires_at is None or end < old.expires_at):
            await noted(old.scope, [old.id], how=f"expires at {end:%Y-%m-%dT%H:%M:%SZ}")
    memory = await records.adjust(old.scope, old.id, seen=seen, **changes)
    if memory is None or memory.superseded_at is not None:
        raise NotFound(f"memory {old.id} has just been {'purged' if memory is None else 'closed'}")
    await (index.renew([memory]) if "expires_at" in changes else index.add([memory]))
    return Remembered(memory=memory, outcome="unchanged")
