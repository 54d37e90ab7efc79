"""Who may come in, what they did, and what they were answered. All of it lies beside the records."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from scrubjay.model.access import Answer, ApiKey, AuditEntry, RouteClass, Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key as it is stored: what is known of it, and the SHA-256 of its secret."""

    key: ApiKey
    digest: bytes = field(repr=False)


class Keys(Protocol):
    """API keys of all tenants. Every answer is what the store holds now: nothing is remembered from before."""

    async def add(self, stored: StoredKey, *, replaces: str | None = None, until: datetime | None = None) -> None:
        """Keep a new key. With `replaces`, that key of the same tenant ends at `until`, in the same transaction.

        A key that would have ended sooner still does. Durable on return. Raises NotFound for a key to replace that the
        tenant does not have, and Conflict for an id that is taken.
        """

    async def find(self, id: str) -> StoredKey | None:
        """Return the key of this id, of whatever tenant and in whatever state; None when there is none."""

    async def known(self, tenant: str) -> list[ApiKey]:
        """Return all keys of the tenant, in the order they were made, revoked ones too."""

    async def revoke(self, tenant: str, id: str, *, at: datetime) -> ApiKey | None:
        """End a key; whoever asks `find` from now on is told. Returns it as it now is; None when there is none.

        One that was revoked before stays as it was. Durable on return.
        """

    async def used(self, id: str, *, at: datetime, unless_since: datetime) -> None:
        """Note that the key was used, unless it was noted since then. Losing it in a crash is allowed."""

    async def any(self) -> bool:
        """Whether there is a key of any tenant, in whatever state."""


class Audit(Protocol):
    """What was done, in its order. Entries are only ever added, until they are too old to be kept."""

    async def note(self, entry: AuditEntry) -> None:
        """Keep one entry under the next number. Durable on return."""

    async def entries(
        self, tenant: str, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> list[AuditEntry]:
        """Return entries of the tenant, newest first; `before` is the number of the last one of the page before."""

    async def sweep(self, *, before: datetime) -> int:
        """Delete what was done before this moment, of every tenant; return how many those were.

        The newest entry of all stays, however old: numbers go on from it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One request that should be done once: whose, under which name, and what it says. Both as digests."""

    tenant: str
    name: bytes
    request: bytes
    number: bytes = b""
    """Tells this sending of the request from every other: only who has the claim may hold, finish or abandon it."""


def is_of_another_clock(until: datetime, *, now: datetime, longest: timedelta) -> bool:
    """Whether what lasts no longer than this, and ends then, began before the clock was set back.

    Twice as long is allowed for, since the clocks of those who share a store may differ a little.
    """
    return until - now > 2 * longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A request of this name came before."""

    request: bytes
    """What it said, as a digest."""
    done: bool
    """Whether it was answered; else somebody is still at it."""
    answer: Answer | None
    """What it was answered; None while somebody is at it, or when the answer could not be kept."""


class Answers(Protocol):
    """Answers that are kept for a while, for those who did not get them and ask again.

    An answer may hold what a memory says. So when `Records.purge` deletes something of a tenant, all its answers are
    emptied as by `empty`, in the same transaction.
    """

    async def begin(self, claim: Claim, *, now: datetime, until: datetime) -> Found | None:
        """Claim the name until then, or return what is known under it. None: it is claimed, go on.

        Of two who begin at once, one is told that the other did. What has ended, a claim or an answer, is free again.
        So is a claim that ends later than one can that is made now and held on: it was made before the clock was set
        back (`is_of_another_clock`).
        """

    async def hold(self, claim: Claim, *, until: datetime) -> bool:
        """Let the claim last until then: its request is still worked on. What is done or given up is left alone.

        False when there is no such claim any more, or another sending of the request has taken it over since.
        """

    async def finish(self, claim: Claim, answer: Answer | None, *, until: datetime) -> None:
        """Keep the answer until then; None when it cannot be kept, and only that it was given is.

        Of a claim that was taken over, nothing is kept: the answer is that of whoever has it now.
        """

    async def abandon(self, claim: Claim) -> None:
        """Forget the claim: the request came to nothing, and may be sent again. One that was taken over stays."""

    async def empty(self, tenant: str) -> None:
        """Take from the tenant's answers what they say, also from those whose requests are still under way.

        That a request was answered is still known.
        """

    async def sweep(self, *, now: datetime) -> int:
        """Delete what has ended, of every tenant; return how many those were."""


class Allowances(Protocol):
    """How much each key may ask for, and how often an address may come with a key that is not valid."""

    async def spend(self, key: str, kind: RouteClass) -> Spent | None:
        """Count one request of this key or address, unless it is refused. None when its class has no limit.

        Never raises and never waits long: what cannot be counted for all processes is counted for this one.
        """


@dataclass(slots=True)
class KeysSeen:
    """What this process knows of whether there are keys. Keys are revoked and never deleted: one is enough for ever."""

    exist: bool = False
    none_at: datetime | None = None
    """When it last asked, and saw none."""
    answered: bool = False
    """Whether the store ever said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessStores:
    """What access needs beside the records."""

    keys: Keys
    audit: Audit
    answers: Answers
    audit_for: timedelta | None = None
    """How long entries of the audit log are kept. None: for ever."""
    allowances: Allowances | None = None
    """None: no key has a limit."""
    noted: dict[str, datetime] = field(default_factory=dict)
    """When this process last noted the use of each key."""
    seen: KeysSeen = field(default_factory=KeysSeen)
