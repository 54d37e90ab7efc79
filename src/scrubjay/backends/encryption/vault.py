"""Who holds the keys: unwraps the data keys of tenants, makes new ones, and wraps them with another master key.

A data key is made when a tenant first needs one, and readers go on opening what older ones encrypted.
Other processes notice a new one within seconds; and one that meets a number it does not know asks the store at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from secrets import token_bytes
from typing import Final, TypeAlias, TypeVar

from scrubjay.backends.encryption.masters import FILE_SETTING, SETTING, Master
from scrubjay.backends.encryption.ring import Ring, UnknownKey, bound_to, decrypt, encrypt
from scrubjay.elapsed import Since
from scrubjay.errors import Conflict, KeyMissing, Misconfigured, StoreDamaged
from scrubjay.logs import logger
from scrubjay.model import Memory
from scrubjay.model.encryption import AGENT_KINDS, Encrypt, EncryptedSearch
from scrubjay.model.sealed import SEAL, is_sealed
from scrubjay.ports.encryption import FINGERPRINTS, DataKeys, KeyReplaced, WrappedKey

log = logger("encryption")

T = TypeVar("T")
Rings: TypeAlias = dict[str, Ring]
"""The rings of the tenants that some work is about."""

FRESH_SECONDS: Final = 2.0
"""How long a process trusts what it knows of a tenant's keys before it looks whether there is a newer one."""

TRIES: Final = 3
"""How often work is done whose keys turn out not to be the newest."""

_BYTES: Final = 32
_HELD: Final = 10_000
_MANY: Final = 100
"""Memories that are opened beside the event loop, since they take milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is encrypted, and what search may know of it."""

    encrypt: Encrypt = "none"
    search: EncryptedSearch = "meaning"

    def cover(self, kind: str) -> bool:
        """Whether memories of this kind are encrypted without being asked."""
        return self.encrypt == "all" or (self.encrypt == "agents" and kind in AGENT_KINDS)

    def hide(self, memory: Memory) -> bool:
        """Whether this memory is to have no vectors."""
        return self.search == "none" and (memory.encrypted or self.cover(memory.kind))


@dataclass(slots=True)
class _Held:
    ring: Ring
    since: Since = field(default_factory=Since)
    is_doubted: bool = False
    """Whether somebody was told that there is a newer key."""

    @property
    def is_fresh(self) -> bool:
        """Whether it was looked up just now."""
        return not self.is_doubted and self.since.seconds <= FRESH_SECONDS


