"""Audit: what a caller makes vanish is written down, whichever verb did it. A deletion before it happens.

await audited(parts.access, caller, scope, ids, at=now, how="pruned")            # forgotten; noted for holders of keys
await audited(parts.access, caller, scope, ids, at=now, purge=True)              # deleted; noted for everybody
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, TypeAlias
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.access import AuditEntry, Caller
from scrubjay.ports.access import AccessStores

MOST_NAMED: Final = 100
"""Ids in one entry. Of more, the entry says how many there were."""

Noted: TypeAlias = Callable[..., Awaitable[None]]
"""`audited` for one caller: takes what comes after the caller."""


async def audited(
    access: AccessStores | None,
    caller: Caller,
    scope: Scope,
    ids: Sequence[UUID],
    *,
    at: datetime,
    purge: bool = False,
    how: str = "",
) -> None:
    """Note that these are forgotten or purged. With a purge, kept answers that may speak of them go first.

    What is forgotten without a key leaves a trace in the record itself; it is not noted twice.
    """
    if access is None or (caller.key is None and not purge):
        return
    if purge:
        await access.answers.empty(scope.tenant)
    many = f"{len(ids):,} {'memory' if len(ids) == 1 else 'memories'}"
    await noted(
        access,
        caller,
        scope.tenant,
        "memory.purged" if purge else "memory.forgotten",
        f"{scope}: {many}{f', {how}' if how else ''}",
        at=at,
        ids=ids,
    )


async def noted(
    access: AccessStores | None,
    caller: Caller,
    tenant: str,
    action: str,
    target: str,
    *,
    at: datetime,
    ids: Sequence[UUID] = (),
) -> None:
    """Note what a caller did. `target` names ids and places, never what a memory says."""
    if access is None:
        return
    entry = AuditEntry(
        at=at,
        tenant=tenant,
        key=caller.key,
        action=action,
        target=target,
        ids=tuple(ids[:MOST_NAMED]),
        request=caller.request,
    )
    await access.audit.note(entry)
