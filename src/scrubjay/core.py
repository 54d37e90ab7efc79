"""The core verbs, each a few lines over the write path, the read path and the stores. Every memory is made of these."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, TypeAlias, Unpack, cast
from uuid import UUID

from scrubjay.errors import Closed, InvalidInput, NotFound
from scrubjay.model import (
    PLACE_NAMES,
    Context,
    Filter,
    ForgetReceipt,
    Hits,
    Memory,
    Mode,
    Order,
    Query,
    Reach,
    Remembered,
    Scope,
    Stats,
    Where,
    id_of,
    scope_of,
)
from scrubjay.model.checks import check_fraction, check_whole, in_utc
from scrubjay.ports import Clock, Redactor, Stores, Tokens
from scrubjay.read.context import context
from scrubjay.read.narrow import Narrow, filter_of, places
from scrubjay.read.recall import recall
from scrubjay.read.retrieve import AskServing
from scrubjay.write.forget import forget
from scrubjay.write.forget import purge as purge_everywhere
from scrubjay.write.index import Index
from scrubjay.write.prepare import Changes, Telling, Tellings, Told
from scrubjay.write.remember import Writer
from scrubjay.write.transfer import export_lines, import_lines
from scrubjay.write.uses import Uses

Memories: TypeAlias = list[Memory]  # `list` is a verb below, and would hide the type there
Id: TypeAlias = UUID | str
Ids: TypeAlias = Sequence[UUID | str]

MOST_BUDGET = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the verbs are made of. All tenants share one set, and it is open or closed as one."""

    stores: Stores
    index: Index
    redactor: Redactor | None
    tokens: Callable[[], Tokens]
    clock: Clock
    names: Mapping[str, str]
    """How `stats` calls the stores and the model."""
    bytes_on_disk: Callable[[], int | None] = lambda: None
    is_open: Event = field(default_factory=Event)
    writer: Writer = field(init=False)
    uses: Uses = field(init=False)

    def __post_init__(self) -> None:
        records = self.stores.records
        writer = Writer(records=records, index=self.index, redactor=self.redactor, clock=self.clock)
        object.__setattr__(self, "writer", writer)
        object.__setattr__(self, "uses", Uses(records, self.clock))

    @property
    def serving(self) -> AskServing | None:
        """Whom to ask which generation answers by meaning; None when search is by words only."""
        return self.index.serving if self.index.embedder is not None else None