class KeyVault:
    """The master keys of this process, and with them the data keys of the tenants that it deals with."""

    def __init__(
        self, keys: DataKeys, masters: Sequence[Master], *, rules: Rules, clock: Callable[[], datetime]
    ) -> None:
        if rules.encrypt != "none" and not masters:
            raise Misconfigured(
                f"SCRUBJAY_ENCRYPT is {rules.encrypt!r} and there is no key: set {FILE_SETTING} or {SETTING}; "
                "`scrubjay keys generate` makes one"
            )
        self.rules = rules
        self.keys = keys
        self.masters = {master.id: master for master in masters}
        self.clock = clock
        self._held: dict[str, _Held] = {}

    @property
    def master(self) -> Master:
        """The one that wraps. Raises Misconfigured when there is none."""
        for first in self.masters.values():
            return first
        raise Misconfigured(
            f"without a key nothing can be encrypted: set {FILE_SETTING} or {SETTING}. "
            "`scrubjay keys generate` makes one"
        )

    async def ready(self) -> None:
        """Make sure that every data key can be opened. Raises KeyMissing, naming the master key that is not here."""
        for master in await self.keys.masters():
            if master not in self.masters:
                raise self._missing(master)

    def _missing(self, master: str) -> KeyMissing:
        there = f"holds {', '.join(self.masters)}" if self.masters else "is not set"
        return KeyMissing(
            f"memories here are encrypted, and their data keys are wrapped with the master key {master}, but {SETTING} "
            f"(or {FILE_SETTING}) {there}: add that key, behind the one that should wrap from now on"
        )

    # Rings

    async def ring(self, tenant: str, *, needed: bool = False) -> Ring:
        """The keys of a tenant. With `needed`, one that has none is given some."""
        held = self._held.get(tenant)
        if held is None:
            held = await self._look(tenant)
        elif not held.is_fresh:
            held = await self._look_again(tenant, held)
        if needed and held.ring.newest == FINGERPRINTS:
            await self.keys.add([self.wrapped(tenant, number, token_bytes(_BYTES)) for number in (FINGERPRINTS, 1)])
            held = await self._look(tenant)
        return held.ring

    async def _look_again(self, tenant: str, held: _Held) -> _Held:
        try:
            return await self._look(tenant)
        except KeyMissing as error:
            # Wrapped meanwhile with a key that this process was not given yet: it opens what it could open before.
            log.warning("data keys are wrapped with another master key now", tenant=tenant, error=str(error))
            newest = max((key.number for key in await self.keys.of(tenant)), default=FINGERPRINTS)
            # And goes on sealing, unless there is a newer key: what it sealed with the older one would be left behind.
            ring = held.ring if newest == held.ring.newest else replace(held.ring, passed=str(error))
            self._held[tenant] = held = _Held(ring)
            return held

    async def _look(self, tenant: str) -> _Held:
        keys = await self.keys.of(tenant) if self.masters else []
        if len(self._held) >= _HELD:
            self._held.clear()
        self._held[tenant] = held = _Held(Ring(tenant, {key.number: self.unwrapped(key) for key in keys}))
        return held

    def doubt(self, tenant: str) -> None:
        """Look for a newer key when this tenant's are needed next. What is known opens until then, and beyond."""
        if tenant in self._held:
            self._held[tenant].is_doubted = True

    def forget(self, tenant: str | None = None) -> None:
        """Ask the store when the keys of this tenant, or of any, are needed next."""
        if tenant is None:
            self._held.clear()
        else:
            self._held.pop(tenant, None)

    def wrapped(self, tenant: str, number: int, key: bytes) -> WrappedKey:
        """This data key, wrapped with the master key that wraps now."""
        master = self.master
        body = encrypt(master.key, key, bound=bound_to("data key", tenant, str(number), master.id))
        return WrappedKey(tenant=tenant, number=number, master=master.id, wrapped=body, created_at=self.clock())

    def unwrapped(self, key: WrappedKey) -> bytes:
        """The data key itself. Raises KeyMissing without its master key, and StoreDamaged when it does not open."""
        if key.master not in self.masters:
            raise self._missing(key.master)
        bound = bound_to("data key", key.tenant, str(key.number), key.master)
        try:
            return decrypt(self.masters[key.master].key, key.wrapped, bound=bound)
        except ValueError as error:
            raise StoreDamaged(
                f"data key {key.number} of tenant {key.tenant} does not open with the master key {key.master}: it was "
                "changed. Restore a backup"
            ) from error

    # Opening

    async def opened(self, memories: Sequence[Memory]) -> list[Memory]:
        """These as they were told."""
        sealed = [one for one in memories if one.content.startswith(SEAL) or one.closed_because is not None]
        tenants = {one.scope.tenant for one in sealed if needs_a_key(one)}
        if not tenants:
            return list(memories)

        def work(rings: Rings) -> list[Memory]:
            return [rings[one.scope.tenant].open(one) if one.scope.tenant in rings else one for one in memories]

        async def open_all(rings: Rings) -> list[Memory]:
            return await asyncio.to_thread(work, rings) if self.masters and len(memories) > _MANY else work(rings)

        return await self.with_rings(tenants, open_all)

    async def with_rings(
        self, tenants: Iterable[str], work: Callable[[Rings], Awaitable[T]], *, needed: Collection[str] = ()
    ) -> T:
        """Do work that needs the keys of these tenants; once more when it meets a key that was made meanwhile.

        Those that are `needed` are made when there are none. Work that stores what it sealed may be told that there is
        a newer key by now, and then seals it anew.
        """
        asked = sorted(set(tenants))
        for left in reversed(range(TRIES)):
            try:
                return await work({tenant: await self.ring(tenant, needed=tenant in needed) for tenant in asked})
            except KeyReplaced as replaced:
                if not left:
                    raise Conflict(f"{replaced}, as often as it was sealed anew. Try again") from replaced
                self.doubt(replaced.tenant)
            except UnknownKey as unknown:
                if not left:
                    raise self._unknown(unknown) from unknown
                self.forget(unknown.tenant)
                needed = {*needed, *([unknown.tenant] if unknown.number == FINGERPRINTS else [])}
        raise AssertionError("the last try either returns or raises")

    def _unknown(self, unknown: UnknownKey) -> KeyMissing:
        what = f"what is stored here is encrypted with data key {unknown.number} of tenant {unknown.tenant}"
        if not self.masters:
            return KeyMissing(f"{what}, and {SETTING} (or {FILE_SETTING}) is not set: set it to the key that wraps it")
        return KeyMissing(f"{what}, which is not in the store: restore the backup that has it")


def needs_a_key(memory: Memory) -> bool:
    """Whether anything of it is encrypted."""
    return memory.content.startswith(SEAL) or (memory.closed_because is not None and is_sealed(memory.closed_because))
