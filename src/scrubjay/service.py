"""Scrubjay itself: the core verbs, the memories that are made of them, and what looks after it all."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self, Unpack

from scrubjay import jobs, memories
from scrubjay.access import Access
from scrubjay.core import Core, Parts
from scrubjay.errors import EmbedderUnavailable, InvalidInput, Unavailable
from scrubjay.jobs.answering import other_model
from scrubjay.jobs.learn import Learning
from scrubjay.jobs.probing import InProcess, look
from scrubjay.jobs.runner import Runner
from scrubjay.jobs.worker import background_worker
from scrubjay.model import Finding, Generation, Health, Scope, Where
from scrubjay.model.access import Caller, bounds_of
from scrubjay.model.checks import check_whole, shown
from scrubjay.model.work import Consolidated, Policy, Step
from scrubjay.ports import Event, Probe
from scrubjay.ports.events import check_subscription
from scrubjay.read.events import kept_since
from scrubjay.write.audit import audited
from scrubjay.write.index import Progress


class Scrubjay(Core):
    """Memory for agents. Every verb takes the scope as keywords: user=, project=, agent=, session=, workflow=.

    Open one with `scrubjay.open_async()`, or with `scrubjay.open()` for the same verbs without `await`.
    """

    def __init__(
        self, *, parts: Parts, tenant: str, prepare: Callable[[], Awaitable[object]], background: bool
    ) -> None:
        super().__init__(parts=parts, tenant=tenant)
        self._prepare = prepare
        learning = Learning(parts)
        self._runner = (
            Runner(
                index=parts.index,
                uses=parts.uses,
                learning=learning,
                probes=parts.probes,
                worker=background_worker(self),
            )
            if background
            else None
        )

    # Opening and closing

    async def start(self) -> Self:
        """Bring the store up to date and begin. `async with` does it for you."""
        await self._prepare()
        self.parts.is_open.set()
        # What this process knows of the stores may be changed by another one.
        self.parts.events.subscribe("generation.switched", lambda _event: self.parts.index.look_again())
        self.parts.events.subscribe("memory.purged", lambda _event: self.parts.index.models.clear())
        self.parts.later.open()
        if self._runner is not None:
            self._runner.start()
        return self

    async def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        await self.parts.later.close()
        if self._runner is not None:
            await self._runner.stop()
        if self.parts.is_open.is_set():
            # A store that is gone takes the last uses with it; the rest is still let go of.
            with suppress(Unavailable):
                await self.parts.uses.flush()
        # While the memory is open still: a handler may want to read what it was told of.
        await self.parts.events.shut()
        self.parts.is_open.clear()
        await self.parts.index.models.shut()
        if self.parts.chat is not None:
            await self.parts.chat.shut()
        if self.parts.rereading is not None:
            await self.parts.rereading.reranker.shut()
        for working in self.parts.sessions_in:
            await working.shut()
        await self.parts.stores.vectors.shut()
        await self.parts.stores.records.shut()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # The memories

    @property
    def agents(self) -> "memories.Agents":
        """Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped."""
        return memories.Agents(self)

    @property
    def episodes(self) -> "memories.Episodes":
        """What happened, in order: messages, observations, plans, results, negotiations."""
        return memories.Episodes(self)

    @property
    def facts(self) -> "memories.Facts":
        """What is true, for whom, and since when."""
        return memories.Facts(self)

    @property
    def patterns(self) -> "memories.Patterns":
        """Pattern memory: what went with success and failure, and what that says about the task at hand."""
        return memories.Patterns(self)

    @property
    def tasks(self) -> "memories.Tasks":
        """Task memory: have we done this before, and what worked?"""
        return memories.Tasks(self)

    @property
    def working(self) -> "memories.WorkingMemory":
        """Working memory: the messages and the scratchpad of the session that is under way."""
        return memories.WorkingMemory(self)

    @property
    def workspace(self) -> "memories.Workspace":
        """Workspace memory: what do we know about this code?"""
        return memories.Workspace(self)

    @property
    def work(self) -> "jobs.Work":
        """Consolidation, for whoever looks after it: status, what is parked, archives."""
        self.caller.bounds.check_none("work")
        return jobs.Work(self)

    @property
    def access(self) -> Access:
        """API keys of this tenant, and the log of what was done to them and taken out of the memory."""
        return Access(self)

    @property
    def vectors(self) -> "jobs.VectorUpkeep":
        """The vector engine and its mirror, for whoever looks after them: status, rebuilding."""
        self.caller.bounds.check_none("vectors")
        return jobs.VectorUpkeep(self)

    @property
    def encryption(self) -> "jobs.Encryption":
        """Encryption at rest, for whoever looks after it: which keys there are, and changing them."""
        self.caller.bounds.check_none("encryption")
        return jobs.Encryption(self)

    # What happened

    async def missed(
        self, name: str = "*", *, after: str = "", limit: int = 1_000, **where: Unpack[Where]
    ) -> list[Event]:
        """Return the events of this name that the scope sees and that came after the one of this id, oldest first.

        As far as they are kept; an empty id means from the oldest. Names are as in `subscribe`: who was away
        subscribes again, then asks for what came after the last event that it saw.
        """
        scope = self.scoped(where)
        check_subscription(name)
        check_whole("limit", limit, least=1, most=10_000)
        if not isinstance(after, str):
            raise InvalidInput(f"after is {shown(after)}: use the id of an event")
        return await kept_since(self.parts.events, scope, name, after=after, limit=limit)

    # Looking after it

    async def consolidate(
        self,
        *,
        steps: Sequence[Step] | Step | None = None,
        dry_run: bool = False,
        policy: Policy | None = None,
        **where: Unpack[Where],
    ) -> Consolidated:
        """Turn sessions into knowledge and keep the memory tidy, inside the scope; say what each step did.

        Drains sessions into episodes, distills these into summaries and facts, learns patterns, indexes what waits,
        expires, decays, archives and prunes: all of it, or only some `steps`. With `dry_run` nothing is changed, and
        `planned` says what would be and why. `policy` takes the place of the one that was configured. Safe to repeat.
        """
        from scrubjay.jobs.consolidate import consolidate, steps_of  # noqa: PLC0415 -- brings most memories with it
        from scrubjay.jobs.work import orders_of  # noqa: PLC0415 -- the same

        orders = orders_of(self, policy=policy, within=self.scoped(where), dry_run=dry_run)
        return await consolidate(orders, steps_of(steps))

    async def reindex(
        self, progress: Progress | None = None, *, rebuild: bool = False, adopt: bool = False, words: bool = False
    ) -> int:
        """Index what waits; `rebuild`: everything anew; `adopt`: also when the configured model was replaced before.

        With `rebuild`, all that is derived from the records is made again, whatever is in its place: words, vectors,
        and the indexes of SQLite. With `words`, all of this but the vectors.
        """
        self.caller.bounds.check_none("reindex")
        if words or rebuild:
            indexed = await self.parts.stores.texts.rebuild()
            if words or self.parts.index.embedder is None:
                return indexed
        await self.parts.index.hold(remake=True)
        if rebuild:
            await self.parts.index.rebuild()
        return await self.parts.index.drain(progress, adopt=adopt)

    async def rollback(self) -> Generation:
        """Go back to the embedding generation that answered before the last switch."""
        self.caller.bounds.check_none("rollback")
        return await self.parts.index.rollback()

    async def sweep(self) -> list[Generation]:
        """Delete the vectors of generations that no longer answer, and say which those were."""
        self.caller.bounds.check_none("sweep")
        return await self.parts.index.sweep()

    async def check(self) -> "list[str]":
        """Look the stores over and return one sentence per fault. None is what you want."""
        self.caller.bounds.check_none("check")
        faults = await self.parts.stores.records.check()
        if waiting := await self.parts.index.backlog():
            faults.append(f"{waiting} memories wait to be indexed by meaning: run `scrubjay reindex`")
        try:
            serving = await self.parts.index.serving()
        except EmbedderUnavailable as error:
            return [*faults, str(error)]
        if fault := await self.parts.index.fault():
            return [*faults, fault]
        if (other := await other_model(self.parts.index, self.parts.stores.generations, serving)) is not None:
            faults.append(f"{other.said}: {other.remedy}")
        return faults

    async def examine(self, progress: Progress = lambda _done, _total: None, *, fix: bool = False) -> "list[Finding]":
        """Look everything over: versions, settings, integrity, and whether records, words and vectors agree.

        With `fix`, put right what can be without loss: indexes, marks without vectors, vectors without a record, and
        files that no memory holds.
        """
        self.caller.bounds.check_none("examine")
        parts = self.parts
        checkup = jobs.Checkup(
            stores=parts.stores, index=parts.index, inspected=parts.inspected, fix=fix, progress=progress
        )
        return await checkup.run()

    async def health(self) -> Health:
        """Ask every store and model whether it is there, within seconds. Answers also while some or all are not."""
        parts = self.parts
        asked: dict[str, Probe] = {"records": InProcess(), "vectors": InProcess(), **parts.probes}
        found = await asyncio.gather(
            *(look(part, probe, name=parts.names.get(part, part)) for part, probe in asked.items())
        )
        stores = dict(zip(asked, found, strict=True))
        pending = None
        if parts.is_open.is_set() and stores["records"].state == "up":
            with suppress(Unavailable):
                pending = await parts.index.backlog()
                if stores["vectors"].state == "up" and (fault := await parts.index.fault()):
                    stores["vectors"] = replace(stores["vectors"], state="incomplete", error=fault)
        return Health(stores=stores, pending=pending)

    def for_tenant(self, tenant: str) -> "Scrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        self.caller.bounds.check_none("another tenant")
        other = Scrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._tenant = Scope(tenant=tenant).tenant  # noqa: SLF001 -- our own class
        return other

    def narrowed(
        self, *, users: Sequence[str] = (), projects: Sequence[str] = (), agents: Sequence[str] = ()
    ) -> "Scrubjay":
        """The same memory for whoever may only reach these: every verb keeps to them, and refuses what lies outside.

        It reads what is theirs and what holds for everybody, and writes and forgets only what is theirs. A name that is
        left out is filled in where there is one choice.
        """
        return self.for_caller(replace(self.caller, bounds=bounds_of(users=users, projects=projects, agents=agents)))

    def for_caller(self, caller: Caller) -> "Scrubjay":
        """The same memory on behalf of another, inside the bounds of both."""
        other = Scrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.caller = replace(caller, bounds=self.caller.bounds.narrowed(caller.bounds))
        noted = partial(audited, self.parts.access, other.caller)
        other.parts = self.parts.written_by(self.parts.writer.inside(other.caller.bounds, noted))
        return other
