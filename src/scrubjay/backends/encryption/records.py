"""The record store behind encryption: what is told is sealed before it is stored, and opened before anybody reads it.

The store itself sees keys, kinds, places and times, and a fingerprint that it cannot make; so it goes on deciding what
is new, what is known and what replaces what. What it cannot do any more is to look into `data`: for tenants that have
keys, such filters are applied here, to all that the rest of the filter admits.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, TypeVar, Unpack
from uuid import UUID

from scrubjay.backends.encryption.masters import FILE_SETTING, SETTING
from scrubjay.backends.encryption.sealing import Sealing, to_be_sealed
from scrubjay.backends.encryption.twins import Twins, Unknown
from scrubjay.backends.encryption.vault import KeyVault, Rings, needs_a_key
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter, Memory, Order, Remembered, Scope
from scrubjay.model.sealed import SEAL, is_sealed
from scrubjay.ports import Counts, Decide, Decision, Forgotten, Kept, Known, Marked, Records, Sight
from scrubjay.ports.records import NOTHING

T = TypeVar("T")

Write: TypeAlias = Callable[[Sequence[Memory], Decide], Awaitable[list[Remembered]]]

_PAGE: Final = 500

NO_KEY: Final = (
    "encrypt is true (`encrypted` in a line of an export), and there is no key here to encrypt with: leave it out, or "
    f"set {FILE_SETTING} or {SETTING} where this memory is opened, then start it again. "
    "`scrubjay keys generate` makes a key"
)


class EncryptedRecords:
    """The `Records` port over another one. Everything is as it is there, but what memories say."""

    def __init__(self, records: Records, vault: KeyVault, twins: Twins | None = None) -> None:
        self._records = records
        self._vault = vault
        self._twins = twins

    # Writing

    async def write(self, drafts: Sequence[Memory], decide: Decide, *, sight: Sight | None = None) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, all drafts or none."""
        return await self.written(drafts, decide, partial(self._records.write, sight=sight))

    async def written(
        self, drafts: Sequence[Memory], decide: Decide, write: Write, *, unknown: Unknown | None = None
    ) -> list[Remembered]:
        """The same, with what is sealed handed to somebody else to be stored, who may know what is not in plain."""
        marked = await self._to_encrypt(drafts)
        if self._twins is not None and (secret := [draft for draft in marked if draft.encrypted]):
            await self._twins.seal(secret, unknown)

        async def work(rings: Rings) -> list[Remembered]:
            sealing = Sealing(self._vault, rings)

            def deciding(draft: Memory, known: Known) -> Decision:
                told = sealing.open(draft) if is_sealed(draft.content) else draft
                decision = decide(told, known if known is NOTHING else sealing.known(known))
                if decision.stores_only(draft):
                    return decision  # As it was told: new, and not to be encrypted.
                # What is stored as it was told is sealed already.
                opens = [draft if memory is told else sealing.seal_opened(memory) for memory in decision.opens]
                return sealing.decision(decision, opens)

            done = await write([sealing.seal(draft) if draft.encrypted else draft for draft in marked], deciding)
            return [_told(one, sealing.open(one.memory)) if needs_a_key(one.memory) else one for one in done]

        return await self._with_rings(marked, work)

    async def load(self, memories: Sequence[Memory]) -> int:
        """Store exactly these rows, all or none, and say how many were new."""
        marked = await self._marked_as_stored(await self._to_encrypt(memories))

        async def work(rings: Rings) -> int:
            sealing = Sealing(self._vault, rings)
            return await self._records.load([sealing.seal(memory) for memory in marked])

        return await self._with_rings(marked, work)

    async def bearing(self, memories: Sequence[Memory]) -> list[Memory]:
        """Return what is believed that bears on these: in their scopes, under their keys or with their words."""
        marked = await self._to_encrypt(memories)

        async def work(rings: Rings) -> list[Memory]:
            sealing = Sealing(self._vault, rings)
            return await self._records.bearing([sealing.seal(memory) for memory in marked])

        return await self._vault.opened(await self._with_rings(marked, work))

    async def _marked_as_stored(self, rows: Sequence[Memory]) -> list[Memory]:
        """The rows, with those marked that are stored encrypted: why such a memory is closed is a secret, too."""
        secret: set[UUID] = set()
        for tenant in sorted({row.scope.tenant for row in rows}):
            ids = [row.id for row in rows if row.scope.tenant == tenant and row.closed_because and not row.encrypted]
            if ids and await self._has_keys(tenant):
                stored = await self._records.get(Scope(tenant=tenant), ids)
                secret |= {one.id for one in stored if is_sealed(one.content)}
        return [to_be_sealed(row) if row.id in secret else row for row in rows]

    async def _to_encrypt(self, drafts: Sequence[Memory]) -> list[Memory]:
        """The drafts, with those marked that have to be encrypted: asked for, of such a kind, or made from such."""
        check_unsealed(drafts)
        if not self._vault.masters and any(draft.encrypted for draft in drafts):
            raise InvalidInput(NO_KEY)
        rules = self._vault.rules
        if rules.encrypt == "none" and not any(draft.derived_from for draft in drafts):
            return list(drafts)
        marked = [to_be_sealed(draft) if rules.cover(draft.kind) else draft for draft in drafts]
        if rules.encrypt == "all":
            return marked
        secret = {draft.id for draft in marked if draft.encrypted}
        for tenant in sorted({draft.scope.tenant for draft in marked if draft.derived_from and not draft.encrypted}):
            if not await self._has_keys(tenant):
                continue
            sources = {one for draft in marked if draft.scope.tenant == tenant for one in draft.derived_from}
            stored = await self._records.get(Scope(tenant=tenant), sorted(sources))
            secret |= {one.id for one in stored if is_sealed(one.content)}
        return [draft if secret.isdisjoint(draft.derived_from) else to_be_sealed(draft) for draft in marked]

    async def close(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        seen: Memory | None = None,
        unless_changed: Sequence[Memory] = (),
    ) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed; return them as they now are, as asked."""
        is_secret = await self._has_keys(scope.tenant) and any(
            is_sealed(one.content) for one in await self._records.get(scope, ids)
        )

        async def work(rings: Rings) -> list[Memory]:
            told = rings[scope.tenant].seal_reason(because) if is_secret else because
            return await self._records.close(
                scope, ids, at=at, because=told or because, seen=seen, unless_changed=unless_changed
            )

        closed = await self._vault.with_rings([scope.tenant] if is_secret else [], work)
        return await self._vault.opened(closed)

    async def forget(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        with_it: str,
        elsewhere: str,
        seen: Memory | None = None,
    ) -> Forgotten:
        """Close these as `close` does, and what was made from them, for the reason `with_it`."""
        is_secret = await self._has_keys(scope.tenant) and await self._holds_secrets(scope, ids)

        async def work(rings: Rings) -> Forgotten:
            def told(reason: str) -> str:
                return (rings[scope.tenant].seal_reason(reason) if is_secret else None) or reason

            why, with_one, apart = told(because), told(with_it), told(elsewhere)
            return await self._records.forget(
                scope, ids, at=at, because=why, with_it=with_one, elsewhere=apart, seen=seen
            )

        done = await self._vault.with_rings([scope.tenant] if is_secret else [], work)
        return Forgotten(await self._vault.opened(done.closed), await self._vault.opened(done.derived))

    async def _holds_secrets(self, scope: Scope, ids: Sequence[UUID]) -> bool:
        """Whether one of these is encrypted, or of what was made from them."""
        stored = await self._records.get(scope, ids)
        stored += await self._records.get(Scope(tenant=scope.tenant), await self._records.derived(scope, ids))
        return any(is_sealed(one.content) for one in stored)

    async def adjust(
        self, scope: Scope, id: UUID, *, seen: Memory | None = None, **changes: Unpack[Kept]
    ) -> Memory | None:
        """Change how one memory is kept, not what it says; None when the scope does not hold it."""
        memory = await self._records.adjust(scope, id, seen=seen, **changes)
        return (await self._vault.opened([memory]))[0] if memory is not None else None

    async def boost(self, scope: Scope, id: UUID, by: float) -> tuple[Memory, float] | None:
        """Add to the importance of one memory, kept within 0 to 1; return it, and the importance it had before."""
        boosted = await self._records.boost(scope, id, by)
        return ((await self._vault.opened([boosted[0]]))[0], boosted[1]) if boosted is not None else None

    async def touch(self, uses: Mapping[Scope, Sequence[UUID]], *, at: datetime) -> None:
        """Count one more use of each that a reader in its scope sees, as often as it is named."""
        await self._records.touch(uses, at=at)

    async def purge(self, scope: Scope, ids: Sequence[UUID], *, versions: bool = False) -> list[Memory]:
        """Delete the rows that the scope holds, for good, with what was made from them; return them as they were."""
        return await self._vault.opened(await self._records.purge(scope, ids, versions=versions))

    async def purging(self, scope: Scope) -> None:
        """Note that all of this place is purged."""
        await self._records.purging(scope)

    async def sight(self, scope: Scope) -> Sight:
        """Say how often something was purged from places that this one sees."""
        return await self._records.sight(scope)

    # Reading

    async def get(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return those that a reader in the scope sees, in any state, in the order asked."""
        return await self._vault.opened(await self._records.get(scope, ids))

    async def find(
        self, filter: Filter, *, now: datetime, limit: int, order: Order = "newest", after: UUID | None = None
    ) -> list[Memory]:
        """Return matching memories in the order they were stored, newest or oldest first, after the one named."""
        if not await self._looks_inside(filter):
            found = await self._records.find(filter, now=now, limit=limit, order=order, after=after)
            return await self._vault.opened(found)
        matching: list[Memory] = []
        wide, page = _without_data(filter), max(_PAGE, limit)
        while len(matching) < limit:
            stored = await self._records.find(wide, now=now, limit=page, order=order, after=after)
            matching += [one for one in await self._vault.opened(stored) if filter.matches(one, now)]
            if len(stored) < page:
                break
            after = await self._last_of(stored)
        return matching[:limit]

    async def _last_of(self, page: Sequence[Memory]) -> UUID:
        """The last one of a page that is stored still: from behind one that was purged, nothing would come."""
        gone = set(await self._records.missing([one.id for one in page]))
        return next((one.id for one in reversed(page) if one.id not in gone), page[-1].id)

    async def scan(self, filter: Filter, *, now: datetime, batch: int = _PAGE) -> AsyncIterator[list[Memory]]:
        """Stream every matching memory, oldest first, a batch at a time."""
        looks = await self._looks_inside(filter)
        async for stored in self._records.scan(_without_data(filter) if looks else filter, now=now, batch=batch):
            opened = await self._vault.opened(stored)
            if matching := [one for one in opened if filter.matches(one, now)] if looks else opened:
                yield matching

    async def among(self, filter: Filter, *, now: datetime, limit: int) -> Sequence[UUID] | None:
        """Return the ids of all matching memories, newest first, or None when there are more than the limit."""
        if not await self._looks_inside(filter):
            return await self._records.among(filter, now=now, limit=limit)
        ids: list[UUID] = []
        async for matching in self.scan(filter, now=now):
            ids += [one.id for one in matching]
            if len(ids) > limit:
                return None
        return ids[::-1]

    async def one_of_each(
        self, filter: Filter, *, now: datetime, length: int, limit: int | None = None
    ) -> list[Memory] | None:
        """Return one matching memory for each beginning that their keys have."""
        if not await self._looks_inside(filter):
            stored = await self._records.one_of_each(filter, now=now, length=length, limit=limit)
            return None if stored is None else await self._vault.opened(stored)
        matching = [one async for batch in self.scan(filter, now=now) for one in batch if one.key]
        found = {one.key[:length]: one for one in matching if one.key}
        if limit is not None and len({(one.scope, one.key[:length]) for one in matching if one.key}) > limit:
            return None
        return [found[beginning] for beginning in sorted(found)]

    async def count(self, filter: Filter, *, now: datetime) -> Counts:
        """Count what lies in the scope; `current` and `kinds` count what matches, `versions` every row of the scope."""
        if not await self._looks_inside(filter):
            return await self._records.count(filter, now=now)
        kinds: Counter[str] = Counter()
        async for matching in self.scan(filter, now=now):
            kinds.update(one.kind for one in matching)
        whole = await self._records.count(_without_data(filter), now=now)
        return replace(whole, current=kinds.total(), kinds=dict(sorted(kinds.items())))

    async def versions(self, scope: Scope, *, id: UUID | None = None, key: str | None = None) -> list[Memory]:
        """Return the versions that a reader in the scope sees, oldest first."""
        return await self._vault.opened(await self._records.versions(scope, id=id, key=key))

    async def neighbours(self, scope: Scope, memory: Memory, *, before: int, after: int) -> list[Memory]:
        """Return the believed memories just before and after it in its own session, in order, without itself."""
        return await self._vault.opened(await self._records.neighbours(scope, memory, before=before, after=after))

    async def following(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return the believed memories that stand at the next position after these in their sessions, each once."""
        return await self._vault.opened(await self._records.following(scope, ids))

    async def derived(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Return what was made from these, directly or through others, in the scope's tenant; `ids` are left out."""
        return await self._records.derived(scope, ids)

    # Indexing

    async def pending(self, generation: int, *, limit: int) -> list[Memory]:
        """Return memories of every tenant, oldest first, that are not marked as indexed with this generation."""
        return await self._vault.opened(await self._records.pending(generation, limit=limit))

    async def backlog(self, generation: int) -> int:
        """Count what `pending` would return without a limit."""
        return await self._records.backlog(generation)

    async def mark(self, ids: Sequence[UUID], generation: int | None, *, live: Collection[UUID] = ()) -> Marked:
        """Note that these are indexed with this generation, or with none. Say which are not stored, or are closed."""
        return await self._records.mark(ids, generation, live=live)

    async def unmark(self, generation: int) -> int:
        """Clear the mark of every memory that is indexed with this generation; return how many those were."""
        return await self._records.unmark(generation)

    async def marked(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories of every tenant that are marked with this generation, oldest first."""
        return await self._records.marked(generation, limit=limit, after=after)

    async def count_marked(self, generation: int) -> int:
        """Count the memories of every tenant that are marked with this generation."""
        return await self._records.count_marked(generation)

    async def marked_of(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are marked with this generation, in the order asked."""
        return await self._records.marked_of(generation, ids)

    async def sample_marked(self, generation: int, *, limit: int) -> list[UUID]:
        """Return some of the memories that are marked with this generation, at random and at most so many."""
        return await self._records.sample_marked(generation, limit=limit)

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that no tenant has stored, each once, in the order asked."""
        return await self._records.missing(ids)

    async def check(self) -> list[str]:
        """Look the store over, thoroughly; return one sentence per fault found."""
        return await self._records.check()

    async def shut(self) -> None:
        """Let go of files and connections."""
        await self._records.shut()

    # Keys

    async def _with_rings(self, marked: Sequence[Memory], work: Callable[[Rings], Awaitable[T]]) -> T:
        needed = {memory.scope.tenant for memory in marked if memory.encrypted}
        return await self._vault.with_rings({memory.scope.tenant for memory in marked}, work, needed=needed)

    async def _looks_inside(self, filter: Filter) -> bool:
        """Whether the filter asks for data that the store may not be able to read."""
        return bool(filter.data) and await self._has_keys(filter.scope.tenant)

    async def _has_keys(self, tenant: str) -> bool:
        """Whether anything of this tenant may be encrypted. Of the others nothing more is asked."""
        return bool((await self._vault.ring(tenant)).keys)


def check_unsealed(drafts: Sequence[Memory]) -> None:
    """What is told must not look like what is encrypted."""
    for draft in drafts:
        if needs_a_key(draft):
            name = "content" if is_sealed(draft.content) else "closed_because"
            raise InvalidInput(f"{name} begins with {SEAL!r}, which marks what is encrypted: begin it otherwise")


def _without_data(filter: Filter) -> Filter:
    return replace(filter, data={})


def _told(one: Remembered, opened: Memory) -> Remembered:
    return one if opened is one.memory else replace(one, memory=opened)
