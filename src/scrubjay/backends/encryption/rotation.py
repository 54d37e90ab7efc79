"""Changing keys while everything goes on: data keys wrapped anew, new ones made, and what is stored sealed with them.

Each step is safe to repeat and to kill: a key is wrapped by one master key or the other, a thing is stored as before or
anew, and whoever looks next finds what is left to do. At the end it is counted what still needs an older key.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from secrets import token_bytes
from typing import Any, Final

from scrubjay.backends.encryption.census import Census, has_older, newest_keys, taken
from scrubjay.backends.encryption.smiths import ArchiveSmith, Place
from scrubjay.backends.encryption.vault import FRESH_SECONDS, KeyVault
from scrubjay.backends.encryption.walking import PAGE, Walk
from scrubjay.errors import Conflict
from scrubjay.model.encryption import DataKey, Destroyed, EncryptionStatus, Rotated
from scrubjay.ports.at_rest import IN_SESSIONS, MEMORIES, Archived, AtRest, Elsewhere
from scrubjay.ports.encryption import FINGERPRINTS, Hide, Progress, Resealed, WrappedKey

ARRIVAL_SECONDS: Final = 1.0
"""How long what was sealed may take to be stored. What takes longer keeps its old key, opens with it, and is found by
the next rotation."""

ROUNDS: Final = 5
"""How often everything is walked through at most, while the count at the end finds something that others stored with
an older key meanwhile."""

SETTLED_SECONDS: Final = 10.0
"""How long lies between the two counts before keys are destroyed. What somebody read before it was sealed anew, and
stores as he read it, has to be there by the second: sessions in Redis, and archives."""

UNUSED_FOR: Final = timedelta(hours=1)
"""How long a data key must not have encrypted before it may be destroyed. The record store takes nothing that an older
key seals, however late it comes; Redis and archives do, where it would be lost without its key."""


class Locksmith:
    """The `Vault` port: says which keys there are, and changes them."""

    def __init__(
        self,
        vault: KeyVault,
        stored: Resealed,
        places: Sequence[Place[Any]] = (),
        *,
        elsewhere: Elsewhere | None = None,
        sessions_in: str = "",
    ) -> None:
        """Take what lies in these places into account; and what is noted to lie `elsewhere`, where nobody can look.

        `sessions_in` is the one such place that is among these.
        """
        self._vault = vault
        self._stored = stored
        self._places = tuple(places)
        self._elsewhere = elsewhere
        self._sessions_in = sessions_in

    async def status(self, tenant: str, *, archives: AtRest[Archived] | None = None) -> EncryptionStatus:
        """Say what is encrypted, with which keys, and what needs each of them."""
        census = await self._counted(self._with(archives), tenant)
        keys = await self._vault.keys.of(tenant)
        return EncryptionStatus(
            encrypt=self._vault.rules.encrypt,
            search=self._vault.rules.search,
            masters=tuple(self._vault.masters),
            wrapped=await self._vault.keys.masters(),
            keys=tuple(_data_key(key, census) for key in keys if key.number != FINGERPRINTS),
            plain=census.plain,
            unread=tuple(census.unread),
        )

    async def alias(self, tenant: str, name: str) -> str:
        """Return a word that stands for this name: always the same one, and no clue to those without the keys."""
        return (await self._vault.ring(tenant, needed=True)).alias(name)

    async def rotate(
        self,
        *,
        data_keys: bool,
        rows: bool,
        hide: Hide,
        progress: Progress,
        archives: AtRest[Archived] | None = None,
    ) -> Rotated:
        """Wrap every data key with the first master key; then, as asked, make new ones and store everything anew."""
        master = self._vault.master.id
        added = await self._add_keys() if data_keys else 0
        wrapped = await self._wrap_anew(master)
        self._vault.forget()
        if not rows:
            return Rotated(master=master, wrapped=wrapped, added=added)
        walk = Walk(self._vault, self._stored, hide, progress, total=await self._stored.count())
        census = await self._walked(walk, self._with(archives))
        await self._stored.settle()
        left = census.left(await newest_keys(self._vault))
        stopped = [why for what, why in walk.stopped.items() if what in left]
        return Rotated(
            master=master,
            # Also those that others made meanwhile for tenants that had none.
            wrapped=wrapped + await self._wrap_anew(master),
            added=added,
            rows=walk.changed_rows,
            files=walk.changed_files,
            others=dict(sorted(walk.changed.items())),
            left=left,
            unread=tuple(dict.fromkeys([*walk.unread, *census.unread, *stopped])),
        )

    async def _walked(self, walk: Walk, places: Sequence[Place[Any]]) -> Census:
        """Walk over everything until nothing is left to do, or others undo it again and again; say what is left."""
        await walk.rows()
        await self._noticed()
        for rounds_left in reversed(range(ROUNDS)):
            await walk.rows()
            await walk.files()
            for place in places:
                await walk.place(place)
            self._vault.forget()
            census = await self._counted(places)
            if not rounds_left or not census.left(await newest_keys(self._vault)):
                break
            await asyncio.sleep(ARRIVAL_SECONDS)
            walk.again()
        return census

    async def _noticed(self) -> None:
        """Wait until all processes seal with the newest keys, and what they sealed before is stored."""
        made = [keys[-1].created_at for keys in await self._keys() if keys[-1].number > 1]
        age = (self._vault.clock() - max(made)).total_seconds() if made else FRESH_SECONDS + ARRIVAL_SECONDS
        await asyncio.sleep(FRESH_SECONDS + ARRIVAL_SECONDS - min(max(age, 0.0), FRESH_SECONDS + ARRIVAL_SECONDS))

    async def _keys(self) -> list[list[WrappedKey]]:
        """The data keys of each tenant that has some, by their numbers."""
        return [await self._vault.keys.of(tenant) for tenant in await self._vault.keys.tenants()]

    async def _wrap_anew(self, master: str) -> int:
        """Wrap with this master key what another one wraps. What cannot be opened stays, and is named in the error."""
        wrapped = 0
        while keys := await self._vault.keys.wrapped_otherwise(master, limit=PAGE):
            anew = [self._vault.wrapped(key.tenant, key.number, self._vault.unwrapped(key)) for key in keys]
            wrapped += await self._vault.keys.rewrap(anew)
        return wrapped

    async def _add_keys(self) -> int:
        tenants = await self._vault.keys.tenants()
        for tenant in tenants:
            newest = max(key.number for key in await self._vault.keys.of(tenant))
            await self._vault.keys.add([self._vault.wrapped(tenant, newest + 1, token_bytes(32))])
        return len(tenants)

    async def destroy(self, *, sessions_gone: bool = False, archives: AtRest[Archived] | None = None) -> Destroyed:
        """Delete, of every tenant, the older data keys that nothing needs any more, counted twice."""
        if sessions_gone and self._elsewhere is not None:
            await self._elsewhere.forget(IN_SESSIONS, but=self._sessions_in)
        before = self._vault.clock() - UNUSED_FOR
        for keys in await self._keys():
            if _unused(keys, before) - {FINGERPRINTS}:
                await self._vault.keys.settled(keys[0].tenant)
        needed = await self._needed(archives)
        if any(_doomed(keys, needed, before) for keys in await self._keys()):
            await asyncio.sleep(SETTLED_SECONDS)
            needed |= await self._needed(archives)
        gone = stay = recent = 0
        for keys in await self._keys():
            older, doomed = _older(keys), _doomed(keys, needed, before)
            wanted = [key for key in older if (key.tenant, key.number) in needed]
            stay += len(wanted)
            recent += len(older) - len(wanted) - len(doomed)
            if doomed:
                gone += await self._vault.keys.remove(keys[0].tenant, doomed)
        self._vault.forget()
        return Destroyed(keys=gone, needed=stay, recent=recent)

    async def _needed(self, archives: AtRest[Archived] | None) -> set[tuple[str, int]]:
        """The data keys that something needs. Raises Conflict when something could not be read."""
        census = await self._counted(self._with(archives))
        if census.unread:
            raise Conflict(
                f"no data key can be destroyed, since something cannot be read and may need any of them: "
                f"{census.unread[0]}. Mend or remove it, then try again"
            )
        return {(tenant, number) for (tenant, number, _), count in census.needed.items() if count}

    async def _counted(self, places: Sequence[Place[Any]], tenant: str | None = None) -> Census:
        """What needs which key, of one tenant or of all, and what could not be looked at."""
        census = await taken(self._vault, self._stored, places, tenant)
        noted = await self._elsewhere.kept(IN_SESSIONS) if self._elsewhere is not None else []
        others = [kept for kept in noted if kept.place != self._sessions_in]
        if not others:
            return census
        concerned = [tenant] if tenant is not None else await self._vault.keys.tenants()
        if any([await has_older(self._vault, one) for one in concerned]):
            here = f"is {self._sessions_in} here" if self._sessions_in else "is not set here"
            census.unread += [
                f"sessions are kept in {kept.place} since {kept.at:%Y-%m-%d}, and SCRUBJAY_WORKING {here}. "
                "Set it as where the service runs; if nothing is kept there any more, run "
                "`scrubjay keys destroy --sessions-gone`"
                for kept in others
            ]
        return census

    def _with(self, archives: AtRest[Archived] | None) -> list[Place[Any]]:
        return [*self._places, *([Place(archives, ArchiveSmith())] if archives is not None else [])]


def _data_key(key: WrappedKey, census: Census) -> DataKey:
    needed = census.of_key(key.tenant, key.number)
    rows = needed.pop(MEMORIES, 0)
    return DataKey(number=key.number, master=key.master, created_at=key.created_at, rows=rows, others=needed)


def _older(keys: Sequence[WrappedKey]) -> list[WrappedKey]:
    """Those of one tenant that do not encrypt any more."""
    return [key for key in keys[:-1] if key.number != FINGERPRINTS]


def _doomed(keys: Sequence[WrappedKey], needed: set[tuple[str, int]], before: datetime) -> list[int]:
    """The numbers of those of one tenant that nothing needs and that have not encrypted since then."""
    unused = _unused(keys, before)
    return [key.number for key in _older(keys) if key.number in unused and (key.tenant, key.number) not in needed]


def _unused(keys: Sequence[WrappedKey], before: datetime) -> set[int]:
    """The numbers of those that have not encrypted since then: the next one was made before."""
    return {key.number for key, following in pairwise(keys) if following.created_at <= before}
