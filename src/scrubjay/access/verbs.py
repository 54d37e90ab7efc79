"""The verbs of access: keys are made, looked at, replaced and revoked, and the audit log is read."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from hmac import compare_digest
from typing import Final

from scrubjay.access.log import Log
from scrubjay.access.once import Once
from scrubjay.access.texts import new_text, parts_of
from scrubjay.core import Core
from scrubjay.errors import Forbidden, InvalidInput, Misconfigured, NotFound, Unauthenticated
from scrubjay.model.access import (
    ApiKey,
    AuditEntry,
    NewKey,
    Right,
    RouteClass,
    Spent,
    bounds_of,
    check_key_name,
    rights_of,
)
from scrubjay.model.checks import check_name, check_whole, in_utc, shown
from scrubjay.ports.access import AccessStores, Keys, StoredKey

NOTED: Final = timedelta(minutes=1)
"""How exactly the last use of a key is known: it is written at most so often."""

MOST_VALID: Final = 1_000
"""Keys of one tenant that open something, as far as its own keys may make them: each has an allowance of its own."""

MOST_MADE: Final = 100_000
"""The same with those that are over, which are kept for the log. Whoever has the files may make more."""

_NOBODY: Final = bytes(32)
"""Compared with when there is no such key, so that the answer takes as long as for a wrong secret."""


class Access:
    """Keys and the audit log of one tenant. None of it is open to a caller who is bound to users or projects."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # Keys

    async def create_key(
        self,
        name: str,
        *,
        rights: Sequence[Right] = ("read", "write"),
        users: Sequence[str] = (),
        projects: Sequence[str] = (),
        agents: Sequence[str] = (),
        expires_at: datetime | None = None,
    ) -> NewKey:
        """Make a key for this tenant. Its text is in the answer and nowhere else: only a hash of it is kept.

        `rights` are any of read, write and admin. With `users`, `projects` or `agents` it reads and writes only what is
        theirs, and reads what holds for everybody; an admin key cannot be bound.
        """
        text = new_text()
        key = ApiKey(
            id=_id_of(text),
            tenant=self._core.tenant,
            name=self._clean(name),
            rights=rights_of(rights),
            bounds=bounds_of(users=users, projects=projects, agents=agents),
            created_at=self._core.parts.clock(),
            expires_at=self._future("expires_at", expires_at),
        )
        stores = self._stores()
        await self._check_room()
        await self.log.note("key.created", f"{key.id} {key.name!r}: {_grants(key)}")
        await stores.keys.add(_stored(key, text))
        stores.seen.exist = True
        return NewKey(key=key, text=text)

    async def keys(self) -> list[ApiKey]:
        """Return all keys of this tenant, in the order they were made, revoked and expired ones too."""
        return await self._stores().keys.known(self._core.tenant)

    async def revoke(self, id: str) -> ApiKey:
        """End a key: the next request with it is refused, by every process. Revoking it again changes nothing."""
        held = await self._held(id)
        await self.log.note("key.revoked", held.id)
        found = await self._stores().keys.revoke(self._core.tenant, held.id, at=self._core.parts.clock())
        return found or held

    async def rotate(self, id: str, *, grace: timedelta = timedelta(0)) -> NewKey:
        """Replace a key by a new one that may do the same. The old one is good for as long as `grace`, then ends."""
        if not isinstance(grace, timedelta) or not timedelta(0) <= grace <= timedelta(days=365):
            raise InvalidInput(f"grace is {shown(grace)}: use a timedelta of at most 365 days")
        held, now, text = await self._held(id), self._core.parts.clock(), new_text()
        if (state := held.state(now)) != "valid":
            raise InvalidInput(f"key {held.id} is {state}: make a new one with `scrubjay keys create`")
        await self._check_room(ends=0 if grace else 1)
        key = replace(held, id=_id_of(text), created_at=now, used_at=None)
        await self.log.note("key.rotated", f"{held.id} by {key.id}")
        await self._stores().keys.add(_stored(key, text), replaces=held.id, until=now + grace)
        return NewKey(key=key, text=text)

    async def _check_room(self, *, ends: int = 0) -> None:
        """Raise Forbidden when the tenant has as many keys as it may make by itself, without those that end now."""
        if self._core.caller.is_here:
            return
        known, now = await self._stores().keys.known(self._core.tenant), self._core.parts.clock()
        valid = sum(key.state(now) == "valid" for key in known)
        if valid - ends >= MOST_VALID or len(known) >= MOST_MADE:
            raise Forbidden(
                f"this tenant has {valid:,} valid keys, and {len(known):,} in all: revoke what nobody uses, up to "
                f"{MOST_VALID:,} and {MOST_MADE:,}, or ask whoever runs the installation to make one"
            )

    async def _held(self, id: str) -> ApiKey:
        known = _key_id(id)
        held = await self._stores().keys.find(known)
        if held is None or held.key.tenant != self._core.tenant:
            raise NotFound(f"there is no key {known}: see `scrubjay keys list`")
        return held.key

    def _clean(self, name: str) -> str:
        check_key_name(name)
        redactor = self._core.parts.redactor
        return redactor.redact(name)[0] if redactor is not None else name

    # Coming in

    async def authenticate(self, key: str) -> ApiKey:
        """Return what is known of the key with this text, of any tenant. Raises Unauthenticated unless it is valid now.

        The store is asked every time, so a key that was revoked anywhere is refused from then on.
        """
        stores, now, given = self._stores(), self._core.parts.clock(), parts_of(key)
        if given is None:
            raise Unauthenticated("this is not a key: it has to be `sj_…`, as `scrubjay keys create` showed it")
        known, digest = given
        held = await stores.keys.find(known)
        right = compare_digest(digest, held.digest if held is not None else _NOBODY)
        if held is None or not right:
            raise Unauthenticated(f"key sj_{known}_… is not known: check it, or make one with `scrubjay keys create`")
        if (state := held.key.state(now)) != "valid":
            raise Unauthenticated(f"key sj_{known}_… is {state}: make another one with `scrubjay keys create`")
        last = max((at for at in (held.key.used_at, stores.noted.get(known)) if at is not None), default=None)
        if last is None or now - last >= NOTED:
            # Left for later: nobody waits for it, and the store notes it once however many processes ask.
            stores.noted[known] = now
            self._core.parts.later.put("the last use of a key", partial(_noted, stores.keys, known, now))
        return held.key

    async def wants_keys(self, *, within: timedelta = timedelta(0)) -> bool:
        """Whether this installation asks for keys: since the first one was made, for whichever tenant.

        `within` is how late it may notice one that another process has made; one of this process counts at once.
        """
        stores, now = self._stores(), self._core.parts.clock()
        seen = stores.seen
        # What was seen at a moment that is still to come was seen before the clock was set back.
        is_fresh = seen.none_at is not None and seen.none_at <= now < seen.none_at + within
        if not seen.exist and not is_fresh:
            # Who comes meanwhile asks as well: without an answer nobody knows that there are none.
            exist = await stores.keys.any()
            # Of before it was asked: a key that is made meanwhile must not go unnoticed for longer.
            seen.exist, seen.none_at, seen.answered = exist or seen.exist, now, True
        return seen.exist

    @property
    def had_no_keys(self) -> bool:
        """Whether there was no key when the store was last asked. False as long as it never was."""
        stores = self._core.parts.access
        return stores is not None and not stores.seen.exist and stores.seen.answered

    # The log

    async def audit(
        self, *, limit: int = 100, before: int | None = None, since: datetime | None = None
    ) -> list[AuditEntry]:
        """Return what was done in this tenant, newest first; `before` is the number of the last one of a page."""
        check_whole("limit", limit, least=1, most=10_000)
        if before is not None:
            check_whole("before", before, least=1, most=2**63 - 1)
        moment = in_utc("since", since)
        return await self._stores().audit.entries(self._core.tenant, limit=limit, before=before, since=moment)

    async def spend(self, key: ApiKey | str, kind: RouteClass) -> Spent | None:
        """Count a request of this key, of whichever tenant. None when there is no limit; else it may be refused.

        One whose key is not valid counts for the address that it comes from, which is given in place of the key.
        """
        allowances, whose = self._any_stores().allowances, key.id if isinstance(key, ApiKey) else key
        return await allowances.spend(whose, kind) if allowances is not None else None

    @property
    def log(self) -> Log:
        """Where to write down what a caller does: for doors."""
        return Log(self._any_stores().audit, self._core.caller, tenant=self._core.tenant, clock=self._core.parts.clock)

    @property
    def once(self) -> Once:
        """Requests that are done once, however often they are sent: for doors."""
        return Once(
            self._any_stores().answers, self._core.caller, tenant=self._core.tenant, clock=self._core.parts.clock
        )

    def _stores(self) -> AccessStores:
        self._core.caller.bounds.check_none("access")
        return self._any_stores()

    def _any_stores(self) -> AccessStores:
        self._core.scoped({}, named=False)  # Raises Closed when the memory is.
        if self._core.parts.access is None:
            raise Misconfigured("this memory has no place for keys: open it with `scrubjay.open()`")
        return self._core.parts.access

    def _future(self, field: str, value: datetime | None) -> datetime | None:
        moment = in_utc(field, value)
        if moment is not None and moment <= self._core.parts.clock():
            raise InvalidInput(f"{field} is {moment.isoformat()}: it has to come after now")
        return moment


async def _noted(keys: Keys, id: str, now: datetime) -> bool:
    await keys.used(id, at=now, unless_since=now - NOTED)
    return True


def _stored(key: ApiKey, text: str) -> StoredKey:
    found = parts_of(text)
    assert found is not None  # noqa: S101 -- we have just made it
    return StoredKey(key=key, digest=found[1])


def _id_of(text: str) -> str:
    return text.split("_")[1]


def _key_id(value: str) -> str:
    """The id of a key, also when it is given as `sj_…`; never more of a key than that, since errors show it."""
    if value is None:
        raise InvalidInput("id is None: give the id of a key, as `scrubjay keys list` shows it")
    check_name("id", value)
    return value.split("_")[1] if value.startswith("sj_") and "_" in value[3:] else value


def _grants(key: ApiKey) -> str:
    return " ".join(key.rights) + (f", bound to {key.bounds}" if key.bounds else "")
