"""Working memory behind encryption, where all memories are encrypted: messages and scratch values are sealed.

Roles, the names of scratch values, ids and times stay as they are, and so does the length of what was said.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from scrubjay.backends.encryption.ring import Ring, bound_to
from scrubjay.backends.encryption.vault import KeyVault, Rings
from scrubjay.errors import InvalidInput
from scrubjay.model import Json, Scope
from scrubjay.model.sealed import SEAL, is_sealed
from scrubjay.model.working import Limits, Message, Recent, Scratch, Session, Waiting
from scrubjay.ports.working import Working

T = TypeVar("T")

_SPEAKING: Final = ("content", "name", "tool_calls", "tool_call_id")


class EncryptedWorking:
    """The `Working` port over another one."""

    def __init__(self, working: Working, vault: KeyVault) -> None:
        self._working = working
        self._vault = vault

    @property
    def limits(self) -> Limits:
        """How much a session may hold, and for how long."""
        return self._working.limits

    async def append(
        self,
        scope: Scope,
        messages: Sequence[Message],
        *,
        ttl: timedelta,
        now: datetime,
        new: Collection[UUID] = (),
    ) -> list[Message]:
        """Put these behind what is there, and return them with their positions, in the order given."""
        for message in messages:
            if is_sealed(message.content):
                raise InvalidInput(f"content begins with {SEAL!r}, which marks what is encrypted: begin it otherwise")

        async def work(rings: Rings) -> list[Message]:
            given = list(messages)
            if self._encrypts:
                given = [seal_message(rings[scope.tenant], scope, message) for message in messages]
            return await self._working.append(scope, given, ttl=ttl, now=now, new=new)

        return await self._opened(scope, await self._sealing(scope, work))

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:
        """Return the messages with these ids that the session holds, whatever its state."""
        return await self._opened(scope, await self._working.known(scope, ids, now=now))

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said."""
        recent = await self._working.recent(scope, limit=limit, now=now, over=over)
        return replace(recent, messages=tuple(await self._opened(scope, recent.messages)))

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:
        """Return what is known of the session, also when it is over; None when there is nothing left of it."""
        return await self._working.session(scope, now=now)

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it was given."""
        if isinstance(scratch.value, str) and is_sealed(scratch.value):
            raise InvalidInput(f"value begins with {SEAL!r}, which marks what is encrypted: begin it otherwise")

        async def work(rings: Rings) -> Scratch:
            given = seal_scratch(rings[scope.tenant], scope, scratch) if self._encrypts else scratch
            return await self._working.set(scope, given, ttl=ttl, now=now, expect=expect)

        return (await self._opened_scratch(scope, [await self._sealing(scope, work)]))[0]

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""
        found = await self._working.get(scope, name, now=now)
        return (await self._opened_scratch(scope, [found]))[0] if found is not None else None

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""
        return await self._opened_scratch(scope, await self._working.scratch(scope, now=now))

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there."""
        return await self._working.delete(scope, name, now=now, expect=expect)

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""
        return await self._working.extend(scope, ttl=ttl, now=now)

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none."""
        return await self._working.end(scope, now=now)

    async def sessions(self, within: Scope | None, *, now: datetime, limit: int) -> list[Session]:
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""
        return await self._working.sessions(within, now=now, limit=limit)

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first."""
        return await self._working.waiting(now=now, soon=soon, limit=limit)

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state."""
        return await self._opened(scope, await self._working.take(scope, limit=limit))

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were."""
        return await self._working.drained(scope, ids, now=now)

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there."""
        return await self._working.discard(scope, ids, now=now)

    async def shut(self) -> None:
        """Let go of files and connections."""
        await self._working.shut()

    @property
    def _encrypts(self) -> bool:
        return self._vault.rules.encrypt == "all"

    async def _sealing(self, scope: Scope, work: Callable[[Rings], Awaitable[T]]) -> T:
        """Do work that stores something in this session, sealed where it has to be."""
        whose = [scope.tenant] if self._encrypts else []
        return await self._vault.with_rings(whose, work, needed=whose)

    async def _opened(self, scope: Scope, messages: Sequence[Message]) -> list[Message]:
        if not any(is_sealed(message.content) for message in messages):
            return list(messages)

        async def work(rings: Rings) -> list[Message]:
            return [open_message(rings[scope.tenant], scope, message) for message in messages]

        return await self._vault.with_rings([scope.tenant], work)

    async def _opened_scratch(self, scope: Scope, values: Sequence[Scratch]) -> list[Scratch]:
        async def work(rings: Rings) -> list[Scratch]:
            return [open_scratch(rings[scope.tenant], scope, one) for one in values]

        return await self._vault.with_rings([scope.tenant], work) if values else []


def seal_message(ring: Ring, scope: Scope, message: Message) -> Message:
    """The message as it is stored."""
    said = {name: value for name in _SPEAKING if (value := getattr(message, name))}
    text = ring.seal_text(json.dumps(said, ensure_ascii=False), bound=_of_message(scope, message))
    return replace(message, content=text, name=None, tool_calls=(), tool_call_id=None)


def open_message(ring: Ring, scope: Scope, message: Message) -> Message:
    """The message as it was said; one that is not sealed comes back as it is."""
    if not is_sealed(message.content):
        return message
    said: dict[str, Any] = json.loads(ring.open_text(message.content, bound=_of_message(scope, message)))
    return replace(message, **{"content": "", **said, "tool_calls": tuple(said.get("tool_calls", ()))})


def seal_scratch(ring: Ring, scope: Scope, scratch: Scratch) -> Scratch:
    """The value as it is stored."""
    text = ring.seal_text(json.dumps(scratch.value, ensure_ascii=False), bound=_of_scratch(scope, scratch))
    return replace(scratch, value=text)


def open_scratch(ring: Ring, scope: Scope, scratch: Scratch) -> Scratch:
    """The value as it was given; one that is not sealed comes back as it is."""
    if not isinstance(scratch.value, str) or not is_sealed(scratch.value):
        return scratch
    return replace(
        scratch, value=cast("Json", json.loads(ring.open_text(scratch.value, bound=_of_scratch(scope, scratch))))
    )


def _of_message(scope: Scope, message: Message) -> str:
    return bound_to("message", *_names(scope), str(message.id), message.role)


def _of_scratch(scope: Scope, scratch: Scratch) -> str:
    return bound_to("scratch", *_names(scope), scratch.name, scratch.version)


def _names(scope: Scope) -> tuple[str, ...]:
    return tuple(name or "" for name in scope.names())
