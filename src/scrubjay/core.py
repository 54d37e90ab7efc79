"""The core verbs, each a few lines over the write path, the read path and the stores. Every memory is made of these."""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias, Unpack, cast
from uuid import UUID

from scrubjay.errors import InvalidInput, NotFound
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
from scrubjay.model.access import Caller
from scrubjay.model.checks import check_flag, check_handler, check_several, check_whole
from scrubjay.model.context import SHAPE_KEY, SHAPE_KIND, ContextShape, Form, Section, shape_from
from scrubjay.model.memory import FORGOTTEN
from scrubjay.model.query import check_listed
from scrubjay.off_loop import off_loop, weight
from scrubjay.parts import Parts
from scrubjay.ports import Handler, Trees
from scrubjay.read.context import context, shape_of
from scrubjay.read.narrow import Narrow, filter_of, places
from scrubjay.read.recall import recall
from scrubjay.write.audit import audited
from scrubjay.write.current import adjusted, held, named, newest
from scrubjay.write.forget import forget, meant, purge_scope
from scrubjay.write.forget import purge as purge_everywhere
from scrubjay.write.lines import Lines
from scrubjay.write.prepare import Changes, Telling, Tellings, Told, check_changes, is_said
from scrubjay.write.reconcile import check_believed
from scrubjay.write.redact import reason_of
from scrubjay.write.transfer import export_lines, import_lines

Memories: TypeAlias = list[Memory]  # `list` is a verb below, and would hide the type there
Id: TypeAlias = UUID | str
Ids: TypeAlias = Sequence[UUID | str]

__all__ = ["Core", "Id", "Ids", "Memories", "Parts"]


