"""Scrubjay without `await`. Forwards only: nothing has a second body."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, Unpack

from scrubjay.errors import Closed
from scrubjay.model import Where
from scrubjay.model.checks import check_handler
from scrubjay.ports import Event
from scrubjay.read.narrow import Narrow
from scrubjay.service import Scrubjay
from scrubjay.sync import rooms
from scrubjay.sync.forward import Blocking, Loop, forward


class SyncScrubjay(Blocking[Scrubjay]):
    """Memory for agents, without `await`. See `Scrubjay`: the verbs and their keywords are the same."""

    def __init__(self, jay: Scrubjay) -> None:
        super().__init__(jay, Loop())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Bring the store up to date and begin. `scrubjay.open()` has done it for you."""
        try:
            self._loop.run(self._verbs.start)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Finish what is under way and let go of everything. Safe to call twice."""
        try:
            self._loop.run(self._verbs.close)
        except Closed:
            return
        self._loop.stop()

    remember = forward(Scrubjay.remember)
    remember_many = forward(Scrubjay.remember_many)
    update = forward(Scrubjay.update)
    forget = forward(Scrubjay.forget)
    recall = forward(Scrubjay.recall)
    context = forward(Scrubjay.context)
    shape_context = forward(Scrubjay.shape_context)
    get = forward(Scrubjay.get)
    history = forward(Scrubjay.history)
    around = forward(Scrubjay.around)
    list = forward(Scrubjay.list)
    count = forward(Scrubjay.count)
    stats = forward(Scrubjay.stats)
    import_lines = forward(Scrubjay.import_lines)
    missed = forward(Scrubjay.missed)
    consolidate = forward(Scrubjay.consolidate)
    reindex = forward(Scrubjay.reindex)
    rollback = forward(Scrubjay.rollback)
    sweep = forward(Scrubjay.sweep)
    check = forward(Scrubjay.check)
    examine = forward(Scrubjay.examine)
    health = forward(Scrubjay.health)

    def export(self, **narrow: Unpack[Narrow]) -> Iterator[str]:
        """Stream the memories inside the scope as lines of JSON, every version unless narrowed."""

        async def begun() -> AsyncIterator[str]:
            return self._verbs.export(**narrow)

        # On the memory's own loop: here, another one may be running.
        lines = self._loop.run(begun)
        while (line := self._loop.run(lambda: anext(lines, None))) is not None:
            yield line

    def subscribe(self, name: str, handler: Callable[[Event], object], **where: Unpack[Where]) -> Callable[[], None]:
        """Call the handler, on a thread of its own, with each event of this name that the scope sees.

        Returns how to stop. See `Scrubjay.subscribe`. The handler may use this memory.
        """
        check_handler(handler)
        thread = ThreadPoolExecutor(1, thread_name_prefix="scrubjay-events")

        async def called(event: Event) -> None:
            await asyncio.get_running_loop().run_in_executor(thread, handler, event)

        async def subscribed() -> Callable[[], None]:
            return self._verbs.subscribe(name, called, **where)

        return self._loop.run(subscribed)

    @property
    def agents(self) -> "rooms.SyncAgents":
        """Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped."""
        return rooms.SyncAgents(self._verbs.agents, self._loop)

    @property
    def episodes(self) -> "rooms.SyncEpisodes":
        """What happened, in order: messages, observations, plans, results, negotiations."""
        return rooms.SyncEpisodes(self._verbs.episodes, self._loop)

    @property
    def facts(self) -> "rooms.SyncFacts":
        """What is true, for whom, and since when."""
        return rooms.SyncFacts(self._verbs.facts, self._loop)

    @property
    def patterns(self) -> "rooms.SyncPatterns":
        """Pattern memory: what went with success and failure, and what that says about the task at hand."""
        return rooms.SyncPatterns(self._verbs.patterns, self._loop)

    @property
    def tasks(self) -> "rooms.SyncTasks":
        """Task memory: have we done this before, and what worked?"""
        return rooms.SyncTasks(self._verbs.tasks, self._loop)

    @property
    def working(self) -> "rooms.SyncWorking":
        """Working memory: the messages and the scratchpad of the session that is under way."""
        return rooms.SyncWorking(self._verbs.working, self._loop)

    @property
    def workspace(self) -> "rooms.SyncWorkspace":
        """Workspace memory: what do we know about this code?"""
        return rooms.SyncWorkspace(self._verbs.workspace, self._loop)

    @property
    def work(self) -> "rooms.SyncWork":
        """Consolidation, for whoever looks after it: status, what is parked, archives."""
        return rooms.SyncWork(self._verbs.work, self._loop)

    @property
    def access(self) -> "rooms.SyncAccess":
        """API keys of this tenant, and the log of what was done to them and taken out of the memory."""
        return rooms.SyncAccess(self._verbs.access, self._loop)

    @property
    def vectors(self) -> "rooms.SyncVectorUpkeep":
        """The vector engine and its mirror, for whoever looks after them: status, rebuilding."""
        return rooms.SyncVectorUpkeep(self._verbs.vectors, self._loop)

    @property
    def encryption(self) -> "rooms.SyncEncryption":
        """Encryption at rest, for whoever looks after it: which keys there are, and changing them."""
        return rooms.SyncEncryption(self._verbs.encryption, self._loop)

    @property
    def tenant(self) -> str:
        """Whose memories these are."""
        return self._verbs.tenant

    def for_tenant(self, tenant: str) -> "SyncScrubjay":
        """The same memory for another tenant. It lives and closes with this one."""
        other = SyncScrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._verbs = self._verbs.for_tenant(tenant)  # noqa: SLF001 -- our own class
        return other

    def narrowed(
        self, *, users: Sequence[str] = (), projects: Sequence[str] = (), agents: Sequence[str] = ()
    ) -> "SyncScrubjay":
        """The same memory for whoever may only reach these. See `Scrubjay.narrowed`."""
        other = SyncScrubjay.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._verbs = self._verbs.narrowed(users=users, projects=projects, agents=agents)  # noqa: SLF001 -- our own class
        return other
