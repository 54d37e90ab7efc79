"""A server as if it were here: the core verbs, and the memories that are made of them."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self, Unpack
from uuid import UUID

from scrubjay.client.access import RemoteAccess
from scrubjay.client.agents import RemoteAgents
from scrubjay.client.connection import Connection, Request
from scrubjay.client.episodes import RemoteEpisodes, RemoteWorking
from scrubjay.client.facts import RemoteFacts
from scrubjay.client.listening import Listener
from scrubjay.client.tasks import RemotePatterns, RemoteTasks
from scrubjay.client.verb import Remote, Route, arguments_of, elsewhere, like, verb
from scrubjay.client.work import THERE, RemoteEncryption, RemoteVectors, RemoteWork
from scrubjay.client.workspace import RemoteWorkspace
from scrubjay.core import Id, Ids, Memories
from scrubjay.errors import InvalidInput
from scrubjay.model import DEFAULT_TENANT, PLACE_NAMES, ForgetReceipt, Health, Memory, Where, scope_of
from scrubjay.model.access import Caller, bounds_of
from scrubjay.ports import Handler
from scrubjay.ports.events import check_subscription
from scrubjay.read.narrow import Narrow
from scrubjay.service import Scrubjay
from scrubjay.write.later import Later
from scrubjay.write.lines import Lines

_FORGET: Final = Route(method="POST", path="/memory/forget")
_HISTORY: Final = Route(method="GET", path="/memory/{id}/history")
_HISTORY_OF_KEY: Final = Route(method="GET", path="/memory/history")
_EXPORT: Final = Route(method="GET", path="/memory/export")
_IMPORT: Final = Route(method="POST", path="/memory/import", query=(*PLACE_NAMES, "mend"))


class RemoteScrubjay(Remote):
    """Memory for agents, on a server. See `Scrubjay`: the verbs and their keywords are the same.

    Connect with `scrubjay.client.connect_async(url, key=…)`, or with `connect` for the same verbs without `await`.
    """

    def __init__(self, connection: Connection, tenant: str = DEFAULT_TENANT) -> None:
        super().__init__(connection, tenant)
        self.caller = Caller()
        """Inside which bounds the server lets this key act."""
        self._later = Later()
        self._listeners: list[Listener] = []

    async def start(self) -> Self:
        """Make sure that a server is there and takes the key. `async with` does it for you."""
        try:
            # Any key may ask this, whatever else it may do.
            known = await self._connection.ask(Request(method="GET", path="/v1/whoami"))
            self._tenant = self._read(str, known, "tenant")
            bound = {name: known[name] for name in ("users", "projects", "agents") if name in known}
            self.caller = replace(self.caller, bounds=bounds_of(**bound))
        except BaseException:
            await self.close()
            raise
        self._later.open()
        return self

    async def close(self) -> None:
        """Finish what is under way and let go of the connections. Safe to call twice."""
        await self._later.close()
        for listener in self._listeners:
            await listener.stopped()
        self._listeners.clear()
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Writing

    remember = verb(Scrubjay.remember, "POST", "/memory")
    remember_many = verb(Scrubjay.remember_many, "POST", "/memory", many="items")
    update = verb(Scrubjay.update, "PATCH", "/memory/{id}", query=PLACE_NAMES)

    @like(Scrubjay.forget, _FORGET)
    async def forget(self, id: Id | Ids | None = None, **how: Any) -> ForgetReceipt:  # noqa: ANN401 -- as the verb takes them
        """One id is sent as a list of one: a single route serves every way to forget."""
        named = [id] if isinstance(id, str | UUID) else id
        given = {"id": named, **how}
        answer = await self._ask(_FORGET, {name: value for name, value in given.items() if value is not None})
        receipt: ForgetReceipt = self._read(ForgetReceipt, answer)
        return receipt

    # Reading

    recall = verb(Scrubjay.recall, "POST", "/memory/recall", reads=True)
    context = verb(Scrubjay.context, "POST", "/memory/context", reads=True)
    shape_context = verb(Scrubjay.shape_context, "PUT", "/memory/context/shape")
    get = verb(Scrubjay.get, "GET", "/memory/{id}")
    around = verb(Scrubjay.around, "GET", "/memory/{id}/around")
    count = verb(Scrubjay.count, "GET", "/memory/count", holds="count")
    stats = verb(Scrubjay.stats, "GET", "/memory/stats")

    @like(Scrubjay.history, _HISTORY, _HISTORY_OF_KEY)
    async def history(self, id: Id | None = None, *, key: str | None = None, **where: Unpack[Where]) -> Memories:
        """An id and a key have routes of their own."""
        if (id is None) == (key is None):
            raise InvalidInput("history of what? Give an id or a key, and just one of them")
        by_id = {"id": id, **where} if id is not None else None
        answer = await (self._ask(_HISTORY, by_id) if by_id else self._ask(_HISTORY_OF_KEY, {"key": key, **where}))
        return [self._read(Memory, one) for one in answer]

    @like(Scrubjay.export, _EXPORT)
    async def export(self, **narrow: Unpack[Narrow]) -> AsyncIterator[str]:
        """The lines come as the server reads them."""
        async with self._connection.lines(_EXPORT.request(arguments_of(narrow))) as lines:
            async for line in lines:
                if line:
                    yield line

    @like(Scrubjay.import_lines, _IMPORT)
    async def import_lines(
        self,
        lines: Lines,
        *,
        mend: bool = False,
        progress: Callable[[int], None] | None = None,
        **where: Unpack[Where],
    ) -> tuple[int, int]:
        """The lines are sent as they are read here."""
        asked: dict[str, Any] = {**where, "mend": True} if mend else {**where}
        answer = await self._send_lines(_IMPORT, lines, asked)
        new, known = answer["new"], answer["known"]
        if progress is not None:
            progress(new + known)
        return new, known

    # What happens

    @like(Scrubjay.subscribe, Route(method="GET", path="/events"))
    def subscribe(self, name: str, handler: Handler, **where: Unpack[Where]) -> Callable[[], None]:
        """The server's event stream is read for as long as somebody listens."""
        check_subscription(name)
        scope_of(self._tenant, where)
        listener = Listener(self._connection, name, handler, where, self._tenant)
        self._listeners.append(listener)
        return listener.stop

    missed = verb(Scrubjay.missed, "GET", "/events/missed")

    # The memories

    @property
    def agents(self) -> RemoteAgents:
        """Agents: every cycle on record, so that whoever was stopped goes on exactly where it stopped."""
        return RemoteAgents(self._connection, self._tenant)

    @property
    def episodes(self) -> RemoteEpisodes:
        """What happened, in order: messages, observations, plans, results, negotiations."""
        return RemoteEpisodes(self._connection, self._tenant)

    @property
    def facts(self) -> RemoteFacts:
        """What is true, for whom, and since when."""
        return RemoteFacts(self._connection, self._tenant)

    @property
    def tasks(self) -> RemoteTasks:
        """Task memory: have we done this before, and what worked?"""
        return RemoteTasks(self._connection, self._tenant)

    @property
    def patterns(self) -> RemotePatterns:
        """Pattern memory: what went with success and failure, and what that says about the task at hand."""
        return RemotePatterns(self._connection, self._tenant)

    @property
    def working(self) -> RemoteWorking:
        """Working memory: the messages and the scratchpad of the session that is under way."""
        return RemoteWorking(self._connection, self._tenant)

    @property
    def workspace(self) -> RemoteWorkspace:
        """Workspace memory: what do we know about this code?"""
        return RemoteWorkspace(self._connection, self._tenant, self._later)

    @property
    def access(self) -> RemoteAccess:
        """API keys of this tenant, and the log of what was done to them and taken out of the memory."""
        return RemoteAccess(self._connection, self._tenant)

    @property
    def vectors(self) -> RemoteVectors:
        """The vector engine, which is looked after where the server runs."""
        return RemoteVectors(self._connection, self._tenant)

    @property
    def encryption(self) -> RemoteEncryption:
        """Encryption at rest, which is looked after where the server runs."""
        return RemoteEncryption(self._connection, self._tenant)

    @property
    def work(self) -> RemoteWork:
        """Consolidation, for whoever looks after it: status, what is parked, archives."""
        return RemoteWork(self._connection, self._tenant)

    # Looking after it

    consolidate = verb(Scrubjay.consolidate, "POST", "/consolidate")

    @like(Scrubjay.health)
    async def health(self) -> Health:
        """Without its records the server answers with an error, whose body is the answer all the same."""
        answer = await self._connection.ask(Request(method="GET", path="/readyz", accepts=(503,)))
        stores = {
            part: {name: value for name, value in store.items() if value is not None}
            for part, store in answer["stores"].items()
        }
        found: Health = self._read(Health, {**answer, "stores": stores})
        return found

    reindex = elsewhere(Scrubjay.reindex, f"run `scrubjay reindex` {THERE}")
    rollback = elsewhere(Scrubjay.rollback, f"run `scrubjay reindex --rollback` {THERE}")
    sweep = elsewhere(Scrubjay.sweep, f"run `scrubjay reindex --sweep` {THERE}")
    check = elsewhere(Scrubjay.check, f"run `scrubjay doctor` {THERE}")
    examine = elsewhere(Scrubjay.examine, f"run `scrubjay doctor` {THERE}")
    for_tenant = elsewhere(Scrubjay.for_tenant, "the key decides whose memory it is; connect with another one")
    for_caller = elsewhere(Scrubjay.for_caller, "the key decides who calls; connect with another one")
    narrowed = elsewhere(Scrubjay.narrowed, "the key decides what it reaches; make a narrower one")

    @property
    def tenant(self) -> str:
        """Whose memories these are, as the server says: it knows the tenant by the key. Known once it is started."""
        return self._tenant

    # Listing comes last: it is called what users call it, and that hides the type of the same name from here on.

    list = verb(Scrubjay.list, "GET", "/memory", holds="memories")
