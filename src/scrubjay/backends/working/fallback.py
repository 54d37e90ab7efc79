"""Working memory that goes on while its store is away: changes are noted in the record store and made when it is back.

Which changes wait for a session is asked before each of its calls, so that whoever comes next, in whatever process,
first makes them in their order. Nothing is made twice: a message is known by its id, a noted change by its number. And
nothing comes late: a call that was given up carries the number that was current then, and the session has seen more.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from scrubjay.backends.working.noted import Noted
from scrubjay.errors import StoreUnavailable
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.model.sealed import is_sealed
from scrubjay.model.working import (
    Limits,
    Message,
    Recent,
    Scratch,
    Session,
    Waiting,
    check_version,
)
from scrubjay.ports.working import Detour, Detours, Fenced, Met, Operation, Outrun, Working

T = TypeVar("T")

TRIES: Final = 20
"""How often a call starts over because others went by a detour meanwhile."""

AWAY: Final = "working"
"""How an answer says that the store was away."""

_CAUGHT_UP: Final = 1_000

log = logger("working")


class FallbackWorking:
    """The `Working` port over a store that may be away, with `Detours` that every process shares.

    While the store is away, messages are taken and read back without positions, which it gives later; values are taken,
    and those that were put there since are read back. What only the store can tell raises StoreUnavailable.
    """

    def __init__(self, store: Fenced, detours: Detours, limits: Limits | None = None) -> None:
        self._store = store
        self._detours = detours
        self.limits = limits or Limits()

    async def append(
        self,
        scope: Scope,
        messages: Sequence[Message],
        *,
        ttl: timedelta,
        now: datetime,
        new: Collection[UUID] = (),
    ) -> list[Message]:
        """Put these behind what is there, and return them with their positions, in the order given.

        The positions are None when the store was away.
        """

        def decide(noted: Noted) -> Operation:
            if not noted.messages.keys().isdisjoint(new):
                raise Met
            fresh = {message.id: message for message in messages if message.id not in noted.messages}
            self.limits.check_room(scope, noted.bytes + sum(message.bytes for message in fresh.values()))
            return Operation(do="append", at=now, ttl=ttl, messages=tuple(fresh.values()))

        async def detour() -> list[Message]:
            known: dict[object, Message] = {}

            def noting(noted: Noted) -> Operation:
                operation = decide(noted)
                known.update({message.id: message.placed(None) for message in messages} | noted.messages)
                return operation

            await self._note(scope, noting)
            return [known[message.id] for message in messages]

        return await self._change(scope, lambda store: store.append(scope, messages, ttl=ttl, now=now, new=new), detour)

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:
        """Return the messages with these ids that the session holds; of one whose store is away, that were noted."""

        def detour(noted: Noted) -> list[Message]:
            wanted = set(ids)
            return [message for message in noted.messages.values() if message.id in wanted]

        return await self._read(scope, lambda store: store.known(scope, ids, now=now), detour)

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said; with `degraded`, only those that were noted."""

        def detour(noted: Noted) -> Recent:
            left = list(noted.messages.values()) if over or not noted.is_over(now) else []
            return Recent(messages=tuple(left[max(0, len(left) - limit) :]), degraded=(AWAY,))

        return await self._read(scope, lambda store: store.recent(scope, limit=limit, now=now, over=over), detour)

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:
        """Return what is known of the session, also when it is over."""

        def detour(noted: Noted) -> Session:
            return _or_away(noted.session(), scope)

        return await self._read(scope, lambda store: store.session(scope, now=now), detour)

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it is stored."""

        def decide(noted: Noted) -> Operation:
            if expect is not None:
                known = noted.value(scratch.name, now)
                if known is None or known.version != scratch.version:
                    check_version(scratch.name, expect, known.version if known else None)
            return Operation(do="set", at=now, ttl=ttl, scratch=scratch)

        async def detour() -> Scratch:
            await self._note(scope, decide)
            return scratch

        return await self._change(
            scope, lambda store: store.set(scope, scratch, ttl=ttl, now=now, expect=expect), detour
        )

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""
        return await self._read(
            scope, lambda store: store.get(scope, name, now=now), lambda noted: noted.value(name, now)
        )

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""
        return await self._read(scope, lambda store: store.scratch(scope, now=now), lambda noted: noted.pad(now))

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there."""

        async def detour() -> bool:
            found: list[Scratch | None] = []

            def decide(noted: Noted) -> Operation:
                found[:] = [known := noted.value(name, now)]
                check_version(name, expect, known.version if known else None)
                return Operation(do="delete", at=now, name=name)

            await self._note(scope, decide)
            return found[0] is not None

        return await self._change(scope, lambda store: store.delete(scope, name, now=now, expect=expect), detour)

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""

        def decide(noted: Noted) -> Operation:
            _or_away(noted.session(), scope)
            return Operation(do="extend", at=now, ttl=ttl)

        async def detour() -> Session | None:
            noted = await self._note(scope, decide)
            return None if noted.is_over(now) else noted.session()

        return await self._change(scope, lambda store: store.extend(scope, ttl=ttl, now=now), detour)

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none."""

        async def detour() -> Session | None:
            return (await self._note(scope, lambda _: Operation(do="end", at=now))).session()

        return await self._change(scope, lambda store: store.end(scope, now=now), detour)

    async def sessions(self, within: Scope, *, now: datetime, limit: int) -> list[Session]:
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""
        await self.catch_up()
        return await self._store.sessions(within, now=now, limit=limit)

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first."""
        await self.catch_up()
        return await self._store.waiting(now=now, soon=soon, limit=limit)

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state."""
        return await self._store.take(scope, limit=limit)

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were."""
        return await self._store.drained(scope, ids, now=now)

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there."""
        return await self._store.discard(scope, ids, now=now)

    async def shut(self) -> None:
        """Let go of the store."""
        await self._store.shut()

    async def catch_up(self) -> int:
        """Make all changes that wait, of every session; return how many sessions had any.

        Raises StoreUnavailable when the store is away.
        """
        caught = 0
        while scopes := await self._detours.detoured(limit=_CAUGHT_UP):
            for scope in scopes:
                await self._make(scope, await self._detours.detour(scope))
            caught += len(scopes)
        return caught

    async def _change(
        self, scope: Scope, change: Callable[[Working], Awaitable[T]], detour: Callable[[], Awaitable[T]]
    ) -> T:
        """Change the store, after what waits for this session; or go by the detour when the store is away."""
        for _ in range(TRIES):
            known = await self._detours.detour(scope)
            try:
                if not known.operations:
                    return await change(self._store.fenced(known.number))
                await self._make(scope, known)
            except Outrun:
                continue
            except StoreUnavailable as error:
                log.info("working memory goes by a detour", reason=str(error))
                return await detour()
        raise StoreUnavailable(f"session {scope.session!r}: others went by a detour {TRIES} times meanwhile. Try again")

    async def _read(self, scope: Scope, read: Callable[[Working], Awaitable[T]], detour: Callable[[Noted], T]) -> T:
        """Read from the store, after what waits for this session was made; or from what waits when it is away."""
        known = await self._detours.detour(scope)
        try:
            if known.operations:
                await self._make(scope, known)
            return await read(self._store)
        except StoreUnavailable:
            return detour(Noted(scope, known.operations))

    async def _make(self, scope: Scope, detour: Detour) -> None:
        """Make the changes that wait, in their order. Whoever else does the same at the same time does no harm."""
        if not detour.operations:
            return
        for operation in detour.operations:
            await _replayed(self._store.fenced(operation.number, replay=True), scope, operation)
        await self._detours.settled(scope, detour.operations[-1].number)
        log.info("working memory caught up", changes=len(detour.operations))

    async def _note(self, scope: Scope, decide: Callable[[Noted], Operation]) -> Noted:
        """Note a change, and return the session as far as it is known then."""
        seen: list[Detour] = []

        def deciding(detour: Detour) -> Operation:
            seen[:] = [detour]
            return decide(Noted(scope, detour.operations))

        operation = await self._detours.note(scope, deciding)
        return Noted(scope, [*seen[0].operations, operation])


async def _replayed(store: Working, scope: Scope, operation: Operation) -> None:
    ttl = operation.ttl or timedelta(0)
    match operation.do:
        case "append":
            messages = await _under_their_own_ids(store, scope, operation)
            await store.append(scope, messages, ttl=ttl, now=operation.at)
        case "set" if operation.scratch is not None:
            await store.set(scope, operation.scratch, ttl=ttl, now=operation.at)
        case "delete" if operation.name is not None:
            await store.delete(scope, operation.name, now=operation.at)
        case "extend":
            await store.extend(scope, ttl=ttl, now=operation.at)
        case "end":
            await store.end(scope, now=operation.at)


async def _under_their_own_ids(store: Working, scope: Scope, operation: Operation) -> list[Message]:
    """The messages that were noted. One whose id names another message in the store is kept under an id made from both.

    Nobody could look while the store was away, and it was accepted.
    """
    held = {one.id: one for one in await store.known(scope, [one.id for one in operation.messages], now=operation.at)}
    kept = [one if _is_free(one, held.get(one.id)) else one.told_apart() for one in operation.messages]
    for noted, message in zip(operation.messages, kept, strict=True):
        if message.id != noted.id:
            log.warning("a message was noted under the id of another one", id=str(noted.id), kept_as=str(message.id))
    return kept


def _is_free(noted: Message, held: Message | None) -> bool:
    # What is encrypted is another text each time it is said, and is bound to its id.
    return held is None or noted.says_the_same(held) or is_sealed(noted.content) or is_sealed(held.content)


def _or_away(session: Session | None, scope: Scope) -> Session:
    if session is None:
        raise StoreUnavailable(f"session {scope.session!r} is where working memory is away. Try again when it is back")
    return session
