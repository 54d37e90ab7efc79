"""Scrubjay itself: the verbs, each a few lines over the write path, the read path and the stores."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Event
from types import TracebackType
from typing import Any, Self, TypeAlias, Unpack, cast
from uuid import UUID

from scrubjay.errors import Closed, EmbedderUnavailable, InvalidInput, NotFound, Unavailable
from scrubjay.jobs.runner import Runner
from scrubjay.jobs.uses import Uses
from scrubjay.model import (
    PLACE_NAMES,
    Context,
    Filter,
    ForgetReceipt,
    Generation,
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
from scrubjay.write.index import Index, Progress
from scrubjay.write.prepare import Changes, Telling, Tellings, Told
from scrubjay.write.remember import Writer
from scrubjay.write.transfer import export_lines, import_lines

Memories: TypeAlias = list[Memory]  # `list` is a verb below, and would hide the type there
Strings: TypeAlias = list[str]
Id: TypeAlias = UUID | str
Ids: TypeAlias = Sequence[UUID | str]

MOST_BUDGET = 1_000_000


class Scrubjay:
    """Memory for agents. Every verb takes the scope as keywords: user=, project=, agent=, session=, workflow=.

    Open one with `scrubjay.open_async()`, or with `scrubjay.open()` for the same verbs without `await`.
    """

    def __init__(
        self,
        *,
        stores: Stores,
        index: Index,
        redactor: Redactor | None,
        tokens: Callable[[], Tokens],
        clock: Clock,
        tenant: str,
        prepare: Callable[[], Awaitable[object]],
        background: bool,
        names: Mapping[str, str],
        bytes_on_disk: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._stores = stores
        self._index = index
        self._redactor = redactor
        self._tokens = tokens
        self._clock = clock
        self._tenant = Scope(tenant=tenant).tenant
        self._prepare = prepare
        self._names = names
        self._bytes_on_disk = bytes_on_disk
        self._writer = Writer(records=stores.records, index=index, redactor=redactor, clock=clock)
        self._uses = Uses(stores.records, clock)
        self._runner = Runner(index=index, uses=self._uses) if background else None
        # Shared with the views that `for_tenant` gives, which live and close with this one.
        self._open = Event()

    # Opening and closing

    async def start(self) -> Self:
        """Bring the store up to date and begin. `async with` does it for you."""
        await self._prepare()
        self._open.set()
        if self._runner is not None:
            self._runner.start()
        return self

    async def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        if self._runner is not None:
            await self._runner.stop()
        if self._open.is_set():
            # A store that is gone takes the last uses with it; the rest is still let go of.
            with suppress(Unavailable):
                await self._uses.flush()
        self._open.clear()
        await self._index.shut()
        await self._stores.vectors.shut()
        await self._stores.records.shut()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Writing

    async def remember(self, content: str, **told: Unpack[Told]) -> Remembered:
        """Remember one thing. Saying it again changes nothing; a new value for a key replaces the old one."""
        return (await self.remember_many([cast("Telling", {**told, "content": content})]))[0]

    async def remember_many(
        self, items: Tellings, *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> list[Remembered]:
        """Remember many things: texts, or dicts with `content` and details. All are checked before any is written."""
        scope = self._scope(where)
        return await self._writer.remember(list(items), scope, progress=progress)

    async def update(self, id: Id, **changes: Unpack[Changes]) -> Remembered:
        """Correct a memory. What it says becomes a new version; importance and expiry are changed in place."""
        scope = self._scope(places(changes))
        given: dict[str, Any] = {name: value for name, value in changes.items() if name not in PLACE_NAMES}
        if not given or not given.keys() <= Changes.__annotations__.keys():
            known = ", ".join(sorted(Changes.__annotations__.keys() - set(PLACE_NAMES)))
            raise InvalidInput(f"update got {', '.join(given) or 'nothing'}: give one or more of {known}")
        old = await self._held(scope, id_of(id, self._tenant))
        if given.keys() <= {"importance", "expires_at"}:
            return await self._adjusted(old, given)
        return await self._writer.correct(old, cast("Telling", given))

    async def _held(self, scope: Scope, id: UUID) -> Memory:
        found = await self._stores.records.get(scope, [id])
        if not found or not scope.holds(found[0].scope):
            raise NotFound(f"there is no memory {id} in {scope}")
        if found[0].superseded_at is not None:
            raise NotFound(f"memory {id} is {found[0].state(self._clock())}: change its newest version, see `history`")
        return found[0]

    async def _adjusted(self, old: Memory, given: Mapping[str, Any]) -> Remembered:
        importance, expires_at = given.get("importance"), in_utc("expires_at", given.get("expires_at"))
        if importance is not None:
            check_fraction("importance", importance)
        memory = await self._stores.records.adjust(old.scope, old.id, importance=importance, expires_at=expires_at)
        if memory is None:
            raise NotFound(f"memory {old.id} has just been purged")
        await (self._index.add([memory]) if expires_at is None else self._index.renew([memory]))
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
        scope = self._scope(where)
        if [id is not None, key is not None, everything].count(True) != 1:
            raise InvalidInput("say what to forget: an id, a key, or everything=True, and just one of them")
        ids = await self._meant(scope, id, key=key, purging=purge)
        if not ids:
            raise NotFound(f"there is nothing to forget in {scope}: {key or id or 'it is empty'}")
        if purge:
            now, versions = self._clock(), not everything
            return await purge_everywhere(scope, ids, stores=self._stores, at=now, versions=versions)
        return await forget(scope, ids, stores=self._stores, index=self._index, at=self._clock(), because=reason)

    async def _meant(self, scope: Scope, id: Id | Ids | None, *, key: str | None, purging: bool) -> list[UUID]:
        """The ids of what the scope holds and the caller means: also past versions when they are to be purged."""
        if id is not None:
            asked = [id] if isinstance(id, str | UUID) else id
            found = await self._stores.records.get(scope, [id_of(one, self._tenant) for one in asked])
            return [one.id for one in found if scope.holds(one.scope) and (purging or one.superseded_at is None)]
        meant = Filter(scope=scope, reach="holds", key=key, history=True)
        return [
            memory.id
            async for batch in self._stores.records.scan(meant, now=self._clock())
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
            filter=self._filter(narrow, "sees"),
            limit=limit,
            mode=mode,
            least_similarity=least_similarity,
            explain=explain,
        )
        hits = await recall(asked, stores=self._stores, serving=self._serving, now=self._clock())
        if touch:
            self._uses.count(asked.filter.scope, [hit.memory.id for hit in hits])
        return hits

    async def context(self, query: str, *, budget: int = 1_000, limit: int = 30, **narrow: Unpack[Narrow]) -> Context:
        """Assemble what an agent should know, as text of at most `budget` tokens: what always holds, then what fits."""
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        asked = Query(text=query, filter=self._filter(narrow, "sees"), limit=limit)
        assembled = await context(
            asked, budget, stores=self._stores, serving=self._serving, tokens=self._tokens(), now=self._clock()
        )
        self._uses.count(asked.filter.scope, [item.memory.id for item in assembled.items])
        return assembled

    async def get(self, id: Id, **where: Unpack[Where]) -> Memory:
        """Return one memory, in whatever state it is. Raises NotFound when the scope does not see it."""
        scope, known = self._scope(where), id_of(id, self._tenant)
        found = await self._stores.records.get(scope, [known])
        if not found:
            raise NotFound(f"there is no memory {id} in {scope}")
        return found[0]

    async def history(self, id: Id | None = None, *, key: str | None = None, **where: Unpack[Where]) -> Memories:
        """Return every version of a memory, by its id or by its key, oldest first."""
        if (id is None) == (key is None):
            raise InvalidInput("history of what? Give an id or a key, and just one of them")
        scope = self._scope(where)
        known = id_of(id, self._tenant) if id is not None else None
        versions = await self._stores.records.versions(scope, id=known, key=key)
        if not versions:
            raise NotFound(f"there is no memory {id or key} in {scope}")
        return versions

    async def around(self, id: Id, *, before: int = 2, after: int = 2, **where: Unpack[Where]) -> Memories:
        """Return what was said just before and after it in its session, in order, with the memory itself between."""
        check_whole("before", before, least=0, most=1_000)
        check_whole("after", after, least=0, most=1_000)
        memory = await self.get(id, **where)
        beside = await self._stores.records.neighbours(self._scope(where), memory, before=before, after=after)
        position = memory.position or 0
        return sorted([*beside, memory], key=lambda one: one.position if one.position is not None else position)

    async def count(self, **narrow: Unpack[Narrow]) -> int:
        """Count the memories inside the scope that match."""
        return (await self._stores.records.count(self._filter(narrow, "holds"), now=self._clock())).current

    async def stats(self, **where: Unpack[Where]) -> Stats:
        """Say what the scope holds and how the memory is doing."""
        counts = await self._stores.records.count(self._filter(cast("Narrow", where), "holds"), now=self._clock())
        generations = await self._stores.generations.generations()
        active = next((one.number for one in generations if one.state == "active"), None)
        return Stats(
            memories=counts.current,
            versions=counts.versions,
            kinds=counts.kinds,
            scopes=counts.scopes,
            pending=await self._index.backlog(),
            vectors=await self._stores.vectors.count(active) if active is not None else 0,
            generations=tuple(generations),
            bytes_on_disk=self._bytes_on_disk(),
            **self._names,
        )

    def export(self, **narrow: Unpack[Narrow]) -> AsyncIterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed. Needs no `await`."""
        given = cast("Narrow", {"history": True, **narrow})
        return export_lines(self._filter(given, "holds"), records=self._stores.records, now=self._clock())

    async def import_lines(
        self, lines: Iterable[str], *, progress: Callable[[int], None] | None = None, **where: Unpack[Where]
    ) -> tuple[int, int]:
        """Store what `export` gave, exactly; return how many were new and how many were known. Safe to repeat."""
        return await import_lines(
            lines,
            self._scope(where),
            records=self._stores.records,
            index=self._index,
            redactor=self._redactor,
            progress=progress,
        )

    # Looking after it

    async def reindex(
        self, progress: Progress | None = None, *, rebuild: bool = False, adopt: bool = False, words: bool = False
    ) -> int:
        """Index what waits; `rebuild`: everything anew; `adopt`: also when the configured model was replaced before."""
        if words:
            return await self._stores.texts.rebuild()
        if rebuild:
            await self._index.rebuild()
        return await self._index.drain(progress, adopt=adopt)

    async def rollback(self) -> Generation:
        """Go back to the embedding generation that answered before the last switch."""
        return await self._index.rollback()

    async def sweep(self) -> list[Generation]:
        """Delete the vectors of generations that no longer answer, and say which those were."""
        return await self._index.sweep()

    async def check(self) -> Strings:
        """Look the stores over and return one sentence per fault. None is what you want."""
        faults = await self._stores.records.check()
        if waiting := await self._index.backlog():
            faults.append(f"{waiting} memories wait to be indexed by meaning: run `scrubjay reindex`")
        embedder = self._index.embedder
        try:
            serving = await self._index.serving()
        except EmbedderUnavailable as error:
            return [*faults, str(error)]
        if embedder is not None and (serving is None or serving.generation.identity != embedder.identity):
            faults.append(
                f"the configured model {embedder.identity} is not the one that answers: run `scrubjay reindex --adopt`"
            )
        return faults

    def for_tenant(self, tenant: str) -> "Scrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        other = Scrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._tenant = Scope(tenant=tenant).tenant  # noqa: SLF001 -- our own class
        return other

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
        known = id_of(after, self._tenant) if after is not None else None
        return await self._stores.records.find(
            self._filter(narrow, "holds"), now=self._clock(), limit=limit, order=order, after=known
        )

    @property
    def _serving(self) -> AskServing | None:
        return self._index.serving if self._index.embedder is not None else None

    def _scope(self, where: Where) -> Scope:
        if not self._open.is_set():
            raise Closed
        return scope_of(self._tenant, where)

    def _filter(self, narrow: Narrow, reach: Reach) -> Filter:
        if not self._open.is_set():
            raise Closed
        return filter_of(self._tenant, narrow, reach=reach)

    def __repr__(self) -> str:
        return f"<Scrubjay {self._names.get('records', '')} tenant={self._tenant!r}>"
