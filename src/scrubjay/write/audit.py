"""Audit: a deletion is written down before it happens, so that none can happen without a line about it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.access import AuditEntry, Caller
from scrubjay.ports.access import AccessStores

MOST_NAMED: Final = 100
"""Ids in one entry. Of more, the entry says how many there were."""


async def audited(
    access: AccessStores | None, caller: Caller, scope: Scope, ids: Sequence[UUID], *, purge: bool, at: datetime
) -> None:
    """Note that these are about to be forgotten or purged. With a purge, kept answers that may speak of them go first.

    What is forgotten without a key leaves a trace in the record itself; it is not noted twice.
    """
    if access is None or (caller.key is None and not purge):
        return
    if purge:
        await access.answers.empty(scope.tenant)
    entry = AuditEntry(
        at=at,
        tenant=scope.tenant,
        key=caller.key,
        action="memory.purged" if purge else "memory.forgotten",
        target=f"{scope}: {len(ids):,} {'memory' if len(ids) == 1 else 'memories'}",
        ids=tuple(ids[:MOST_NAMED]),
        request=caller.request,
    )
    await access.audit.note(entry)