class Core:
    """What one tenant can do with one memory. Every verb takes the scope as keywords."""

    def __init__(self, *, parts: Parts, tenant: str) -> None:
        self.parts = parts
        """What the verbs work with: for the memories that are made of them, not for callers."""
        self.caller = Caller()
        """On whose behalf, and inside which bounds; `narrowed` and `for_caller` change it."""
        self._tenant = Scope(tenant=tenant).tenant

    # Writing

    async def remember(self, content: str, **told: Unpack[Told]) -> Remembered:
        """Remember one thing. Saying it again changes nothing; a new value for a key replaces the old one.

        Raises IdTaken when its own id names something else, or what was forgotten or replaced since.
        """
        scope = self.scoped({}, named=False)
        [done] = await self.parts.writer.remember([cast("Telling", {**told, "content": content})], scope)
        check_believed(done, told.get("id"))
        return done

    async def remember_many(
        self, items: Tellings, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> list[Remembered]:
        """Remember many things: texts, or dicts with `content` and details. All are checked before any is written.

        What is told again under its own id, and was forgotten or replaced since, stays so: it is `unchanged`.
        """
        scope = self.scoped(where, named=False)  # An item may name its own place, and the writer looks at each.
        check_several("items", items)
        return await self.parts.writer.remember(list(items), scope, progress=progress)

    async def update(self, id: Id, **changes: Unpack[Changes]) -> Remembered:
        """Correct a memory. What it says becomes a new version; importance and expiry are changed in place.

        Raises Conflict when somebody else changes it at the same moment.
        """
        scope = self.scoped(places(changes))
        given: dict[str, Any] = {name: value for name, value in changes.items() if name not in PLACE_NAMES}
        if not given or not given.keys() <= Changes.__annotations__.keys():
            known = ", ".join(sorted(Changes.__annotations__.keys() - set(PLACE_NAMES)))
            raise InvalidInput(f"update got {', '.join(given) or 'nothing'}: give one or more of {known}")
        check_changes(given)
        seen, records = self.caller.seen, self.parts.stores.records
        old = await held(scope, id, records=records, now=self.parts.clock(), seen=seen)
        given = {name: value for name, value in given.items() if not is_said(old, name, value)}
        if not given:
            return Remembered(memory=old, outcome="unchanged")
        if given.keys() <= {"importance", "expires_at"}:
            noted = partial(audited, self.parts.access, self.caller, at=self.parts.clock())
            return await adjusted(old, given, records=records, index=self.parts.index, noted=noted, seen=seen)
        return await self.parts.writer.correct(seen or old, cast("Telling", given))

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

        What was made from a memory goes with it; with everything, its sessions too when it is purged. Raises NotFound
        when nothing in the scope is meant, or one of the ids is not there, and Conflict when one of them is replaced at
        the same moment.
        """
        scope = self.scoped(where)
        if [id is not None, key is not None, everything].count(True) != 1:
            raise InvalidInput("say what to forget: an id, a key, or everything, and just one of them")
        check_flag("purge", purge)
        because = await off_loop(weight(reason), reason_of, reason, self.parts.redactor)
        parts, at, whole = self.parts, self.parts.clock(), purge and everything
        stores, index, events, works = parts.stores, parts.index, parts.events, parts.works
        asking = partial(meant, scope, key=key, purging=purge, records=stores.records)
        seen, naming = self.caller.seen, partial(named, scope, purging=purge, records=stores.records)
        ids = await (naming(id, seen=seen) if id is not None else asking(now=at))
        if not ids and not (whole and any([await one.sessions(scope, now=at, limit=1) for one in parts.sessions_in])):
            raise NotFound(f"there is nothing to forget in {scope}: {key or 'it is empty'}")
        if purge and seen is not None and seen.superseded_at is None:
            # Closed first, if it is what was seen: who changes it now is refused, and not purged with it unseen.
            await stores.records.close(scope, [seen.id], at=at, because=FORGOTTEN, seen=seen)
        noted = partial(audited, parts.access, self.caller, scope, purge=purge, at=at)
        await noted(ids=ids)

        async def again() -> "Sequence[UUID]":
            found = await asking(now=parts.clock())
            if found:
                await noted(ids=found)
            return found

        if whole:
            purging = partial(purge_scope, working=parts.sessions_in, works=works, again=again)
            return await purging(scope, stores=stores, index=index, events=events, at=at)
        if purge:
            purging = partial(purge_everywhere, working=parts.working)
            return await purging(scope, ids, stores=stores, index=index, events=events, at=at)
        closing = partial(forget, because=because, seen=seen, again=again if id is None else None)
        return await closing(scope, ids, stores=stores, index=index, events=events, at=at)

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
        parts = self.parts
        hits = await recall(
            asked,
            stores=parts.stores,
            serving=parts.serving,
            now=parts.clock(),
            rereading=parts.rereading,
            trees=self._trees(),
        )
        if touch:
            self.parts.uses.count(asked.filter.scope, [hit.memory.id for hit in hits])
        return hits

    async def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        limit: int = 30,
        sections: Sequence[Section] | None = None,
        as_: Form | None = None,
        **narrow: Unpack[Narrow],
    ) -> Context:
        """Assemble what an agent should know, in at most `budget` tokens: what always holds, what fits, what just was.

        `sections` are any of facts, tasks, workspace, episodes, notes and working, and `as_` is markdown, xml or
        messages. What is left out is as `shape_context` says for the scope, or else 1,000 tokens of all, as Markdown.
        """
        asked = Query(text=query, filter=self.filtered(narrow, "sees"), limit=limit)
        assembled = await context(
            asked,
            shape_from(budget, sections, as_),
            stores=self.parts.stores,
            serving=self.parts.serving,
            rereading=self.parts.rereading,
            working=self.parts.working if self.parts.working_source != "records" else None,
            tokens=self.parts.tokens(),
            now=self.parts.clock(),
            trees=self._trees(),
        )
        self.parts.uses.count(asked.filter.scope, [item.memory.id for item in assembled.items])
        return assembled

    async def shape_context(
        self,
        *,
        budget: int | None = None,
        sections: Sequence[Section] | None = None,
        as_: Form | None = None,
        **where: Unpack[Where],
    ) -> ContextShape:
        """Keep how contexts should be in this scope: for an agent, a user, a project. Returns what holds there now.

        `context` asks for it when its caller leaves something open; the narrowest scope that decides it counts. What is
        None stays open. Shaping again replaces what was kept here.
        """
        scope, shape = self.scoped(where), shape_from(budget, sections, as_)
        told: Telling = {"content": str(shape), "kind": SHAPE_KIND, "key": SHAPE_KEY, "data": shape.kept_in(scope)}
        await self.parts.writer.remember([told], scope, own=SHAPE_KIND)
        return await shape_of(scope, stores=self.parts.stores, now=self.parts.clock())

    async def get(self, id: Id, **where: Unpack[Where]) -> Memory:
        """Return one memory, in whatever state it is. Raises NotFound when the scope does not see it.

        An id of your own names the newest version of its memory, an id that was made for you names one version.
        """
        return await newest(self.scoped(where), id, records=self.parts.stores.records)

    async def history(self, id: Id | None = None, *, key: str | None = None, **where: Unpack[Where]) -> Memories:
        """Return every version of a memory, by its id or by its key, oldest first."""
        if (id is None) == (key is None):
            raise InvalidInput("history of what? Give an id or a key, and just one of them")
        scope = self.scoped(where)
        known = id_of(id, self.tenant) if id is not None else None
        versions = await self.parts.stores.records.versions(scope, id=known, key=key)
        if not versions:
            named = f"memory {id}" if key is None else f"memory with the key {key!r}"
            raise NotFound(f"there is no {named} in {scope}")
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
            texts=self.parts.index.models.counts(),
            **self.parts.names,
        )

    def export(self, **narrow: Unpack[Narrow]) -> AsyncIterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed. Needs no `await`."""
        given = cast("Narrow", {"history": True, **narrow})
        return export_lines(self.filtered(given, "holds"), records=self.parts.stores.records, now=self.parts.clock())

    async def import_lines(
        self,
        lines: Lines,
        *,
        mend: bool = False,
        progress: Callable[[int], None] | None = None,
        **where: Unpack[Where],
    ) -> tuple[int, int]:
        """Store what `export` gave, exactly; return how many were new and how many were known. Safe to repeat.

        What is believed here and was closed there since is closed, too. Raises Conflict for a key that both replaced,
        before anything is stored; with `mend`, what was told later takes the place of the other. A caller with bounds
        may not bring memories of kinds that only verbs write, or made from what it cannot see; and no holder of a key
        the states of LangGraph's threads.
        """
        return await import_lines(
            lines,
            self.scoped(where),
            records=self.parts.stores.records,
            index=self.parts.index,
            redactor=self.parts.redactor,
            events=self.parts.events,
            clock=self.parts.clock,
            progress=progress,
            mend=mend,
            caller=self.caller,
            access=self.parts.access,
        )

    def subscribe(self, name: str, handler: Handler, **where: Unpack[Where]) -> Callable[[], None]:
        """Call the handler, beside the work, with each event of this name that the scope sees; returns how to stop.

        Names are `memory.stored`, `memory.*` or `*`. With Redis configured, events of other processes come too. One may
        be lost, and a handler that fails is logged: what has to be true belongs in the stores. Needs no `await`.
        """
        check_handler(handler)
        return self.parts.events.subscribe(name, handler, scope=self.scoped(where))

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
        check_listed(order)
        known = id_of(after, self.tenant) if after is not None else None
        wanted = self.filtered(narrow, "holds")
        found = await self.parts.stores.records.find(
            wanted, now=self.parts.clock(), limit=limit, order=order, after=known
        )
        if known is not None and not found and not await self.parts.stores.records.get(wanted.scope, [known]):
            # An empty page would say that this was the end.
            raise NotFound(f"after: {after} is not stored here. It may have been purged: list again from the start")
        return found

    def _trees(self) -> Trees | None:
        """Who compares cited code with this machine's disk; None for callers that have no business there."""
        # A memory names the folder of its repository, and whoever may write can name any folder.
        return self.parts.trees if self.caller.is_here else None

    def scoped(self, where: Where, *, named: bool = True) -> Scope:
        """The scope that these keywords name, inside the caller's bounds. Raises Closed when the memory is."""
        self.parts.is_open.check()
        if not where and not self.caller.bounds:
            return _whole(self._tenant)
        bounds = self.caller.bounds
        return scope_of(self.tenant, bounds.within(where, named=named), bound=bounds.binding)

    def filtered(self, narrow: Narrow, reach: Reach) -> Filter:
        """The filter that these keywords name, inside the caller's bounds. Raises Closed when the memory is."""
        self.parts.is_open.check()
        return filter_of(self.tenant, self.caller.bounds.within(narrow), reach=reach, bound=self.caller.bounds.binding)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.parts.names.get('records', '')} tenant={self.tenant!r}>"


@lru_cache(maxsize=1_000)
def _whole(tenant: str) -> Scope:
    """The scope of all that is a tenant's. Most verbs begin with it."""
    return Scope(tenant=tenant)
