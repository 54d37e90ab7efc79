"""Keys, the audit log and kept answers on dicts."""

from dataclasses import replace
from datetime import datetime

from scrubjay.errors import Conflict, NotFound
from scrubjay.model.access import Answer, ApiKey, AuditEntry
from scrubjay.ports.access import Claim, Found, StoredKey, is_of_another_clock


class MemoryKeys:
    """The `Keys` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._keys: dict[str, StoredKey] = {}

    async def add(self, stored: StoredKey, *, replaces: str | None = None, until: datetime | None = None) -> None:
        """Keep a new key. With `replaces`, that key of the same tenant ends at `until`."""
        if stored.key.id in self._keys:
            raise Conflict(f"there is a key {stored.key.id} already: make another one")
        if replaces is not None:
            old = self._held(stored.key.tenant, replaces)
            if old is None:
                raise NotFound(f"there is no key {replaces} to replace: see `scrubjay keys list`")
            if until is not None and (old.key.expires_at is None or old.key.expires_at > until):
                self._keys[replaces] = replace(old, key=replace(old.key, expires_at=until))
        self._keys[stored.key.id] = stored

    async def find(self, id: str) -> StoredKey | None:
        """Return the key of this id, of whatever tenant and in whatever state; None when there is none."""
        return self._keys.get(id)

    async def known(self, tenant: str) -> list[ApiKey]:
        """Return all keys of the tenant, in the order they were made, revoked ones too."""
        mine = [stored.key for stored in self._keys.values() if stored.key.tenant == tenant]
        return sorted(mine, key=lambda key: (key.created_at, key.id))

    async def revoke(self, tenant: str, id: str, *, at: datetime) -> ApiKey | None:
        """End a key; whoever asks `find` from now on is told. Returns it as it now is; None when there is none."""
        held = self._held(tenant, id)
        if held is None:
            return None
        if held.key.revoked_at is None:
            held = self._keys[id] = replace(held, key=replace(held.key, revoked_at=at))
        return held.key

    async def used(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        """Note that the key was used, unless it was noted since then."""
        held = self._keys.get(id)
        if held is not None and (held.key.used_at is None or held.key.used_at < unless_since):
            self._keys[id] = replace(held, key=replace(held.key, used_at=at))

    async def any(self) -> bool:
        """Whether there is a key of any tenant, in whatever state."""
        return bool(self._keys)

    def whole(self) -> tuple[StoredKey, ...]:
        """The keys of all tenants, by their ids."""
        return tuple(self._keys[known] for known in sorted(self._keys))

    def _held(self, tenant: str, id: str) -> StoredKey | None:
        found = self._keys.get(id)
        return found if found is not None and found.key.tenant == tenant else None


class MemoryAudit:
    """The `Audit` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._entries: list[AuditEntry] = []

    async def note(self, entry: AuditEntry) -> None:
        """Keep one entry."""
        last = self._entries[-1].number if self._entries else 0
        self._entries.append(replace(entry, number=last + 1))

    async def entries(
        self, tenant: str, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> list[AuditEntry]:
        """Return entries of the tenant, newest first; `before` is the number of the last one of the page before."""
        wanted = [
            entry
            for entry in self._entries
            if entry.tenant == tenant
            and (before is None or entry.number < before)
            and (since is None or entry.at >= since)
        ]
        return wanted[::-1][:limit]

    async def sweep(self, *, before: datetime) -> int:
        """Delete what was done before this moment, but for the newest entry of all."""
        kept = [entry for entry in self._entries[:-1] if entry.at >= before] + self._entries[-1:]
        count, self._entries = len(self._entries) - len(kept), kept
        return count

    def whole(self) -> tuple[AuditEntry, ...]:
        """The entries of all tenants, in their order."""
        return tuple(self._entries)

    def put(self, entry: AuditEntry) -> None:
        """Keep this as it is, unless it is there."""
        if not self._entries or self._entries[-1].number < entry.number:
            self._entries.append(entry)


class MemoryAnswers:
    """The `Answers` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, bytes], tuple[Found, datetime]] = {}
        self._numbers: dict[tuple[str, bytes], bytes] = {}
        """Those of the sendings that have the claims."""
        self._purged: set[tuple[str, bytes]] = set()
        """Those whose answer must not be kept: something was purged since their request began."""

    async def begin(self, claim: Claim, *, now: datetime, until: datetime) -> Found | None:
        """Claim the name until then, or return what is known under it. None: it is claimed, go on."""
        await self.sweep(now=now)
        if (known := self._found.get(_named(claim))) is not None:
            found, ends = known
            if found.done or not is_of_another_clock(ends, now=now, longest=until - now):
                return found
        self._found[_named(claim)] = (Found(request=claim.request, done=False, answer=None), until)
        self._numbers[_named(claim)] = claim.number
        return None

    async def hold(self, claim: Claim, *, until: datetime) -> bool:
        """Let the claim last until then: its request is still worked on. False when it was taken over."""
        known = self._mine(claim)
        if known is None or known.done:
            return False
        self._found[_named(claim)] = (known, until)
        return True

    async def finish(self, claim: Claim, answer: Answer | None, *, until: datetime) -> None:
        """Keep the answer until then; None when it cannot be kept, and only that it was given is."""
        if self._mine(claim) is None:
            return
        said = answer if _named(claim) not in self._purged else None
        self._found[_named(claim)] = (Found(request=claim.request, done=True, answer=said), until)

    async def abandon(self, claim: Claim) -> None:
        """Forget the claim: the request came to nothing, and may be sent again."""
        known = self._mine(claim)
        if known is not None and not known.done:
            del self._found[_named(claim)]

    def _mine(self, claim: Claim) -> Found | None:
        """What is known of the request, unless another sending of it has the claim by now."""
        found, _ = self._found.get(_named(claim), (None, None))
        is_mine = found is not None and found.request == claim.request
        return found if is_mine and self._numbers.get(_named(claim)) == claim.number else None

    async def sweep(self, *, now: datetime) -> int:
        """Delete what has ended, of every tenant; return how many those were."""
        over = [name for name, (_, until) in self._found.items() if until <= now]
        for name in over:
            del self._found[name]
            self._numbers.pop(name, None)
        self._purged &= self._found.keys()
        return len(over)

    async def empty(self, tenant: str) -> None:
        """Take from the tenant's answers what they say, also from those whose requests are still under way."""
        self.purged(tenant)

    def purged(self, tenant: str) -> None:
        """The same, for the store beside it: no other task can come in between."""
        for name, (found, until) in self._found.items():
            if name[0] == tenant:
                self._found[name] = (replace(found, answer=None), until)
                self._purged.add(name)


def _named(claim: Claim) -> tuple[str, bytes]:
    return claim.tenant, claim.name
