"""Writing into the audit log, on behalf of one caller."""

from scrubjay.model.access import AuditEntry, Caller
from scrubjay.ports import Clock
from scrubjay.ports.access import Audit


class Log:
    """The audit log, as one caller writes into it."""

    def __init__(self, audit: Audit, caller: Caller, *, tenant: str, clock: Clock) -> None:
        self._audit = audit
        self._caller = caller
        self._tenant = tenant
        self._clock = clock

    async def note(self, action: str, target: str) -> None:
        """Write down that the caller does this. `target` names ids and places, never what a memory says."""
        entry = AuditEntry(
            at=self._clock(),
            tenant=self._tenant,
            key=self._caller.key,
            action=action,
            target=target,
            request=self._caller.request,
        )
        await self._audit.note(entry)