class Core:
    """What one tenant can do with one memory. Every verb takes the scope as keywords."""

    def __init__(self, *, parts: Parts, tenant: str) -> None:
        self.parts = parts
        """What the verbs work with: for the memories that are made of them, not for callers."""
        self._tenant = Scope(tenant=tenant).tenant

    # Writing

    async def remember(self, content: str, **told: Unpack[Told]) -> Remembered:
        """Remember one thing. Saying it again changes nothing; a new value for a key replaces the old one."""
        return (await self.remember_many([cast("Telling", {**told, "content": content})]))[0]

    async def remember_many(
        self, items: Tellings, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> list[Remembered]:
        """Remember many things: texts, or dicts with `content` and details. All are checked before any is written."""
        scope = self.scoped(where)
        return await self.parts.writer.remember(list(items), scope, progress=progress)

    async def update(self, id: Id, **changes: Unpack[Changes]) -> Remembered:
        """Correct a memory. What it says becomes a new version; importance and expiry are changed in place."""
        scope = self.scoped(places(changes))
        given: dict[str, Any] = {name: value for name, value in changes.items() if name not in PLACE_NAMES}
        if not given or not given.keys() <= Changes.__annotations__.keys():
            known = ", ".join(sorted(Changes.__annotations__.keys() - set(PLACE_NAMES)))
            raise InvalidInput(f"update got {', '.join(given) or 'nothing'}: give one or more of {known}")
        old = await self._held(scope, id_of(id, self.tenant))
        if given.keys() <= {"importance", "expires_at"}:
            return await self._adjusted(old, given)
        return await self.parts.writer.correct(old, cast("Telling", given))

    async def _held(self, scope: Scope, id: UUID) -> Memory:
        found = await self.parts.stores.records.get(scope, [id])
        if not found or not scope.holds(found[0].scope):
            raise NotFound(f"there is no memory {id} in {scope}")
        if found[0].superseded_at is not None:
            raise NotFound(
                f"memory {id} is {found[0].state(self.parts.clock())}: change its newest version, see `history`"
            )
        return found[0]

    async def _adjusted(self, old: Memory, given: Mapping[str, Any]) -> Remembered:
        importance, expires_at = given.get("importance"), in_utc("expires_at", given.get("expires_at"))
        if importance is not None:
            check_fraction("importance", importance)
        memory = await self.parts.stores.records.adjust(old.scope, old.id, importance=importance, expires_at=expires_at)
        if memory is None:
            raise NotFound(f"memory {old.id} has just been purged")
        await (self.parts.index.add([memory]) if expires_at is None else self.parts.index.renew([memory]))
        return Remembered(memory=memory, outcome="unchanged")

    async def forget(
        self,
        id: Id | Ids | None = None,
        *,
        key: str | None = None,
        everything: bool = False,
        purge: bool = False,
        reason: str | None = None,
        **where: Unpack[Where],
    ) -> ForgetReceipt:
        """Forget by id, by key, or everything in the scope. Closed by default; with `purge`, deleted for good.

        What was made from a memory goes with it. Raises NotFound when nothing in the scope is meant.
        """
        scope = self.scoped(where)
        if [id is not None, key is not None, everything].count(True) != 1:
            raise InvalidInput("say what to forget: an id, a key, or everything=True, and just one of them")
        ids = await self._meant(scope, id, key=key, purging=purge)
        if not ids:
            raise NotFound(f"there is nothing to forget in {scope}: {key or id or 'it is empty'}")
        if purge:
            now, versions = self.parts.clock(), not everything
            return await purge_everywhere(scope, ids, stores=self.parts.stores, at=now, versions=versions)
        return await forget(
            scope, ids, stores=self.parts.stores, index=self.parts.index, at=self.parts.clock(), because=reason
        )

    async def _meant(self, scope: Scope, id: Id | Ids | None, *, key: str | None, purging: bool) -> list[UUID]:
        """The ids of what the scope holds and the caller means: also past versions when they are to be purged."""
        if id is not None:
            asked = [id] if isinstance(id, str | UUID) else id
            found = await self.parts.stores.records.get(scope, [id_of(one, self.tenant) for one in asked])
            return [one.id for one in found if scope.holds(one.scope) and (purging or one.superseded_at is None)]
        meant = Filter(scope=scope, reach="holds", key=key, history=True)
        return [
            memory.id
            async for batch in self.parts.stores.records.scan(meant, now=self.parts.clock())
            for memory in batch
            if purging or memory.superseded_at is None
        ]

    # Reading

    async def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Mode = "hybrid",
        least_similarity: float | None = None,
        explain: bool = False,
        touch: bool = True,
        **narrow: Unpack[Narrow],
    ) -> Hits:
        """Find what fits, best first, each with the reason. An empty question finds the newest.

        Sees what is in the scope and what holds for a wider one, never another user's. Unless `touch` is false, being
        found counts as being used.
        """
        asked = Query(
            text=query,
            filter=self.filtered(narrow, "sees"),
            limit=limit,
            mode=mode,
            least_similarity=least_similarity,
            explain=explain,
        )
        hits = await recall(asked, stores=self.parts.stores, serving=self.parts.serving, now=self.parts.clock())
        if touch:
            self.parts.uses.count(asked.filter.scope, [hit.memory.id for hit in hits])
        return hits

    async def context(self, query: str, *, budget: int = 1_000, limit: int = 30, **narrow: Unpack[Narrow]) -> Context:
        """Assemble what an agent should know, as text of at most `budget` tokens: what always holds, then what fits."""
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        asked = Query(text=query, filter=self.filtered(narrow, "sees"), limit=limit)
        assembled = await context(
            asked,
            budget,
            stores=self.parts.stores,
            serving=self.parts.serving,
            tokens=self.parts.tokens(),
            now=self.parts.clock(),
        )
        self.parts.uses.count(asked.filter.scope, [item.memory.id for item in assembled.items])
        return assembled

    async def get(self, id: Id, **where: Unpack[Where]) -> Memory:
        """Return one memory, in whatever state it is. Raises NotFound when the scope does not see it."""
        scope, known = self.scoped(where), id_of(id, self.tenant)
        found = await self.parts.stores.records.get(scope, [known])
        if not found:
            raise NotFound(f"there is no memory {id} in {scope}")
        return found[0]

    async def history(self, id: Id | None = None, *, key: str | None = None, **where: Unpack[Where]) -> Memories:
        """Return every version of a memory, by its id or by its key, oldest first."""
        if (id is None) == (key is None):
            raise InvalidInput("history of what? Give an id or a key, and just one of them")
        scope = self.scoped(where)
        known = id_of(id, self.tenant) if id is not None else None
        versions = await self.parts.stores.records.versions(scope, id=known, key=key)
        if not versions:
            raise NotFound(f"there is no memory {id or key} in {scope}")
        return versions

    async def around(self, id: Id, *, before: int = 2, after: int = 2, **where: Unpack[Where]) -> Memories:
        """Return what was said just before and after it in its session, in order, with the memory itself between."""
        check_whole("before", before, least=0, most=1_000)
        check_whole("after", after, least=0, most=1_000)
        memory = await self.get(id, **where)
        beside = await self.parts.stores.records.neighbours(self.scoped(where), memory, before=before, after=after)
        position = memory.position or 0
        return sorted([*beside, memory], key=lambda one: one.position if one.position is not None else position)

    async def count(self, **narrow: Unpack[Narrow]) -> int:
        """Count the memories inside the scope that match."""
        return (await self.parts.stores.records.count(self.filtered(narrow, "holds"), now=self.parts.clock())).current

    async def stats(self, **where: Unpack[Where]) -> Stats:
        """Say what the scope holds and how the memory is doing."""
        counts = await self.parts.stores.records.count(
            self.filtered(cast("Narrow", where), "holds"), now=self.parts.clock()
        )
        generations = await self.parts.stores.generations.generations()
        active = next((one.number for one in generations if one.state == "active"), None)
        return Stats(
            memories=counts.current,
            versions=counts.versions,
            kinds=counts.kinds,
            scopes=counts.scopes,
            pending=await self.parts.index.backlog(),
            vectors=await self.parts.stores.vectors.count(active) if active is not None else 0,
            generations=tuple(generations),
            bytes_on_disk=self.parts.bytes_on_disk(),
            **self.parts.names,
        )

    def export(self, **narrow: Unpack[Narrow]) -> AsyncIterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed. Needs no `await`."""
        given = cast("Narrow", {"history": True, **narrow})
        return export_lines(self.filtered(given, "holds"), records=self.parts.stores.records, now=self.parts.clock())

    async def import_lines(
        self, lines: Iterable[str], *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> tuple[int, int]:
        """Store what `export` gave, exactly; return how many were new and how many were known. Safe to repeat."""
        return await import_lines(
            lines,
            self.scoped(where),
            records=self.parts.stores.records,
            index=self.parts.index,
            redactor=self.parts.redactor,
            progress=progress,
        )

    @property
    def tenant(self) -> str:
        """Whose memories these are."""
        return self._tenant

    # Listing comes last: it is called what users call it, and that hides the type of the same name from here on.

    async def list(
        self,
        *,
        limit: int = 100,
        order: Order = "newest",
        after: Id | None = None,
        **narrow: Unpack[Narrow],
    ) -> Memories:
        """List the memories inside the scope as they were stored; `after` is the last id of the page before."""
        check_whole("limit", limit, least=1, most=10_000)
        known = id_of(after, self.tenant) if after is not None else None
        return await self.parts.stores.records.find(
            self.filtered(narrow, "holds"), now=self.parts.clock(), limit=limit, order=order, after=known
        )

    def scoped(self, where: Where) -> Scope:
        """The scope that these keywords name. Raises Closed when the memory is."""
        if not self.parts.is_open.is_set():
            raise Closed
        return scope_of(self.tenant, where)

    def filtered(self, narrow: Narrow, reach: Reach) -> Filter:
        """The filter that these keywords name. Raises Closed when the memory is."""
        if not self.parts.is_open.is_set():
            raise Closed
        return filter_of(self.tenant, narrow, reach=reach)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.parts.names.get('records', '')} tenant={self.tenant!r}>"
